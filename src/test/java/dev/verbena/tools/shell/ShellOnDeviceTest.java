package dev.verbena.tools.shell;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Slow;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Tests the lines that the README shows for the shell. {@link TutorialTest} runs the tutorial without a device. */
@Slow
class ShellOnDeviceTest {
    private static final String PROMPT = "jshell> ";

    @Test
    void linesOfTheReadmeReadRemoteMemory() throws IOException {
        String lines = Files.readAllLines(Path.of("README.md")).stream()
                .filter(line -> line.startsWith(PROMPT))
                .map(line -> line.substring(PROMPT.length()) + "\n")
                .collect(Collectors.joining());
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        int status = Snippets.run(
                Path.of("src/tools/jshell/startup.jsh"),
                new StringReader(lines.replace("ofSeconds(5)", "ofSeconds(50)") + "arena().close()\n"),
                false,
                null,
                new PrintStream(out, true, StandardCharsets.UTF_8),
                new PrintStream(err, true, StandardCharsets.UTF_8));
        assertThat(status).as(err.toString(StandardCharsets.UTF_8)).isZero();
        assertThat(out.toString(StandardCharsets.UTF_8)).contains("RDMA_READ", "success", "\"Hello, RDMA\"");
    }
}
