package dev.verbena.internal.raw;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.PaddingLayout;
import java.lang.foreign.SequenceLayout;
import java.lang.foreign.UnionLayout;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Compares the generated bindings with what this machine's C compiler makes of the installed headers.
 *
 * <p>What is compared is read from the generated classes themselves, so nothing can be left out: a C program prints
 * the size, alignment, offset or value of each, and the tests compare what it printed.
 *
 * <p>The installed headers may be older than those of the bindings. Then they lack names, which must be those that
 * {@code bindings-newer.tsv} says came later.
 *
 * <p>Without a C compiler or the headers the tests are aborted, unless {@code CI=true} or
 * {@code VERBENA_REQUIRE_CC=1} is set: then they fail.
 */
@Tag("headers")
class LayoutTest {
    private static final Path BINDINGS =
            Path.of(System.getProperty("basedir", "")).resolve("bindings").toAbsolutePath();
    private static final Path SOURCES = BINDINGS.resolve("java/dev/verbena/internal/raw");

    /**
     * Their insides are libc's own business and differ between its versions, but their size moves the members behind
     * them. The types they are made of have names that begin with two underscores.
     */
    private static final Set<String> OPAQUE = Set.of("pthread_mutex_t", "pthread_cond_t");

    private static List<Type> types;
    private static List<Member> members;
    private static List<Constant> constants;

    /** Structs that grow from release to release. Only the library allocates them, or is told their size. */
    private static final Set<String> GROWING =
            Set.of("struct ibv_port_attr", "struct ibv_qp_ex", "struct verbs_context", "struct ibv_mr_init_attr");

    /** The struct that grows at its front. */
    private static final String AT_FRONT = "struct verbs_context";

    /** What C printed: the value of each expression. */
    private static Map<String, Long> c;

    /** The names that the installed headers lack. */
    private static Set<String> absent;

    /** A struct or union. */
    private record Type(String cName, GroupLayout layout) {
        String size() {
            return "sizeof(" + cName + ")";
        }

        String alignment() {
            return "_Alignof(" + cName + ")";
        }

        Set<String> expressions() {
            return Set.of(size(), alignment());
        }
    }

    /** A member, named as C reaches it from the outermost type: {@code wr.rdma.rkey}. */
    private record Member(Type type, String path, long offsetInJava, long sizeInJava) {
        String name() {
            return type.cName() + "." + path;
        }

        String offset() {
            return "__builtin_offsetof(" + type.cName() + ", " + path + ")";
        }

        String size() {
            return "sizeof(((" + type.cName() + " *) 0)->" + path + ")";
        }

        Set<String> expressions() {
            return Set.of(offset(), size());
        }
    }

    /** An enum's constant or a macro. */
    private record Constant(String name, Object valueInJava) {
        /** The generated class has an int for C's int and for its unsigned int. */
        boolean is(long valueInC) {
            return switch (valueInJava) {
                case Integer i -> valueInC == i || valueInC == Integer.toUnsignedLong(i);
                case Long l -> valueInC == l;
                case MemorySegment pointer -> valueInC == pointer.address();
                default -> throw new AssertionError(name + " is of a kind this test does not know: " + valueInJava);
            };
        }
    }

    @BeforeAll
    static void askC(@TempDir Path directory) throws Exception {
        Compiler compiler = Compiler.find();
        compiler.requireHeaders(directory);
        types = types();
        members = types.stream().flatMap(type -> members(type).stream()).collect(Collectors.toList());
        constants = constants();
        Map<String, String> names = names();
        Set<String> unknown = compiler.unknown(directory, names.keySet());
        c = values(compiler.run(directory, program(without(names.keySet(), unknown))));
        absent = unknown.stream().map(names::get).collect(Collectors.toCollection(TreeSet::new));
        types.removeIf(type -> absent.contains(type.cName()));
        members.removeIf(member -> absent.contains(member.name()));
        constants.removeIf(constant -> absent.contains(constant.name()));
        System.out.printf(
                "LayoutTest compares %d structs and unions, %d members and %d constants with C (%s); %d names are absent%n",
                types.size(), members.size(), constants.size(), compiler.name(), absent.size());
    }

    private static List<String> without(Set<String> expressions, Set<String> unknown) {
        return expressions.stream()
                .filter(expression -> !unknown.contains(expression))
                .toList();
    }

