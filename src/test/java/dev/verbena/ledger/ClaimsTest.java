package dev.verbena.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.Fault;
import dev.verbena.support.Twin;
import java.io.IOException;
import java.lang.annotation.Annotation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Tests that the annotations of tests name existing Python tests and faults, and that none is missing. */
class ClaimsTest {
    private static <A extends Annotation> Set<String> named(Class<A> kind, Function<A, String[]> names)
            throws IOException {
        Path classes = ChildJvm.place(ClaimsTest.class);
        try (Stream<Path> files = Files.walk(classes.resolve("dev/verbena"))) {
            List<Class<?>> types = files.map(
                            file -> classes.relativize(file).toString().replace('/', '.'))
                    .filter(name -> name.endsWith("Test.class"))
                    .<Class<?>>map(name -> load(name.substring(0, name.length() - ".class".length())))
                    .toList();
            return types.stream()
                    .flatMap(type -> Stream.of(type.getDeclaredMethods()))
                    .filter(method -> method.isAnnotationPresent(kind))
                    .flatMap(method -> Stream.of(names.apply(method.getAnnotation(kind))))
                    .collect(Collectors.toSet());
        }
    }

    private static Class<?> load(String name) {
        try {
            return Class.forName(name, false, ClaimsTest.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void twinsNameExistingPythonTests() throws IOException {
        assertThat(PythonTests.all().keySet()).containsAll(named(Twin.class, Twin::value));
    }

    @Test
    void passingPythonTestsHaveTwins() throws IOException {
        assertThat(named(Twin.class, Twin::value)).containsAll(PythonTests.passing());
    }

    @Test
    void faultsHaveATestOrAReason() throws IOException {
        Set<String> provoked = Faults.all().entrySet().stream()
                .filter(fault -> fault.getValue().whyLeftOut().isEmpty())
                .map(Map.Entry::getKey)
                .collect(Collectors.toSet());
        assertThat(named(Fault.class, Fault::value)).isEqualTo(provoked);
    }
}
