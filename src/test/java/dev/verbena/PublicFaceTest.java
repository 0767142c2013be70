package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Api;
import java.lang.reflect.Constructor;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Checks that the exported classes show users what users need, and nothing of their mechanics. */
class PublicFaceTest {
    private static boolean isOfANonExportedPackage(Class<?> type) {
        String name = type.getPackageName();
        return name.startsWith("dev.verbena.internal") || name.startsWith("dev.verbena.") && name.endsWith(".access");
    }

    private static Stream<Member> protectedMembers(Class<?> type) {
        return Stream.of(type.getDeclaredConstructors(), type.getDeclaredMethods(), type.getDeclaredFields())
                .flatMap(Arrays::stream)
                .map(Member.class::cast)
                .filter(member -> Modifier.isProtected(member.getModifiers()));
    }

    @Test
    void exportedClassesHaveNoProtectedMembers() {
        List<Member> members = Api.classes().stream()
                .flatMap(PublicFaceTest::protectedMembers)
                .filter(member -> member.getDeclaringClass() != VerbsObject.class)
                .toList();
        assertThat(members).isEmpty();
    }

    @Test
    void verbsObjectsShowCloseIsOpenAndArena() {
        assertThat(Arrays.stream(VerbsObject.class.getDeclaredMethods())
                        .filter(method -> !Modifier.isPrivate(method.getModifiers()) && !method.isSynthetic())
                        .map(Method::getName))
                .containsExactlyInAnyOrder("close", "isOpen", "arena");
    }

    @Test
    void verbsObjectsCannotBeMadeByUsers() {
        for (Constructor<?> constructor : VerbsObject.class.getDeclaredConstructors()) {
            assertThat(constructor.getParameterTypes()).anyMatch(PublicFaceTest::isOfANonExportedPackage);
        }
    }
}
