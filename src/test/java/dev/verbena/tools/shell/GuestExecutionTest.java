package dev.verbena.tools.shell;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import dev.verbena.support.ChildJvm;
import dev.verbena.tools.ToolRun;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import jdk.jshell.JShell;
import org.junit.jupiter.api.Test;

/** Snippets that this JVM compiles and an agent runs, in another process on this machine. */
class GuestExecutionTest {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    private static GuestExecution agent() {
        ChildJvm.countStart();
        return new GuestExecution(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                ChildJvm.classPath(),
                Agent.class.getName()));
    }

    private ToolRun run(GuestExecution agent, String... lines) throws IOException {
        int status = Snippets.run(
                Path.of("src/tools/jshell/startup.jsh"),
                new StringReader(String.join("\n", lines) + "\n"),
                false,
                agent,
                new PrintStream(out, true, StandardCharsets.UTF_8),
                new PrintStream(err, true, StandardCharsets.UTF_8));
        return new ToolRun(status, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
    }

    @Test
    void snippetsRunInAnotherProcess() throws IOException {
        ToolRun run = run(
                agent(),
                "ProcessHandle.current().pid()",
                "System.out.println(\"printed \\u00fc\")",
                "var gid = Gid.parse(\"::1\")",
                "int twice(int n) { return 2 * n; }",
                "twice(4)");
        assertThat(run.err()).isEmpty();
        assertThat(run.out())
                .matches("\\$1 ==> \\d+\nprinted ü\ngid ==> 0:0:0:0:0:0:0:1\n\\$2 ==> 8\n")
                .doesNotContain("==> " + ProcessHandle.current().pid() + "\n");
        assertThat(run.status()).isZero();
    }

    @Test
    void exceptionsAndErrorOutputArrive() throws IOException {
        ToolRun run = run(agent(), "System.err.println(\"said\")", "Gid.parse(\"nothing\")", "5");
        assertThat(run.err()).startsWith("said\n").contains("java.lang.IllegalArgumentException: ", "nothing");
        assertThat(run.out()).endsWith(" ==> 5\n");
        assertThat(run.status()).isEqualTo(1);
    }

    @Test
    void exitOfASnippetEndsTheRunWithItsStatus() throws IOException {
        assertThat(run(agent(), "1 + 1", "System.exit(7)", "3").out()).isEqualTo("$1 ==> 2\n");
        assertThat(run(agent(), "System.exit(7)").status()).isEqualTo(7);
    }

    @Test
    void agentThatCannotStartEndsTheRunWithItsStatus() throws IOException {
        assertThat(run(new GuestExecution(List.of("sh", "-c", "exit 125")), "1 + 1", "2 + 2"))
                .isEqualTo(new ToolRun(125, "", ""));
    }

    /** A line as a terminal gives it: who reads on waits for the next one. */
    private static final class Line extends InputStream {
        private final InputStream text = new ByteArrayInputStream("typed\n".getBytes(StandardCharsets.UTF_8));
        private volatile boolean readOn;

        @Override
        public int read() throws IOException {
            int one = text.read();
            readOn |= one < 0;
            return one;
        }
    }

    @Test
    void snippetsReadNoMoreInputThanTheyAskFor() {
        Line typed = new Line();
        try (JShell shell =
                JShell.builder().executionEngine(agent(), null).in(typed).build()) {
            shell.eval("var lines = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));");
            assertThat(shell.eval("lines.readLine()").getFirst().value()).isEqualTo("\"typed\"");
            assertThat(typed.readOn).isFalse();
            assertThat(shell.eval("lines.readLine()").getFirst().value()).isEqualTo("null");
        }
    }

    @Test
    void stopEndsSnippetsThatComputeOrWait() throws InterruptedException {
        try (JShell shell = JShell.builder()
                .executionEngine(agent(), null)
                .out(new PrintStream(out, true, StandardCharsets.UTF_8))
                .build()) {
            for (String endless : List.of("while (true) { n++; }", "Thread.sleep(1_000_000);")) {
                shell.eval("int n = 0;");
                out.reset();
                Thread user = Thread.ofPlatform().start(() -> shell.eval("{ System.out.print(1); " + endless + " }"));
                Await.until("the snippet runs", () -> out.size() > 0);
                shell.stop();
                user.join();
            }
            assertThat(shell.eval("n >= 0").getFirst().value()).isEqualTo("true");
        }
    }
}
