package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.NativeFlag;
import dev.verbena.NativeValue;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.support.ChildJvm;
import dev.verbena.verbs.device.DeviceCapability;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Every enum constant has the number of the C constant that it names. The enums are found, so none is forgotten. */
class NativeConstantsTest {
    private static final int NO_NUMBER_OF_C = 0x7654321;

    /** Constants of headers that are no part of the bindings. */
    private static final Map<String, Long> ELSEWHERE = Map.ofEntries(
            Map.entry("AF_UNSPEC", 0L),
            Map.entry("AF_INET", 2L),
            Map.entry("AF_INET6", 10L),
            Map.entry("AF_IB", 27L),
            Map.entry("IB_UVERBS_DEVICE_FLUSH_GLOBAL", 1L << 38),
            Map.entry("IB_UVERBS_DEVICE_FLUSH_PERSISTENT", 1L << 39),
            Map.entry("IB_UVERBS_DEVICE_ATOMIC_WRITE", 1L << 40));

    private static List<Class<?>> enumsOf(Class<?> kind) throws IOException {
        Path classes = ChildJvm.place(NativeValue.class);
        Path raw = classes.resolve("dev/verbena/internal/raw");
        try (Stream<Path> files = Files.walk(classes.resolve("dev/verbena"))) {
            return files.filter(file -> !file.startsWith(raw) && file.toString().endsWith(".class"))
                    .map(file -> classes.relativize(file)
                            .toString()
                            .replace(".class", "")
                            .replace('/', '.'))
                    .filter(name -> !name.endsWith("-info"))
                    .sorted()
                    .<Class<?>>map(NativeConstantsTest::load)
                    .filter(type -> type.isEnum() && kind.isAssignableFrom(type))
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

    static List<Class<?>> values() throws IOException {
        return enumsOf(NativeValue.class);
    }

    /** Those that C answers too: only they can have unknown numbers. */
    static List<Class<?>> answers() throws IOException {
        return values().stream()
                .filter(type -> Stream.of(type.getMethods())
                        .anyMatch(method -> method.getName().equals("of")))
                .toList();
    }

    static List<Class<?>> flags() throws IOException {
        return enumsOf(NativeFlag.class);
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

    @ParameterizedTest
    @MethodSource("values")
    void constantsHaveTheNumberOfC(Class<?> type) {
        for (Object constant : type.getEnumConstants()) {
            NativeValue value = (NativeValue) constant;
            if (!value.cName().isEmpty()) {
                assertThat((long) value.code())
                        .as(value + " is " + value.cName())
                        .isEqualTo((int) constant(value.cName()));
            }
        }
    }

    /** All stand for a constant of C, but unknown numbers, and receives among the operations, which have no opcode. */
    @ParameterizedTest
    @MethodSource("values")
    void constantsHaveTheirNameInC(Class<?> type) {
        for (Object constant : type.getEnumConstants()) {
            String name = ((NativeValue) constant).cName();
            if (constant == Operation.RECEIVE) {
                assertThat(name).isEmpty();
            } else if (!constant.toString().equals("UNKNOWN")) {
                assertThat(name).as("%s of %s", constant, type).isNotEmpty();
            }
        }
    }

    @ParameterizedTest
    @MethodSource("flags")
    void flagsHaveTheBitOfC(Class<?> type) {
        for (Object constant : type.getEnumConstants()) {
            NativeFlag flag = (NativeFlag) constant;
            assertThat((long) flag.bit()).as(flag + " is " + flag.cName()).isEqualTo((int) constant(flag.cName()));
            assertThat(Integer.bitCount(flag.bit())).as(flag + " is one bit").isOne();
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

    @ParameterizedTest
    @MethodSource("answers")
    void lookupReturnsTheConstantOfANumber(Class<?> type) throws ReflectiveOperationException {
        Method of = type.getMethod("of", int.class);
        for (Object constant : type.getEnumConstants()) {
            assertThat(of.invoke(null, ((NativeValue) constant).code())).isEqualTo(constant);
        }
    }

    @ParameterizedTest
    @MethodSource("answers")
    void lookupReturnsUnknownForOtherNumbers(Class<?> type) throws ReflectiveOperationException {
        Method of = type.getMethod("of", int.class);
        assertThat(of.invoke(null, NO_NUMBER_OF_C)).hasToString("UNKNOWN");
        assertThat(of.invoke(null, Integer.MIN_VALUE)).hasToString("UNKNOWN");
    }

    @ParameterizedTest
    @MethodSource("flags")
    void flagSetOmitsUnknownBits(Class<?> type) {
        assertThat(decode(type, 0)).isEmpty();
        assertThat(decode(type, -1)).hasSize(type.getEnumConstants().length);
    }

    @SuppressWarnings("unchecked")
    private static <E extends Enum<E> & NativeFlag> java.util.Set<E> decode(Class<?> type, int bits) {
        return NativeFlag.of((Class<E>) type, bits);
    }

    @Test
    void comparisonCoversManyConstants() throws IOException {
        List<Class<?>> all = new ArrayList<>(values());
        all.addAll(flags());
        int constants =
                all.stream().mapToInt(type -> type.getEnumConstants().length).sum();
        System.out.println("compared " + constants + " constants of " + all.size() + " enums with the bindings");
        assertThat(all).contains(QueuePairState.class, WorkStatus.class, AccessFlag.class);
        assertThat(constants).isGreaterThanOrEqualTo(140);
    }
}
