package dev.verbena.tools.pingpong;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.support.Loopback;
import dev.verbena.tools.Listening;
import dev.verbena.tools.command.Tcp;
import dev.verbena.verbs.address.Endpoint;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Tests the handshake of the ping-pongs over real sockets, with valid and invalid messages. */
class HandshakeTest {
    private static final String TEXT = "0000:000011:a3b2c1:00000000000000000000ffff0a090901";
    private static final Endpoint MINE = Endpoint.parse("0000:00002a:010203:00000000000000000000ffff0a090902");
    private static final Duration SOON = Duration.ofMillis(200);

    /** The actions of a peer on its socket. */
    private interface Peer {
        void talk(Socket socket) throws Exception;
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private static List<Endpoint> get(FutureTask<List<Endpoint>> task) throws Exception {
        try {
            return task.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw (Exception) e.getCause();
        }
    }

    /** Runs the server's part against a client. */
    private static List<Endpoint> serve(int records, Duration patience, Peer client) throws Exception {
        int port = Listening.freePort();
        FutureTask<List<Endpoint>> server = new FutureTask<>(() -> {
            try (Tcp tcp = Tcp.accept(port, patience)) {
                return Handshake.asServer(tcp, List.of(MINE), records, peers -> {});
            }
        });
        Thread.ofPlatform().daemon().start(server);
        Listening.await(port, () -> !server.isDone());
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            client.talk(socket);
            if (patience.equals(SOON)) { // the socket stays open
                return get(server);
            }
        }
        return get(server);
    }

    /** Runs the client's part against a server. */
    private static List<Endpoint> call(Duration patience, Peer server) throws Exception {
        try (ServerSocket listening = new ServerSocket(0)) {
            FutureTask<List<Endpoint>> client = new FutureTask<>(() -> {
                try (Tcp tcp = Tcp.connect("localhost", listening.getLocalPort(), patience)) {
                    return Handshake.asClient(tcp, List.of(MINE), 1, peers -> {});
                }
            });
            Thread.ofPlatform().daemon().start(client);
            try (Socket socket = listening.accept()) {
                assertThat(socket.getInputStream().readNBytes(Handshake.RECORD)).isEqualTo(ascii(MINE + "\0"));
                server.talk(socket);
                if (patience.equals(SOON)) {
                    return get(client);
                }
            }
            return get(client);
        }
    }

