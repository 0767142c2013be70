package dev.verbena.tools;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.tools.command.Program;
import dev.verbena.tools.command.Tool;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** The result of a tool that ran in this JVM. */
public record ToolRun(int status, String out, String err) {
    public static ToolRun of(String... args) {
        return of(Main.PROGRAM, args);
    }

    public static ToolRun of(Program program, String... args) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        int status = program.run(
                args,
                new PrintStream(out, true, StandardCharsets.UTF_8),
                new PrintStream(err, true, StandardCharsets.UTF_8));
        return new ToolRun(status, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
    }

    /** Checks that the tool has succeeded. */
    public ToolRun succeeds() {
        assertThat(status).as(toString()).isZero();
        return this;
    }

    /** Checks that the tool has failed and has said why in one line with these words. */
    public ToolRun fails(String... words) {
        assertThat(status).as(toString()).isEqualTo(Tool.FAILED);
        assertThat(err).contains(words).hasLineCount(1);
        return this;
    }

    /** Checks that the tool has refused its command line in one line with these words. */
    public ToolRun refuses(String... words) {
        assertThat(status).as(toString()).isEqualTo(Tool.WRONG_USAGE);
        assertThat(err).contains(words).hasLineCount(1);
        return this;
    }

    /** Starts a tool that runs until its thread is interrupted. Both of its outputs go to a stream. */
    public static Thread start(OutputStream both, String... args) {
        PrintStream out = new PrintStream(both, true, StandardCharsets.UTF_8);
        return Thread.ofPlatform().daemon().start(() -> Main.PROGRAM.run(args, out, out));
    }
}
