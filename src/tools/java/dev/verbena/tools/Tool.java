package dev.verbena.tools;

import java.io.PrintStream;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * A command-line tool.
 *
 * @param name its name on the command line
 * @param summary its summary in one line
 * @param body its program
 */
record Tool(String name, String summary, Body body) {
    private static final Pattern OPTION = Pattern.compile("(?<![\\w-])--?[a-zA-Z][\\w-]*");

    /** The program of a tool. */
    @FunctionalInterface
    interface Body {
        /** Runs the tool and returns its exit status. An exception becomes an error message. */
        int run(String[] args, PrintStream out) throws Exception;
    }

    /** Returns the help text. */
    String usage() {
        try {
            body.run(new String[] {"--help"}, System.out);
        } catch (Options.Help help) {
            return String.valueOf(help.getMessage());
        } catch (Exception e) {
            throw new IllegalStateException(name + " has no help", e);
        }
        throw new IllegalStateException(name + " has no help");
    }

    /** Returns the options in the help text. */
    Set<String> options() {
        List<String> found =
                OPTION.matcher(usage()).results().map(result -> result.group()).toList();
        Set<String> options = new LinkedHashSet<>(found);
        options.add("--help");
        options.add("--debug");
        return options;
    }
}
