package dev.verbena.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/**
 * The classes of the library and its tests, loaded once more: their static initializers run as at the start of a program.
 * The program may have other system properties. Another JVM would do as well, but takes seconds.
 */
public final class LibraryCopy {
    private static final String OURS = "dev.verbena.";

    private LibraryCopy() {}

    /**
     * Does work in new classes.
     *
     * @param work a class with a constructor without parameters. Its result must be of a class of the JDK
     * @param properties system properties that differ while the work is done; an empty value removes one
     */
    public static Object call(Class<? extends Callable<?>> work, Map<String, String> properties) {
        return call(work, properties, Set.of());
    }

    /**
     * Does the same where classes can't be loaded.
     *
     * @param missing their names
     */
    public static Object call(Class<? extends Callable<?>> work, Map<String, String> properties, Set<String> missing) {
        Map<String, @Nullable String> before = new HashMap<>();
        properties.keySet().forEach(key -> before.put(key, System.getProperty(key)));
        try (Loader loader = new Loader(missing)) {
            properties.forEach(LibraryCopy::set);
            var constructor = loader.loadClass(work.getName()).getDeclaredConstructor();
            constructor.setAccessible(true);
            return ((Callable<?>) constructor.newInstance()).call();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (Exception e) {
            throw new AssertionError(e);
        } finally {
            before.forEach(LibraryCopy::set);
        }
    }

    private static void set(String key, @Nullable String value) {
        if (value == null || value.isEmpty()) {
            System.clearProperty(key);
        } else {
            System.setProperty(key, value);
        }
    }

    private static final class Loader extends URLClassLoader {
        private final Set<String> missing;

        Loader(Set<String> missing) throws IOException {
            super(
                    new URL[] {
                        ChildJvm.place(dev.verbena.Rdma.class).toUri().toURL(),
                        ChildJvm.place(LibraryCopy.class).toUri().toURL()
                    },
                    LibraryCopy.class.getClassLoader());
            this.missing = missing;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith(OURS)) {
                return super.loadClass(name, resolve);
            }
            if (missing.contains(name)) {
                throw new ClassNotFoundException(name);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> known = findLoadedClass(name);
                return known == null ? findClass(name) : known;
            }
        }
    }
}
