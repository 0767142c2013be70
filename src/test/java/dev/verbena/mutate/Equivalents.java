package dev.verbena.mutate;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The mutants that change nothing that a program can see, each with a reason, from a file. An entry names the class, the
 * method, the change, and the line of the source, so that it holds while other lines change.
 */
final class Equivalents {
    private static final int COLUMNS = 5;

    private final Path sources;
    private final List<Entry> entries = new ArrayList<>();
    private final Map<String, List<String>> texts = new HashMap<>();

    private record Entry(String type, String method, String what, String text, String reason) {
        @Override
        public String toString() {
            return type + "." + method + ": " + what + " in '" + text + "'";
        }
    }

    /**
     * Reads the entries.
     *
     * @param file the file: a line has five columns, separated by tabs
     * @param sources the folder of the library's sources
     */
    Equivalents(Path file, Path sources) throws IOException {
        this.sources = sources;
        for (String line : Files.readAllLines(file)) {
            if (line.isBlank() || line.startsWith("#")) {
                continue;
            }
            String[] part = line.split("\t", -1);
            if (part.length != COLUMNS || part[COLUMNS - 1].isBlank()) {
                throw new IllegalArgumentException(
                        file + ": a line needs class, method, change, source and reason: " + line);
            }
            entries.add(new Entry(part[0], part[1], part[2], part[3].strip(), part[4]));
        }
    }

    /** Returns true if a mutant is known to change nothing. */
    boolean contains(Mutant mutant) {
        return entries.stream().anyMatch(entry -> matches(entry, mutant));
    }

    private boolean matches(Entry entry, Mutant mutant) {
        return entry.type().equals(mutant.className())
                && entry.method().equals(mutant.method())
                && entry.what().equals(mutant.what())
                && entry.text().equals(text(mutant));
    }

    /** Returns the entries for which there is no mutant. */
    List<String> stale(Collection<Mutant> all) {
        return entries.stream()
                .filter(entry -> all.stream().noneMatch(mutant -> matches(entry, mutant)))
                .map(Entry::toString)
                .toList();
    }

    /** Returns the line of the source that a mutant changes. */
    String text(Mutant mutant) {
        List<String> lines = texts.computeIfAbsent(mutant.source(), source -> {
            try {
                Path file = sources.resolve(source);
                return Files.exists(file) ? Files.readAllLines(file) : List.of();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        return mutant.line() <= lines.size() ? lines.get(mutant.line() - 1).strip() : "";
    }
}
