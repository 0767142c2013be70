package dev.verbena.sockets;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Channels with C's {@code rstream} of rdmacm-utils as the peer. */
@DeviceTest
class InteropTest {
    private static final int SIZE = 3_000;
    private static final int COUNT = 4;
    private static final int ROUNDS = 5;
    private static final int SYNC = 16;

    private static Process rstream(String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                "rstream",
                "-S",
                Integer.toString(SIZE),
                "-C",
                Integer.toString(COUNT),
                "-I",
                Integer.toString(ROUNDS)));
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command).redirectErrorStream(true).start();
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

    /** The tests of rstream: blocking, non-blocking and verified. */
    @ParameterizedTest
    @ValueSource(strings = {"b", "n", "v"})
    void rstreamExchangesDataWithAJavaServer(String test) throws Exception {
        try (ServerSocketChannel server = SocketPair.listening()) {
            InetSocketAddress address = (InetSocketAddress) server.getLocalAddress();
            FutureTask<Object> serving = new FutureTask<>(() -> {
                try (SocketChannel channel = server.accept()) {
                    echo(channel);
                }
                return null;
            });
            Thread.ofPlatform().daemon().start(serving);
            String output = end(rstream(
                    "-s",
                    address.getAddress().getHostAddress(),
                    "-p",
                    Integer.toString(address.getPort()),
                    "-T",
                    test));
            assertThat(output).contains("custom");
            serving.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS);
        }
    }

    @Test
    void javaClientExchangesDataWithAnRstreamServer() throws Exception {
        InetSocketAddress free = freeAddress();
        Process server = rstream("-b", free.getAddress().getHostAddress(), "-p", Integer.toString(free.getPort()));
        try (SocketChannel client = connect(free)) {
            exchange(client, SYNC);
            for (int i = 0; i < ROUNDS; i++) {
                exchange(client, SIZE * COUNT);
            }
            end(server);
        } finally {
            server.destroyForcibly();
        }
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
        long end = System.nanoTime() + Loopback.DEADLINE.toNanos();
        while (true) {
            RdmaSocketChannel client = SocketPair.open();
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

    private static void exchange(SocketChannel client, int length) throws IOException {
        client.write(ByteBuffer.allocate(length));
        assertThat(SocketPair.readFully(client, ByteBuffer.allocate(length)).remaining())
                .isEqualTo(length);
    }
}
