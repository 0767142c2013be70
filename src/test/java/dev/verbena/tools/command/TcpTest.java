package dev.verbena.tools.command;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.support.Await;
import dev.verbena.support.Loopback;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the time limits of the tools' TCP connection, and that it loses no byte. */
class TcpTest {
    private static final Duration SOON = Duration.ofMillis(400);
    private static final long PERIOD_MILLIS = 20;

    private interface Talk {
        void with(Tcp tcp, Socket peer) throws Exception;
    }

    private static void connected(Duration handshake, Talk talk) throws Exception {
        try (ServerSocket listening = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Tcp tcp = Tcp.connect("127.0.0.1", listening.getLocalPort(), handshake);
                Socket peer = listening.accept()) {
            peer.setTcpNoDelay(true);
            talk.with(tcp, peer);
        }
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private static void awaitData(Tcp tcp) {
        Await.until("data of the peer", () -> tcp.hasMore());
    }

    @Test
    void checkPeerKeepsTheByteThatItReads() throws Exception {
        connected(Loopback.DEADLINE, (tcp, peer) -> {
            peer.getOutputStream().write(ascii("done"));
            awaitData(tcp);
            tcp.checkPeer();
            tcp.checkPeer();
            assertThat(tcp.hasMore()).isTrue();
            assertThat(tcp.read(4, "the word")).isEqualTo(ascii("done"));
            assertThat(tcp.hasMore()).isFalse();
        });
    }

    @Test
    void expectNoMoreSeesTheByteThatCheckPeerRead() throws Exception {
        connected(Loopback.DEADLINE, (tcp, peer) -> {
            peer.getOutputStream().write('x');
            awaitData(tcp);
            tcp.checkPeer();
            assertThatExceptionOfType(IOException.class)
                    .isThrownBy(() -> tcp.expectNoMore("nothing"))
                    .withMessageContaining("more than nothing");
        });
    }

    @Test
    void checkPeerReportsAClosedConnection() throws Exception {
        connected(Loopback.DEADLINE, (tcp, peer) -> {
            peer.shutdownOutput();
            awaitData(tcp);
            assertThatExceptionOfType(IOException.class)
                    .isThrownBy(tcp::checkPeer)
                    .withMessageContaining("has closed the connection");
        });
    }

    /** Sends a byte now and then, with pauses that are much shorter than the time limit. */
    private static AutoCloseable drip(Socket peer) throws IOException {
        OutputStream out = peer.getOutputStream();
        ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
        clock.scheduleWithFixedDelay(
                () -> {
                    try {
                        out.write('.');
                    } catch (IOException gone) {
                        throw new UncheckedIOException(gone); // ends the dripping
                    }
                },
                0,
                PERIOD_MILLIS,
                TimeUnit.MILLISECONDS);
        return () -> {
            clock.shutdownNow();
            assertThat(clock.awaitTermination(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
        };
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void messageThatDripsEndsAtItsDeadline(boolean afterTheHandshake) throws Exception {
        connected(afterTheHandshake ? Loopback.DEADLINE : SOON, (tcp, peer) -> {
            if (afterTheHandshake) {
                tcp.patience(SOON);
            }
            AutoCloseable drip = drip(peer);
            try {
                assertThatExceptionOfType(IOException.class)
                        .isThrownBy(() -> tcp.read(200, "its endpoint"))
                        .withMessageContaining("of the 200 bytes of its endpoint within 400 ms");
            } finally {
                drip.close();
            }
        });
    }

    @Test
    void lineThatDripsEndsAtTheDeadlineOfTheHandshake() throws Exception {
        connected(SOON, (tcp, peer) -> {
            AutoCloseable drip = drip(peer);
            try {
                assertThatExceptionOfType(IOException.class)
                        .isThrownBy(() -> tcp.readLine(200, "the plan"))
                        .withMessageContaining("the plan within 400 ms");
            } finally {
                drip.close();
            }
        });
    }

    @Test
    void messagesOfTheHandshakeShareOneDeadline() throws Exception {
        connected(SOON, (tcp, peer) -> {
            AutoCloseable drip = drip(peer);
            try {
                assertThatExceptionOfType(IOException.class)
                        .isThrownBy(() -> {
                            for (int i = 0; i < 100; i++) {
                                tcp.read(2, "message " + i);
                            }
                        })
                        .withMessageContaining("within 400 ms");
            } finally {
                drip.close();
            }
        });
    }
}
