package dev.verbena.tools.report;

import dev.verbena.tools.command.Tcp;
import dev.verbena.tools.perf.PerfPlan;
import java.io.IOException;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The other machine of a report. The client asks for servers by lines over TCP. The server starts nothing but {@code perf}
 * and the six programs of perftest that a report compares with.
 */
final class ReportPeer implements ReportPerf.Far, AutoCloseable {
    static final int PORT = 18_516;

    private static final String HELLO = "verbena-report-1";
    private static final int LONGEST_LINE = 200;
    private static final Duration HANDSHAKE = Duration.ofSeconds(30);
    private static final Duration PATIENCE = Duration.ofHours(2);

    private final String host;
    private final Tcp tcp;

    private ReportPeer(String host, Tcp tcp) {
        this.host = host;
        this.tcp = tcp;
    }

    /** Connects to a machine that runs {@code report --server}. */
    static ReportPeer connect(String host, int port) throws IOException, InterruptedException {
        Tcp tcp = Tcp.connect(host, port, HANDSHAKE);
        ReportPeer peer = new ReportPeer(host, tcp);
        try {
            peer.ask(HELLO);
            tcp.patience(HANDSHAKE);
            return peer;
        } catch (Throwable t) {
            tcp.close();
            throw t;
        }
    }

    private String ask(String line) throws IOException, InterruptedException {
        send(tcp, line);
        String answer = tcp.readLine(LONGEST_LINE, "its answer");
        if (!answer.startsWith("ok")) {
            throw new IOException("the peer answered '" + answer + "' to '" + line + "'");
        }
        return answer.substring(2).strip();
    }

    private static void send(Tcp tcp, String line) throws IOException, InterruptedException {
        tcp.write((line + "\n").getBytes(StandardCharsets.UTF_8), "a line");
    }

    @Override
    public String host() {
        return host;
    }

    @Override
    public int perf() throws IOException, InterruptedException {
        return Integer.parseInt(ask("perf"));
    }

    @Override
    public int c(String program, int size, int count) throws IOException, InterruptedException {
        return Integer.parseInt(ask(String.join(" ", "c", program, String.valueOf(size), String.valueOf(count))));
    }

    @Override
    public void end() throws IOException, InterruptedException {
        ask("end");
    }

    @Override
    public void close() throws IOException {
        tcp.close();
    }

    /** Serves one client until it ends the connection. */
    static void serve(ServerSocketChannel listening, List<String> where) throws Exception {
        ReportPerf.Near servers = new ReportPerf.Near(where);
        try (Tcp tcp = Tcp.accept(listening, HANDSHAKE)) {
            String hello = tcp.readLine(LONGEST_LINE, "its first line");
            if (!hello.equals(HELLO)) {
                send(tcp, "no: this is " + HELLO);
                throw new IOException("the client sent '" + hello + "', but this is " + HELLO
                        + ": do both ends have the same release?");
            }
            send(tcp, "ok");
            tcp.patience(PATIENCE);
            while (true) {
                String line;
                try {
                    line = tcp.readLine(LONGEST_LINE, "its next line");
                } catch (Tcp.PeerGoneException end) {
                    return;
                }
                send(tcp, answer(line, servers));
            }
        } finally {
            servers.end();
        }
    }

    /** Follows a line of the client. */
    static String answer(String line, ReportPerf.Near servers) throws IOException, InterruptedException {
        String[] words = line.split(" ");
        return switch (words[0]) {
            case "perf" -> "ok " + servers.perf();
            case "end" -> {
                servers.end();
                yield "ok";
            }
            case "c" -> start(words, servers);
            default -> "no: unknown line";
        };
    }

    private static String start(String[] words, ReportPerf.Near servers) throws IOException {
        if (words.length == 4 && programs().contains(words[1])) {
            try {
                int size = Integer.parseInt(words[2]);
                int count = Integer.parseInt(words[3]);
                if (size > 0 && size <= PerfPlan.LARGEST && count > 0) {
                    return "ok " + servers.c(words[1], size, count);
                }
            } catch (NumberFormatException wrong) {
                return "no: " + wrong.getMessage();
            }
        }
        return "no: unknown program or sizes";
    }

    /** Returns the names of the C programs. */
    private static List<String> programs() {
        List<String> programs = new ArrayList<>();
        for (String operation : List.of("send", "write", "read")) {
            for (PerfPlan.Mode mode : PerfPlan.Mode.values()) {
                programs.add("ib_" + operation + "_" + mode.name().toLowerCase(Locale.ROOT));
            }
        }
        return programs;
    }
}
