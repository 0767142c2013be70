package dev.verbena.tools;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests the start, the messages and the exit status of the tools. */
class MainTest {
    static java.util.stream.Stream<Tool> tools() {
        return Main.TOOLS.stream();
    }

    @Test
    void mainWithoutAToolPrintsHelpAndReturnsTwo() {
        ToolRun run = ToolRun.of();
        assertThat(run.status()).isEqualTo(Main.WRONG_USAGE);
        assertThat(run.err()).startsWith("usage: verbena TOOL");
        assertThat(run.out()).isEmpty();
    }

    @Test
    void helpListsAllTools() {
        ToolRun run = ToolRun.of("--help");
        assertThat(run.status()).isZero();
        assertThat(Main.TOOLS)
                .allSatisfy(tool ->
                        assertThat(run.out()).contains("  " + tool.name() + " ").contains(tool.summary()));
        assertThat(ToolRun.of("help")).isEqualTo(run);
    }

    @ParameterizedTest
    @MethodSource("tools")
    void helpOfEachToolFitsATerminal(Tool tool) {
        ToolRun run = ToolRun.of(tool.name(), "--help");
        assertThat(run.status()).isZero();
        assertThat(run.out()).startsWith("usage: verbena " + tool.name());
        assertThat(run.out().lines()).allMatch(line -> line.length() <= 120);
        assertThat(ToolRun.of("help", tool.name())).isEqualTo(run);
        assertThat(ToolRun.of(tool.name(), "-h")).isEqualTo(run);
    }

    @ParameterizedTest
    @MethodSource("tools")
    void unknownOptionPrintsOneLineAndReturnsTwo(Tool tool) {
        ToolRun run = ToolRun.of(tool.name(), "--no-such-option");
        assertThat(run.status()).isEqualTo(Main.WRONG_USAGE);
        assertThat(run.err())
                .startsWith("verbena " + tool.name() + ": ")
                .contains("--no-such-option")
                .hasLineCount(1);
    }

    @Test
    void unknownToolPrintsOneLineAndReturnsTwo() {
        ToolRun run = ToolRun.of("rpong");
        assertThat(run.status()).isEqualTo(Main.WRONG_USAGE);
        assertThat(run.err()).contains("unknown tool 'rpong'").hasLineCount(1);
    }

    @Test
    void failurePrintsOneLineAndReturnsOneAndDebugPrintsTheStack() {
        ToolRun run = ToolRun.of("devinfo", "-d", "nosuch0");
        assertThat(run.status()).isEqualTo(Main.FAILED);
        assertThat(run.err())
                .startsWith("verbena devinfo: ")
                .contains("nosuch0")
                .hasLineCount(1);
        ToolRun debug = ToolRun.of("devinfo", "-d", "nosuch0", "--debug");
        assertThat(debug.status()).isEqualTo(Main.FAILED);
        assertThat(debug.err()).startsWith(run.err()).contains("\tat dev.verbena.tools.DeviceInfo");
    }

    @Test
    void versionPrintsTheVersionOfJava() {
        assertThat(ToolRun.of("--version").out())
                .startsWith("verbena ")
                .contains(Runtime.version().toString());
    }

    @Test
    void mainExitsWithTheStatusOfTheTool() {
        assertThat(ChildJvm.with("--enable-native-access=ALL-UNNAMED")
                        .runOnClassPath(Main.class, "rpong")
                        .status())
                .isEqualTo(Main.WRONG_USAGE);
        assertThat(ChildJvm.with("--enable-native-access=ALL-UNNAMED")
                        .runOnClassPath(Main.class, "--version")
                        .status())
                .isZero();
    }

    private static String complete(Path folder, String... words) throws IOException, InterruptedException {
        Path script = folder.resolve("complete");
        Files.writeString(
                script,
                ToolRun.of("completion").out()
                        + "COMP_WORDS=(verbena " + String.join(" ", words) + ")\nCOMP_CWORD=" + words.length
                        + "\n_verbena\necho ${COMPREPLY[*]}\n");
        Process bash = new ProcessBuilder("bash", script.toString())
                .redirectErrorStream(true)
                .start();
        String output = new String(bash.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        assertThat(bash.waitFor(1, TimeUnit.MINUTES)).isTrue();
        return output;
    }

    @Test
    void completionCompletesToolsAndOptions(@TempDir Path folder) throws Exception {
        assertThat(complete(folder, "dev")).isEqualTo("devices devinfo");
        assertThat(complete(folder, "devinfo", "--v")).isEqualTo("--verbose");
        assertThat(complete(folder, "help", "doc")).isEqualTo("doctor");
    }
}
