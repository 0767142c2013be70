package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.SourceTree;
import java.io.IOException;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Tests the examples of Javadoc, and the pictures of the chapters. {@link SiteTest} builds the pages. */
class JavadocTest {
    /** The start of a block of code. Blocks that show output or bytes have no code tag. */
    private static final Pattern COPIED_EXAMPLE = Pattern.compile("<pre\\b[^>]*>[\\s*]*(\\{@code\\b|<code\\b)");

    @Test
    void picturesFitLightAndDarkPages() throws IOException {
        for (Path picture : pictures()) {
            String svg = Files.readString(picture);
            assertThat(svg)
                    .as(picture.toString())
                    .contains("currentColor", "svg:root { color:", "role=\"img\"", "<title>");
            assertThat(svg).as(picture.toString()).doesNotContainPattern("(fill|stroke)=\"(black|white)");
        }
    }

    private static List<Path> pictures() throws IOException {
        try (Stream<Path> files = Files.list(Path.of("src/docs/pictures"))) {
            return files.toList();
        }
    }

    /** Objects that a program closes are those that it must learn to use. */
    @Test
    void eachClassOfClosableObjectsHasAnExample() {
        List<String> without = new ArrayList<>();
        SourceTree.below(Path.of("src/main/java")).texts().forEach((path, text) -> {
            String name = path.replaceFirst("^.*(?=dev/verbena/)", "")
                    .replaceFirst("\\.java$", "")
                    .replace('/', '.');
            if (!path.contains("/internal/")
                    && !path.contains("-info")
                    && isClosable(name)
                    && !text.contains("{@snippet")) {
                without.add(name);
            }
        });
        assertThat(without).isEmpty();
    }

    private static boolean isClosable(String name) {
        try {
            Class<?> type = Class.forName(name, false, JavadocTest.class.getClassLoader());
            return AutoCloseable.class.isAssignableFrom(type)
                    && Modifier.isPublic(type.getModifiers())
                    && !Modifier.isAbstract(type.getModifiers());
        } catch (ClassNotFoundException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void examplesAreSnippets() {
        assertThat(copiedExamples(SourceTree.below(Path.of("src/main/java")))).isEmpty();
    }

    @Test
    void snippetRuleReportsCopiedExamples() {
        String example = """
                /**
                 * A sample.
                 *
                 * <pre>%s
                 * sample.run();
                 * }</pre>
                 */
                class Sample {}
                """;
        SourceTree sources = SourceTree.of("dev/verbena/A.java", example.formatted("{@code"))
                .and("dev/verbena/B.java", example.formatted("\n * {@code"))
                .and("dev/verbena/C.java", example.formatted("<code>{@literal"))
                .and("dev/verbena/Output.java", example.formatted("{@literal"))
                .and("dev/verbena/Snippet.java", "/** {@snippet file=\"A.java\" region=\"a\"} */ class Snippet {}")
                .and("dev/verbena/internal/lifetime/Door.java", example.formatted("{@code"))
                .and("dev/verbena/internal/Hidden.java", example.formatted("{@code"));
        assertThat(copiedExamples(sources))
                .containsExactly("dev/verbena/A.java:4", "dev/verbena/B.java:4", "dev/verbena/C.java:4");
    }

    /** Finds the examples of exported packages that stand in the comment, where nothing compiles them. */
    private static List<String> copiedExamples(SourceTree sources) {
        List<String> found = new ArrayList<>();
        sources.texts().forEach((path, text) -> {
            if (!path.contains("/internal/") && !path.contains("/access/")) {
                COPIED_EXAMPLE
                        .matcher(text)
                        .results()
                        .forEach(example -> found.add(path + ":"
                                + text.substring(0, example.start()).lines().count()));
            }
        });
        return found;
    }
}
