package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.cm.AddressInfo;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.sockets.RdmaSocketOptions;
import dev.verbena.support.Api;
import dev.verbena.verbs.DmaHints;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.RateLimit;
import dev.verbena.verbs.RegionChange;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.flow.FlowRule;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Options follow one idiom: immutable final classes, changed copies, readers of the same name. */
class OptionsIdiomTest {
    private static final int MAX_COMPONENTS = 6;

    /** A class that breaks all rules of options. */
    public static class SampleOptions {
        /** Can be written to. */
        public int depth;

        /** Changes this object. */
        public SampleOptions depth(int value) {
            depth = value;
            return this;
        }
    }

    /** A record that is too long. */
    public record Sample(int a, int b, int c, int d, int e, int f, int g) {}

    static List<Class<?>> options() {
        List<Class<?>> options = new ArrayList<>(List.of(
                AddressInfo.class,
                AddressVector.class,
                ConnectionParameters.class,
                DmaHints.class,
                FlowRule.class,
                QueueCapabilities.class,
                QueuePairAttributes.class,
                RateLimit.class,
                RegionChange.class));
        Api.classes().stream()
                .filter(type -> type.getSimpleName().endsWith("Options"))
                .filter(type -> type != RdmaSocketOptions.class) // constants of the JDK's own idiom
                .forEach(options::add);
        return options;
    }

    private static List<String> breaches(Class<?> type) {
        List<String> breaches = new ArrayList<>();
        if (!Modifier.isFinal(type.getModifiers()) || type.isRecord()) {
            breaches.add("is not a final class");
        }
        if (type.getConstructors().length > 0) {
            breaches.add("has a public constructor");
        }
        Stream.of(type.getDeclaredFields())
                .filter(field -> !Modifier.isFinal(field.getModifiers()))
                .forEach(field -> breaches.add("can write " + field.getName()));
        for (String name : List.of("equals", "hashCode", "toString")) {
            if (Stream.of(type.getDeclaredMethods())
                    .noneMatch(method -> method.getName().equals(name))) {
                breaches.add("inherits " + name);
            }
        }
        Stream.of(type.getDeclaredMethods())
                .filter(method -> changes(type, method) && !hasReader(type, method.getName()))
                .forEach(method -> breaches.add("does not read " + method.getName()));
        return breaches;
    }

    private static boolean changes(Class<?> type, Method method) {
        return Modifier.isPublic(method.getModifiers())
                && !Modifier.isStatic(method.getModifiers())
                && method.getParameterCount() == 1
                && method.getReturnType() == type;
    }

    private static boolean hasReader(Class<?> type, String name) {
        return Stream.of(type.getMethods())
                .anyMatch(method -> method.getName().equals(name)
                        && method.getParameterCount() == 0
                        && method.getReturnType() != type);
    }

    private static boolean isLongRecord(Class<?> type) {
        return type.isRecord() && type.getRecordComponents().length > MAX_COMPONENTS;
    }

    @ParameterizedTest
    @MethodSource("options")
    void optionsFollowTheIdiom(Class<?> type) {
        assertThat(breaches(type)).isEmpty();
    }

    @Test
    void allClassesNamedOptionsAreFound() {
        assertThat(options()).hasSizeGreaterThanOrEqualTo(14);
    }

    @Test
    void noPublicRecordIsLong() {
        assertThat(Api.classes()).noneMatch(OptionsIdiomTest::isLongRecord);
    }

    @Test
    void breachesAreSeen() {
        assertThat(breaches(SampleOptions.class))
                .contains("is not a final class", "has a public constructor", "can write depth", "inherits equals")
                .contains("does not read depth");
        assertThat(isLongRecord(Sample.class)).isTrue();
    }
}
