package dev.verbena.sockets;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.Await;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import java.io.DataInputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Channels with C's {@code rstream}, {@code riostream} and {@code rcopy} of rdmacm-utils as the peer. */
@DeviceTest
class InteropTest {
    private static final int SIZE = 3_000;
    private static final int COUNT = 4;
    private static final int MOST_SERVERS = 10;
    private static final int ROUNDS = 5;
    private static final int SYNC = 16;
    private static final int FILE = 200_000;

    // The messages of rcopy
    private static final int OPEN = 1;
    private static final int CLOSE = 2;
    private static final int WRITE = 3;
    private static final int RESPONSE = 0x80;
    private static final int HEADER = 16;

    private static final VarHandle BYTE = ValueLayout.JAVA_BYTE.varHandle();

    private static Process rstream(String... arguments) throws IOException {
        return start(stream("rstream", arguments));
    }

    private static Process start(List<String> command) throws IOException {
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    /** Returns a command that exchanges a few messages. */
    private static List<String> stream(String program, String... arguments) {
        List<String> command = new ArrayList<>(List.of(
                program, "-S", Integer.toString(SIZE), "-C", Integer.toString(COUNT), "-I", Integer.toString(ROUNDS)));
        command.addAll(List.of(arguments));
        return command;
    }

    private static String[] at(InetSocketAddress address, String option, String... more) {
        List<String> all = new ArrayList<>(
                List.of(option, address.getAddress().getHostAddress(), "-p", Integer.toString(address.getPort())));
        all.addAll(List.of(more));
        return all.toArray(String[]::new);
    }

    private static String end(Process process) throws Exception {
        try {
            assertThat(process.waitFor(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS))
                    .as("rstream ends")
                    .isTrue();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(process.exitValue()).as(output).isZero();
            return output;
        } finally {
            process.destroyForcibly();
        }
    }

    private static void echo(SocketChannel channel) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocateDirect(4096);
        while (channel.read(buffer.clear()) >= 0) {
            buffer.flip();
            while (buffer.hasRemaining()) {
                channel.write(buffer);
            }
        }
    }

    private interface Serving {
        void serve(RdmaSocketChannel channel) throws IOException;
    }

