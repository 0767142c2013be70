package dev.verbena.internal.raw;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import java.io.IOException;
import java.lang.foreign.AddressLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Compares the literals of the generated bindings with the layouts, from which jextract computes offsets and sizes.
 * {@link LayoutTest} compares the layouts with C.
 */
class LiteralsTest {
    private static final Path SOURCES = Path.of(System.getProperty("basedir", ""))
            .resolve("bindings/java/dev/verbena/internal/raw")
            .toAbsolutePath();

    private static final String COMPARED = "compared members: ";

    /** A program for {@link ChildJvm}: compares the literals in a virtual machine with other options. */
    public static final class Comparison {
        private Comparison() {}

        public static void main(String[] args) throws Exception {
            Literals literals = new Literals(Path.of(args[0]));
            literals.differences.forEach(System.out::println);
            System.out.println(COMPARED + literals.members + ", mutex: " + pthread_mutex_t.sizeof());
        }
    }

    /** The literals of all generated classes, compared. */
    private static final class Literals {
        private final List<String> differences = new ArrayList<>();
        private int members;

        Literals(Path sources) throws Exception {
            for (Class<?> type : structs(sources)) {
                GroupLayout layout = (GroupLayout) type.getMethod("layout").invoke(null);
                compareSizes(type, layout);
                for (MemoryLayout member : layout.memberLayouts()) {
                    if (member.name().isPresent()) {
                        compareMembers(type, layout, member, List.of());
                    }
                }
            }
        }

        private void compareSizes(Class<?> type, GroupLayout layout) throws Exception {
            compare(type, "sizeof()", type.getMethod("sizeof").invoke(null), layout.byteSize());
            List<Long> asked = new ArrayList<>();
            SegmentAllocator recorder = (size, alignment) -> {
                asked.addAll(List.of(size, alignment));
                return Arena.ofAuto().allocate(size, alignment);
            };
            type.getMethod("allocate", SegmentAllocator.class).invoke(null, recorder);
            compare(type, "allocate()", asked, List.of(layout.byteSize(), layout.byteAlignment()));
            asked.clear();
            type.getMethod("allocateArray", long.class, SegmentAllocator.class).invoke(null, 3, recorder);
            compare(type, "allocateArray(3)", asked, List.of(3 * layout.byteSize(), layout.byteAlignment()));
        }

        /** Compares a member, or the members of one that has no name in C: those have methods in the same class. */
        private void compareMembers(Class<?> type, GroupLayout layout, MemoryLayout member, List<PathElement> outer)
                throws Exception {
            String name = member.name().orElseThrow();
            List<PathElement> path = new ArrayList<>(outer);
            path.add(PathElement.groupElement(name));
            if (name.startsWith("$anon$")) {
                for (MemoryLayout inner : ((GroupLayout) member).memberLayouts()) {
                    if (inner.name().isPresent()) {
                        compareMembers(type, layout, inner, path);
                    }
                }
                return;
            }
            members++;
            long offset = layout.byteOffset(path.toArray(PathElement[]::new));
            compare(type, name + "$offset()", type.getMethod(name + "$offset").invoke(null), offset);
            MemorySegment filled = Arena.ofAuto().allocate(layout);
            for (int i = 0; i < layout.byteSize(); i++) {
                filled.set(ValueLayout.JAVA_BYTE, i, (byte) (i + 1));
            }
            MemorySegment expected = filled.asSlice(offset, member.byteSize());
            Object value = type.getMethod(name, MemorySegment.class).invoke(null, filled);
            compare(type, name + "()", bytes(value, member), bytes(expected));
            MemorySegment target = Arena.ofAuto().allocate(layout);
            setter(type, name).invoke(null, target, value);
            MemorySegment onlyMember = Arena.ofAuto().allocate(layout);
            MemorySegment.copy(expected, 0, onlyMember, offset, member.byteSize());
            compare(type, name + "(value)", bytes(target), bytes(onlyMember));
        }

        private void compare(Class<?> type, String what, Object actual, Object expected) {
            if (!actual.equals(expected)) {
                differences.add(type.getSimpleName() + "." + what + " is " + actual + ", by the layout " + expected);
            }
        }