    /** Returns all expressions to compare, each with the name that C must know for it. */
    private static Map<String, String> names() {
        Map<String, String> names = new LinkedHashMap<>();
        types.forEach(type -> type.expressions().forEach(expression -> names.put(expression, type.cName())));
        members.forEach(member -> member.expressions().forEach(expression -> names.put(expression, member.name())));
        constants.forEach(constant -> names.put(constant.name(), constant.name()));
        return names;
    }

    /** Whatever the release of the headers is: they lack all names of later releases, and no others. */
    @Test
    void absentNamesAreThoseOfLaterReleases() throws IOException {
        Map<String, Integer> newer = new TreeMap<>();
        for (String line : Files.readAllLines(BINDINGS.resolveSibling("src/test/resources/bindings-newer.tsv"))) {
            if (!line.startsWith("#")) {
                String[] cells = line.split("\t");
                newer.put(cells[1], Integer.parseInt(cells[0]));
            }
        }
        int release = newer.entrySet().stream()
                .filter(entry -> !absent.contains(entry.getKey()))
                .mapToInt(Map.Entry::getValue)
                .max()
                .orElse(44);
        Set<String> later = newer.keySet().stream()
                .filter(name -> newer.get(name) > release)
                .collect(Collectors.toSet());
        assertThat(outermost(absent))
                .as("names that headers of release %d lack", release)
                .isEqualTo(outermost(later));
    }

