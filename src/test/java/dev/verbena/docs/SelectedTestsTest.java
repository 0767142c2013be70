package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClasspathRoots;

import dev.verbena.support.ChildJvm;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TagFilter;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Some runs name their classes, which {@code scripts/test} finds in the sources: a search takes half a minute in a guest. */
class SelectedTestsTest {
    /** Returns the classes of tests with one of these tags, as JUnit finds them. */
    private static Set<String> found(String tags) {
        LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
                .selectors(selectClasspathRoots(Set.of(ChildJvm.place(SelectedTestsTest.class))))
                .filters(TagFilter.includeTags(tags))
                .build();
        TestPlan plan = LauncherFactory.create().discover(request);
        return plan.getRoots().stream()
                .flatMap(root -> plan.getDescendants(root).stream())
                .map(TestIdentifier::getSource)
                .flatMap(source -> source.filter(MethodSource.class::isInstance).stream())
                .map(source -> ((MethodSource) source).getClassName())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** Returns the classes whose sources match the pattern that the script looks for. */
    private static List<String> selected(String name) throws IOException {
        Matcher line = Pattern.compile("(?m)^" + name + "='(.*)'$").matcher(Files.readString(Path.of("scripts/test")));
        assertThat(line.find()).isTrue();
        Pattern pattern = Pattern.compile("(?m)" + line.group(1));
        Path sources = Path.of("src/test/java");
        try (Stream<Path> files = Files.walk(sources)) {
            return files.filter(file -> file.toString().endsWith(".java"))
                    .filter(file -> pattern.matcher(read(file)).find())
                    .map(file -> sources.relativize(file)
                            .toString()
                            .replace(".java", "")
                            .replace('/', '.'))
                    .toList();
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void guestsRunEveryClassThatJUnitFindsForThem() throws IOException {
        Set<String> found = found("device | iwarp | pair | long | engine | headers | processor");
        assertThat(found).hasSizeGreaterThan(50);
        assertThat(selected("GUEST_TESTS")).containsAll(found);
    }

    @Test
    void runsWithFewClassesRunEveryClassThatJUnitFindsForThem() throws IOException {
        assertThat(selected("FEW_TESTS")).containsAll(found("mlx5 | hammer"));
    }
}
