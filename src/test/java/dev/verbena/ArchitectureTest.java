package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import java.io.IOException;
import java.io.InputStream;
import java.lang.module.ModuleDescriptor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** How the house is built: each floor knows only those below it, and only the API can be seen from outside. */
class ArchitectureTest {
    private static final Path SOURCES = Path.of("src/main/java");
    private static final Path TOOLS = Path.of("src/tools/java");
    private static final int LONGEST_FILE = 1_000;

    private static final String GENERATED = "dev.verbena.internal.raw";

    /** A package that is not exported and opens the secrets of the package above it in the name to other floors. */
    private static final String DOOR = ".access";

    /** The floor of each package, in tens: the tens digit is the floor of the design. A new package needs an entry. */
    private static final Map<String, Integer> FLOORS = Map.ofEntries(
            Map.entry(GENERATED, -10),
            Map.entry("dev.verbena.internal.jfr", -10),
            Map.entry("dev.verbena.internal", 0),
            Map.entry("dev.verbena", 10),
            Map.entry("dev.verbena.verbs.address", 20),
            Map.entry("dev.verbena.verbs.device", 20),
            Map.entry("dev.verbena.verbs.flow", 20),
            Map.entry("dev.verbena.verbs", 25),
            Map.entry("dev.verbena.cm", 30),
            Map.entry("dev.verbena.net", 40),
            Map.entry("dev.verbena.tools", 50));

    /** Returns the floor of a package, on which its door is too; null if the package has none. */
    private static Integer floorOf(String name) {
        return FLOORS.get(ownerOf(name));
    }

    private static String ownerOf(String name) {
        return name.endsWith(DOOR) ? name.substring(0, name.length() - DOOR.length()) : name;
    }

    private static final Pattern COMMENT_OR_STRING =
            Pattern.compile("/\\*.*?\\*/|//[^\\n]*|\"\"\".*?\"\"\"|\"(?:\\\\.|[^\"\\\\\\n])*\"", Pattern.DOTALL);
    private static final Pattern OUR_PACKAGE =
            Pattern.compile("\\bdev\\.verbena(?:\\.[a-z][a-z0-9]*)*(?![a-zA-Z0-9_(])");

    private static List<Path> javaFiles(Path root) throws IOException {
        if (!Files.isDirectory(root)) {
            return List.of();
        }
        try (Stream<Path> files = Files.walk(root)) {
            return files.filter(file -> file.toString().endsWith(".java"))
                    .sorted()
                    .toList();
        }
    }

    private static String packageOf(Path root, Path file) {
        return root.relativize(file.getParent()).toString().replace('/', '.');
    }

    private static Set<String> packagesUsed(Path file) throws IOException {
        String code = COMMENT_OR_STRING.matcher(Files.readString(file)).replaceAll("");
        return OUR_PACKAGE.matcher(code).results().map(result -> result.group()).collect(Collectors.toSet());
    }

    @Test
    void eachFloorKnowsOnlyThoseBelow() throws IOException {
        List<String> offences = new ArrayList<>();
        int uses = 0;
        for (Path root : List.of(SOURCES, TOOLS)) {
            for (Path file : javaFiles(root)) {
                if (file.endsWith("module-info.java")) {
                    continue;
                }
                String own = packageOf(root, file);
                if (floorOf(own) == null) {
                    offences.add(file + " is in " + own + ", which has no floor");
                    continue;
                }
                for (String used : packagesUsed(file)) {
                    uses++;
                    if (floorOf(used) == null) {
                        offences.add(file + " uses " + used + ", which has no floor");
                    } else if (!ownerOf(used).equals(ownerOf(own)) && floorOf(used) >= floorOf(own)) {
                        offences.add(file + " uses " + used + ", which is not below " + own);
                    }
                }
            }
        }
        assertThat(offences).isEmpty();
        assertThat(uses).as("imports were found at all").isGreaterThan(50);
    }

    @Test
    void toolsAndHigherFloorsUseOnlyTheApi() throws IOException {
        List<String> offences = new ArrayList<>();
        for (Path file : javaFiles(TOOLS)) {
            for (String used : packagesUsed(file)) {
                if (used.startsWith("dev.verbena.internal")) {
                    offences.add(file + " uses " + used);
                }
            }
        }
        assertThat(offences).isEmpty();
    }

    @Test
    void noSourceFileIsTooLongToRead() throws IOException {
        List<String> offences = new ArrayList<>();
        for (Path file : javaFiles(SOURCES)) {
            long lines;
            try (Stream<String> text = Files.lines(file)) {
                lines = text.count();
            }
            if (lines > LONGEST_FILE) {
                offences.add(file + " has " + lines + " lines");
            }
        }
        assertThat(offences).as("files of more than " + LONGEST_FILE + " lines").isEmpty();
    }

    @Test
    void theModuleExportsTheApiAndNothingElse() throws IOException {
        Set<String> api = new TreeSet<>();
        for (Path file : javaFiles(SOURCES)) {
            String own = packageOf(SOURCES, file);
            if (!own.isEmpty() && !own.startsWith("dev.verbena.internal") && !own.endsWith(DOOR)) {
                api.add(own);
            }
        }
        ModuleDescriptor module;
        try (InputStream in = Files.newInputStream(ChildJvm.place(Rdma.class).resolve("module-info.class"))) {
            module = ModuleDescriptor.read(in);
        }
        assertThat(module.exports()).allMatch(export -> !export.isQualified());
        assertThat(module.exports().stream().map(ModuleDescriptor.Exports::source))
                .containsExactlyInAnyOrderElementsOf(api);
        assertThat(module.opens()).isEmpty();
        assertThat(module.isAutomatic()).isFalse();
    }
}
