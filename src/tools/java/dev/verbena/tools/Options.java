package dev.verbena.tools;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The options of a tool, parsed as C's {@code getopt_long} does. */
final class Options {
    private final Map<String, String> given = new HashMap<>();
    private final List<String> operands = new ArrayList<>();
    private final List<String> line;

    private Options(String[] args) {
        line = List.of(args);
    }

    /** Signals {@code --help}. The message is the help text. */
    static final class Help extends RuntimeException {
        private static final long serialVersionUID = 1;

        Help(String usage) {
            super(usage);
        }
    }

    /** Signals invalid options. */
    static final class UsageException extends IllegalArgumentException {
        private static final long serialVersionUID = 1;

        UsageException(String message) {
            super(message);
        }
    }

    /**
     * Parses the options of a tool.
     *
     * @param args as given to the tool
     * @param usage the text for {@code --help}
     * @param known {@code -v} is a switch, {@code -a:} an option with a value. {@code -d,--ib-dev:} has two names; the
     *     first is its key. A word without a hyphen, such as {@code HOST}, allows one operand
     * @throws Help if the options contain {@code -h} or {@code --help}
     * @throws UsageException if an option is unknown or lacks its value
     */
    static Options parse(String[] args, String usage, String... known) {
        Map<String, String> names = new HashMap<>();
        int most = 0;
        for (String option : known) {
            if (!option.startsWith("-")) {
                most++;
                continue;
            }
            boolean valued = option.endsWith(":");
            String[] same = (valued ? option.substring(0, option.length() - 1) : option).split(",");
            for (String name : same) {
                names.put(name, same[0] + (valued ? ":" : ""));
            }
        }
        Options options = new Options(args);
        options.read(new ArrayList<>(List.of(args)), names, usage);
        if (options.operands.size() > most) {
            throw new UsageException("'" + options.operands.get(most) + "' is an unexpected word");
        }
        return options;
    }

    private void read(List<String> args, Map<String, String> names, String usage) {
        for (int i = 0; i < args.size(); i++) {
            String arg = args.get(i);
            if (!arg.startsWith("-") || arg.equals("-")) {
                operands.add(arg);
                continue;
            }
            if ((arg.equals("-h") || arg.equals("--help")) && !names.containsKey(arg)) {
                throw new Help(usage);
            }
            int equals = arg.startsWith("--") ? arg.indexOf('=') : -1;
            String name = equals < 0 ? arg : arg.substring(0, equals);
            String meant = names.get(name);
            if (meant == null && !arg.startsWith("--") && arg.length() > 2) { // -n5 or -ec
                name = arg.substring(0, 2);
                meant = names.get(name);
                if (meant != null && meant.endsWith(":")) {
                    given.put(meant.substring(0, meant.length() - 1), arg.substring(2));
                    continue;
                }
                if (meant != null) {
                    given.put(meant, "");
                    args.set(i--, "-" + arg.substring(2));
                    continue;
                }
            }
            if (meant == null) {
                throw new UsageException("unknown option " + name);
            }
            if (!meant.endsWith(":")) {
                if (equals >= 0) {
                    throw new UsageException(name + " takes no value");
                }
                given.put(meant, "");
                continue;
            }
            if (equals < 0 && i + 1 == args.size()) {
                throw new UsageException(name + " needs a value");
            }
            given.put(meant.substring(0, meant.length() - 1), equals < 0 ? args.get(++i) : arg.substring(equals + 1));
        }
    }

    /** Returns the tool's name and arguments as a shell reads them. */
    String commandLine(String tool) {
        StringBuilder text = new StringBuilder(tool);
        for (String word : line) {
            text.append(' ')
                    .append(word.matches("[A-Za-z0-9_@%+=:,./-]+") ? word : "'" + word.replace("'", "'\\''") + "'");
        }
        return text.toString();
    }

    /** Returns the exception for options that contradict each other. */
    UsageException usage() {
        return usage("these options contradict each other");
    }

    /** Returns the exception for invalid options, with a reason. */
    UsageException usage(String reason) {
        return new UsageException(reason);
    }

    /** Returns true if an option was given with a value, not as a switch. */
    boolean hasValue(String name) {
        return !given.getOrDefault(name, "").isEmpty();
    }

    boolean has(String name) {
        return given.containsKey(name);
    }

    String text(String name, String otherwise) {
        return given.getOrDefault(name, otherwise);
    }

    /** Returns the first operand, or {@code otherwise} if there is none. */
    String operand(String otherwise) {
        return operands.isEmpty() ? otherwise : operands.getFirst();
    }

    /** Returns the operand at an index, or {@code otherwise} if there are not that many. */
    String operand(int place, String otherwise) {
        return place < operands.size() ? operands.get(place) : otherwise;
    }

    int number(String name, int otherwise) {
        return number(name, otherwise, Integer.MIN_VALUE, Integer.MAX_VALUE);
    }

    /** Returns a number within bounds, or {@code otherwise} if the option is missing. As in C, {@code 0x10} is 16. */
    int number(String name, int otherwise, int least, int most) {
        String text = given.get(name);
        if (text == null) {
            return otherwise;
        }
        try {
            int number = Integer.decode(text);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException noNumber) {
            throw new UsageException(name + " needs a number, got '" + text + "'");
        }
        throw new UsageException(name + " needs a number from " + least + " to " + most + ", got " + text);
    }
}
