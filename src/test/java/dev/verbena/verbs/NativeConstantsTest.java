package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.support.ChildJvm;
import dev.verbena.verbs.device.DeviceCapability;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Every enum constant has the number of the C constant that its Javadoc names. The enums are found, so none is forgotten. */
class NativeConstantsTest {
    private static final int NO_NUMBER_OF_C = 0x7654321;
    private static final Path SOURCES = Path.of("src/main/java");

    /** A constant in the source: its Javadoc, its name and its first argument. */
    private static final Pattern CONSTANT = Pattern.compile(
            "/\\*\\*((?:(?!\\*/).)*)\\*/\\s*([A-Z][A-Z0-9_]*)\\(\\s*(?:rdma_h\\.)?(-?\\w+)", Pattern.DOTALL);

    private static final Pattern C_NAME = Pattern.compile("\\b(?:IBV|RDMA|RAI|AF)_[A-Z0-9_a-z]+");

    /** Constants of headers that are no part of the bindings. */
    private static final Map<String, Long> ELSEWHERE = Map.ofEntries(
            Map.entry("AF_UNSPEC", 0L),
            Map.entry("AF_INET", 2L),
            Map.entry("AF_INET6", 10L),
            Map.entry("AF_IB", 27L),
            Map.entry("IB_UVERBS_DEVICE_FLUSH_GLOBAL", 1L << 38),
            Map.entry("IB_UVERBS_DEVICE_FLUSH_PERSISTENT", 1L << 39),
            Map.entry("IB_UVERBS_DEVICE_ATOMIC_WRITE", 1L << 40));

    /** Finds the enums that keep a number of C for each constant, in a field of a name. */
    private static List<Class<?>> enumsWith(String field) throws IOException {
        Path classes = ChildJvm.place(EnumCodec.class);
        Path raw = classes.resolve("dev/verbena/internal/raw");
        try (Stream<Path> files = Files.walk(classes.resolve("dev/verbena"))) {
            return files.filter(file -> !file.startsWith(raw) && file.toString().endsWith(".class"))
                    .map(file -> classes.relativize(file)
                            .toString()
                            .replace(".class", "")
                            .replace('/', '.'))
                    .filter(name -> name.startsWith("dev.verbena.verbs") || name.startsWith("dev.verbena.cm"))
                    .filter(name -> !name.endsWith("-info"))
                    .sorted()
                    .<Class<?>>map(NativeConstantsTest::load)
                    .filter(type -> type.isEnum() && hasNumber(type, field))
                    .toList();
        }
    }

