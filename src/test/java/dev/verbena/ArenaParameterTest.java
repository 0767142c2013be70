package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Api;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Factories take the arena last, and have an overload that takes the arena of the object that makes. */
class ArenaParameterTest {
    /** A class that breaks both rules. */
    public abstract static class Sample extends VerbsObject {
        private Sample() {
            super(null);
        }

        /** Takes the arena first, and has no overload without it. */
        public abstract void make(VerbsArena arena, int size);
    }

    private static Stream<Method> factories(Class<?> type) {
        return Stream.of(type.getDeclaredMethods())
                .filter(method -> Modifier.isPublic(method.getModifiers()) && !method.isSynthetic())
                .filter(method -> Arrays.asList(method.getParameterTypes()).contains(VerbsArena.class));
    }

    private static boolean hasArenaLast(Executable factory) {
        Class<?>[] parameters = factory.getParameterTypes();
        return Arrays.asList(parameters).indexOf(VerbsArena.class) == parameters.length - 1;
    }

    /** Returns true if a method of the same name takes the same without an arena, perhaps as varargs of the last. */
    private static boolean hasOverload(Method factory) {
        List<Class<?>> parameters = new ArrayList<>(List.of(factory.getParameterTypes()));
        parameters.remove(VerbsArena.class);
        return Stream.of(factory.getDeclaringClass().getMethods())
                .filter(method -> method.getName().equals(factory.getName()))
                .anyMatch(method -> takes(method, parameters));
    }

    private static boolean takes(Method method, List<Class<?>> wanted) {
        List<Class<?>> parameters = List.of(method.getParameterTypes());
        if (parameters.equals(wanted)) {
            return true;
        }
        int last = wanted.size() - 1;
        return method.isVarArgs()
                && parameters.size() == wanted.size()
                && wanted.get(last) == Collection.class
                && parameters.subList(0, last).equals(wanted.subList(0, last));
    }

    private static boolean needsOverload(Method factory) {
        return VerbsObject.class.isAssignableFrom(factory.getDeclaringClass())
                && !Modifier.isStatic(factory.getModifiers());
    }

    @Test
    void everyFactoryTakesTheArenaLast() {
        assertThat(Api.classes().stream().flatMap(ArenaParameterTest::factories))
                .hasSizeGreaterThan(30)
                .allMatch(ArenaParameterTest::hasArenaLast);
    }

    @Test
    void everyFactoryOfAnObjectHasAnOverloadWithoutArena() {
        assertThat(Api.classes().stream()
                        .flatMap(ArenaParameterTest::factories)
                        .filter(ArenaParameterTest::needsOverload)
                        .filter(factory -> !hasOverload(factory)))
                .isEmpty();
    }

    @Test
    void breachesAreSeen() {
        Method breach = factories(Sample.class).findFirst().orElseThrow();
        assertThat(hasArenaLast(breach)).isFalse();
        assertThat(needsOverload(breach)).isTrue();
        assertThat(hasOverload(breach)).isFalse();
    }
}
