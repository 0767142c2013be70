package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.cm.AddressInfo;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.internal.Options;
import dev.verbena.sockets.RdmaSocketOptions;
import dev.verbena.support.Api;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.address.AddressVector;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Options follow one idiom: immutable final classes, a row of values, changed copies, and no reader that users don't need. */
class OptionsIdiomTest {
    private static final int MAX_COMPONENTS = 6;

    /** Classes whose values also come from a device or a peer: users read them. */
    private static final Set<Class<?>> READ_BY_USERS = Set.of(
            AddressInfo.class,
            AddressVector.class,
            ConnectionParameters.class,
            QueueCapabilities.class,
            QueuePairAttributes.class);

    /** A class that breaks all rules of options. */
    public static class SampleOptions {
        /** Can be written to. */
        public int depth;

        /** A twin of the options. */
        static final class Values implements Cloneable {}

        /** Has too many arguments. */
        public SampleOptions(int a, int b, int c, int d, int e, int f, int g) {
            depth = a + b + c + d + e + f + g;
        }

        /** Changes this object. */
        public SampleOptions depth(int value) {
            depth = value;
            return this;
        }

        /** Reads what users set. */
        public int depth() {
            return depth;
        }
    }

    /** A record that is too long. */
    public record Sample(int a, int b, int c, int d, int e, int f, int g) {}

    static List<Class<?>> options() {
        List<Class<?>> options = new ArrayList<>(List.of(QueuePairAttributes.class)); // over a struct
        Api.classes().stream()
                .filter(type -> Options.class.isAssignableFrom(type)
                        || type.getSimpleName().endsWith("Options")
                                && type != RdmaSocketOptions.class) // constants of the JDK's own idiom
                .forEach(options::add);
        return options;
    }

    private static List<String> breaches(Class<?> type) {
        List<String> breaches = new ArrayList<>();
        if (!Modifier.isFinal(type.getModifiers()) || type.isRecord()) {
            breaches.add("is not a final class");
        }
        if (!Options.class.isAssignableFrom(type) && type != QueuePairAttributes.class) {
            breaches.add("does not extend Options");
        }
        if (type.getConstructors().length > 0) {
            breaches.add("has a public constructor");
        }
        if (Stream.of(type.getDeclaredConstructors())
                .anyMatch(constructor -> constructor.getParameterCount() > MAX_COMPONENTS)) {
            breaches.add("has a long constructor");
        }
        Stream.of(type.getDeclaredFields())
                .filter(field -> Modifier.isStatic(field.getModifiers())
                        ? !Modifier.isFinal(field.getModifiers())
                        : !Modifier.isPrivate(field.getModifiers()))
                .forEach(field -> breaches.add("others can write " + field.getName()));
        if (type != QueuePairAttributes.class) {
            Stream.of(type.getDeclaredFields())
                    .filter(field -> !Modifier.isStatic(field.getModifiers()))
                    .forEach(field -> breaches.add("has beside its row " + field.getName()));
        }
        Stream.of(type.getDeclaredClasses())
                .filter(Cloneable.class::isAssignableFrom)
                .forEach(twin -> breaches.add("has a twin " + twin.getSimpleName()));
        Stream.of(type.getDeclaredMethods())
                .filter(method -> changes(type, method) && isRead(type, method.getName()) != isReadByUsers(type))
                .forEach(method -> breaches.add(
                        (isReadByUsers(type) ? "does not read " : "reads what users set: ") + method.getName()));
        return breaches;
    }

    private static boolean isReadByUsers(Class<?> type) {
        return READ_BY_USERS.contains(type);
    }

    private static boolean changes(Class<?> type, Method method) {
        return Modifier.isPublic(method.getModifiers())
                && !Modifier.isStatic(method.getModifiers())
                && method.getParameterCount() == 1
                && method.getReturnType() == type;
    }

    private static boolean isRead(Class<?> type, String name) {
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
    void allOptionsAreFound() {
        assertThat(options()).hasSizeGreaterThanOrEqualTo(17);
    }

    @Test
    void noPublicRecordIsLong() {
        assertThat(Api.classes()).noneMatch(OptionsIdiomTest::isLongRecord);
    }

    @Test
    void breachesAreSeen() {
        assertThat(breaches(SampleOptions.class))
                .contains("is not a final class", "does not extend Options", "has a public constructor")
                .contains("has a long constructor", "others can write depth", "has a twin Values")
                .contains("has beside its row depth")
                .contains("reads what users set: depth");
        assertThat(isLongRecord(Sample.class)).isTrue();
    }
}