    private static Class<?> load(String name) {
        try {
            return Class.forName(name, false, NativeConstantsTest.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new AssertionError(e);
        }
    }

    private static boolean hasNumber(Class<?> type, String field) {
        return Stream.of(type.getDeclaredFields())
                .anyMatch(each -> each.getName().equals(field) && each.getType() == int.class);
    }

    private static int number(Object constant) {
        Class<?> type = ((Enum<?>) constant).getDeclaringClass();
        try {
            Field field = type.getDeclaredField(hasNumber(type, "bit") ? "bit" : "code");
            field.setAccessible(true);
            return field.getInt(constant);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static List<Class<?>> values() throws IOException {
        return enumsWith("code");
    }

    /** Those that C answers too: only they can have unknown numbers. */
    static List<Class<?>> answers() throws IOException {
        return values().stream()
                .filter(type -> Stream.of(type.getDeclaredMethods())
                        .anyMatch(method -> method.getName().equals("of")))
                .toList();
    }

    static List<Class<?>> flags() throws IOException {
        return enumsWith("bit");
    }

    static List<Class<?>> all() throws IOException {
        List<Class<?>> all = new ArrayList<>(values());
        all.addAll(flags());
        return all;
    }

    /** The generated constant of a C name. */
    private static long constant(String cName) {
        try {
            Method constant = rdma_h.class.getMethod(cName);
            return ((Number) constant.invoke(null)).longValue();
        } catch (NoSuchMethodException e) {
            if (ELSEWHERE.containsKey(cName)) {
                return ELSEWHERE.get(cName);
            }
            if (cName.startsWith("IBV_")) { // a macro for a constant of the kernel's header
                return constant("IB_UVERBS_" + cName.substring("IBV_".length()));
            }
            throw new AssertionError("the bindings have no constant " + cName, e);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(cName, e);
        }
    }

    /** The Javadoc names one constant of C, or the constructor's arguments do, and its number is the one of the constant. */
    @ParameterizedTest
    @MethodSource("all")
    void constantsHaveTheNumberOfTheirNameInC(Class<?> type) throws IOException {
        int found = 0;
        Matcher constants = CONSTANT.matcher(constantsInSource(type));
        while (constants.find()) {
            String name = constants.group(2);
            if (name.equals("UNKNOWN") || name.equals("RECEIVE") && type == Operation.class) {
                found++;
                continue;
            }
            Object constant = constantOf(type, name);
            List<String> names = C_NAME.matcher(
                            type == dev.verbena.cm.CmEvent.Type.class
                                    ? ((dev.verbena.cm.CmEvent.Type) constant).cName()
                                    : constants.group(1))
                    .results()
                    .map(match -> match.group())
                    .distinct()
                    .toList();
            assertThat(names).as("C names of %s.%s", type.getSimpleName(), name).isNotEmpty();
            assertThat(number(constant))
                    .as("%s.%s is %s", type.getSimpleName(), name, names)
                    .isEqualTo((int) constant(names.getFirst()));
            if (constants.group(3).contains("_")) { // named by the source too
                assertThat(constants.group(3).replace("IB_UVERBS_", "IBV_")).isEqualTo(names.getFirst());
            }
            found++;
        }
        assertThat(found).isEqualTo(type.getEnumConstants().length);
    }

    /** Returns the lines of an enum's constants, up to the semicolon that ends them. */
    private static String constantsInSource(Class<?> type) throws IOException {
        String file = type.getNestHost().getName().replace('.', '/') + ".java";
        String source = Files.readString(SOURCES.resolve(file));
        int from = source.indexOf("enum " + type.getSimpleName() + " {");
        return source.substring(from, source.indexOf(";\n", from));
    }

    private static Object constantOf(Class<?> type, String name) {
        return Stream.of(type.getEnumConstants())
                .filter(each -> ((Enum<?>) each).name().equals(name))
                .findAny()
                .orElseThrow();
    }

    @ParameterizedTest
    @MethodSource("all")
    void constantsOfAnEnumHaveDifferentNumbers(Class<?> type) {
        assertThat(type.getEnumConstants())
                .extracting(NativeConstantsTest::number)
                .doesNotHaveDuplicates();
    }

    @ParameterizedTest
    @MethodSource("flags")
    void flagsAreOneBit(Class<?> type) {
        for (Object flag : type.getEnumConstants()) {
            assertThat(Integer.bitCount(number(flag))).as(flag + " is one bit").isOne();
        }
    }

    /** The capabilities of a device are a mask of 64 bits. */
    @ParameterizedTest
    @EnumSource
    void capabilityHasTheBitOfC(DeviceCapability capability) {
        assertThat(capability.cName()).startsWith("IB").contains("_DEVICE_");
        assertThat(capability.bit()).isEqualTo(constant(capability.cName()));
        assertThat(DeviceCapability.of(capability.bit())).containsExactly(capability);
        assertThat(DeviceCapability.of(~capability.bit()))
                .hasSize(DeviceCapability.values().length - 1)
                .doesNotContain(capability);
    }

    private static Object find(Class<?> type, int code) throws ReflectiveOperationException {
        Method of = type.getDeclaredMethod("of", int.class);
        of.setAccessible(true);
        return of.invoke(null, code);
    }

    @ParameterizedTest
    @MethodSource("answers")
    void lookupReturnsTheConstantOfANumber(Class<?> type) throws ReflectiveOperationException {
        for (Object constant : type.getEnumConstants()) {
            assertThat(find(type, number(constant))).isEqualTo(constant);
        }
    }

    @ParameterizedTest
    @MethodSource("answers")
    void lookupReturnsUnknownForOtherNumbers(Class<?> type) throws ReflectiveOperationException {
        assertThat(find(type, NO_NUMBER_OF_C)).hasToString("UNKNOWN");
        assertThat(find(type, Integer.MIN_VALUE)).hasToString("UNKNOWN");
    }

    @Test
    void flagSetOmitsUnknownBits() {
        assertThat(EnumCodec.flags(AccessFlag.class, flag -> flag.bit, 0)).isEmpty();
        assertThat(EnumCodec.flags(AccessFlag.class, flag -> flag.bit, -1)).containsExactly(AccessFlag.values());
        assertThat(EnumCodec.flags(AccessFlag.class, flag -> flag.bit, 5 | 1 << 19))
                .containsExactly(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
        assertThat(AccessFlag.bits(List.of(AccessFlag.RELAXED_ORDERING, AccessFlag.LOCAL_WRITE)))
                .isEqualTo(1 << 20 | 1);
    }

    @Test
    void comparisonCoversManyConstants() throws IOException {
        int constants =
                all().stream().mapToInt(type -> type.getEnumConstants().length).sum();
        System.out.println("compared " + constants + " constants of " + all().size() + " enums with the bindings");
        assertThat(all()).contains(QueuePairState.class, WorkStatus.class, AccessFlag.class);
        assertThat(constants).isGreaterThanOrEqualTo(140);
    }
}