    /** Accepts one connection for a C program, and serves it until both have ended. Returns the program's output. */
    private static String serve(int mappings, Serving how, Function<InetSocketAddress, List<String>> command)
            throws Exception {
        try (ServerSocketChannel server = SocketPair.listening(mappings)) {
            FutureTask<Object> serving = new FutureTask<>(() -> {
                try (SocketChannel channel = server.accept()) {
                    how.serve((RdmaSocketChannel) channel);
                }
                return null;
            });
            Thread.ofPlatform().daemon().start(serving);
            String output = end(start(command.apply((InetSocketAddress) server.getLocalAddress())));
            serving.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS);
            return output;
        }
    }

    /** Options of rstream: blocking with addresses of the connection manager, and non-blocking. Both verify the data. */
    @ParameterizedTest
    @ValueSource(strings = {"b -T r", "n"})
    void rstreamExchangesDataWithAJavaServer(String test) throws Exception {
        assertThat(serve(0, InteropTest::echo, address -> stream("rstream", at(address, "-s", tests(test)))))
                .contains("custom")
                .doesNotContain("failed");
    }

    private static String[] tests(String test) {
        return ("-T v -T " + test).split(" ");
    }

    @Test
    void programWithPlainSocketsExchangesDataWithAJavaServerByPreload() throws Exception {
        assertThat(serve(
                        0,
                        InteropTest::echo,
                        address -> Preload.of(stream("rstream", at(address, "-s", "-T", "s", "-T", "v")))))
                .contains("custom");
    }

    @Test
    void javaClientExchangesDataWithAnRstreamServer() throws Exception {
        InetSocketAddress free = freeAddress();
        exchangeWith(free, start(stream("rstream", at(free, "-b", tests("a"))))); // asynchronous
    }

    private static void exchangeWith(InetSocketAddress address, Process server) throws Exception {
        try (SocketChannel client = connect(address)) {
            exchangeAll(client);
            end(server);
        } finally {
            server.destroyForcibly();
        }
    }

    private static void exchangeAll(SocketChannel client) throws IOException {
        exchange(client, 0, SYNC);
        for (int i = 0; i < ROUNDS; i++) {
            exchange(client, SYNC + i * SIZE * COUNT, SIZE * COUNT);
        }
    }

    /**
     * A server that forks takes a plain TCP connection first, and tells the client by four zeros to connect by RDMA:
     * {@code fork_active} in C. A Java client can do the same.
     */
    @Test
    void javaClientExchangesDataWithAnRstreamServerThatForks() throws Exception {
        InetSocketAddress free = freeAddress();
        Process server = start(
                Preload.of(stream("rstream", at(free, "-b", "-T", "f", "-T", "b", "-T", "v")), "RDMAV_FORK_SAFE=1"));
        try (Socket first = connectByTcp(free)) {
            assertThat(new DataInputStream(first.getInputStream()).readInt()).isZero();
            exchangeWith(free, server);
        } finally {
            server.destroyForcibly();
        }
    }

    private static Socket connectByTcp(InetSocketAddress to) throws IOException {
        long end = System.nanoTime() + Loopback.DEADLINE.toNanos();
        while (true) {
            try {
                return new Socket(to.getAddress(), to.getPort());
            } catch (IOException e) {
                if (System.nanoTime() - end > 0) {
                    throw e;
                }
            }
        }
    }

    @Test
    void riostreamPlacesDataIntoMemoryOfAJavaServer() throws Exception {
        assertThat(serve(
                        1,
                        channel -> exchangeMapped(channel, false),
                        address -> stream("riostream", at(address, "-s", "-T", "v"))))
                .contains("custom")
                .doesNotContain("failed");
    }

    @Test
    void javaClientPlacesDataIntoMemoryOfARiostreamServer() throws Exception {
        int servers = 1;
        while (!exchangedWithServer(servers == MOST_SERVERS)) {
            servers++;
        }
    }

    /**
     * Exchanges data with a new server. A client may connect before riostream asks for room for maps, which it does after it
     * has begun to listen. Returns false then, or throws if this is the last server.
     */
    private boolean exchangedWithServer(boolean last) throws Exception {
        InetSocketAddress free = freeAddress();
        Process server = start(stream("riostream", at(free, "-b", "-T", "v")));
        try (RdmaSocketChannel client = connect(free, 1)) {
            exchangeMapped(client, true);
            assertThat(end(server)).doesNotContain("failed");
            return true;
        } catch (SocketException tooEarly) {
            if (last || !tooEarly.getMessage().contains("ENOMEM")) {
                throw tooEarly;
            }
            return false;
        } finally {
            server.destroyForcibly();
        }
    }

    /** Does what riostream does: each side writes a message several times, with a new last byte the last time. */
    private static void exchangeMapped(RdmaSocketChannel channel, boolean first) throws IOException {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            MemorySegment memory = arena.allocate(SIZE);
            BYTE.setVolatile(memory, SIZE - 1L, (byte) -1);
            MappedSegment mapped = channel.map(memory, 0, arena);
            ByteBuffer sync = ByteBuffer.allocate(SYNC);
            if (first) {
                channel.write(sync);
                SocketPair.readFully(channel, sync.clear());
            } else {
                SocketPair.readFully(channel, sync);
                channel.write(sync);
            }
            for (int i = 0; i < ROUNDS; i++) {
                if (first) {
                    place(channel, i, 2 * i);
                    awaitPlaced(memory, i, 2 * i + 1);
                } else {
                    awaitPlaced(memory, i, 2 * i);
                    place(channel, i, 2 * i + 1);
                }
            }
            if (first) {
                assertThat(channel.read(sync.clear())).isEqualTo(-1); // the peer has read the last message
            }
            mapped.close();
        }
    }

    private static void place(RdmaSocketChannel channel, int round, int marker) throws IOException {
        byte[] bytes = new byte[SIZE];
        bytes[SIZE - 1] = (byte) (marker - 1);
        for (int i = 1; i < COUNT; i++) {
            channel.write(MemorySegment.ofArray(bytes), 0);
        }
        fill(bytes, round * (SIZE - 1), SIZE - 1);
        bytes[SIZE - 1] = (byte) marker;
        assertThat(channel.write(MemorySegment.ofArray(bytes), 0)).isEqualTo(SIZE);
    }

    private static void awaitPlaced(MemorySegment memory, int round, int marker) {
        Await.until("message " + round, () -> (byte) BYTE.getVolatile(memory, SIZE - 1L) == (byte) marker);
        byte[] expected = new byte[SIZE];
        fill(expected, round * (SIZE - 1), SIZE - 1);
        expected[SIZE - 1] = (byte) marker;
        assertThat(memory.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(expected);
    }

    /** Fills an array with the bytes that these programs verify: each is by one greater than the last. */
    private static void fill(byte[] bytes, int first, int length) {
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (first + i);
        }
    }

    private static ByteBuffer littleEndian(int length) {
        return ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static ByteBuffer header(int command, int length) {
        return littleEndian(length)
                .put((byte) 0)
                .put((byte) command)
                .putShort((short) length)
                .putInt(0)
                .putLong(0);
    }

    @Test
    void rcopySendsAFileToAJavaServer(@TempDir Path folder) throws Exception {
        byte[] bytes = SocketPair.pattern(FILE);
        Path file = Files.write(folder.resolve("source"), bytes);
        byte[] received = new byte[FILE];
        String output = serve(
                0,
                channel -> receiveFile(channel, received),
                address -> List.of(
                        "rcopy",
                        file.toString(),
                        address.getAddress().getHostAddress() + ":copy",
                        "-p",
                        Integer.toString(address.getPort())));
        assertThat(output).contains(FILE + " bytes in");
        assertThat(received).isEqualTo(bytes);
    }

    private static void receiveFile(RdmaSocketChannel channel, byte[] file) throws IOException {
        int command;
        do {
            ByteBuffer request = SocketPair.readFully(channel, littleEndian(HEADER));
            command = request.get(1);
            ByteBuffer more = SocketPair.readFully(channel, littleEndian(request.getShort(2) - HEADER));
            if (command == WRITE) {
                assertThat(more.getLong(0)).isEqualTo(file.length);
                SocketPair.readFully(channel, ByteBuffer.wrap(file));
            } else if (command == OPEN) {
                assertThat(new String(more.array(), StandardCharsets.US_ASCII)).startsWith("copy");
            }
            channel.write(header(command | RESPONSE, HEADER).flip());
        } while (command != CLOSE);
    }

    @Test
    void javaClientSendsAFileToAnRcopyServer(@TempDir Path folder) throws Exception {
        byte[] bytes = SocketPair.pattern(FILE);
        Path copy = folder.resolve("copy");
        InetSocketAddress free = freeAddress();
        Process server = start(List.of("rcopy", "-p", Integer.toString(free.getPort())));
        try (SocketChannel client = connect(free)) {
            byte[] name = Arrays.copyOf(copy.toString().getBytes(StandardCharsets.US_ASCII), 256);
            ByteBuffer open = header(OPEN, HEADER + name.length).put(name).putInt(4, 0600);
            request(client, open, new byte[0]);
            request(client, header(WRITE, HEADER + Long.BYTES).putLong(FILE), bytes);
            request(client, header(CLOSE, HEADER), new byte[0]);
            assertThat(Files.readAllBytes(copy)).isEqualTo(bytes);
        } finally {
            server.destroyForcibly(); // it serves for ever
        }
    }

    private static void request(SocketChannel client, ByteBuffer header, byte[] data) throws IOException {
        client.write(header.flip());
        client.write(ByteBuffer.wrap(data));
        ByteBuffer response = SocketPair.readFully(client, littleEndian(HEADER));
        assertThat(response.get(1) & 0xff).isEqualTo(header.get(1) | RESPONSE);
        assertThat(response.getInt(4)).isZero();
    }

    private static InetSocketAddress freeAddress() throws IOException {
        try (ServerSocketChannel server = SocketPair.listening()) {
            return (InetSocketAddress) server.getLocalAddress();
        }
    }

    /** Reads until the stream ends or breaks. */
    private static boolean endsOrBreaks(SocketChannel channel) {
        try {
            return channel.read(ByteBuffer.allocate(1)) == -1;
        } catch (SocketException reset) {
            return true;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void readEndsWhenThePeerIsKilled(boolean virtual) throws Exception {
        InetSocketAddress free = freeAddress();
        Process server = rstream("-b", free.getAddress().getHostAddress(), "-p", Integer.toString(free.getPort()));
        try (SocketChannel client = connect(free)) {
            FutureTask<Boolean> reading = new FutureTask<>(() -> endsOrBreaks(client));
            (virtual ? Thread.ofVirtual() : Thread.ofPlatform().daemon()).start(reading);
            server.destroyForcibly();
            assertThat(reading.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
        }
    }

    @Test
    void selectorReportsAPeerThatIsKilled() throws Exception {
        InetSocketAddress free = freeAddress();
        Process server = rstream("-b", free.getAddress().getHostAddress(), "-p", Integer.toString(free.getPort()));
        try (SocketChannel client = connect(free);
                Selector selector = RdmaSockets.openSelector()) {
            client.configureBlocking(false).register(selector, SelectionKey.OP_READ);
            server.destroyForcibly();
            assertThat(selector.select(Loopback.DEADLINE.toMillis())).isEqualTo(1);
            assertThat(endsOrBreaks(client)).isTrue();
        }
    }

    /** Connects once the server listens. */
    private static SocketChannel connect(InetSocketAddress to) throws IOException {
        return connect(to, 0);
    }

    private static RdmaSocketChannel connect(InetSocketAddress to, int mappings) throws IOException {
        long end = System.nanoTime() + Loopback.DEADLINE.toNanos();
        while (true) {
            RdmaSocketChannel client = SocketPair.open().setOption(RdmaSocketOptions.RDMA_IOMAPSIZE, mappings);
            try {
                client.connect(to);
                return client;
            } catch (IOException e) {
                if (System.nanoTime() - end > 0) {
                    throw e;
                }
            }
        }
    }

    private static void exchange(SocketChannel client, int first, int length) throws IOException {
        byte[] bytes = new byte[length];
        fill(bytes, first, length);
        client.write(ByteBuffer.wrap(bytes));
        ByteBuffer reply = SocketPair.readFully(client, ByteBuffer.allocate(length));
        assertThat(reply.remaining()).isEqualTo(length);
    }
}
