package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.NewClassTree;
import com.sun.source.tree.ParameterizedTypeTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.TreeScanner;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.SourceTree;
import java.io.IOException;
import java.io.InputStream;
import java.lang.module.ModuleDescriptor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * The structure of the sources: floors, length of files, no chains of superclasses, exports. Each rule is a function
 * over a {@link SourceTree}, so that a test can show on a small sample that the rule reports a breach.
 */
class ArchitectureTest {
    private static final Path SOURCES = Path.of("src/main/java");
    private static final Path TOOLS = Path.of("src/tools/java");
    private static final Path EXAMPLES = Path.of("src/examples/java");

    /** The largest number of lines of code in a file. Comments and blank lines do not count: Javadoc may grow. */
    private static final int MOST_CODE = 600;

    /** The same for the files of a channel, of which no other one may be longer. */
    private static final int MOST_CODE_OF_A_CHANNEL = 800;

    private static final Set<String> CHANNEL = Set.of("Engine.java");

    private static final String GENERATED = "dev.verbena.internal.raw";

    /** A package that is not exported and opens the secrets of the package above it in the name to other floors. */
    private static final String DOOR = ".access";

    /** The lifetimes of the objects of {@code dev.verbena}, on whose floor the package is. It is not exported. */
    private static final String LIFETIMES = "dev.verbena.internal.lifetime";

    /** The floor of each package, in tens: the tens digit is the floor of the design. A new package needs an entry. */
    private static final Map<String, Integer> FLOORS = Map.ofEntries(
            Map.entry(GENERATED, -10),
            Map.entry("dev.verbena.internal.noise", -10),
            Map.entry("dev.verbena.internal", 0),
            Map.entry("dev.verbena", 10),
            Map.entry("dev.verbena.internal.failures", 15),
            Map.entry("dev.verbena.verbs.address", 20),
            Map.entry("dev.verbena.verbs.device", 20),
            Map.entry("dev.verbena.verbs.flow", 20),
            Map.entry("dev.verbena.verbs", 25),
            Map.entry("dev.verbena.cm", 30),
            Map.entry("dev.verbena.internal.wire", 36),
            Map.entry("dev.verbena.internal.link", 38),
            Map.entry("dev.verbena.net", 40),
            Map.entry("dev.verbena.sockets", 40),
            Map.entry("dev.verbena.tools.command", 50),
            Map.entry("dev.verbena.tools.page", 50),
            Map.entry("dev.verbena.tools.device", 55),
            Map.entry("dev.verbena.tools.node", 56),
            Map.entry("dev.verbena.tools.copy", 55),
            Map.entry("dev.verbena.tools.pingpong", 56),
            Map.entry("dev.verbena.tools.perf", 56),
            Map.entry("dev.verbena.tools.shell", 56),
            Map.entry("dev.verbena.tools.report", 57),
            Map.entry("dev.verbena.tools", 59));

    /** Superclasses with one subclass that have objects of their own, such as the cursor that every queue has. */
    private static final Set<String> WHOLE_BY_THEMSELVES = Set.of("dev.verbena.verbs.Completions");

    private static final Pattern COMMENT_OR_STRING =
            Pattern.compile("/\\*.*?\\*/|//[^\\n]*|\"\"\".*?\"\"\"|\"(?:\\\\.|[^\"\\\\\\n])*\"", Pattern.DOTALL);
    private static final Pattern PACKAGE = Pattern.compile("^package ([a-z.0-9]+);", Pattern.MULTILINE);
    private static final Pattern OUR_PACKAGE =
            Pattern.compile("\\bdev\\.verbena(?:\\.[a-z][a-z0-9]*)*(?![a-zA-Z0-9_(])");

    /** Returns the floor of a package, on which its door is too; null if the package has none. */
    private static Integer floorOf(String name) {
        return FLOORS.get(ownerOf(name));
    }

    private static String ownerOf(String name) {
        if (name.equals(LIFETIMES)) {
            return "dev.verbena";
        }
        return name.endsWith(DOOR) ? name.substring(0, name.length() - DOOR.length()) : name;
    }

    private static final Pattern COMMENT =
            Pattern.compile("/\\*.*?\\*/|//[^\\n]*|(\"\"\".*?\"\"\"|\"(?:\\\\.|[^\"\\\\\\n])*\")", Pattern.DOTALL);

