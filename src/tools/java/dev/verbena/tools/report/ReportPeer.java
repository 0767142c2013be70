package dev.verbena.tools.report;

import dev.verbena.tools.command.Tcp;
import dev.verbena.tools.command.Tool;
import dev.verbena.tools.perf.PerfPlan;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * The other machine of a report. The client asks for servers by lines over TCP. The server starts nothing but {@code perf}
 * and the six programs of perftest that a report compares with: one at a time, and none that stays after the connection. With
 * a secret, both sides prove that they know it before anything is started.
 */
final class ReportPeer implements ReportPerf.Far, AutoCloseable {
    static final int PORT = 18_516;

    private static final String HELLO = "verbena-report-1";
    private static final String PROOF = "proof ";
    private static final int RANDOM_BYTES = 32;
    private static final int LONGEST_LINE = 200;
    private static final Duration HANDSHAKE = Duration.ofSeconds(30);
    private static final Duration PATIENCE = Duration.ofHours(2);

    private final String host;
    private final Tcp tcp;

    private ReportPeer(String host, Tcp tcp) {
        this.host = host;
        this.tcp = tcp;
    }

    /** Connects to a machine that runs {@code report --server}, with the same secret or none. */
    static ReportPeer connect(String host, int port, byte @Nullable [] secret)
            throws IOException, InterruptedException {
        Tcp tcp = Tcp.connect(host, port, HANDSHAKE);
        ReportPeer peer = new ReportPeer(host, tcp);
        try {
            if (secret == null) {
                peer.ask(HELLO);
            } else {
                peer.prove(secret);
            }
            tcp.patience(HANDSHAKE);
            return peer;
        } catch (Throwable t) {
            tcp.close();
            throw t;
        }
    }

    private void prove(byte[] secret) throws IOException, InterruptedException {
        String own = random();
        String both = own + ' ' + ask(HELLO + ' ' + own);
        String proof = ask(PROOF + proof(secret, "client", both));
        if (!isEqual(proof, proof(secret, "server", both))) {
            throw new IOException("the peer does not know the bytes of --secret-file");
        }
    }

    private static String random() {
        byte[] bytes = new byte[RANDOM_BYTES];
        new SecureRandom().nextBytes(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    /** Returns what only a side that knows the secret can say, about numbers that both sides have made for this connection. */
    private static String proof(byte[] secret, String side, String numbers) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret, "HmacSHA256"));
            String what = HELLO + ' ' + side + ' ' + numbers;
            return HexFormat.of().formatHex(mac.doFinal(what.getBytes(StandardCharsets.UTF_8)));
        } catch (GeneralSecurityException missing) {
            throw new IllegalStateException(missing); // each Java has it
        }
    }

    private static boolean isEqual(String proof, String expected) {
        return MessageDigest.isEqual(proof.getBytes(StandardCharsets.UTF_8), expected.getBytes(StandardCharsets.UTF_8));
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

    /** Serves one client until it ends the connection. Others are refused, and tell nothing by it but their mistake. */
    static void serve(ServerSocketChannel listening, List<String> where, byte @Nullable [] secret, PrintStream out)
            throws Exception {
        while (true) {
            try (Tcp tcp = Tcp.accept(listening, HANDSHAKE)) {
                if (isWelcome(tcp, secret, out)) {
                    serve(tcp, where);
                    return;
                }
            }
        }
    }

    private static boolean isWelcome(Tcp tcp, byte @Nullable [] secret, PrintStream out) throws InterruptedException {
        try {
            String hello = tcp.readLine(LONGEST_LINE, "its first line");
            if (secret == null) {
                check(tcp, hello.equals(HELLO), hello, "do both ends have the same release, and no --secret-file?");
            } else {
                check(
                        tcp,
                        hello.startsWith(HELLO + ' '),
                        hello,
                        "do both ends have the same release and --secret-file?");
                String own = random();
                send(tcp, "ok " + own);
                String both = hello.substring(HELLO.length() + 1) + ' ' + own;
                String proof = tcp.readLine(LONGEST_LINE, "its proof");
                check(
                        tcp,
                        isEqual(proof, PROOF + proof(secret, "client", both)),
                        proof,
                        "it has another --secret-file");
                send(tcp, "ok " + proof(secret, "server", both));
                return true;
            }
            send(tcp, "ok");
            return true;
        } catch (IOException stranger) {
            out.println("refused a client: " + Tool.inOneLine(stranger));
            return false;
        }
    }

    private static void check(Tcp tcp, boolean right, String line, String advice)
            throws IOException, InterruptedException {
        if (!right) {
            send(tcp, "no: this is " + HELLO + ": " + advice);
            throw new IOException("it sent '" + line + "' to " + HELLO + ": " + advice);
        }
    }

    private static void serve(Tcp tcp, List<String> where) throws Exception {
        ReportPerf.Near servers = new ReportPerf.Near(where);
        tcp.patience(PATIENCE);
        try {
            while (true) {
                send(tcp, answer(tcp.readLine(LONGEST_LINE, "its next line"), servers));
            }
        } catch (Tcp.PeerGoneException end) {
            return;
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

    private static String start(String[] words, ReportPerf.Near servers) throws IOException, InterruptedException {
        if (words.length == 4 && programs().contains(words[1])) {
            try {
                int size = Integer.parseInt(words[2]);
                int count = Integer.parseInt(words[3]);
                if (size > 0 && size <= PerfPlan.LARGEST && count > 0 && count <= MOST_MESSAGES) {
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
