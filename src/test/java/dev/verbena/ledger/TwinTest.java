package dev.verbena.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.Twin;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What twins say of rdma-core's Python tests is true. */
class TwinTest {
    private static Set<String> twins() throws IOException {
        Path classes = ChildJvm.place(TwinTest.class);
        try (Stream<Path> files = Files.walk(classes.resolve("dev/verbena"))) {
            List<Class<?>> types = files.map(file -> classes.relativize(file).toString().replace('/', '.'))
                    .filter(name -> name.endsWith("Test.class"))
                    .<Class<?>>map(name -> load(name.substring(0, name.length() - ".class".length())))
                    .toList();
            return types.stream().flatMap(type -> Stream.of(type.getDeclaredMethods()))
                    .filter(method -> method.isAnnotationPresent(Twin.class))
                    .flatMap(method -> Stream.of(method.getAnnotation(Twin.class).value()))
                    .collect(Collectors.toSet());
        }
    }

    private static Class<?> load(String name) {
        try {
            return Class.forName(name, false, TwinTest.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void twinsAreOfTestsThatExist() throws IOException {
        assertThat(PythonTests.all().keySet()).containsAll(twins());
    }
}
