package dev.verbena.tools;

import java.io.PrintStream;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * A command-line tool.
 *
 * @param name what it is started by
 * @param summary what it does, in a line
 * @param body what runs it
 */
record Tool(String name, String summary, Body body) {
    private static final Pattern OPTION = Pattern.compile("(?<![\\w-])--?[a-zA-Z][\\w-]*");

    /** What runs a tool. */
    @FunctionalInterface
    interface Body {
        /** Runs it and answers the exit status; what it throws ends it with an error. */
        int run(String[] args, PrintStream out) throws Exception;
    }

    /** Its help. */
    String usage() {
        try {
            body.run(new String[] {"--help"}, System.out);
        } catch (Options.Help help) {
            return help.getMessage();
        } catch (Exception e) {
            throw new IllegalStateException(name + " has no help", e);
        }
        throw new IllegalStateException(name + " has no help");
    }

    /** Its options, as its help names them. */
    Set<String> options() {
        List<String> found =
                OPTION.matcher(usage()).results().map(result -> result.group()).toList();
        Set<String> options = new LinkedHashSet<>(found);
        options.add("--help");
        options.add("--debug");
        return options;
    }
}
