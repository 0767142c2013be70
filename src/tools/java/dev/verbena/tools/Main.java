package dev.verbena.tools;

import dev.verbena.tools.PingPong.Kind;
import java.io.PrintStream;
import java.nio.file.FileSystemException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Verbena's command-line tools: {@code verbena TOOL [OPTION]...}. */
public final class Main {
    /** All is well. */
    static final int OK = 0;
    /** The tool has failed, or has found what is not well. */
    static final int FAILED = 1;
    /** The options make no sense. */
    static final int WRONG_USAGE = 2;
    /** Ended by Ctrl-C. */
    static final int INTERRUPTED = 130;

    /** How long a tool has, after Ctrl-C, to give back what it holds. */
    private static final long CLEAN_UP_MILLIS = 5_000;

    static final List<Tool> TOOLS = List.of(
            new Tool("devices", "the RDMA devices of this machine", Devices::run),
            new Tool("devinfo", "what a device is and can do", DeviceInfo::run),
            new Tool("gids", "the addresses of a device, and which one to use", Gids::run),
            new Tool("doctor", "whether RDMA works on this machine, and what to do if not", Doctor::run),
            new Tool(Kind.RC.tool, "messages to and fro over a reliable connection", Kind.RC::run),
            new Tool(Kind.UC.tool, "messages to and fro over an unreliable connection", Kind.UC::run),
            new Tool(Kind.UD.tool, "datagrams to and fro", Kind.UD::run),
            new Tool(Kind.SRQ.tool, "messages to and fro over connections that share receives", Kind.SRQ::run),
            new Tool("perf", "measures latency and bandwidth", Perf::run),
            new Tool("rping", "ping-pong by RDMA read and write, connected by address", Rping::run),
            new Tool("ucmatose", "connections by address, with messages both ways (also: cmatose)", Ucmatose::run),
            new Tool("udaddy", "datagrams to a service that is found by address", Udaddy::run),
            new Tool("mckey", "multicast", Mckey::run),
            new Tool("cmtime", "how long the steps of connecting take", Cmtime::run),
            new Tool("rdma_server", "one message and its answer: the server", RdmaServer::run),
            new Tool("rdma_client", "one message and its answer: the client", RdmaClient::run),
            new Tool("completion", "prints a script that completes this command in bash", Completion::run));

    private Main() {}

    /**
     * Runs a tool, and ends the program with its exit status: 0 if all is well, 1 if it failed, 2 for options that make
     * no sense, 130 after Ctrl-C.
     *
     * @param args the name of the tool, and its options
     */
    public static void main(String[] args) {
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
            return; // by Ctrl-C, which decides on the status
        }
        System.exit(status);
    }

    /** Runs a tool and answers its exit status. */
    static int run(String[] args, PrintStream out, PrintStream err) {
        List<String> words = new ArrayList<>(List.of(args));
        boolean debug = words.removeIf("--debug"::equals);
        String name = words.isEmpty() ? "" : words.removeFirst();
        if (name.equals("help") && !words.isEmpty()) {
            name = words.removeFirst();
            words = new ArrayList<>(List.of("--help"));
        }
        switch (name) {
            case "" -> {
                err.print(usage());
                return WRONG_USAGE;
            }
            case "-h", "--help", "help" -> {
                out.print(usage());
                return OK;
            }
            case "--version" -> {
                out.println("verbena "
                        + Optional.ofNullable(Main.class.getPackage().getImplementationVersion())
                                .orElse("(not packaged)")
                        + ", Java " + Runtime.version());
                return OK;
            }
            default -> {
                String wanted = name.equals("cmatose") ? "ucmatose" : name; // it calls itself so
                Optional<Tool> tool = TOOLS.stream()
                        .filter(known -> known.name().equals(wanted))
                        .findFirst();
                if (tool.isEmpty()) {
                    err.println("verbena: there is no tool '" + name + "'. 'verbena --help' lists them.");
                    return WRONG_USAGE;
                }
                return run(tool.get(), words.toArray(String[]::new), debug, out, err);
            }
        }
    }

    private static int run(Tool tool, String[] args, boolean debug, PrintStream out, PrintStream err) {
        try {
            return tool.body().run(args, out);
        } catch (Options.Help help) {
            out.println(help.getMessage());
            return OK;
        } catch (Options.UsageException wrong) {
            err.println("verbena " + tool.name() + ": " + wrong.getMessage() + ". 'verbena " + tool.name()
                    + " --help' tells the options.");
            return WRONG_USAGE;
        } catch (InterruptedException stopped) {
            return INTERRUPTED;
        } catch (Exception | LinkageError failure) {
            if (isEnding()) { // by Ctrl-C: what fails after that is no news
                return INTERRUPTED;
            }
            err.println("verbena " + tool.name() + ": " + inOneLine(failure));
            if (debug) {
                failure.printStackTrace(err);
            }
            return FAILED;
        } finally {
            out.flush();
        }
    }

    /** Whether the program is ending already: then it takes no more to do at its end. */
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

    private static String inOneLine(Throwable failure) {
        String message =
                failure.getMessage() == null ? "" : failure.getMessage().strip().replaceAll("\\s*\\R\\s*", " ");
        boolean bare = message.isEmpty()
                || failure instanceof FileSystemException
                || failure instanceof LinkageError
                || failure instanceof NullPointerException
                || failure instanceof IndexOutOfBoundsException;
        return bare ? failure.getClass().getSimpleName() + (message.isEmpty() ? "" : ": " + message) : message;
    }

    static String usage() {
        StringBuilder text = new StringBuilder("""
                usage: verbena TOOL [OPTION]...

                Tools; where rdma-core has a tool of that name, it has the same options and talks to this one:
                """);
        for (Tool tool : TOOLS) {
            text.append(String.format("  %-14s %s%n", tool.name(), tool.summary()));
        }
        return text.append("""

                'verbena TOOL --help' tells a tool's options. All know --debug, which shows where an error came from.
                Exit status: 0 if all is well, 1 if something failed, 2 for senseless options, 130 after Ctrl-C.
                """).toString();
    }
}
