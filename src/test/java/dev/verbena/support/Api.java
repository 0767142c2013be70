package dev.verbena.support;

import dev.verbena.Rdma;
import dev.verbena.VerbsObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The current public classes and methods of the library, for rules that also hold for new ones. */
public final class Api {
    private Api() {}

    /** Returns all public classes of the exported packages. */
    public static List<Class<?>> classes() {
        Path place = ChildJvm.place(Rdma.class);
        if (Files.isDirectory(place)) {
            return classesIn(place);
        }
        try (FileSystem archive = FileSystems.newFileSystem(place)) {
            return classesIn(archive.getPath("/"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<Class<?>> classesIn(Path root) {
        try (Stream<Path> files = Files.walk(root.resolve("dev/verbena"))) {
            return files.map(file -> root.relativize(file).toString())
                    .filter(name -> name.endsWith(".class")
                            && !name.startsWith("dev/verbena/internal/")
                            && !name.contains("/access/")
                            && !name.endsWith("package-info.class"))
                    .<Class<?>>map(name -> load(
                            name.substring(0, name.length() - ".class".length()).replace('/', '.')))
                    .filter(type -> Modifier.isPublic(type.getModifiers()))
                    .sorted((a, b) -> a.getName().compareTo(b.getName()))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Class<?> load(String name) {
        try {
            return Class.forName(name, false, Rdma.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new AssertionError(e);
        }
    }

    /** Returns the classes of verbs objects. */
    public static List<Class<?>> objects() {
        return classes().stream()
                .filter(type -> VerbsObject.class.isAssignableFrom(type) && !Modifier.isAbstract(type.getModifiers()))
                .toList();
    }

    /** Returns classes that belong to a verbs object: batches, cursors, slices, options. */
    public static List<Class<?>> classesWithAnObject() {
        return classes().stream()
                .filter(type -> !VerbsObject.class.isAssignableFrom(type) && !Throwable.class.isAssignableFrom(type))
                .filter(type -> !Modifier.isAbstract(type.getModifiers()) || hasHiddenSubclass(type))
                .filter(type ->
                        fields(type).stream().anyMatch(field -> VerbsObject.class.isAssignableFrom(field.getType())))
                .toList();
    }

    /** Returns true if users see instances of a subclass only as instances of this sealed class. */
    private static boolean hasHiddenSubclass(Class<?> type) {
        return !type.isInterface()
                && type.isSealed()
                && Stream.of(type.getPermittedSubclasses())
                        .anyMatch(subclass -> !Modifier.isPublic(subclass.getModifiers()));
    }

    private static List<Field> fields(Class<?> type) {
        List<Field> fields = new ArrayList<>();
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            Stream.of(each.getDeclaredFields())
                    .filter(field -> !Modifier.isStatic(field.getModifiers()))
                    .forEach(fields::add);
        }
        return fields;
    }

    /** Returns the public instance methods without those of {@link Object}, by name and parameters. */
    public static List<Method> methods(Class<?> type) {
        Map<String, Method> bySignature = new TreeMap<>();
        for (Method method : type.getMethods()) {
            if (!Modifier.isStatic(method.getModifiers()) && !isOfObject(method)) {
                bySignature.merge(
                        signature(method), original(type, method), (one, other) -> one.isBridge() ? other : one);
            }
        }
        return List.copyOf(bySignature.values());
    }

    /** Returns the method itself for a bridge: methods inherited from a non-public class lack the generic types. */
    private static Method original(Class<?> type, Method method) {
        for (Class<?> each = type; method.isBridge() && each != null; each = each.getSuperclass()) {
            for (Method declared : each.getDeclaredMethods()) {
                if (!declared.isBridge() && signature(declared).equals(signature(method))) {
                    return declared;
                }
            }
        }
        return method;
    }

    private static boolean isOfObject(Method method) {
        return Arrays.stream(Object.class.getMethods())
                .anyMatch(inherited -> inherited.getName().equals(method.getName())
                        && Arrays.equals(inherited.getParameterTypes(), method.getParameterTypes()));
    }

    /** Formats a method, for example {@code postSend(long, LocalMemory)}. */
    public static String signature(Method method) {
        return Arrays.stream(method.getParameterTypes())
                .map(Class::getSimpleName)
                .collect(Collectors.joining(", ", method.getName() + "(", ")"));
    }

    /** Calls a method, and throws its exception. */
    public static Object call(Method method, Object receiver, Object... arguments) throws Throwable {
        try {
            method.setAccessible(true);
            return method.invoke(receiver, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
