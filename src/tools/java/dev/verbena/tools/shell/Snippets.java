package dev.verbena.tools.shell;

import dev.verbena.tools.command.Tool;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import jdk.jshell.Diag;
import jdk.jshell.EvalException;
import jdk.jshell.ExpressionSnippet;
import jdk.jshell.JShell;
import jdk.jshell.Snippet;
import jdk.jshell.SnippetEvent;
import jdk.jshell.SourceCodeAnalysis.Completeness;
import jdk.jshell.SourceCodeAnalysis.CompletionInfo;
import jdk.jshell.UnresolvedReferenceException;
import jdk.jshell.VarSnippet;
import org.jspecify.annotations.Nullable;

/**
 * Runs snippets of JShell from a file or from standard input, for {@code scripts/jshell}. Prints values and errors, and
 * tells by the exit status whether all snippets succeeded.
 */
public final class Snippets {
    private static final Pattern EXIT = Pattern.compile("/ex(?:it)?(?: +(-?[0-9]+))? *;?");

    private final JShell shell;
    private final PrintStream out;
    private final PrintStream err;
    private int failures;
    private boolean open = true;

    private Snippets(JShell shell, PrintStream out, PrintStream err) {
        this.shell = shell;
        shell.onShutdown(closed -> open = false);
        this.out = out;
        this.err = err;
    }

    /**
     * Runs snippets, and exits with status 0 if all succeeded, with 1 if one failed, or with the status of {@code /exit}.
     *
     * @param args the file of start-up snippets, whose values are not shown; {@code --echo} to print the lines of the
     *     snippets; and the file of the snippets, without which they come from standard input
     * @throws IOException if a file can't be read
     */
    public static void main(String[] args) throws IOException {
        boolean echo = args.length > 1 && args[1].equals("--echo");
        int file = echo ? 2 : 1;
        try (Reader snippets = args.length > file
                ? Files.newBufferedReader(Path.of(args[file]))
                : new InputStreamReader(System.in, StandardCharsets.UTF_8)) {
            System.exit(run(Path.of(args[0]), snippets, echo, GuestExecution.wanted(), System.out, System.err));
        }
    }

    /** Runs snippets and returns the exit status. */
    static int run(
            Path startup,
            Reader snippets,
            boolean echo,
            @Nullable GuestExecution guest,
            PrintStream out,
            PrintStream err)
            throws IOException {
        try (JShell shell = JShell.builder()
                        .executionEngine(GuestExecution.engine(guest), null)
                        .out(out)
                        .err(err)
                        .build();
                BufferedReader first = Files.newBufferedReader(startup);
                BufferedReader then = new BufferedReader(snippets)) {
            Snippets session = new Snippets(shell, out, err);
            OptionalInt status = session.run(first, false, false);
            if (status.isEmpty()) {
                status = session.run(then, true, echo);
            }
            OptionalInt ended =
                    guest == null ? OptionalInt.empty() : guest.status(); // of a snippet that has called exit
            return ended.orElse(status.orElse(session.failures == 0 ? Tool.OK : Tool.FAILED));
        }
    }

    /** Runs all snippets. Returns the status of {@code /exit}, or nothing at the end of the input. */
    private OptionalInt run(BufferedReader lines, boolean showValues, boolean echo) throws IOException {
        StringBuilder rest = new StringBuilder();
        for (String line = lines.readLine(); line != null && open; line = lines.readLine()) {
            if (echo && !line.isBlank()) {
                out.println((rest.isEmpty() ? "jshell> " : "   ...> ") + line);
            }
            Matcher exit = EXIT.matcher(line.strip());
            if (rest.isEmpty() && exit.matches()) {
                return OptionalInt.of(
                        exit.group(1) == null
                                ? failures == 0 ? Tool.OK : Tool.FAILED
                                : Integer.parseInt(exit.group(1)));
            }
            if (rest.isEmpty() && line.startsWith("/") && !line.startsWith("//") && !line.startsWith("/*")) {
                fail("'" + line.strip() + "': of JShell's commands, only /exit is supported here");
                continue;
            }
            rest.append(line).append('\n');
            evaluateComplete(rest, showValues);
        }
        if (open && !rest.toString().isBlank()) {
            evaluate(rest.toString(), showValues); // reports that it is incomplete
        }
        return OptionalInt.empty();
    }

    /** Evaluates the complete snippets at the beginning of a text and removes them from it. */
    private void evaluateComplete(StringBuilder text, boolean showValues) {
        while (open && !text.toString().isBlank()) {
            CompletionInfo info = shell.sourceCodeAnalysis().analyzeCompletion(text.toString());
            if (info.completeness() == Completeness.UNKNOWN) {
                evaluate(text.toString(), showValues); // reports a syntax error
                break;
            }
            if (!info.completeness().isComplete()) {
                return; // the next line goes on
            }
            evaluate(info.source(), showValues);
            text.replace(0, text.length(), info.remaining());
        }
        text.setLength(0);
    }

    private void evaluate(String source, boolean showValues) {
        for (SnippetEvent event : shell.eval(source)) {
            List<String> problems = problems(shell, event);
            if (!problems.isEmpty()) {
                failures++;
                problems.forEach(this::report);
            } else if (showValues && !value(event).isEmpty()) {
                out.println(value(event));
            }
        }
    }

    /** Returns the reasons why a snippet failed, or nothing if it succeeded. */
    static List<String> problems(JShell shell, SnippetEvent event) {
        List<String> problems = new ArrayList<>();
        if (event.causeSnippet() == null && event.exception() != null) {
            problems.add(text(event.exception()));
        } else if (event.causeSnippet() == null && event.status() == Snippet.Status.REJECTED) {
            shell.diagnostics(event.snippet())
                    .map((Diag diag) -> diag.getMessage(Locale.ROOT))
                    .forEach(problems::add);
            problems.add("in: " + event.snippet().source().strip());
        }
        return problems;
    }

    /** Returns the name and the value of a snippet, or an empty text if it has no value. */
    static String value(SnippetEvent event) {
        String value = event.causeSnippet() == null ? event.value() : null;
        return value == null || value.isEmpty() ? "" : name(event.snippet()) + " ==> " + value;
    }

    private static String text(Throwable thrown) {
        return switch (thrown) {
            case EvalException e -> e.getExceptionClassName() + (e.getMessage() == null ? "" : ": " + e.getMessage());
            case UnresolvedReferenceException e ->
                "undefined: " + e.getSnippet().source().strip();
            default -> thrown.toString();
        };
    }

    private static String name(Snippet snippet) {
        return switch (snippet) {
            case VarSnippet variable -> variable.name();
            case ExpressionSnippet expression -> expression.name();
            default -> "";
        };
    }

    private void fail(String message) {
        failures++;
        report(message);
    }

    private void report(String message) {
        out.flush();
        message.lines().forEach(line -> err.println("|  " + line));
    }
}
