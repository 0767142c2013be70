package dev.verbena.tools.shell;

import dev.verbena.tools.command.Tool;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import jdk.jshell.JShell;
import jdk.jshell.SnippetEvent;
import org.jspecify.annotations.Nullable;

/** A walk through a file of snippets: shows each comment, each snippet and JShell's answer. */
public final class Tutorial {
    private final PrintStream out;
    private final boolean pauses;
    private int failures;
    private boolean open = true;

    private Tutorial(PrintStream out, boolean pauses) {
        this.out = out;
        this.pauses = pauses;
    }

    /**
     * Runs a tutorial. On a terminal, waits for the Enter key before each step.
     *
     * @param args the file of start-up snippets, which are not shown, and the file of the tutorial
     * @throws IOException if a file can't be read
     */
    public static void main(String[] args) throws IOException {
        boolean terminal = System.console() != null && System.console().isTerminal();
        GuestExecution guest = GuestExecution.wanted();
        int status = run(Path.of(args[0]), Path.of(args[1]), guest, System.out, terminal) == 0 ? Tool.OK : Tool.FAILED;
        System.exit(guest == null ? status : guest.status().orElse(status));
    }

    /** Runs a tutorial and returns the number of failed snippets. */
    static int run(Path startup, Path tutorial, @Nullable GuestExecution guest, PrintStream out, boolean pauses)
            throws IOException {
        try (JShell shell = JShell.builder()
                .executionEngine(GuestExecution.engine(guest), null)
                .out(out)
                .build()) {
            Tutorial walk = new Tutorial(out, pauses);
            shell.onShutdown(closed -> walk.open = false);
            for (String line : Files.readAllLines(startup)) {
                walk.evaluate(shell, line);
            }
            for (List<String> step : steps(Files.readAllLines(tutorial))) {
                walk.show(shell, step);
            }
            return walk.failures;
        }
    }

    /** Splits a tutorial into steps at empty lines. */
    private static List<List<String>> steps(List<String> lines) {
        List<List<String>> steps = new ArrayList<>();
        List<String> step = new ArrayList<>();
        for (String line : lines) {
            if (!line.isBlank()) {
                step.add(line);
            } else if (!step.isEmpty()) {
                steps.add(step);
                step = new ArrayList<>();
            }
        }
        if (!step.isEmpty()) {
            steps.add(step);
        }
        return steps;
    }

    private void show(JShell shell, List<String> step) throws IOException {
        for (String line : step) {
            if (line.startsWith("//")) {
                out.println(line.substring(2).strip());
                continue;
            }
            out.println("  jshell> " + line);
            for (String value : evaluate(shell, line)) {
                out.println(("  " + value).indent(2).stripTrailing());
            }
        }
        out.println();
        if (pauses) {
            out.print("[Enter] ");
            out.flush();
            while (System.in.read() > '\n') {
                continue;
            }
        }
    }

    /** Evaluates a line and returns its values. The line lacks the semicolon, which only JShell's own prompt adds. */
    private List<String> evaluate(JShell shell, String line) {
        if (!open) {
            failures++; // the guest has ended, and its reason was printed
            return List.of();
        }
        String source = shell.sourceCodeAnalysis().analyzeCompletion(line).source();
        List<String> values = new ArrayList<>();
        for (SnippetEvent event : shell.eval(source == null ? line : source)) {
            List<String> problems = Snippets.problems(shell, event);
            failures += problems.isEmpty() ? 0 : 1;
            problems.forEach(problem -> out.println("    !! " + problem));
            if (problems.isEmpty() && !Snippets.value(event).isEmpty()) {
                values.add(Snippets.value(event));
            }
        }
        return values;
    }
}
