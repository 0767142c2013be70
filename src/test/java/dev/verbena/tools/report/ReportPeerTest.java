package dev.verbena.tools.report;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.support.Loopback;
import dev.verbena.tools.command.Tcp;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** {@code report --server} under strangers. No device is needed: a server looks for one when its client has come. */
@Timeout(120)
class ReportPeerTest {
    private static final List<String> WHERE = List.of("-d", "nothing");
    private static final byte[] SECRET = "a secret of some 32 random bytes".getBytes(US_ASCII);

    private final ByteArrayOutputStream printed = new ByteArrayOutputStream();

    @AutoClose
    private ServerSocketChannel listening;

    @BeforeEach
    void listen() throws IOException {
        listening = Tcp.listen(0);
    }

    private FutureTask<Void> serve(byte[] secret) {
        FutureTask<Void> serving = new FutureTask<>(() -> {
            ReportPeer.serve(listening, WHERE, secret, new PrintStream(printed, true, US_ASCII));
            return null;
        });
        Thread.ofPlatform().daemon().start(serving);
        return serving;
    }

    private static void end(FutureTask<Void> serving) throws Exception {
        serving.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS);
    }

    private int port() throws IOException {
        return ((InetSocketAddress) listening.getLocalAddress()).getPort();
    }

    private ReportPeer connect(byte[] secret) throws Exception {
        return ReportPeer.connect("127.0.0.1", port(), secret);
    }

    private static void assertNobodyListens(List<Integer> ports) {
        for (int each : ports) {
            assertThatExceptionOfType(ConnectException.class)
                    .as("port " + each)
                    .isThrownBy(() -> new Socket("127.0.0.1", each).close());
        }
    }

    @Test
    void oneServerAtATimeIsStarted() throws Exception {
        ReportPerf.Near servers = new ReportPerf.Near(WHERE);
        List<Integer> ports = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            ports.add(servers.perf());
            assertNobodyListens(ports.subList(0, i));
        }
        servers.end();
        assertNobodyListens(ports);
    }

    @Test
    void serverOfAClientEndsWithItsConnection() throws Exception {
        FutureTask<Void> serving = serve(null);
        List<Integer> ports = new ArrayList<>();
        try (ReportPeer client = connect(null)) {
            for (int i = 0; i < 5; i++) {
                ports.add(client.perf());
            }
        }
        end(serving);
        assertNobodyListens(ports);
    }

    @Test
    void strangersDoNotEndTheServer() throws Exception {
        FutureTask<Void> serving = serve(null);
        for (String first : List.of("GET / HTTP/1.1\n", "verbena-report-0\n", "\u001b[2J\n")) {
            assertThat(answer(first)).startsWith("no: this is verbena-report-1");
        }
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> connect(SECRET))
                .withMessageContaining("no --secret-file");
        connect(null).close();
        end(serving);
        assertThat(printed.toString(US_ASCII)).hasLineCount(4).contains("it sent '?[2J'");
    }

    /** Says a line, and returns the answer. */
    private String answer(String line) throws IOException {
        try (Socket socket = new Socket("127.0.0.1", port())) {
            socket.getOutputStream().write(line.getBytes(US_ASCII));
            return new BufferedReader(new InputStreamReader(socket.getInputStream(), US_ASCII)).readLine();
        }
    }

    @Test
    void clientWithTheSecretIsServed() throws Exception {
        FutureTask<Void> serving = serve(SECRET);
        try (ReportPeer client = connect(SECRET)) {
            assertThat(client.perf()).isPositive();
        }
        end(serving);
    }

    @Test
    void strangersStartNothingWhereThereIsASecret() throws Exception {
        FutureTask<Void> serving = serve(SECRET);
        byte[] guess = SECRET.clone();
        guess[31] ^= 1;
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> connect(guess))
                .withMessageContaining("another --secret-file");
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> connect(null))
                .withMessageContaining("same release and --secret-file");
        assertThat(answer("perf\n")).startsWith("no: ");
        assertThat(serving.isDone()).isFalse();
        connect(SECRET).close();
        end(serving);
    }

    /** A server that does not know the secret may say anything. */
    @Test
    void falseServerIsFoundOut() throws Exception {
        FutureTask<Void> serving = new FutureTask<>(() -> {
            try (Tcp client = Tcp.accept(listening, Loopback.DEADLINE)) {
                for (int i = 0; i < 2; i++) {
                    client.readLine(200, "a line");
                    client.write(("ok " + "00".repeat(32) + "\n").getBytes(US_ASCII), "an answer");
                }
            }
            return null;
        });
        Thread.ofPlatform().daemon().start(serving);
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> connect(SECRET))
                .withMessageContaining("does not know");
        end(serving);
    }
}
