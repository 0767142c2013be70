package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Api;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.lang.reflect.WildcardType;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
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

    /** Returns whether a member of a final class overrides one that users cannot call, which says that it is protected. */
    private static boolean isOverridden(Member member) {
        return Modifier.isFinal(member.getDeclaringClass().getModifiers())
                && Stream.<Class<?>>iterate(
                                member.getDeclaringClass().getSuperclass(), Objects::nonNull, Class::getSuperclass)
                        .filter(base -> base.getPackageName().startsWith("java.") || isOfANonExportedPackage(base))
                        .flatMap(base -> Stream.of(base.getDeclaredMethods()))
                        .anyMatch(method -> method.getName().equals(member.getName()));
    }

    @Test
    void exportedClassesHaveNoProtectedMembers() {
        List<Member> members = Api.classes().stream()
                .flatMap(PublicFaceTest::protectedMembers)
                .filter(member -> member.getDeclaringClass() != VerbsObject.class)
                .filter(member -> !isOverridden(member))
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

    /** Returns the types that a caller of the public members of a class needs to know. */
    private static Stream<Type> shownTypes(Class<?> type) {
        return Stream.of(type.getConstructors(), type.getMethods(), type.getFields())
                .flatMap(Arrays::stream)
                .map(Member.class::cast)
                .filter(member -> member.getDeclaringClass() == type && !member.isSynthetic())
                .flatMap(PublicFaceTest::shownTypes);
    }

    private static Stream<Type> shownTypes(Member member) {
        if (member instanceof Field field) {
            return Stream.of(field.getGenericType());
        }
        Executable executable = (Executable) member;
        return Stream.of(
                        Stream.<Type>of(
                                executable instanceof Method method ? method.getGenericReturnType() : void.class),
                        Arrays.stream(executable.getGenericParameterTypes()),
                        Arrays.stream(executable.getGenericExceptionTypes()),
                        Arrays.stream(executable.getTypeParameters())
                                .map(TypeVariable::getBounds)
                                .flatMap(Arrays::stream))
                .flatMap(types -> types);
    }

    private static Stream<Class<?>> classesIn(Type type) {
        return switch (type) {
            case Class<?> c when c.isArray() -> classesIn(c.getComponentType());
            case Class<?> c -> Stream.of(c);
            case ParameterizedType p ->
                Stream.concat(
                        classesIn(p.getRawType()),
                        Arrays.stream(p.getActualTypeArguments()).flatMap(PublicFaceTest::classesIn));
            case GenericArrayType a -> classesIn(a.getGenericComponentType());
            case WildcardType w ->
                Stream.concat(Arrays.stream(w.getUpperBounds()), Arrays.stream(w.getLowerBounds()))
                        .flatMap(PublicFaceTest::classesIn);
            default -> Stream.of(); // a type variable: its bounds are among the shown types
        };
    }

    private static boolean canBeNamedByUsers(Class<?> type) {
        String name = type.getPackageName();
        return name.equals("java.lang")
                || name.startsWith("java.")
                        && ModuleLayer.boot()
                                .findModule("java.base")
                                .orElseThrow()
                                .isExported(name)
                || name.startsWith("dev.verbena")
                        && !isOfANonExportedPackage(type)
                        && Modifier.isPublic(type.getModifiers());
    }

    /** javac's lint 'exports' checks the same, but would demand that users have the annotations' module. */
    @Test
    void exportedClassesShowOnlyTypesThatUsersCanName() {
        List<String> hidden = Api.classes().stream()
                .flatMap(type -> shownTypes(type)
                        .flatMap(PublicFaceTest::classesIn)
                        .filter(shown -> !shown.isPrimitive() && !canBeNamedByUsers(shown))
                        .map(shown -> type.getName() + " shows " + shown.getName()))
                .distinct()
                .toList();
        assertThat(hidden).isEmpty();
    }
}