        private static Method setter(Class<?> type, String name) {
            return Stream.of(type.getMethods())
                    .filter(method -> method.getName().equals(name) && method.getParameterCount() == 2)
                    .filter(method -> method.getReturnType() == void.class)
                    .findFirst()
                    .orElseThrow();
        }

        private static List<Byte> bytes(MemorySegment memory) {
            List<Byte> bytes = new ArrayList<>();
            for (byte one : memory.toArray(ValueLayout.JAVA_BYTE)) {
                bytes.add(one);
            }
            return bytes;
        }

        /** Returns the bytes of what a getter returned: a number, a pointer, or a part of the struct. */
        private static List<Byte> bytes(Object value, MemoryLayout member) {
            if (!(member instanceof ValueLayout)) {
                return bytes((MemorySegment) value);
            }
            MemorySegment memory = Arena.ofAuto().allocate(member);
            switch (value) {
                case Byte number -> memory.set(ValueLayout.JAVA_BYTE, 0, number);
                case Short number -> memory.set(ValueLayout.JAVA_SHORT, 0, number);
                case Integer number -> memory.set(ValueLayout.JAVA_INT, 0, number);
                case Long number -> memory.set(ValueLayout.JAVA_LONG, 0, number);
                case MemorySegment pointer
                when member instanceof AddressLayout -> memory.set(ValueLayout.ADDRESS, 0, pointer);
                default -> throw new AssertionError(member + " has a getter of " + value.getClass());
            }
            return bytes(memory);
        }

        private static List<Class<?>> structs(Path sources) throws IOException, ClassNotFoundException {
            List<Class<?>> found = new ArrayList<>();
            try (Stream<Path> files = Files.list(sources)) {
                for (Path file : files.sorted().toList()) {
                    String name = file.getFileName().toString().replaceFirst("\\.java$", "");
                    addStructs(Class.forName(LiteralsTest.class.getPackageName() + "." + name), found);
                }
            }
            return found;
        }

        private static void addStructs(Class<?> type, List<Class<?>> found) {
            boolean hasLayout = Stream.of(type.getMethods())
                    .anyMatch(method -> method.getName().equals("layout"));
            if (hasLayout) {
                found.add(type);
            }
            for (Class<?> inner : type.getDeclaredClasses()) {
                addStructs(inner, found);
            }
        }
    }

    @Test
    void literalsAreThoseOfTheLayouts() throws Exception {
        Literals literals = new Literals(SOURCES);
        assertThat(literals.differences).isEmpty();
        assertThat(literals.members).isGreaterThan(700);
    }

    /** A mutex of glibc is longer on AArch64, which moves the members behind it. */
    @ParameterizedTest
    @CsvSource({"amd64, 40", "aarch64, 48"})
    void literalsAreThoseOfTheLayoutsOnBothProcessors(String processor, String mutex) {
        List<String> output = ChildJvm.with("--enable-native-access=ALL-UNNAMED", "-Dos.arch=" + processor)
                .runOnClassPath(Comparison.class, SOURCES.toString())
                .successfulOutput()
                .lines()
                .toList();
        assertThat(output).singleElement().asString().startsWith(COMPARED).endsWith(" " + mutex);
    }

    /** A struct with a class initializer takes a program's first call longer; only the long mutex needs one. */
    @Test
    void structsComputeNothingWhenTheyAreLoaded() throws Exception {
        List<String> computing = new ArrayList<>();
        try (Stream<Path> files = Files.list(SOURCES)) {
            for (Path file : files.sorted().toList()) {
                String name = file.getFileName().toString();
                if (!name.startsWith("rdma_h")) {
                    Files.readAllLines(file).stream()
                            .filter(line -> line.matches("    (private )?static .*\\$(OFFSET|LAYOUT|DIMS) = .*"))
                            .filter(line -> !line.matches(".* = \\d+( \\+ pthread_mutex_t\\.MORE)?;"))
                            .map(line -> name + ": " + line.strip())
                            .forEach(computing::add);
                }
            }
        }
        assertThat(computing).isEmpty();
        assertThat(Arrays.asList(ibv_device.class.getDeclaredFields()))
                .allMatch(field -> field.getType() == long.class);
    }
}
