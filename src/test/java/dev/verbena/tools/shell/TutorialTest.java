package dev.verbena.tools.shell;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.FencedTest;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/**
 * Tests that the tutorial of the shell works as shown. On the provider for tests, because JShell takes a minute on an
 * emulated processor. {@link ShellOnDeviceTest} tries the shell on a device.
 */
@FencedTest
class TutorialTest {
    private static final Path FOLDER = Path.of("src/tools/jshell");

    @Test
    void tutorialRunsWithoutFailures() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        int failures = Tutorial.run(
                FOLDER.resolve("startup.jsh"),
                FOLDER.resolve("tutorial.jsh"),
                null,
                new PrintStream(bytes, true, StandardCharsets.UTF_8),
                false);
        String text = bytes.toString(StandardCharsets.UTF_8);
        assertThat(failures).as(text).isZero();
        assertThat(text).doesNotContain("!!");
        assertThat(text)
                .containsSubsequence(
                        "jshell> var devices = Device.list()",
                        "devices ==> [",
                        "domain ==> ",
                        "secret ==> ",
                        "queue ==> ",
                        "==> RESET",
                        "==> INIT",
                        "==> RTR",
                        "==> RTS",
                        "#7 RDMA_READ",
                        "success",
                        "==> \"remote memory\"",
                        "#8 RDMA_READ",
                        "==> ERR",
                        "client ==> ",
                        "==> RTS",
                        "#9 RDMA_READ",
                        "success",
                        "==> \"read through the connection manager\"",
                        "==> \"over a channel\"",
                        "==> 42",
                        "RDMA read of 64 bytes, 1000 times: 50%",
                        "That is all.");
    }
}
