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
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        int status = Snippets.run(
                Path.of("src/tools/jshell/startup.jsh"),
                new StringReader(String.join("\n", lines) + "\n"),
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
