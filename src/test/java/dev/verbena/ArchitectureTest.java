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
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
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

    private static final Pattern COMMENT =
            Pattern.compile("/\\*.*?\\*/|//[^\\n]*|(\"\"\".*?\"\"\"|\"(?:\\\\.|[^\"\\\\\\n])*\")", Pattern.DOTALL);

    /** A call that finds a class or another class's members by name, whatever the arguments are. */
    private static final Pattern LOOKUP_OF_CLASS =
            Pattern.compile("\\b(?:privateLookupIn|findClass|accessClass|loadClass"
                    + "|Class\\s*\\.\\s*forName|getDeclared(?:Method|Field|Constructor|Class)(?:es|s)?)\\s*\\(");

    /** A call that finds a member by name; the group is the class that the member is looked up in. */
    private static final Pattern LOOKUP_OF_MEMBER =
            Pattern.compile("\\bfind(?:Static|Virtual|Constructor|Special|VarHandle|StaticVarHandle|Getter|Setter"
                    + "|StaticGetter|StaticSetter)\\s*\\(\\s*(?:([A-Za-z0-9_.]+)\\s*\\.\\s*class\\b)?");

    private static final Pattern DECLARED =
            Pattern.compile("\\b(?:class|interface|enum|record)\\s+([A-Z][A-Za-z0-9_]*)");

    private static Set<String> declaredIn(String code) {
        return DECLARED.matcher(code).results().map(found -> found.group(1)).collect(Collectors.toSet());
    }

    /**
     * Finds lookups by name between our own classes. A class may look up its own members, and those of foreign classes.
     *
     * @param source the text of a file
     * @param ours the simple names of all our classes
     */
    private static List<String> lookupsByName(String source, Set<String> ours) {
        String code = COMMENT.matcher(source)
                .replaceAll(found -> found.group(1) == null ? "" : Matcher.quoteReplacement(found.group(1)));
        List<String> offences = new ArrayList<>(
                LOOKUP_OF_CLASS.matcher(code).results().map(MatchResult::group).toList());
        Set<String> own = declaredIn(code);
        LOOKUP_OF_MEMBER.matcher(code).results().forEach(found -> {
            String target = found.group(1);
            String name = target == null ? "" : target.substring(target.lastIndexOf('.') + 1);
            if (name.isEmpty() || ours.contains(name) && !own.contains(name)) {
                offences.add(found.group());
            }
        });
        return offences;
    }

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

    @Test
    void noLookupByNameBetweenOurPackages() throws IOException {
        Set<String> ours = new TreeSet<>();
        for (Path root : List.of(SOURCES, TOOLS)) {
            for (Path file : javaFiles(root)) {
                ours.addAll(declaredIn(Files.readString(file)));
            }
        }
        List<String> offences = new ArrayList<>();
        for (Path root : List.of(SOURCES, TOOLS)) {
            for (Path file : javaFiles(root)) {
                lookupsByName(Files.readString(file), ours).forEach(call -> offences.add(file + ": " + call));
            }
        }
        assertThat(offences).isEmpty();
        assertThat(ours).as("classes were found at all").contains("QueuePair", "Context", "ConnectionId");
    }

    @Test
    void lookupByNameIsSeenInABreachOfTheRule() {
        String breach = """
                final class Floor {
                    private static final Lookup DOOR = MethodHandles.privateLookupIn(Context.class, MethodHandles.lookup());
                    MethodHandle make = DOOR.findStatic(
                            DOOR.findClass("dev.verbena.verbs.FloorAbove"), "queuePair", type);
                    VarHandle state = MethodHandles.lookup().findVarHandle(dev.verbena.verbs.QueuePair.class, "x", int.class);
                    Class<?> context = Class.forName("dev.verbena.verbs.Context");
                    // Class.forName("in a comment");
                }
                """;
        String allowed = """
                final class Floor {
                    VarHandle own = MethodHandles.lookup().findVarHandle(Floor.class, "own", int.class);
                    MethodHandle foreign = MethodHandles.lookup().findStatic(MemorySegment.class, "ofAddress", type);
                }
                """;
        Set<String> ours = Set.of("Context", "QueuePair", "Floor");
        assertThat(lookupsByName(breach, ours))
                .hasSize(5)
                .anyMatch(call -> call.startsWith("privateLookupIn"))
                .anyMatch(call -> call.startsWith("findStatic"))
                .anyMatch(call -> call.startsWith("findClass"))
                .anyMatch(call -> call.startsWith("findVarHandle"))
                .anyMatch(call -> call.startsWith("Class.forName"));
        assertThat(lookupsByName(allowed, ours)).isEmpty();
    }
}
