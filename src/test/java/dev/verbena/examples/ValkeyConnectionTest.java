package dev.verbena.examples;

import static dev.verbena.examples.ValkeyServer.KEEP_ALIVE;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.docs.ValkeySnippets;
import dev.verbena.examples.ValkeyServer.Peer;
import dev.verbena.examples.ValkeyServer.Script;
import dev.verbena.examples.valkey.ValkeyConnection;
import dev.verbena.support.Await;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.CmAddress;
import dev.verbena.support.Loopback;
import dev.verbena.support.Slow;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Response;

/** The example {@code ValkeyConnection} at a server of this project. */
@Slow
class ValkeyConnectionTest {
    private static final int TIMEOUT = (int) Loopback.DEADLINE.toMillis();
    private static final int RING = 1 << 16;

    private static Socket connect(ValkeyServer server) throws IOException {
        return connect(server, RING);
    }

    private static Socket connect(ValkeyServer server, int ringSize) throws IOException {
        Socket made = new ValkeyConnection();
        made.setReceiveBufferSize(ringSize);
        made.connect(server.address, TIMEOUT);
        made.setSoTimeout(TIMEOUT);
        return made;
    }

    private static void ping(Socket socket) throws IOException {
        socket.getOutputStream().write("*1\r\n$4\r\nPING\r\n".getBytes(UTF_8));
        assertThat(socket.getInputStream().readNBytes(7)).isEqualTo("+PONG\r\n".getBytes(UTF_8));
    }

    /** Returns whether a value comes back as it was sent. */
    private static boolean echoes(Socket socket, byte[] value) throws IOException {
        byte[] length = ("$" + value.length + "\r\n").getBytes(UTF_8);
        socket.getOutputStream().write("*2\r\n$4\r\nECHO\r\n".getBytes(UTF_8));
        socket.getOutputStream().write(length);
        socket.getOutputStream().write(value);
        socket.getOutputStream().write("\r\n".getBytes(UTF_8));
        InputStream in = socket.getInputStream();
        return Arrays.equals(in.readNBytes(length.length), length)
                && Arrays.equals(in.readNBytes(value.length), value)
                && in.readNBytes(2).length == 2;
    }

    private static byte[] random(int length) {
        byte[] made = new byte[length];
        new SplittableRandom(length).nextBytes(made);
        return made;
    }

    /** Returns the powers of two and their neighbours; between the small ones and the largest, only a few. */
    private static int[] sizes() {
        return IntStream.concat(IntStream.rangeClosed(0, 16), IntStream.of(20, 23))
                .flatMap(power -> IntStream.rangeClosed((1 << power) - 1, (1 << power) + 1))
                .filter(size -> size > 0 && size <= 8 << 20)
                .distinct()
                .toArray();
    }

    @Test
    void ringsOfEachSizeAreRegisteredAgain() throws Exception {
        try (ValkeyServer server = new ValkeyServer(1)) {
            for (int size : sizes()) {
                server.ringSize = size;
                try (Socket socket = connect(server, size)) {
                    assertThat(echoes(socket, random(size + 1)))
                            .as("a ring of %d bytes", size)
                            .isTrue();
                }
            }
        }
    }

    @Test
    void valuesOfEachSizePassThroughARing() throws Exception {
        try (ValkeyServer server = new ValkeyServer(RING + 1);
                Socket socket = connect(server)) {
            for (int size : sizes()) {
                assertThat(echoes(socket, random(size))).as("%d bytes", size).isTrue();
            }
        }
    }

    @Test
    void jedisRunsUnchanged() {
        try (ValkeyServer server = new ValkeyServer(RING);
                Jedis jedis = ValkeySnippets.jedis(server.address, TIMEOUT)) {
            assertThat(jedis.ping()).isEqualTo("PONG");
            assertThat(jedis.set("key", "value")).isEqualTo("OK");
            assertThat(jedis.get("key")).isEqualTo("value");
            assertThat(jedis.get("other")).isNull();
        }
    }

    @Test
    void tenThousandCommandsArePipelined() {
        try (ValkeyServer server = new ValkeyServer(RING);
                Jedis jedis = ValkeySnippets.jedis(server.address, TIMEOUT)) {
            countsToTenThousand(jedis);
        }
    }

    /** Sends commands without waiting for the replies, all of which must come. */
    static void countsToTenThousand(Jedis jedis) {
        Pipeline pipeline = jedis.pipelined();
        List<Response<Long>> replies = new ArrayList<>();
        for (int i = 0; i < 10_000; i++) {
            replies.add(pipeline.incr("counter"));
        }
        pipeline.sync();
        assertThat(replies.stream().map(Response::get))
                .containsExactlyElementsOf(
                        LongStream.rangeClosed(1, 10_000).boxed().toList());
    }