    /** A call that finds a class or another class's members by name, unless the class is one of the JDK's hidden ones. */
    private static final Pattern LOOKUP_OF_CLASS = Pattern.compile(
            "\\b(?:privateLookupIn|findClass|accessClass|loadClass"
                    + "|Class\\s*\\.\\s*forName(?!\\(\"sun\\.)|getDeclared(?:Method|Field|Constructor|Class)(?:es|s)?)\\s*\\(");

    /** A call that finds a member by name; the group is the class that the member is looked up in. */
    private static final Pattern LOOKUP_OF_MEMBER = Pattern.compile(
            "\\bfind(?:Static|Virtual|Constructor|Special|VarHandle|StaticVarHandle|Getter|Setter"
                    + "|StaticGetter|StaticSetter)\\s*\\(\\s*(?:([A-Za-z0-9_.]+)\\s*\\.\\s*class\\b|([a-z]+\\.lookupClass\\(\\)))?");

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
            boolean ofItsOwn = found.group(2) != null; // a lookup of a class finds members of this class
            if (!ofItsOwn && (name.isEmpty() || ours.contains(name) && !own.contains(name))) {
                offences.add(found.group());
            }
        });
        return offences;
    }

    private static String packageOf(String text) {
        Matcher declaration = PACKAGE.matcher(text);
        return declaration.find() ? declaration.group(1) : "";
    }

    private static Set<String> packagesUsed(String text) {
        String code = COMMENT_OR_STRING.matcher(text).replaceAll("");
        return OUR_PACKAGE.matcher(code).results().map(result -> result.group()).collect(Collectors.toSet());
    }

    /** Reports packages without a floor, and uses of a package that is not below the user's own. */
    private static List<String> crossingsOfFloors(SourceTree sources) {
        List<String> offences = new ArrayList<>();
        sources.texts().forEach((path, text) -> {
            String own = packageOf(text);
            if (own.isEmpty()) {
                return; // module-info names every package
            }
            if (floorOf(own) == null) {
                offences.add(path + " is in " + own + ", which has no floor");
                return;
            }
            for (String used : packagesUsed(text)) {
                if (floorOf(used) == null) {
                    offences.add(path + " uses " + used + ", which has no floor");
                } else if (!ownerOf(used).equals(ownerOf(own)) && floorOf(used) >= floorOf(own)) {
                    offences.add(path + " uses " + used + ", which is not below " + own);
                }
            }
        });
        return offences;
    }

    /** Reports uses of packages that are not exported. */
    private static List<String> usesOfInternals(SourceTree sources) {
        List<String> offences = new ArrayList<>();
        sources.texts().forEach((path, text) -> {
            for (String used : packagesUsed(text)) {
                if (used.startsWith("dev.verbena.internal") || used.endsWith(DOOR)) {
                    offences.add(path + " uses " + used);
                }
            }
        });
        return offences;
    }

    /** Reports files of more than {@value #MOST_CODE} lines of code. */
    private static List<String> longFiles(SourceTree sources) {
        List<String> offences = new ArrayList<>();
        sources.texts().forEach((path, text) -> {
            String file = path.substring(path.lastIndexOf('/') + 1);
            long lines = linesOfCode(text);
            if (lines > (CHANNEL.contains(file) ? MOST_CODE_OF_A_CHANNEL : MOST_CODE)) {
                offences.add(path + " has " + lines + " lines of code");
            }
        });
        return offences;
    }

    private static long linesOfCode(String text) {
        return COMMENT_OR_STRING
                .matcher(text)
                .replaceAll(found -> found.group().startsWith("/") ? "" : Matcher.quoteReplacement(found.group()))
                .lines()
                .filter(line -> !line.isBlank())
                .count();
    }

    /** Returns the classes that have exactly one subclass, anonymous ones included. Interfaces do not count. */
    private static Set<String> superclassesOfOne(SourceTree sources) {
        Set<String> classes = new TreeSet<>();
        List<Extension> extensions = new ArrayList<>();
        sources.parse((trees, unit) -> new Inheritance(unit, classes, extensions).scan(unit, null));
        Map<String, Integer> subclasses = new TreeMap<>();
        for (Extension extension : extensions) {
            String superclass = extension.resolve(classes);
            if (superclass != null) {
                subclasses.merge(superclass, 1, Integer::sum);
            }
        }
        subclasses.values().removeIf(count -> count != 1);
        return subclasses.keySet();
    }

    /** The use of a class as a superclass, at a place in the sources, by the name that stands there. */
    private record Extension(String place, String name, Set<String> imports) {
        /** Returns the superclass's full name, found through enclosing classes, package or imports; null if not ours. */
        String resolve(Set<String> classes) {
            for (String scope = place; !scope.isEmpty(); scope = enclosing(scope)) {
                if (classes.contains(scope + "." + name)) {
                    return scope + "." + name;
                }
            }
            String outermost = name.split("\\.")[0];
            for (String imported : imports) {
                String candidate = enclosing(imported) + "." + name;
                if (imported.endsWith("." + outermost) && classes.contains(candidate)) {
                    return candidate;
                }
            }
            return classes.contains(name) ? name : null;
        }

        private static String enclosing(String scope) {
            int dot = scope.lastIndexOf('.');
            return dot < 0 ? "" : scope.substring(0, dot);
        }
    }

    /** Collects the classes of a source and their uses as superclasses. */
    private static final class Inheritance extends TreeScanner<Void, Void> {
        private final Set<String> classes;
        private final List<Extension> extensions;
        private final Set<String> imports;
        private String place;

        Inheritance(CompilationUnitTree unit, Set<String> classes, List<Extension> extensions) {
            this.classes = classes;
            this.extensions = extensions;
            place = unit.getPackageName() == null ? "" : unit.getPackageName().toString();
            imports = unit.getImports().stream()
                    .map(tree -> tree.getQualifiedIdentifier().toString())
                    .collect(Collectors.toSet());
        }

        @Override
        public Void visitClass(ClassTree tree, Void nothing) {
            String outer = place;
            if (tree.getKind() == Tree.Kind.CLASS && tree.getExtendsClause() != null) {
                extended(tree.getExtendsClause());
            }
            if (!tree.getSimpleName().isEmpty()) {
                place = outer + "." + tree.getSimpleName();
                if (tree.getKind() == Tree.Kind.CLASS) {
                    classes.add(place);
                }
            }
            super.visitClass(tree, null);
            place = outer;
            return null;
        }

        @Override
        public Void visitNewClass(NewClassTree tree, Void nothing) {
            if (tree.getClassBody() != null) {
                extended(tree.getIdentifier());
            }
            return super.visitNewClass(tree, null);
        }

        private void extended(Tree type) {
            Tree erased = type instanceof ParameterizedTypeTree parameterized ? parameterized.getType() : type;
            extensions.add(new Extension(place, erased.toString(), imports));
        }
    }

    @Test
    void floorsUseOnlyLowerFloors() {
        SourceTree sources = SourceTree.below(SOURCES, TOOLS);
        assertThat(crossingsOfFloors(sources)).isEmpty();
        assertThat(sources.texts().values().stream()
                        .mapToInt(text -> packagesUsed(text).size())
                        .sum())
                .as("uses of packages, which shows that they are found at all")
                .isGreaterThan(50);
    }

    @Test
    void floorRuleReportsUsesOfHigherFloorsAndUnknownPackages() {
        assertThat(crossingsOfFloors(
                        SourceTree.of("A.java", "package dev.verbena.verbs;\nimport dev.verbena.cm.CmEvent;\n")
                                .and("B.java", "package dev.verbena.cm;\nimport dev.verbena.verbs.Context;\n")
                                .and("C.java", "package dev.verbena.loft;\n")
                                .and("D.java", "package dev.verbena.cm;\nimport dev.verbena.loft.Box;\n")))
                .containsExactly(
                        "A.java uses dev.verbena.cm, which is not below dev.verbena.verbs",
                        "C.java is in dev.verbena.loft, which has no floor",
                        "D.java uses dev.verbena.loft, which has no floor");
    }

    @Test
    void floorsUseOnlyTheirOwnDoor() {
        assertThat(crossingsOfFloors(SourceTree.of(
                                "A.java", "package dev.verbena.verbs;\nimport dev.verbena.verbs.access.VerbsAccess;\n")
                        .and("B.java", "package dev.verbena.verbs;\nimport dev.verbena.cm.access.CmAccess;\n")))
                .containsExactly("B.java uses dev.verbena.cm.access, which is not below dev.verbena.verbs");
    }

    /** The JDK's arenas that somebody must close: a field that holds one is lost when its object is not destroyed. */
    private static List<String> arenasLeftOpen(SourceTree sources) {
        List<String> breaches = new ArrayList<>();
        sources.texts().forEach((path, text) -> {
            String code = text.replaceAll("\\btry \\([^;{]*Arena\\.of(Confined|Shared)\\(\\)", "try (");
            if (Pattern.compile("(?<!Verbs)Arena\\.of(Confined|Shared)\\(\\)")
                    .matcher(code.replaceAll("\"[^\"\\n]*\"", "").replaceAll("(?m)^\\s*\\*.*$", ""))
                    .find()) {
                breaches.add(path);
            }
        });
        return breaches;
    }

    @Test
    void onlyVerbsArenasKeepArenasThatMustBeClosed() {
        assertThat(arenasLeftOpen(SourceTree.below(SOURCES)))
                .allMatch(path -> path.endsWith("/VerbsArena.java")
                        || path.endsWith("/ConfinedMemory.java")
                        || path.endsWith("/BorrowedMemory.java"))
                .hasSize(3);
    }

    @Test
    void arenaRuleReportsFields() {
        assertThat(arenasLeftOpen(SourceTree.of("A.java", "class A { Arena a = Arena.ofShared(); }")
                        .and("B.java", "class B { { try (Arena a = Arena.ofConfined()) { } } }")
                        .and("C.java", "class C { VerbsArena a = VerbsArena.ofConfined(); }")
                        .and("D.java", "class D { String s = \"Arena.ofShared()\"; }")))
                .containsExactly("A.java");
    }

    @Test
    void toolsAndExamplesUseOnlyTheApi() {
        assertThat(usesOfInternals(SourceTree.below(TOOLS, EXAMPLES))).isEmpty();
    }

    @Test
    void toolRuleReportsUsesOfInternals() {
        assertThat(usesOfInternals(SourceTree.of("A.java", "import dev.verbena.internal.Errno;\n")
                        .and("B.java", "import dev.verbena.internal.lifetime.ObjectLifetime;\n")
                        .and("C.java", "import dev.verbena.verbs.Context;\n")))
                .containsExactly("A.java uses dev.verbena.internal", "B.java uses dev.verbena.internal.lifetime");
    }

    @Test
    void sourceFilesHaveAtMostTheAllowedLines() {
        assertThat(longFiles(SourceTree.below(SOURCES, TOOLS))).isEmpty();
    }

    @Test
    void lengthRuleReportsLongSourceFiles() {
        String full = "int a; // one\n".repeat(MOST_CODE);
        assertThat(longFiles(SourceTree.of("a/Long.java", full + "String s = \"// no comment\";")
                        .and("a/Full.java", full)
                        .and("a/Said.java", full + "\n// a comment\n\n/**\n * Another one.\n */\n")
                        .and("net/Engine.java", full + full)))
                .containsExactly("a/Long.java has 601 lines of code", "net/Engine.java has 1200 lines of code");
    }

    /** An exception that is not needed any more would let the file grow again. */
    @Test
    void exceptionsOfTheLengthRuleAreNeeded() {
        Set<String> needed = new TreeSet<>();
        SourceTree.below(SOURCES).texts().forEach((path, text) -> {
            if (linesOfCode(text) > MOST_CODE) {
                needed.add(path.substring(path.lastIndexOf('/') + 1));
            }
        });
        assertThat(needed).isEqualTo(CHANNEL);
    }

    @Test
    void superclassesHaveMoreThanOneSubclass() {
        assertThat(superclassesOfOne(SourceTree.below(SOURCES)))
                .as("superclasses with one subclass: make a part of them, not a slice")
                .containsExactlyInAnyOrderElementsOf(WHOLE_BY_THEMSELVES);
    }

    @Test
    void superclassRuleReportsSingleSubclasses() {
        SourceTree sample = SourceTree.of("a/Base.java", "package a; class Base { static class Part<T> { } }")
                .and("a/Shape.java", "package a; class Shape { interface Face { } }")
                .and("a/Only.java", "package a; class Only extends Base { }")
                .and(
                        "b/Nested.java",
                        "package b; import a.Base; class Nested { class Inner extends Base.Part<Nested> { } }")
                .and("b/Hidden.java", "package b; class Hidden { Object o = new Nested() { }; }")
                .and(
                        "b/Two.java",
                        "package b; import a.Shape; class Two extends Shape { class Three extends Shape { } }")
                .and("b/Free.java", "package b; class Free extends Exception implements a.Shape.Face { }");
        assertThat(superclassesOfOne(sample)).containsExactly("a.Base", "a.Base.Part", "b.Nested");
    }

    /** Returns the packages that users may see. */
    private static Set<String> api(SourceTree sources) {
        Set<String> api = new TreeSet<>();
        for (String text : sources.texts().values()) {
            String own = packageOf(text);
            if (!own.isEmpty() && !own.startsWith("dev.verbena.internal") && !own.endsWith(DOOR)) {
                api.add(own);
            }
        }
        return api;
    }

    /** Reports differences between the exports of a module and its API, and packages that are open to reflection. */
    private static List<String> wrongExports(ModuleDescriptor module, Set<String> api) {
        List<String> offences = new ArrayList<>();
        Set<String> missing = new TreeSet<>(api);
        for (ModuleDescriptor.Exports export : module.exports()) {
            missing.remove(export.source());
            if (!api.contains(export.source())) {
                offences.add(export.source() + " is exported");
            }
            if (export.isQualified()) {
                offences.add(export.source() + " is exported to " + export.targets());
            }
        }
        missing.forEach(name -> offences.add(name + " is not exported"));
        module.opens().forEach(opened -> offences.add(opened.source() + " is open"));
        if (module.isAutomatic() || module.isOpen()) {
            offences.add("the whole module is open");
        }
        offences.sort(null);
        return offences;
    }

    @Test
    void moduleExportsOnlyTheApi() throws IOException {
        ModuleDescriptor module;
        try (InputStream in = Files.newInputStream(ChildJvm.place(Rdma.class).resolve("module-info.class"))) {
            module = ModuleDescriptor.read(in);
        }
        assertThat(wrongExports(module, api(SourceTree.below(SOURCES)))).isEmpty();
    }

    @Test
    void exportRuleReportsWrongExports() {
        SourceTree sources = SourceTree.of("A.java", "package dev.verbena.verbs;\n")
                .and("B.java", "package dev.verbena.cm;\n")
                .and("C.java", "package dev.verbena.internal;\n")
                .and("D.java", "package dev.verbena.verbs.access;\n");
        assertThat(api(sources)).containsExactly("dev.verbena.cm", "dev.verbena.verbs");
        ModuleDescriptor module = ModuleDescriptor.newModule("sample")
                .exports("dev.verbena.verbs", Set.of("friend"))
                .exports("dev.verbena.internal")
                .opens("dev.verbena.verbs.access")
                .build();
        assertThat(wrongExports(module, api(sources)))
                .containsExactly(
                        "dev.verbena.cm is not exported",
                        "dev.verbena.internal is exported",
                        "dev.verbena.verbs is exported to [friend]",
                        "dev.verbena.verbs.access is open");
        assertThat(wrongExports(ModuleDescriptor.newOpenModule("open").build(), Set.of()))
                .containsExactly("the whole module is open");
    }

    @Test
    void packagesUseNoLookupByName() {
        SourceTree sources = SourceTree.below(SOURCES, TOOLS);
        Set<String> ours = new TreeSet<>();
        sources.texts().values().forEach(text -> ours.addAll(declaredIn(text)));
        List<String> offences = new ArrayList<>();
        sources.texts()
                .forEach((path, text) -> lookupsByName(text, ours).forEach(call -> offences.add(path + ": " + call)));
        assertThat(offences).isEmpty();
        assertThat(ours).as("classes were found at all").contains("QueuePair", "Context", "ConnectionId");
    }

    @Test
    void lookupRuleReportsLookupByName() {
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
                    VarHandle field = owner.findVarHandle(owner.lookupClass(), "own", int.class);
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
