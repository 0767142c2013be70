package dev.verbena.ledger;

import dev.verbena.CName;
import java.io.IOException;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URISyntaxException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** What in the public API names C functions. */
final class JavaPlaces {
    /**
     * Something annotated.
     *
     * @param name as a reader of the ledger knows it, such as {@code MemoryRegion.close}
     * @param isReachable whether it is public, or a {@code destroy()} behind the public {@code close()}
     * @param functions the C functions it names
     */
    record Place(String name, boolean isReachable, Set<String> functions) {}

    private JavaPlaces() {}

    static List<Place> all() {
        List<Place> places = new ArrayList<>();
        for (Class<?> type : classes()) {
            add(places, type, type.getSimpleName(), Modifier.isPublic(type.getModifiers()));
            for (Method method : type.getDeclaredMethods()) {
                boolean destroys = method.getName().equals("destroy");
                add(
                        places,
                        method,
                        type.getSimpleName() + "." + (destroys ? "close" : method.getName()),
                        isPublic(method) || destroys);
            }
            Stream.of(type.getDeclaredConstructors())
                    .forEach(made -> add(places, made, "new " + type.getSimpleName(), isPublic(made)));
        }
        CFunctions.related("within")
                .forEach((function, place) -> places.add(new Place(
                        place.replaceFirst("^.*\\.(?=[^.]+\\.[^.]+$)", ""), hasMethod(place), Set.of(function))));
        return places;
    }

    private static boolean hasMethod(String place) {
        int dot = place.lastIndexOf('.');
        return Stream.of(load(place.substring(0, dot)).getDeclaredMethods())
                .anyMatch(method -> method.getName().equals(place.substring(dot + 1)));
    }

    private static boolean isPublic(Member member) {
        return Modifier.isPublic(member.getModifiers());
    }

    private static void add(List<Place> places, AnnotatedElement element, String name, boolean isReachable) {
        CName names = element.getDeclaredAnnotation(CName.class);
        if (names != null) {
            places.add(new Place(name, isReachable, new LinkedHashSet<>(List.of(names.value()))));
        }
    }

    /** The classes of all packages but the internal ones. */
    private static List<Class<?>> classes() {
        try {
            Path home = Path.of(CName.class
                    .getProtectionDomain()
                    .getCodeSource()
                    .getLocation()
                    .toURI());
            if (Files.isDirectory(home)) {
                return classesBelow(home);
            }
            try (FileSystem jar = FileSystems.newFileSystem(home)) {
                return classesBelow(jar.getPath("/"));
            }
        } catch (IOException | URISyntaxException e) {
            throw new IllegalStateException("The library's classes can't be listed", e);
        }
    }

    private static List<Class<?>> classesBelow(Path root) throws IOException {
        try (Stream<Path> files = Files.walk(root.resolve("dev/verbena"))) {
            return files.map(file -> root.relativize(file)
                            .toString()
                            .replace(root.getFileSystem().getSeparator(), "."))
                    .filter(name -> name.endsWith(".class")
                            && !name.startsWith("dev.verbena.internal.")
                            && !name.endsWith("package-info.class"))
                    .sorted()
                    .<Class<?>>map(name -> load(name.substring(0, name.length() - ".class".length())))
                    .toList();
        }
    }

    private static Class<?> load(String name) {
        try {
            return Class.forName(name, false, CName.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
    }
}
