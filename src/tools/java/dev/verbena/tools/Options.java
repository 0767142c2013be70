package dev.verbena.tools;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A tool's options, as C's {@code getopt_long} reads them. */
final class Options {
    private final Map<String, String> given = new HashMap<>();
    private final List<String> operands = new ArrayList<>();

    private Options() {}

    /** The user asked for the help: it is the message. */
    static final class Help extends RuntimeException {
        private static final long serialVersionUID = 1;

        Help(String usage) {
            super(usage);
        }
    }

    /** The user has said something that can't be meant. */
    static final class UsageException extends IllegalArgumentException {
        private static final long serialVersionUID = 1;

        UsageException(String message) {
            super(message);
        }
    }

    /**
     * Reads them.
     *
     * @param args as given to the tool
     * @param usage what {@code --help} shows
     * @param known {@code -v} is a switch, {@code -a:} an option with a value; {@code -d,--ib-dev:} has a long name,
     *     too, and is asked for by the first. What begins with no hyphen, as {@code HOST}, allows one operand
     * @throws Help if {@code -h} or {@code --help} is among them
     * @throws UsageException if one is not known, or lacks its value
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
        Options options = new Options();
        options.read(new ArrayList<>(List.of(args)), names, usage);
        if (options.operands.size() > most) {
            throw new UsageException("'" + options.operands.get(most) + "' is one word too many");
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
                throw new UsageException("there is no option " + name);
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

    /** What to throw when they make no sense together. */
    UsageException usage() {
        return usage("these options make no sense together");
    }

    /** What to throw when they make no sense, with the reason. */
    UsageException usage(String reason) {
        return new UsageException(reason);
    }

    boolean has(String name) {
        return given.containsKey(name);
    }

    String text(String name, String otherwise) {
        return given.getOrDefault(name, otherwise);
    }

    /** The operand, or {@code otherwise} if there is none. */
    String operand(String otherwise) {
        return operands.isEmpty() ? otherwise : operands.getFirst();
    }

    /** The operand at a place, from 0. */
    String operand(int place, String otherwise) {
        return place < operands.size() ? operands.get(place) : otherwise;
    }

    int number(String name, int otherwise) {
        return number(name, otherwise, Integer.MIN_VALUE, Integer.MAX_VALUE);
    }

    /** A number within bounds; as in C, {@code 0x10} is 16. */
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
            throw new UsageException(name + " needs a number, not '" + text + "'");
        }
        throw new UsageException(name + " needs a number from " + least + " to " + most + ", not " + text);
    }
}