    private static void serverFails(String message, Peer client) {
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> serve(1, Loopback.DEADLINE, client))
                .withMessageContaining(message);
    }

    private static void clientFails(String message, Peer server) {
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> call(Loopback.DEADLINE, server))
                .withMessageContaining(message);
    }

    @Test
    void handshakeEqualsThatOfTheCTools() throws Exception {
        assertThat(serve(1, Loopback.DEADLINE, client -> {
                    client.getOutputStream().write(ascii(TEXT + "\0"));
                    assertThat(client.getInputStream().readNBytes(Handshake.RECORD))
                            .isEqualTo(ascii(MINE + "\0"));
                    client.getOutputStream().write(ascii("done\0"));
                }))
                .containsExactly(Endpoint.parse(TEXT));
        List<byte[]> end = new ArrayList<>();
        assertThat(call(Loopback.DEADLINE, server -> {
                    server.getOutputStream().write(ascii(TEXT + "\0"));
                    end.add(server.getInputStream().readAllBytes());
                }))
                .containsExactly(Endpoint.parse(TEXT));
        assertThat(end).containsExactly(ascii("done\0"));
    }

    @Test
    void handshakeAssemblesMessagesThatArriveInPieces() throws Exception {
        assertThat(serve(256, Loopback.DEADLINE, client -> {
                    byte[] message = ascii((TEXT + "\0").repeat(256));
                    client.setTcpNoDelay(true);
                    for (int i = 0; i < message.length; i += 1000) {
                        client.getOutputStream().write(message, i, Math.min(1000, message.length - i));
                    }
                    byte[] answer = client.getInputStream().readNBytes(256 * Handshake.RECORD);
                    assertThat(new String(answer, StandardCharsets.US_ASCII))
                            .startsWith(MINE + "\0")
                            .endsWith("0000:000000:000000:" + "0".repeat(32) + "\0");
                    client.getOutputStream().write(ascii("done\0"));
                }))
                .containsExactly(Endpoint.parse(TEXT));
    }

    @Test
    void handshakeReportsAShortEndpoint() {
        serverFails(
                "after 20 of the 52 bytes of its endpoint",
                client -> client.getOutputStream().write(new byte[20]));
        clientFails(
                "after 20 of the 52 bytes of its endpoint",
                server -> server.getOutputStream().write(new byte[20]));
    }

    @Test
    void handshakeReportsAnEarlyClose() {
        serverFails("after 0 of the 52 bytes", client -> {});
        clientFails("after 0 of the 52 bytes", server -> {});
        serverFails("its final 'done'", client -> {
            client.getOutputStream().write(ascii(TEXT + "\0"));
            client.getInputStream().readNBytes(Handshake.RECORD);
        });
    }

    @Test
    void handshakeReportsALongEndpoint() {
        serverFails("more than 52 bytes", client -> client.getOutputStream().write(ascii(TEXT + "\0" + TEXT + "\0")));
        clientFails("more than 52 bytes", server -> server.getOutputStream().write(ascii(TEXT + "\0" + TEXT + "\0")));
    }

    @Test
    void handshakeShowsAnInvalidEndpoint() {
        byte[] garbage = ascii("GET / HTTP/1.1\r\nHost: localhost:18515\r\nAccept: */*\r\n\r\n");
        serverFails(
                "'GET / HTTP/1.1..Host: ", client -> client.getOutputStream().write(garbage));
        clientFails(
                "which is not an endpoint", server -> server.getOutputStream().write(garbage, 0, Handshake.RECORD));
        // of ibv_xsrq_pingpong: two queue pairs and a shared receive queue
        byte[] other = ascii("0000:000011:000012:a3b2c1:000013:00000000000000000000ffff0a090901\0");
        serverFails("is it another tool?", client -> client.getOutputStream().write(other));
    }

    @Test
    void handshakeShowsAWordOtherThanDone() {
        serverFails("'DONE.' instead of 'done'", client -> {
            client.getOutputStream().write(ascii(TEXT + "\0"));
            client.getInputStream().readNBytes(Handshake.RECORD);
            client.getOutputStream().write(ascii("DONE\0"));
        });
    }

    @Test
    void handshakeEndsAtItsTimeout() {
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> serve(1, SOON, client -> {}))
                .withMessageContaining("sent 0 of the 52 bytes of its endpoint within 200 ms");
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> call(SOON, server -> {}))
                .withMessageContaining("sent 0 of the 52 bytes of its endpoint within 200 ms");
    }

    @Test
    void connectReportsAMissingServer() throws Exception {
        int port = Listening.freePort();
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(
                        () -> Tcp.connect("localhost", port, Loopback.DEADLINE).close())
                .withMessageContaining("can't connect to localhost:" + port)
                .withMessageContaining("refused");
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> Tcp.connect("no-such-host.invalid", port, Loopback.DEADLINE)
                        .close())
                .withMessageContaining("host 'no-such-host.invalid' not found");
    }

    @Test
    void acceptReportsAPortInUse() throws Exception {
        try (ServerSocket taken = new ServerSocket(0)) {
            assertThatExceptionOfType(IOException.class)
                    .isThrownBy(() ->
                            Tcp.accept(taken.getLocalPort(), Loopback.DEADLINE).close())
                    .withMessageContaining("can't listen on port " + taken.getLocalPort());
        }
    }

    @Test
    void acceptEndsByInterrupt() throws Exception {
        int port = Listening.freePort();
        FutureTask<Boolean> waiting = new FutureTask<>(() -> {
            try {
                Tcp.accept(port, Loopback.DEADLINE).close();
                return false;
            } catch (InterruptedException e) {
                return true;
            }
        });
        Thread thread = Thread.ofPlatform().daemon().start(waiting);
        Listening.await(port, thread::isAlive);
        thread.interrupt();
        assertThat(waiting.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
    }
}
