package dev.verbena.tools;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.tools.command.Tool;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the start, the messages and the exit status of the tools. */
class MainTest {
    static java.util.stream.Stream<Tool> tools() {
        return Main.PROGRAM.tools().stream();
    }

    @Test
    void mainWithoutAToolPrintsHelpAndReturnsTwo() {
        ToolRun run = ToolRun.of();
        assertThat(run.status()).isEqualTo(Tool.WRONG_USAGE);
        assertThat(run.err()).startsWith("usage: verbena TOOL");
        assertThat(run.out()).isEmpty();
    }

    @Test
    void helpListsAllTools() {
        ToolRun run = ToolRun.of("--help").succeeds();
        assertThat(Main.PROGRAM.tools())
                .allSatisfy(tool ->
                        assertThat(run.out()).contains("  " + tool.name() + " ").contains(tool.summary()));
        assertThat(run.out().lines()).allMatch(line -> line.length() <= 80);
        assertThat(ToolRun.of("help")).isEqualTo(run);
    }

    @ParameterizedTest
    @MethodSource("tools")
    void helpOfEachToolFitsATerminal(Tool tool) {
        ToolRun run = ToolRun.of(tool.name(), "--help").succeeds();
        assertThat(run.out()).startsWith("usage: verbena " + tool.name());
        assertThat(run.out().lines()).allMatch(line -> line.length() <= 80);
        assertThat(ToolRun.of("help", tool.name())).isEqualTo(run);
        assertThat(ToolRun.of(tool.name(), "-h")).isEqualTo(run);
    }

    @ParameterizedTest
    @MethodSource("tools")
    void unknownOptionPrintsOneLineAndReturnsTwo(Tool tool) {
        ToolRun run = ToolRun.of(tool.name(), "--no-such-option");
        assertThat(run.status()).isEqualTo(Tool.WRONG_USAGE);
        assertThat(run.err())
                .startsWith("verbena " + tool.name() + ": ")
                .contains("--no-such-option")
                .hasLineCount(1);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "devinfo -i 0",
                "gids -i 256",
                "counters rxe0:x",
                "top rxe0:",
                "top -n 0",
                "events -n 0",
                "rc-pingpong -n 0",
                "rc-pingpong -p 65536",
                "rc-pingpong -m 1000",
                "rc-pingpong -g x",
                "rc-pingpong -o -j",
                "rc-pingpong -O -j",
                "rc-pingpong -P",
                "uc-pingpong -s 0",
                "ud-pingpong -l 16",
                "srq-pingpong -q 257",
                "srq-pingpong -q 16 -r 8",
                "perf server -p x",
                "perf server -p 0",
                "perf server -i x",
                "perf server -g x",
                "perf server -n x",
                "perf server HOST",
                "perf lat -i x HOST",
                "perf lat -g 256 HOST",
                "perf lat -t 0 HOST",
                "perf lat -s 0 HOST",
                "perf both -s 64,x --self",
                "perf both -b --self",
                "perf bw -D 1 -n 5 --self",
                "perf bw --self --keep",
                "perf bw -m 1000 --self",
                "perf bw --peer-perftest -p x",
                "perf --net",
                "perf --net --self HOST",
                "perf --net -s 0 HOST",
                "perf --net -S x HOST",
                "report -n 1",
                "report -s 64,x",
                "report -s 0",
                "report -l x",
                "report --op atomic",
                "report --skip x",
                "report --rounds 0",
                "report --server --peer HOST",
                "report -o no/such/folder/report",
                "rping -s -p x",
                "rping -s -p 65536",
                "rping -c -a 127.0.0.1 -C -1",
                "rping -c -a 127.0.0.1 -S 25",
                "cmtime -p x",
                "cmtime -s 127.0.0.1 -c 0",
                "cmtime -s 127.0.0.1 -r -1",
                "cmtime -s 127.0.0.1 -t -1",
                "cmtime -s 127.0.0.1 --rounds 0",
                "cp",
                "completion zsh",
                "cp FILE HOST",
                "cp FILE :",
                "cp -p 0 FILE HOST:",
                "cp --token= FILE HOST:",
                "serve",
                "serve -p x DIR",
                "serve --token=12345678901234567890123456789012345678901 DIR"
            })
    void invalidValuePrintsOneLineAndReturnsTwoBeforeAnythingIsOpened(String line) {
        String[] words = line.split(" ");
        ToolRun run = ToolRun.of(words);
        assertThat(run.status()).as(run.toString()).isEqualTo(Tool.WRONG_USAGE);
        assertThat(run.err()).startsWith("verbena " + words[0] + ": ").hasLineCount(1);
        assertThat(run.out()).isEmpty();
    }

    @Test
    void unknownToolPrintsOneLineAndReturnsTwo() {
        ToolRun.of("rpong").refuses("unknown tool 'rpong'");
    }

    @Test
    void failurePrintsOneLineAndReturnsOneAndDebugPrintsTheStack() {
        ToolRun run = ToolRun.of("devinfo", "-d", "nosuch0");
        assertThat(run.status()).isEqualTo(Tool.FAILED);
        assertThat(run.err())
                .startsWith("verbena devinfo: ")
                .contains("nosuch0")
                .hasLineCount(1);
        ToolRun debug = ToolRun.of("devinfo", "-d", "nosuch0", "--debug");
        assertThat(debug.status()).isEqualTo(Tool.FAILED);
        assertThat(debug.err()).startsWith(run.err()).contains("\tat dev.verbena.tools.device.DeviceInfo");
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
                .isEqualTo(Tool.WRONG_USAGE);
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
