package dev.verbena.tools.shell;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Slow;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** Tests the lines that the README shows for the shell. {@link TutorialTest} runs the tutorial without a device. */
@Slow
class ShellOnDeviceTest {
    @Test
    void linesOfTheReadmeReadRemoteMemory() throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        int status = Snippets.run(
                Path.of("src/tools/jshell/startup.jsh"),
                new StringReader("""
                        var pair = pair()
                        pair.right().buffer().segment().setString(0, "Hello, RDMA")
                        pair.left().pair().postRead(1, pair.left().buffer(), pair.right().buffer().remote())
                        pair.left().queue().await(Duration.ofSeconds(50)).orThrow()
                        pair.left().buffer().segment().getString(0)
                        arena().close()
                        """),
                new PrintStream(out, true, StandardCharsets.UTF_8),
                new PrintStream(err, true, StandardCharsets.UTF_8));
        assertThat(status).as(err.toString(StandardCharsets.UTF_8)).isZero();
        assertThat(out.toString(StandardCharsets.UTF_8)).contains("RDMA_READ", "success", "\"Hello, RDMA\"");
    }
}
