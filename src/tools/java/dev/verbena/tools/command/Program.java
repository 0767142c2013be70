package dev.verbena.tools.command;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A program of several tools: the first word of its command line names the tool. */
public final class Program {
    /** Time limit for a tool to release its resources after Ctrl-C. */
    private static final long CLEAN_UP_MILLIS = 5_000;

    private final List<Tool> tools;

    /**
     * Makes a program.
     *
     * @param tools the tools in the order of the help text
     */
    public Program(List<Tool> tools) {
        this.tools = List.copyOf(tools);
    }

    /**
     * Returns the tools.
     *
     * @return the tools in the order of the help text
     */
    public List<Tool> tools() {
        return tools;
    }

    /**
     * Runs a tool, and exits with its status: 0 for success, 1 for failure, 2 for invalid options, 130 after Ctrl-C.
     *
     * @param args the name of the tool and its options
     */
    public void runAndExit(String[] args) {
        Thread worker = Thread.currentThread();
        Thread cleanUp = new Thread(
                () -> {
                    worker.interrupt();
                    try {
                        worker.join(CLEAN_UP_MILLIS);
                    } catch (InterruptedException again) {
                        return;
                    }
                },
                "clean up");
        Runtime.getRuntime().addShutdownHook(cleanUp);
        int status = run(args, System.out, System.err);
        try {
            Runtime.getRuntime().removeShutdownHook(cleanUp);
        } catch (IllegalStateException endingAlready) {
            return; // after Ctrl-C, the signal decides on the exit status
        }
        System.exit(status);
    }

    /**
     * Runs a tool.
     *
     * @param args the name of the tool and its options
     * @param out takes the output
     * @param err takes the error messages
     * @return the exit status
     */
    public int run(String[] args, PrintStream out, PrintStream err) {
        List<String> words = new ArrayList<>(List.of(args));
        boolean debug = words.removeIf("--debug"::equals);
        String name = words.isEmpty() ? "" : words.removeFirst();
        if (name.equals("help") && !words.isEmpty()) {
            name = words.removeFirst();
            words = List.of("--help");
        }
        return switch (name) {
            case "" -> {
                err.print(usage());
                yield Tool.WRONG_USAGE;
            }
            case "-h", "--help", "help" -> {
                out.print(usage());
                yield Tool.OK;
            }
            case "--version" -> {
                out.println("verbena " + version() + ", Java " + Runtime.version());
                yield Tool.OK;
            }
            default -> {
                for (Tool tool : tools) {
                    if (tool.name().equals(name)) {
                        yield tool.run(words.toArray(String[]::new), debug, out, err);
                    }
                }
                err.println("verbena: unknown tool '" + name + "'. 'verbena --help' lists the tools.");
                yield Tool.WRONG_USAGE;
            }
        };
    }

    /**
     * Returns the version of this program.
     *
     * @return the version of its jar
     */
    public static String version() {
        return Optional.ofNullable(Program.class.getPackage().getImplementationVersion())
                .orElse("(not packaged)");
    }

    private String usage() {
        StringBuilder text = new StringBuilder("""
                usage: verbena TOOL [OPTION]...

                A tool named like one of rdma-core has the same options and interoperates with
                it. Tools:
                """);
        for (Tool tool : tools) {
            text.append(String.format("  %-14s %s%n", tool.name(), tool.summary()));
        }
        return text.append("""

                'verbena TOOL --help' lists the options of a tool. --debug prints the stack
                trace of an error, and --version the versions of Verbena and Java.
                Exit status: 0 for success, 1 for failure, 2 for invalid options, 130 after
                Ctrl-C.
                """).toString();
    }
}
