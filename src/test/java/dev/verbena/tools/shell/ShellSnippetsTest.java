package dev.verbena.tools.shell;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.tools.ToolRun;
import dev.verbena.tools.command.Tool;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** Tests what scripts/jshell does with piped lines and with files: values, errors and the exit status. */
class ShellSnippetsTest {
    private static ToolRun run(String... lines) throws IOException {
        return run(false, lines);
    }

    private static ToolRun run(boolean echo, String... lines) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        int status = Snippets.run(
                Path.of("src/tools/jshell/startup.jsh"),
                new StringReader(String.join("\n", lines) + "\n"),
                echo,
                null,
                new PrintStream(out, true, StandardCharsets.UTF_8),
                new PrintStream(err, true, StandardCharsets.UTF_8));
        return new ToolRun(status, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
    }

    @Test
    void snippetsPrintTheirValues() throws IOException {
        assertThat(run(
                        "var gid = Gid.parse(\"::1\")",
                        "6 * 7",
                        "",
                        "// a comment",
                        "int twice(int n) {",
                        "    return 2 * n;",
                        "}",
                        "twice(4); twice(5)"))
                .isEqualTo(new ToolRun(0, "gid ==> 0:0:0:0:0:0:0:1\n$1 ==> 42\n$2 ==> 8\n$3 ==> 10\n", ""));
    }

    @Test
    void echoPrintsTheLines() throws IOException {
        assertThat(run(true, "6 * 7", "", "int twice(int n) {", "    return 2 * n;", "}")
                        .out())
                .isEqualTo("""
                        jshell> 6 * 7
                        $1 ==> 42
                        jshell> int twice(int n) {
                           ...>     return 2 * n;
                           ...> }
                        """);
    }

    /** Without a device, they are over TCP. {@link TutorialTest} has them on a device. */
    @Test
    void nodesAndChannelsNeedNoDevice() throws IOException {
        ToolRun run = run(
                "var timeout = Duration.ofSeconds(100)",
                "NodePair nodes = nodes()",
                "nodes.left().channel().send(nodes.left().channel().message(timeout).length(3), timeout)",
                "nodes.right().channel().receive(timeout).length()",
                "Channel channel = channel()",
                "channel.call(channel.message(timeout).length(5), timeout).length()",
                "channel.send(channel.message(timeout).length(6), timeout)",
                "channel.receive(timeout).length()",
                "arena().close()");
        assertThat(run.err()).isEmpty();
        assertThat(run.out().lines().filter(line -> line.startsWith("$")).map(line -> line.replaceFirst(".* ", "")))
                .containsExactly("3", "5", "6");
    }

    @Test
    void snippetThatDoesNotCompileMakesTheStatusOne() throws IOException {
        ToolRun run = run("int n = \"text\"", "int m = 5");
        assertThat(run.status()).isEqualTo(Tool.FAILED);
        assertThat(run.out()).isEqualTo("m ==> 5\n");
        assertThat(run.err()).contains("incompatible types", "|  in: int n = \"text\"");
        assertThat(run("int n = (").status()).as("an incomplete snippet").isEqualTo(Tool.FAILED);
        assertThat(run("int n = ))", "5").status()).as("a syntax error").isEqualTo(Tool.FAILED);
    }

    @Test
    void snippetThatThrowsMakesTheStatusOne() throws IOException {
        ToolRun run = run("Gid.parse(\"nothing\")", "5");
        assertThat(run.status()).isEqualTo(Tool.FAILED);
        assertThat(run.err()).contains("java.lang.IllegalArgumentException: ", "nothing");
        assertThat(run.out()).endsWith(" ==> 5\n");
    }

    @Test
    void exitSetsTheStatusAndEndsTheRun() throws IOException {
        assertThat(run("5", "/exit 7", "6")).isEqualTo(new ToolRun(7, "$1 ==> 5\n", ""));
        assertThat(run("/exit").status()).isZero();
        assertThat(run("nothing", "/exit").status()).isEqualTo(Tool.FAILED);
        assertThat(run("/vars").status()).as("another command").isEqualTo(Tool.FAILED);
    }
}
