package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests that the Javadoc and its guide are built without a warning, by the options that {@code scripts/docs} uses. */
class JavadocTest {
    private static final List<String> PICTURES = List.of("ownership.svg", "post.svg", "states.svg");

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