    @Test
    void commandsOfSingleBytesArrive() throws Exception {
        try (ValkeyServer server = new ValkeyServer(RING);
                Socket socket = connect(server)) {
            for (int i = 0; i < 100; i++) {
                for (byte each : "*1\r\n$4\r\nPING\r\n".getBytes(UTF_8)) {
                    socket.getOutputStream().write(each);
                }
            }
            assertThat(new String(socket.getInputStream().readNBytes(700), UTF_8))
                    .isEqualTo("+PONG\r\n".repeat(100));
        }
    }

    @Test
    void repliesLargerThanTheRingWaitForTheReader() throws Exception {
        try (ValkeyServer server = new ValkeyServer(RING);
                Socket socket = connect(server, 1000)) {
            for (int i = 0; i < 3; i++) {
                assertThat(echoes(socket, random(100_001))).isTrue();
            }
        }
    }

    /** Starts a thread that reads a byte, and hands over the byte or the exception. */
    private static Thread reader(Socket socket, AtomicReference<Object> result) {
        return Thread.ofPlatform().start(() -> {
            try {
                result.set(socket.getInputStream().read());
            } catch (IOException e) {
                result.set(e);
            }
        });
    }

    @Test
    void waitingThreadAsksWhetherTheServerIsThere() throws Exception {
        AtomicReference<Object> first = new AtomicReference<>();
        try (ValkeyServer server = new ValkeyServer(RING);
                Socket socket = connect(server)) {
            Thread reader = reader(socket, first);
            Await.until("a message of a silent client", () -> server.keepAlives.get() > 0);
            socket.getOutputStream().write("*1\r\n$4\r\nPING\r\n".getBytes(UTF_8));
            Await.end(reader);
            assertThat(first.get()).isEqualTo((int) '+');
        }
    }

    @Test
    void messagesOfASilentServerAreNoData() throws Exception {
        try (ValkeyServer server = new ValkeyServer(RING, peer -> {
                    for (int i = 0; i < 1000; i++) {
                        peer.send(Peer.message(KEEP_ALIVE));
                        peer.other();
                        peer.awaitSent();
                    }
                    peer.serve();
                });
                Socket socket = connect(server)) {
            ping(socket);
        }
    }

    @Test
    void timeoutLeavesTheConnectionUsable() throws Exception {
        try (ValkeyServer server = new ValkeyServer(RING);
                Socket socket = connect(server)) {
            socket.setSoTimeout(1);
            assertThatThrownBy(() -> socket.getInputStream().read()).isInstanceOf(SocketTimeoutException.class);
            socket.setSoTimeout(TIMEOUT);
            ping(socket);
        }
    }

    @Test
    void closeEndsReads() throws Exception {
        AtomicReference<Object> result = new AtomicReference<>();
        try (ValkeyServer server = new ValkeyServer(RING)) {
            Socket socket = connect(server);
            Thread reader = reader(socket, result);
            Await.until("a thread that waits for data", () -> Await.isAsleep(reader));
            socket.close();
            socket.close();
            Await.end(reader);
            assertThat(result.get()).isInstanceOf(SocketException.class);
            assertThat(socket.isClosed()).isTrue();
        }
    }

    @Test
    void shutdownOfInputEndsReads() throws Exception {
        AtomicReference<Object> result = new AtomicReference<>();
        try (ValkeyServer server = new ValkeyServer(RING);
                Socket socket = connect(server)) {
            Thread reader = reader(socket, result);
            Await.until("a thread that waits for data", () -> Await.isAsleep(reader));
            socket.shutdownInput();
            Await.end(reader);
            assertThat(result.get()).isEqualTo(-1);
            assertThatThrownBy(socket::shutdownOutput).isInstanceOf(SocketException.class);
        }
    }

    @Test
    void closeWaitsForWhatWasWritten() throws Exception {
        AtomicInteger received = new AtomicInteger();
        Script count = peer -> {
            peer.register();
            while (peer.read() >= 0) {
                received.incrementAndGet();
            }
        };
        try (ValkeyServer server = new ValkeyServer(RING, count)) {
            try (Socket socket = connect(server)) {
                socket.getOutputStream().write(new byte[2 * RING - 1]);
            }
            Await.until("all bytes", () -> received.get() == 2 * RING - 1);
        }
    }

