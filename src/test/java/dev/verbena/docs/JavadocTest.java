package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.SourceTree;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests that the Javadoc and its guide are built without a warning, by the options that {@code scripts/docs} uses. */
class JavadocTest {
    private static final List<String> PICTURES = List.of("ownership.svg", "post.svg", "states.svg");

    /** The start of a block of code. Blocks that show output or bytes have no code tag. */
    private static final Pattern COPIED_EXAMPLE = Pattern.compile("<pre\\b[^>]*>[\\s*]*(\\{@code\\b|<code\\b)");

    @Test
    void javadocHasNoWarnings(@TempDir Path folder) throws Exception {
        assertThat(javadoc(folder)).isEmpty();
        String guide = Files.readString(folder.resolve("index.html"));
        assertThat(guide).doesNotContain("{@");
        assertThat(guide.split("<svg ", -1)).hasSize(PICTURES.size() + 1);
    }

    @Test
    void picturesTakeTheColoursOfThePage() throws IOException {
        for (String picture : PICTURES) {
            String svg = Files.readString(Path.of("src/main/javadoc", picture));
            assertThat(svg).as(picture).contains("currentColor", "role=\"img\"", "<title>");
            assertThat(svg).as(picture).doesNotContainPattern("(fill|stroke)=\"(#|black|white)");
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

    /** Builds the documentation; returns the complaints. */
    private static String javadoc(Path folder) {
        String path = System.getProperty("java.class.path");
        String modules = Arrays.stream(path.split(":"))
                .filter(entry -> entry.contains("jspecify"))
                .collect(Collectors.joining(":"));
        String tests = Path.of(JavadocTest.class
                        .getProtectionDomain()
                        .getCodeSource()
                        .getLocation()
                        .getPath())
                .toString();
        StringWriter complaints = new StringWriter();
        int status;
        try (PrintWriter out = new PrintWriter(complaints)) {
            status = ToolProvider.findFirst("javadoc")
                    .orElseThrow()
                    .run(
                            out,
                            out,
                            "@src/main/javadoc/options",
                            "-d",
                            folder.toString(),
                            "-tagletpath",
                            tests,
                            "--module-path",
                            modules);
        }
        return status == 0 ? complaints.toString() : complaints + "javadoc ended with status " + status;
    }
}