    /** Returns the names without members of structs that are also named. */
    private static Set<String> outermost(Set<String> names) {
        return names.stream()
                .filter(name -> !name.contains(".") || !names.contains(name.substring(0, name.indexOf('.'))))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** Returns true if the headers lack a member of a type. */
    private static boolean isShorter(Type type) {
        return absent.stream().anyMatch(name -> name.startsWith(type.cName() + "."));
    }

    @Test
    void typesHaveTheSizeAndAlignmentOfC() {
        List<String> differences = new ArrayList<>();
        for (Type type : types) {
            if (GROWING.contains(type.cName())) {
                boolean older = c.get(type.size()) < type.layout().byteSize();
                assertThat(older).as("%s lacks members", type).isEqualTo(isShorter(type));
            } else {
                compare(type.size(), type.layout().byteSize(), differences);
            }
            compare(type.alignment(), type.layout().byteAlignment(), differences);
        }
        assertThat(differences).isEmpty();
    }

    @Test
    void membersHaveTheOffsetAndSizeOfC() {
        List<String> differences = new ArrayList<>();
        for (Member member : members) {
            long front = member.type().cName().equals(AT_FRONT)
                    ? member.type().layout().byteSize() - c.get(member.type().size())
                    : 0;
            compare(member.offset(), member.offsetInJava() - front, differences);
            compare(member.size(), member.sizeInJava(), differences);
        }
        assertThat(differences).isEmpty();
    }

    @Test
    void constantsHaveTheValueOfC() {
        List<String> differences = new ArrayList<>();
        for (Constant constant : constants) {
            long valueInC = c.get(constant.name());
            if (!constant.is(valueInC)) {
                differences.add(difference(constant.name(), constant.valueInJava(), valueInC));
            }
        }
        assertThat(differences).isEmpty();
    }

    /** Guards the enumeration above, and jextract: a name that it drops is dropped with a warning only. */
    @Test
    void filterNamesAreAllGenerated() throws Exception {
        Set<String> generated = new TreeSet<>(classNames());
        Stream.of(rdma_h.class.getDeclaredMethods()).map(Method::getName).forEach(generated::add);
        // A variadic function is a class, not a method.
        Stream.of(rdma_h.class.getDeclaredClasses()).map(Class::getSimpleName).forEach(generated::add);

        Set<String> missing = filteredNames("");
        missing.removeAll(generated);
        assertThat(missing).isEmpty();
        assertThat(constants()).hasSameSizeAs(filteredNames("constant"));
    }

    /** Types that nothing uses make the library slower to compile and harder to read: the filter must not have them. */
    @Test
    void bindingsHaveNoTypeThatNothingUses() throws Exception {
        StringBuilder code = new StringBuilder();
        try (Stream<Path> files = Stream.concat(Files.walk(BINDINGS.resolveSibling("src")), Files.list(SOURCES))) {
            for (Path file :
                    files.filter(file -> file.toString().endsWith(".java")).toList()) {
                String own = file.getFileName().toString().replaceFirst("\\.java$", "");
                code.append(Files.readString(file).replaceAll("\\b" + Pattern.quote(own) + "\\b", ""));
            }
        }
        Set<String> words = Pattern.compile("\\b(\\w+)\\.(?:layout\\(|\\w+;|\\w+\\()|import [\\w.]+\\.(\\w+);")
                .matcher(code)
                .results()
                .map(found -> found.group(1) != null ? found.group(1) : found.group(2))
                .collect(Collectors.toSet());
        assertThat(classNames().stream().filter(name -> !name.startsWith("rdma_h") && !words.contains(name)))
                .isEmpty();
    }

    private static void compare(String what, long inJava, List<String> differences) {
        long inC = c.get(what);
        if (inJava != inC) {
            differences.add(difference(what, inJava, inC));
        }
    }

    private static String difference(String what, Object inJava, long inC) {
        return what + ": " + inJava + " in Java, " + inC + " in C";
    }

    // What there is to compare

    private static Set<String> filteredNames(String kind) throws IOException {
        try (Stream<String> lines = Files.lines(BINDINGS.resolve("includes.txt"))) {
            return lines.filter(line -> line.startsWith("--include-" + kind))
                    .map(line -> line.substring(line.indexOf(' ') + 1))
                    .collect(Collectors.toCollection(TreeSet::new));
        }
    }

    private static List<String> classNames() throws IOException {
        try (Stream<Path> files = Files.list(SOURCES)) {
            return files.map(file -> file.getFileName().toString().replaceFirst("\\.java$", ""))
                    .sorted()
                    .toList();
        }
    }

    private static List<Type> types() throws Exception {
        List<Type> types = new ArrayList<>();
        for (String name : classNames()) {
            Class<?> generated = Class.forName(LayoutTest.class.getPackageName() + "." + name);
            if (!name.startsWith("__") && hasLayout(generated)) {
                GroupLayout layout = (GroupLayout) generated.getMethod("layout").invoke(null);
                types.add(new Type(cName(name, layout), layout));
            }
        }
        return types;
    }

    private static boolean hasLayout(Class<?> generated) {
        return Stream.of(generated.getMethods())
                .anyMatch(method -> method.getName().equals("layout"));
    }

    /** A typedef of an unnamed type has a layout of another name than the class. */
    private static String cName(String className, GroupLayout layout) {
        boolean tagged = className.equals(layout.name().orElse(""));
        String keyword = layout instanceof UnionLayout ? "union " : "struct ";
        return tagged ? keyword + className : className;
    }

    private static List<Member> members(Type type) {
        List<Member> found = new ArrayList<>();
        if (!OPAQUE.contains(type.cName())) {
            collect(type, "", 0, type.layout(), found);
        }
        return found;
    }

    private static void collect(Type type, String prefix, long base, GroupLayout group, List<Member> found) {
        long offset = base;
        for (MemoryLayout layout : group.memberLayouts()) {
            if (!(layout instanceof PaddingLayout)) {
                collectMember(type, prefix, offset, layout, found);
            }
            if (!(group instanceof UnionLayout)) {
                offset += layout.byteSize();
            }
        }
    }

    private static void collectMember(Type type, String prefix, long offset, MemoryLayout layout, List<Member> found) {
        String name = layout.name().orElseThrow();
        if (name.startsWith("$anon$")) {
            // C reaches what is in an unnamed struct or union as if it were one level up.
            collect(type, prefix, offset, (GroupLayout) layout, found);
            return;
        }
        String path = prefix + name;
        found.add(new Member(type, path, offset, layout.byteSize()));
        collectInside(type, path, offset, layout, found);
    }

    private static void collectInside(Type type, String path, long offset, MemoryLayout layout, List<Member> found) {
        switch (layout) {
            case GroupLayout group when !isOpaque(group) -> collect(type, path + ".", offset, group, found);
            case SequenceLayout array
            when array.elementCount() > 0 -> collectInside(type, path + "[0]", offset, array.elementLayout(), found);
            default -> {}
        }
    }

    private static boolean isOpaque(GroupLayout layout) {
        return Stream.of(pthread_mutex_t.layout(), pthread_cond_t.layout())
                .anyMatch(opaque -> opaque.withoutName().equals(layout.withoutName()));
    }

    /** A constant is a method without parameters and without the companions, as {@code x$descriptor}, of a function. */
    private static List<Constant> constants() throws Exception {
        Set<String> names = Arrays.stream(rdma_h.class.getDeclaredMethods())
                .map(Method::getName)
                .collect(Collectors.toSet());
        List<Constant> found = new ArrayList<>();
        for (Method method : rdma_h.class.getDeclaredMethods()) {
            String name = method.getName();
            boolean callable = Modifier.isPublic(method.getModifiers()) && method.getParameterCount() == 0;
            if (callable && !name.contains("$") && !names.contains(name + "$descriptor")) {
                found.add(new Constant(name, method.invoke(null)));
            }
        }
        return found;
    }

    // C's side

    private static final int FIRST_LINE = 4;

    /** Returns a program that prints the value of each expression. Expression n is in line {@code FIRST_LINE + n}. */
    private static String program(List<String> expressions) {
        StringBuilder program = new StringBuilder("""
                #include "rdma.h"
                #include <stdio.h>
                int main(void) {
                """);
        for (String expression : expressions) {
            program.append("    printf(\"%s = %lld\\n\", \"")
                    .append(expression)
                    .append("\", (long long) (")
                    .append(expression)
                    .append("));\n");
        }
        return program.append("}\n").toString();
    }

    private static Map<String, Long> values(String printed) {
        Map<String, Long> values = new HashMap<>();
        printed.lines().forEach(line -> {
            int equals = line.lastIndexOf(" = ");
            values.put(line.substring(0, equals), Long.parseLong(line.substring(equals + 3)));
        });
        return values;
    }

    /** The C compiler: {@code $CC} or the first of the usual names that there is. */
    private record Compiler(List<String> command) {
        static Compiler find() throws Exception {
            String cc = System.getenv().getOrDefault("CC", "");
            for (String candidate : List.of(cc, "cc", "gcc", "clang")) {
                Compiler compiler = new Compiler(Arrays.asList(candidate.strip().split("\\s+")));
                if (!candidate.isBlank() && compiler.exists()) {
                    return compiler;
                }
            }
            return unavailable("there is no C compiler: not $CC, cc, gcc or clang");
        }

        String name() {
            return String.join(" ", command);
        }

        private boolean exists() throws Exception {
            try {
                return execute(List.of(command.get(0), "--version")).succeeded();
            } catch (IOException notFound) {
                return false;
            }
        }

        void requireHeaders(Path directory) throws Exception {
            Path source = Files.writeString(directory.resolve("headers.c"), "#include \"rdma.h\"\n");
            Result result = compile(source, directory.resolve("headers.o"), "-c");
            if (!result.succeeded()) {
                unavailable(
                        "rdma-core's headers are missing (Debian: libibverbs-dev, librdmacm-dev):\n" + result.output());
            }
        }

        /** Returns the expressions that do not compile. */
        Set<String> unknown(Path directory, Set<String> expressions) throws Exception {
            List<String> all = List.copyOf(expressions);
            Path source = Files.writeString(directory.resolve("names.c"), program(all));
            Result compiled = compile(source, directory.resolve("names.o"), "-w", "-c", noLimit());
            return Pattern.compile("names\\.c:(\\d+):\\d+: error:")
                    .matcher(compiled.output())
                    .results()
                    .map(error -> all.get(Integer.parseInt(error.group(1)) - FIRST_LINE))
                    .collect(Collectors.toSet());
        }

        /** Returns the option by which the compiler reports all errors. */
        private String noLimit() throws Exception {
            return execute(List.of(command.get(0), "--version")).output().contains("clang")
                    ? "-ferror-limit=0"
                    : "-fmax-errors=0";
        }

        /** Fails when the program does not compile: the compiler's messages say why. */
        String run(Path directory, String program) throws Exception {
            Path source = Files.writeString(directory.resolve("layouts.c"), program);
            Path executable = directory.resolve("layouts");
            Result compiled = compile(source, executable, "-w");
            assertThat(compiled.succeeded())
                    .as("the bindings have names which the installed headers do not have:\n%s", compiled.output())
                    .isTrue();
            Result result = execute(List.of(executable.toString()));
            assertThat(result.succeeded()).as(result.output()).isTrue();
            return result.output();
        }

        private Result compile(Path source, Path target, String... options) throws Exception {
            List<String> line = new ArrayList<>(command);
            line.addAll(List.of(options));
            line.addAll(List.of("-I", BINDINGS.toString(), "-o", target.toString(), source.toString()));
            return execute(line);
        }

        private static Result execute(List<String> line) throws Exception {
            Process process = new ProcessBuilder(line).redirectErrorStream(true).start();
            String output = new String(process.getInputStream().readAllBytes());
            return new Result(process.waitFor() == 0, output);
        }
    }

    private record Result(boolean succeeded, String output) {}

    private static <T> T unavailable(String why) {
        boolean required = "true".equals(System.getenv("CI")) || "1".equals(System.getenv("VERBENA_REQUIRE_CC"));
        return required ? fail(why) : abort(why);
    }
}
