package dev.verbena.tools;

import dev.verbena.tools.PingPong.Kind;
import java.io.PrintStream;
import java.nio.file.FileSystemException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Verbena's command-line tools: {@code verbena TOOL [OPTION]...}. */
public final class Main {
    /** Exit status: success. */
    static final int OK = 0;
    /** Exit status: the tool failed or found a problem. */
    static final int FAILED = 1;
    /** Exit status: invalid options. */
    static final int WRONG_USAGE = 2;
    /** Exit status: ended by Ctrl-C. */
    static final int INTERRUPTED = 130;

    /** Time limit for a tool to release its resources after Ctrl-C. */
    private static final long CLEAN_UP_MILLIS = 5_000;

    static final List<Tool> TOOLS = List.of(
            new Tool("devices", "lists the RDMA devices of this machine", Devices::run),
            new Tool("devinfo", "shows the attributes of devices and ports", DeviceInfo::run),
            new Tool("gids", "lists the addresses of a device, and which one to use", Gids::run),
            new Tool("doctor", "checks whether RDMA works here, and tells what to do if not", Doctor::run),
            new Tool(Kind.RC.tool, "ping-pong over a reliable connection", Kind.RC::run),
            new Tool(Kind.UC.tool, "ping-pong over an unreliable connection", Kind.UC::run),
            new Tool(Kind.UD.tool, "ping-pong of datagrams", Kind.UD::run),
            new Tool(Kind.SRQ.tool, "ping-pong over connections with a shared receive queue", Kind.SRQ::run),
            new Tool("perf", "measures latency and bandwidth", Perf::run),
            new Tool("report", "tries and measures a device, for a report to send", Report::run),
            new Tool("rping", "ping-pong by RDMA read and write, over the connection manager", Rping::run),
            new Tool("ucmatose", "connects and sends messages both ways (also: cmatose)", Ucmatose::run),
            new Tool("udaddy", "sends datagrams to a service and receives the answers", Udaddy::run),
            new Tool("mckey", "sends and receives multicast datagrams", Mckey::run),
            new Tool("cmtime", "times the steps of connecting", Cmtime::run),
            new Tool("rdma_server", "receives one message and answers it", RdmaServer::run),
            new Tool("rdma_client", "sends one message and receives the answer", RdmaClient::run),
            new Tool("cp", "copies a file to a machine where 'verbena serve' runs", Cp::run),
            new Tool("serve", "receives the files of 'verbena cp' into a folder", Serve::run),
            new Tool("completion", "prints the bash completion script", Completion::run));

    private Main() {}

    /**
     * Runs a tool, and exits with its status: 0 for success, 1 for failure, 2 for invalid options, 130 after Ctrl-C.
     *
     * @param args the name of the tool and its options
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
            return; // after Ctrl-C, the signal decides on the exit status
        }
        System.exit(status);
    }

    /** Runs a tool and returns its exit status. */
    static int run(String[] args, PrintStream out, PrintStream err) {
        List<String> words = new ArrayList<>(List.of(args));
        boolean debug = words.removeIf("--debug"::equals);
        String name = words.isEmpty() ? "" : words.removeFirst();
        if (name.equals("help") && !words.isEmpty()) {
            name = words.removeFirst();
            words = new ArrayList<>(List.of("--help"));
        }
        return switch (name) {
            case "" -> {
                err.print(usage());
                yield WRONG_USAGE;
            }
            case "-h", "--help", "help" -> {
                out.print(usage());
                yield OK;
            }
            case "--version" -> {
                out.println("verbena "
                        + Optional.ofNullable(Main.class.getPackage().getImplementationVersion())
                                .orElse("(not packaged)")
                        + ", Java " + Runtime.version());
                yield OK;
            }
            default -> {
                String wanted = name.equals("cmatose") ? "ucmatose" : name; // the C tool prints this name
                Optional<Tool> tool = TOOLS.stream()
                        .filter(known -> known.name().equals(wanted))
                        .findFirst();
                if (tool.isEmpty()) {
                    err.println("verbena: unknown tool '" + name + "'. 'verbena --help' lists the tools.");
                    yield WRONG_USAGE;
                }
                yield run(tool.get(), words.toArray(String[]::new), debug, out, err);
            }
        };
    }

    private static int run(Tool tool, String[] args, boolean debug, PrintStream out, PrintStream err) {
        try {
            return tool.body().run(args, out);
        } catch (Options.Help help) {
            out.println(help.getMessage());
            return OK;
        } catch (Options.UsageException wrong) {
            err.println("verbena " + tool.name() + ": " + wrong.getMessage() + ". 'verbena " + tool.name()
                    + " --help' lists the options.");
            return WRONG_USAGE;
        } catch (InterruptedException stopped) {
            return INTERRUPTED;
        } catch (Exception | LinkageError failure) {
            if (isEnding()) { // by Ctrl-C: later failures are not reported
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

    /** Returns the message of a failure without line breaks. A message that says little has the class in front. */
    static String inOneLine(Throwable failure) {
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

                A tool named like one of rdma-core has the same options and interoperates with
                it. Tools:
                """);
        for (Tool tool : TOOLS) {
            text.append(String.format("  %-14s %s%n", tool.name(), tool.summary()));
        }
        return text.append("""

                'verbena TOOL --help' lists the options of a tool. --debug prints the stack
                trace of an error.
                Exit status: 0 for success, 1 for failure, 2 for invalid options, 130 after
                Ctrl-C.
                """).toString();
    }
}