    @Test
    void socketTellsItsStateAndAddresses() throws Exception {
        try (ValkeyServer server = new ValkeyServer(RING)) {
            Socket socket = new ValkeyConnection();
            assertThat(socket.isConnected()).isFalse();
            socket.setTcpNoDelay(true);
            socket.setReuseAddress(true);
            socket.setSoLinger(true, 0);
            socket.setKeepAlive(false);
            socket.connect(server.address);
            assertThat(socket.isConnected()).isTrue();
            assertThat(socket.getRemoteSocketAddress()).isEqualTo(server.address);
            assertThat(socket.getLocalAddress()).isEqualTo(server.address.getAddress());
            assertThat(socket.getLocalPort()).isPositive();
            assertThat(socket.getKeepAlive()).isFalse();
            assertThat(socket.getInputStream().available()).isZero();
            socket.close();
            assertThatThrownBy(socket::getInputStream).isInstanceOf(SocketException.class);
        }
    }

    @Test
    void connectFailsWhereNobodyListens() throws Exception {
        try (Socket socket = new ValkeyConnection()) {
            assertThatThrownBy(() -> socket.connect(CmAddress.four(9), TIMEOUT)).isInstanceOf(SocketException.class);
        }
        try (Socket socket = new ValkeyConnection()) {
            assertThatThrownBy(() -> socket.connect(InetSocketAddress.createUnresolved("host", 9)))
                    .isInstanceOf(UnknownHostException.class);
        }
    }

    @Test
    void killedServerEndsTheStream() throws Exception {
        Process process = ChildJvm.with("--enable-native-access=ALL-UNNAMED").startOnClassPath(ValkeyServer.class);
        InetSocketAddress address =
                CmAddress.four(Integer.parseInt(process.inputReader(UTF_8).readLine()));
        try (Socket socket = new ValkeyConnection()) {
            socket.connect(address, TIMEOUT);
            ping(socket);
            process.destroyForcibly();
            assertEnds(socket);
        } finally {
            process.destroyForcibly().waitFor();
        }
        try (Socket socket = new ValkeyConnection()) {
            assertThatThrownBy(() -> socket.connect(address, TIMEOUT)).isInstanceOf(SocketException.class);
        }
    }

    private static void assertEnds(Socket socket) {
        assertThatThrownBy(() -> {
                    socket.getOutputStream().write(new byte[3 * RING]);
                    while (socket.getInputStream().read() >= 0) {
                        // What came before the end.
                    }
                    throw new SocketException("the end");
                })
                .isInstanceOf(SocketException.class);
    }

    /** What a server may say that is not true. */
    enum Lie {
        RING_WITHOUT_BYTES(peer -> peer.register(peer.ring.address(), 0, peer.ring.remoteKey())),
        RING_ELSEWHERE(peer -> peer.register(peer.ring.address() + RING, RING, peer.ring.remoteKey())),
        RING_NOWHERE(peer -> peer.register(-1, -1, peer.ring.remoteKey())),
        RING_WITH_ANOTHER_KEY(peer -> peer.register(peer.ring.address(), RING, ~peer.ring.remoteKey())),
        RING_THAT_IS_SHORTER(peer -> peer.register(peer.ring.address(), -1, peer.ring.remoteKey())),
        ONE_BYTE_MORE(peer -> peer.write(peer.other().slice(0, 1), RING + 1)),
        MOST_BYTES(peer -> peer.write(peer.other().slice(0, 1), -1)),
        MORE_BYTES_THAN_ARE_LEFT(peer -> {
            peer.write(peer.other().slice(0, 1), RING - 1);
            peer.write(peer.other().slice(0, 1), 2);
        }),
        BYTES_BEYOND_THE_RING(peer -> peer.write(
                new RemoteMemory(peer.other().address() + RING, peer.other().key(), 1), 1)),
        HALF_A_MESSAGE(peer -> peer.send(ByteBuffer.allocate(16))),
        TWO_MESSAGES_IN_ONE(peer -> peer.connection.queuePair().postSend(0, peer.ring.slice(0, 64))),
        UNKNOWN_MESSAGE(peer -> peer.send(Peer.message(9)));

        private final Script script;

        Lie(Script script) {
            this.script = script;
        }
    }

    @ParameterizedTest
    @EnumSource
    void lieEndsItsConnectionAlone(Lie lie) throws Exception {
        Script lying = peer -> {
            lie.script.run(peer);
            peer.awaitEnd();
        };
        try (ValkeyServer honest = new ValkeyServer(RING);
                Socket other = connect(honest);
                ValkeyServer liar = new ValkeyServer(RING, lying)) {
            try (Socket socket = connect(liar)) {
                assertEnds(socket);
            }
            ping(other);
        }
    }
}
