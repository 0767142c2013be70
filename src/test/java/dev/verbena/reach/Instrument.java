package dev.verbena.reach;

import dev.verbena.ledger.CallCounting;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * The program that writes changed copies of classes for a run of tests. Each copy notes in {@link Reach} that it runs, and in a
 * run that writes the ledger, also which C functions it calls. The arguments are the folder for the copies, then one of
 * {@code reach} and {@code ledger}, then the folders of classes. Only classes whose sources are not tests get a copy.
 */
public final class Instrument {
    private static final List<Path> SOURCES =
            List.of(Path.of("src/main/java"), Path.of("src/tools/java"), Path.of("src/examples/java"));

    /** The generated bindings are not marked, but link C functions. */
    private static final Path BINDINGS = Path.of("bindings/java");

    private final Path copies;
    private final List<Path> folders;
    private final Marking marking = new Marking();
    private final CallCounting counting;
    private final boolean isLedger;

    private Instrument(Path copies, boolean isLedger, List<Path> folders) {
        this.copies = copies;
        this.folders = folders;
        this.isLedger = isLedger;
        counting = new CallCounting(name -> folders.stream().anyMatch(folder -> Files.exists(folder.resolve(name))));
    }

    /** Writes the copies. */
    public static void main(String[] args) throws IOException {
        List<Path> folders = Stream.of(args).skip(2).map(Path::of).toList();
        new Instrument(Path.of(args[0]), args[1].equals("ledger"), folders).write();
    }

    private void write() throws IOException {
        for (Path folder : folders) {
            try (Stream<Path> files = Files.walk(folder)) {
                for (Path file : files.filter(path -> path.toString().endsWith(".class"))
                        .sorted()
                        .toList()) {
                    copy(folder.relativize(file), file);
                }
            }
        }
        put(Path.of(Reach.NAMES), String.join("\n", marking.classes()).getBytes(StandardCharsets.UTF_8));
    }

    private void copy(Path name, Path file) throws IOException {
        String topLevel = name.toString().replaceAll("(\\$.*)?\\.class$", "");
        boolean isMarked = SOURCES.stream().anyMatch(source -> Files.exists(source.resolve(topLevel + ".java")));
        if (topLevel.equals("module-info") || !isMarked && !Files.exists(BINDINGS.resolve(topLevel + ".java"))) {
            return;
        }
        byte[] before = Files.readAllBytes(file);
        byte[] counted = isLedger ? counting.transform(before) : null;
        byte[] after = counted == null ? before : counted;
        if (isMarked) {
            after = marking.mark(topLevel.replace('/', '.'), after);
        }
        if (after != before) {
            put(name, after);
        }
    }

    private void put(Path name, byte[] content) throws IOException {
        Path file = copies.resolve(name);
        Files.createDirectories(file.getParent());
        Files.write(file, content);
    }
}
