package dev.verbena.tools.command;

import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.FileSystemException;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/**
 * A command-line tool.
 *
 * @param name its name on the command line
 * @param summary its summary in one line
 * @param body its program
 */
public record Tool(String name, String summary, Body body) {
    /** Exit status: success. */
    public static final int OK = 0;
    /** Exit status: the tool failed or found a problem. */
    public static final int FAILED = 1;
    /** Exit status: invalid options. */
    public static final int WRONG_USAGE = 2;
    /** Exit status: ended by Ctrl-C. */
    public static final int INTERRUPTED = 130;

    /** Time limit for each step of a peer once it has begun. */
    public static final Duration PATIENCE = Duration.ofSeconds(60);
    /** Time limit of a server that waits for clients: none. */
    public static final Duration FOR_EVER = Duration.ofSeconds(Long.MAX_VALUE);

    private static final Pattern OPTION = Pattern.compile("(?<![\\w-])--?[a-zA-Z][\\w-]*");

    /** The program of a tool. */
    @FunctionalInterface
    public interface Body {
        /**
         * Runs the tool. An exception becomes an error message.
         *
         * @param args the options and operands
         * @param out takes the output
         * @return the exit status
         * @throws Exception if the tool fails
         */
        int run(String[] args, PrintStream out) throws Exception;
    }

    /** Runs the tool and returns its exit status. A failure is printed as one line; with {@code debug}, its stack too. */
    int run(String[] args, boolean debug, PrintStream out, PrintStream err) {
        try {
            return body.run(args, out);
        } catch (Options.Help help) {
            out.println(help.getMessage());
            return OK;
        } catch (Options.UsageException wrong) {
            err.println("verbena " + name + ": " + wrong.getMessage() + ". 'verbena " + name
                    + " --help' lists the options.");
            return WRONG_USAGE;
        } catch (InterruptedException stopped) {
            return INTERRUPTED;
        } catch (Exception | LinkageError failure) {
            if (isEnding()) { // by Ctrl-C: later failures are not reported
                return INTERRUPTED;
            }
            err.println("verbena " + name + ": " + inOneLine(failure));
            if (debug) {
                printStack(failure, err);
            }
            return FAILED;
        } finally {
            out.flush();
        }
    }

    private static void printStack(Throwable failure, PrintStream err) {
        StringWriter stack = new StringWriter();
        failure.printStackTrace(new PrintWriter(stack, true));
        stack.toString().lines().forEach(line -> {
            int begin = line.length() - line.stripLeading().length(); // the tabs
            err.println(line.substring(0, begin) + PeerText.harmless(line.substring(begin)));
        });
    }

    /** Tells whether the JVM is shutting down: it then refuses new shutdown hooks. */
    private static boolean isEnding() {
        Thread nothing = new Thread(() -> {});
        try {
            Runtime.getRuntime().addShutdownHook(nothing);
            Runtime.getRuntime().removeShutdownHook(nothing);
            return false;
        } catch (IllegalStateException ending) {
            return true;
        }
    }

    /**
     * Returns the message of a failure without line breaks, and without what commands a terminal: a peer may have chosen a
     * part of the message. A message that says little has the class in front.
     *
     * @param failure the failure
     * @return one line
     */
    public static String inOneLine(Throwable failure) {
        String message =
                failure.getMessage() == null ? "" : failure.getMessage().strip().replaceAll("\\s*\\R\\s*", " ");
        boolean bare = message.isEmpty()
                || failure instanceof FileSystemException
                || failure instanceof LinkageError
                || failure instanceof NullPointerException
                || failure instanceof IndexOutOfBoundsException;
        return PeerText.harmless(
                bare ? failure.getClass().getSimpleName() + (message.isEmpty() ? "" : ": " + message) : message);
    }

    /**
     * Returns the options in the help text.
     *
     * @return their names, with their hyphens
     */
    public Set<String> options() {
        String usage;
        try {
            throw new IllegalStateException(
                    name + " has no help, and returned " + body.run(new String[] {"--help"}, System.out));
        } catch (Options.Help help) {
            usage = String.valueOf(help.getMessage());
        } catch (Exception e) {
            throw new IllegalStateException(name + " has no help", e);
        }
        List<String> found =
                OPTION.matcher(usage).results().map(MatchResult::group).toList();
        Set<String> options = new LinkedHashSet<>(found);
        options.add("--help");
        options.add("--debug");
        return options;
    }
}
