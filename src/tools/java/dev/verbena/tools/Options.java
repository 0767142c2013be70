package dev.verbena.tools;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A tool's options, as C's {@code getopt} reads them. */
final class Options {
    private final String usage;
    private final Map<String, String> given = new HashMap<>();

    private Options(String usage) {
        this.usage = usage;
    }

    /** Reads them; {@code -a:} is an option with a value. What is not known ends the program with the usage. */
    static Options parse(String[] args, String usage, String... known) {
        Options options = new Options(usage);
        List<String> names = List.of(known);
        for (int i = 0; i < args.length; i++) {
            if (names.contains(args[i])) {
                options.given.put(args[i], "");
            } else if (names.contains(args[i] + ":") && i + 1 < args.length) {
                options.given.put(args[i], args[++i]);
            } else {
                throw options.usage();
            }
        }
        return options;
    }

    /** Prints the usage and ends the program. */
    IllegalArgumentException usage() {
        System.err.println(usage);
        System.exit(2);
        throw new AssertionError();
    }

    boolean has(String name) {
        return given.containsKey(name);
    }

    String text(String name, String otherwise) {
        return given.getOrDefault(name, otherwise);
    }

    int number(String name, int otherwise) {
        String text = given.get(name);
        return text == null ? otherwise : Integer.parseInt(text);
    }
}
