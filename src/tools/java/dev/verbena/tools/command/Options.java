package dev.verbena.tools.command;

import dev.verbena.verbs.Device;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The options of a tool, parsed as C's {@code getopt_long} does. The help text declares them: a line that begins with two
 * spaces and a hyphen is an option. {@code -v} is a switch, {@code -a ADDRESS} has a value, and {@code -d, --ib-dev=DEVICE}
 * has two names, the first of which is its key.
 */
public final class Options {
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
    public static final class UsageException extends IllegalArgumentException {
        private static final long serialVersionUID = 1;

        UsageException(String message) {
            super(message);
        }
    }

    /** An option of a tool. */
    private record Declared(String key, boolean hasValue) {
        /** Reads the options of a help text, by each of their names. */
        static Map<String, Declared> in(String usage) {
            Map<String, Declared> options = new HashMap<>();
            for (String line : usage.lines().toList()) {
                if (!line.startsWith("  -")) {
                    continue;
                }
                int end = line.indexOf("  ", 2);
                String[] names =
                        (end < 0 ? line : line.substring(0, end)).strip().split(", ");
                String last = names[names.length - 1];
                int value = Math.max(last.indexOf('='), last.indexOf(' '));
                if (value >= 0) {
                    names[names.length - 1] = last.substring(0, value);
                }
                for (String name : names) {
                    options.put(name, new Declared(names[0], value >= 0));
                }
            }
            return options;
        }
    }

    /**
     * Parses the options of a tool.
     *
     * @param args as given to the tool
     * @param usage the text for {@code --help}, which declares the options
     * @param mostOperands the largest number of words that are no options
     * @return the options
     * @throws UsageException if an option is unknown or lacks its value
     */
    public static Options parse(String[] args, String usage, int mostOperands) {
        Options options = new Options(args);
        options.read(new ArrayDeque<>(List.of(args)), usage);
        if (options.operands.size() > mostOperands) {
            throw new UsageException("'" + options.operands.get(mostOperands) + "' is an unexpected word");
        }
        return options;
    }

    private void read(Deque<String> args, String usage) {
        Map<String, Declared> known = Declared.in(usage);
        while (!args.isEmpty()) {
            String arg = args.removeFirst();
            if (!arg.startsWith("-") || arg.equals("-")) {
                operands.add(arg);
                continue;
            }
            if (arg.equals("-h") || arg.equals("--help")) {
                throw new Help(usage);
            }
            boolean isLong = arg.startsWith("--");
            int end = isLong ? arg.indexOf('=') : arg.length() > 2 ? 2 : -1; // -n5 or -ec
            String name = end < 0 ? arg : arg.substring(0, end);
            Declared option = known.get(name);
            if (option == null) {
                throw new UsageException("unknown option " + name);
            }
            if (option.hasValue()) {
                if (end < 0 && args.isEmpty()) {
                    throw new UsageException(name + " needs a value");
                }
                given.put(option.key(), end < 0 ? args.removeFirst() : arg.substring(isLong ? end + 1 : end));
                continue;
            }
            given.put(option.key(), "");
            if (end >= 0 && isLong) {
                throw new UsageException(name + " takes no value");
            } else if (end >= 0) {
                args.addFirst("-" + arg.substring(end));
            }
        }
    }

    /**
     * Returns the tool's name and arguments as a shell reads them.
     *
     * @param tool the name
     * @return the command line
     */
    public String commandLine(String tool) {
        StringBuilder text = new StringBuilder(tool);
        for (String word : line) {
            text.append(' ')
                    .append(word.matches("[A-Za-z0-9_@%+=:,./-]+") ? word : "'" + word.replace("'", "'\\''") + "'");
        }
        return text.toString();
    }

    /**
     * Returns the exception for invalid options.
     *
     * @param reason the reason
     * @return the exception to throw
     */
    public UsageException usage(String reason) {
        return new UsageException(reason);
    }

    /**
     * Checks the options.
     *
     * @param right true if they are valid
     * @param otherwise the reason if they are not
     * @throws UsageException if they are not valid
     */
    public void check(boolean right, String otherwise) {
        if (!right) {
            throw new UsageException(otherwise);
        }
    }

    /**
     * Tells whether an option was given.
     *
     * @param name its first name
     * @return true if it was given
     */
    public boolean has(String name) {
        return given.containsKey(name);
    }

    /**
     * Returns the value of an option.
     *
     * @param name its first name
     * @param otherwise the result if the option is missing
     * @return the value
     */
    public String text(String name, String otherwise) {
        return given.getOrDefault(name, otherwise);
    }

    /**
     * Returns an operand.
     *
     * @param place its index
     * @return the operand, or an empty text if there are not that many
     */
    public String operand(int place) {
        return place < operands.size() ? operands.get(place) : "";
    }

    /**
     * Returns a number within bounds. As in C, {@code 0x10} is 16.
     *
     * @param name the option's first name
     * @param otherwise the result if the option is missing
     * @param least the smallest valid number
     * @param most the largest valid number
     * @return the number
     * @throws UsageException if the value is not such a number
     */
    public int number(String name, int otherwise, int least, int most) {
        return has(name) ? number(name, text(name, ""), least, most) : otherwise;
    }

    private static int number(String name, String text, int least, int most) {
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

    /**
     * Returns numbers that are separated by commas.
     *
     * @param name the option's first name
     * @param otherwise the value if the option is missing
     * @param least the smallest valid number
     * @param most the largest valid number
     * @return the numbers
     * @throws UsageException if one of them is invalid
     */
    public List<Integer> numbers(String name, String otherwise, int least, int most) {
        List<Integer> numbers = new ArrayList<>();
        for (String each : text(name, otherwise).split(",")) {
            numbers.add(number(name, each, least, most));
        }
        return numbers;
    }

    /**
     * Returns the device that {@code -d} names.
     *
     * @return this device, or else the first of this machine
     */
    public Device device() {
        return has("-d") ? Device.named(text("-d", "")) : Device.first();
    }

    /**
     * Returns the devices to show.
     *
     * @return the device that {@code -d} names, or else all devices of this machine
     */
    public List<Device> devices() {
        return has("-d") ? List.of(device()) : Device.list();
    }
}
