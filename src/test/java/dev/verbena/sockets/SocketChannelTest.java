package dev.verbena.sockets;

import static dev.verbena.sockets.SocketPair.pattern;
import static dev.verbena.sockets.SocketPair.readFully;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.support.Await;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.OtherThread;
import dev.verbena.support.Resources;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.net.SocketTimeoutException;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NetworkChannel;
import java.nio.channels.NoConnectionPendingException;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.UnresolvedAddressException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import jdk.net.ExtendedSocketOptions;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Channels and sockets over RDMA: data, connecting, closing, options. */
@DeviceTest
class SocketChannelTest {
    private static final int LENGTH = 300_000; // several times the buffers of a connection

    private static void transfer(UnaryOperator<ByteBuffer> kind, boolean virtual) throws Exception {
        byte[] bytes = pattern(LENGTH);
        try (SocketPair pair = SocketPair.connected()) {
            ByteBuffer from = kind.apply(ByteBuffer.wrap(bytes));
            OtherThread<Integer> writing = OtherThread.start(virtual, () -> pair.client.write(from));
            OtherThread<ByteBuffer> reading =
                    OtherThread.start(virtual, () -> readFully(pair.accepted, ByteBuffer.allocateDirect(LENGTH)));
            assertThat(reading.join()).isEqualTo(ByteBuffer.wrap(bytes));
            assertThat(writing.join()).isEqualTo(LENGTH);
            assertThat(from.hasRemaining()).isFalse();
        }
    }

    private static ByteBuffer direct(ByteBuffer buffer) {
        return ByteBuffer.allocateDirect(buffer.remaining()).put(buffer).flip();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void writeSendsAllBytesOfDirectBuffers(boolean virtual) throws Exception {
        transfer(SocketChannelTest::direct, virtual);
    }

    @Test
    void writeSendsAllBytesOfHeapBuffers() throws Exception {
        transfer(buffer -> buffer, false);
    }

    @Test
    void writeTakesReadOnlyBuffersAndReadRefusesThem() throws Exception {
        transfer(ByteBuffer::asReadOnlyBuffer, false);
        try (SocketPair pair = SocketPair.connected()) {
            assertThatThrownBy(() -> pair.client.read(ByteBuffer.allocate(1).asReadOnlyBuffer()))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void channelUsesQueuePairs() throws Exception {
        Await.until("no queue pairs of other tests", () -> Resources.queuePairs() == 0);
        try (SocketPair pair = SocketPair.connected()) {
            assertThat(Resources.queuePairs()).isGreaterThanOrEqualTo(2); // the kernel lists its own one too
            assertThat(pair.client.getRemoteAddress()).isEqualTo(pair.server.getLocalAddress());
            assertThat(pair.accepted.getRemoteAddress()).isEqualTo(pair.client.getLocalAddress());
        }
        Await.until("both queue pairs gone", () -> Resources.queuePairs() == 0);
    }

    @Test
    void readIntoHeapBufferMovesThePosition() throws Exception {
        try (SocketPair pair = SocketPair.connected()) {
            pair.client.write(ByteBuffer.wrap(new byte[] {1, 2, 3}));
            ByteBuffer into = ByteBuffer.allocate(10).position(4);
            assertThat(pair.accepted.read(into)).isEqualTo(3);
            assertThat(into.position()).isEqualTo(7);
            assertThat(into.get(4)).isEqualTo((byte) 1);
            assertThat(into.get(6)).isEqualTo((byte) 3);
        }
    }

    @Test
    void gatherAndScatterKeepTheOrder() throws Exception {
        byte[] bytes = pattern(100_000);
        try (SocketPair pair = SocketPair.connected()) {
            ByteBuffer[] from = {
                ByteBuffer.wrap(bytes, 0, 10),
                ByteBuffer.allocate(0),
                direct(ByteBuffer.wrap(bytes, 10, 90_000)),
                ByteBuffer.wrap(bytes, 90_010, 9_990)
            };
            OtherThread<Long> writing = OtherThread.start(false, () -> pair.client.write(from));
            ByteBuffer all = ByteBuffer.allocate(100_000);
            while (all.hasRemaining()) {
                ByteBuffer[] into = {ByteBuffer.allocateDirect(7), ByteBuffer.allocate(1), ByteBuffer.allocate(5000)};
                into[2].limit(Math.min(5000, Math.max(0, all.remaining() - 8)));
                long count = pair.accepted.read(into);
                assertThat(count).isPositive();
                for (ByteBuffer part : into) {
                    all.put(part.flip());
                }
            }
            assertThat(all.array()).isEqualTo(bytes);
            assertThat(writing.join()).isEqualTo(100_000L);
        }
    }

    @Test
    void nonBlockingReadAndWriteReturnAtOnce() throws Exception {
        try (SocketPair pair = SocketPair.connected()) {
            pair.accepted.configureBlocking(false);
            pair.client.configureBlocking(false);
            assertThat(pair.accepted.read(ByteBuffer.allocate(1))).isZero();
            ByteBuffer much = ByteBuffer.allocateDirect(LENGTH);
            long sent = 0;
            int count;
            do {
                count = pair.client.write(much);
                sent += count;
                assertThat(much.position()).isEqualTo((int) sent);
            } while (count > 0);
            assertThat(sent).isBetween(1L, LENGTH - 1L); // nobody reads
        }
    }

    @Test
    void halfCloseEndsOneDirection() throws Exception {
        try (SocketPair pair = SocketPair.connected()) {
            pair.client.write(ByteBuffer.wrap(new byte[] {1}));
            pair.client.shutdownOutput();
            assertThat(pair.accepted.read(ByteBuffer.allocate(2))).isEqualTo(1);
            assertThat(pair.accepted.read(ByteBuffer.allocate(2))).isEqualTo(-1);
            pair.accepted.write(ByteBuffer.wrap(new byte[] {2, 3}));
            assertThat(readFully(pair.client, ByteBuffer.allocate(2)).get(1)).isEqualTo((byte) 3);
            assertThatThrownBy(() -> pair.client.write(ByteBuffer.allocate(1)))
                    .isInstanceOf(ClosedChannelException.class);
        }
    }

    @Test
    void closeDeliversWrittenBytesBeforeTheEnd() throws Exception {
        try (SocketPair pair = SocketPair.connected()) {
            pair.client.write(ByteBuffer.wrap(pattern(10_000)));
            pair.client.close();
            assertThat(readFully(pair.accepted, ByteBuffer.allocate(10_000)).array())
                    .isEqualTo(pattern(10_000));
            assertThat(pair.accepted.read(ByteBuffer.allocate(1))).isEqualTo(-1);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void closeEndsBlockedReadsWritesAndAccepts(boolean virtual) throws Exception {
        SocketPair pair = SocketPair.connected();
        OtherThread<?> reading = OtherThread.start(virtual, () -> pair.accepted.read(ByteBuffer.allocate(1)))
                .asleep();
        OtherThread<?> writing = OtherThread.start(virtual, () -> {
                    while (true) {
                        pair.accepted.write(ByteBuffer.allocate(LENGTH));
                    }
                })
                .asleep();
        OtherThread<?> accepting =
                OtherThread.start(virtual, pair.server::accept).asleep();
        pair.accepted.close();
        pair.server.close();
        assertThat(reading.failure()).isInstanceOf(ClosedChannelException.class);
        assertThat(writing.failure()).isInstanceOf(ClosedChannelException.class);
        assertThat(accepting.failure()).isInstanceOf(ClosedChannelException.class);
        pair.client.close();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void interruptClosesTheChannel(boolean virtual) throws Exception {
        try (SocketPair pair = SocketPair.connected()) {
            OtherThread<Integer> reading = OtherThread.start(virtual, () -> pair.accepted.read(ByteBuffer.allocate(1)));
            reading.thread().interrupt();
            assertThat(reading.failure()).isInstanceOf(ClosedByInterruptException.class);
            assertThat(pair.accepted.isOpen()).isFalse();
        }
    }

    @Test
    void shutdownInputEndsABlockedRead() throws Exception {
        try (SocketPair pair = SocketPair.connected()) {
            OtherThread<Integer> reading = OtherThread.start(false, () -> pair.accepted.read(ByteBuffer.allocate(1)))
                    .asleep();
            pair.accepted.shutdownInput();
            assertThat(reading.join()).isEqualTo(-1);
            assertThat(pair.accepted.isOpen()).isTrue();
        }
    }

    @Test
    void connectIsRefusedWithoutAServer() throws Exception {
        SocketAddress nobody = SocketPair.nobody();
        RdmaSocketChannel client = SocketPair.open();
        assertThatThrownBy(() -> client.connect(nobody))
                .isInstanceOf(ConnectException.class)
                .hasMessageContaining("refused")
                .hasMessageContaining("TCP server");
        assertThat(client.isOpen()).isFalse();
    }

    @Test
    void connectInTwoSteps() throws Exception {
        try (ServerSocketChannel server = SocketPair.listening();
                RdmaSocketChannel client = SocketPair.open()) {
            assertThatThrownBy(client::finishConnect).isInstanceOf(NoConnectionPendingException.class);
            assertThatThrownBy(() -> client.read(ByteBuffer.allocate(1))).isInstanceOf(NotYetConnectedException.class);
            client.configureBlocking(false);
            if (!client.connect(server.getLocalAddress())) {
                assertThat(client.isConnectionPending()).isTrue();
                Await.until("connected", client::finishConnect);
            }
            assertThat(client.isConnected()).isTrue();
            assertThatThrownBy(() -> client.connect(server.getLocalAddress()))
                    .isInstanceOf(AlreadyConnectedException.class);
            server.accept().close();
        }
    }

    @Test
    void addressesThatCannotWorkAreRefused() throws Exception {
        try (RdmaSocketChannel client = SocketPair.open();
                ServerSocketChannel server = RdmaSockets.openServerSocketChannel(StandardProtocolFamily.INET)) {
            assertThatThrownBy(() -> client.connect(InetSocketAddress.createUnresolved("nowhere.invalid", 1)))
                    .isInstanceOf(UnresolvedAddressException.class);
            assertThatThrownBy(() -> server.bind(new InetSocketAddress("192.0.2.1", 0)))
                    .isInstanceOf(BindException.class)
                    .hasMessageContaining("RDMA device");
        }
        try (ServerSocketChannel first = SocketPair.listening();
                ServerSocketChannel second = RdmaSockets.openServerSocketChannel(StandardProtocolFamily.INET)) {
            assertThatThrownBy(() -> second.bind(first.getLocalAddress())).isInstanceOf(BindException.class);
        }
    }

    @Test
    void optionsKeepTheirValues() throws Exception {
        try (RdmaSocketChannel client = SocketPair.open()) {
            client.setOption(StandardSocketOptions.SO_SNDBUF, 20_000)
                    .setOption(StandardSocketOptions.TCP_NODELAY, true);
            client.setOption(RdmaSocketOptions.RDMA_SQSIZE, 77).setOption(RdmaSocketOptions.RDMA_IOMAPSIZE, 3);
            client.setOption(StandardSocketOptions.SO_LINGER, 5);
            assertThat(client.getOption(StandardSocketOptions.SO_SNDBUF)).isEqualTo(20_000);
            assertThat(client.getOption(StandardSocketOptions.TCP_NODELAY)).isTrue();
            assertThat(client.getOption(StandardSocketOptions.SO_KEEPALIVE)).isFalse();
            client.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, 30)
                    .setOption(StandardSocketOptions.SO_KEEPALIVE, true);
            assertThat(client.getOption(ExtendedSocketOptions.TCP_KEEPIDLE)).isEqualTo(30);
            assertThat(client.getOption(StandardSocketOptions.SO_KEEPALIVE)).isTrue();
            assertThatThrownBy(() -> client.setOption(ExtendedSocketOptions.TCP_KEEPIDLE, 0))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThat(client.getOption(StandardSocketOptions.SO_LINGER)).isEqualTo(5);
            assertThat(client.getOption(RdmaSocketOptions.RDMA_SQSIZE)).isEqualTo(77);
            assertThat(client.getOption(RdmaSocketOptions.RDMA_IOMAPSIZE)).isEqualTo(3);
            assertThatThrownBy(() -> client.setOption(StandardSocketOptions.IP_TOS, 1))
                    .isInstanceOf(UnsupportedOperationException.class);
            assertThatThrownBy(() -> client.setOption(RdmaSocketOptions.RDMA_SQSIZE, 70_000))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    /** Checks that a channel has each option of the JDK's, or refuses it by its name and with a reason. */
    private static void checkOptions(NetworkChannel ours, NetworkChannel jdk) throws IOException {
        try (ours;
                jdk) {
            Set<SocketOption<?>> missing = new HashSet<>(jdk.supportedOptions());
            missing.removeAll(ours.supportedOptions());
            assertThat(missing).contains(ExtendedSocketOptions.TCP_QUICKACK);
            for (SocketOption<?> option : missing) {
                String why = OptionTable.REFUSED.get(option.name());
                assertThat(why).as("the reason for %s", option).isNotNull();
                assertThatThrownBy(() -> ours.setOption(option, null))
                        .isInstanceOf(UnsupportedOperationException.class)
                        .hasMessageContainingAll(option.name(), why);
            }
        }
    }

    @Test
    void optionsOfTheJdkThatRdmaSocketsLackAreRefusedByName() throws Exception {
        checkOptions(SocketPair.open(), SocketChannel.open());
        checkOptions(RdmaSockets.openServerSocketChannel(StandardProtocolFamily.INET), ServerSocketChannel.open());
    }

    /** An event of the connection wakes one thread at a time, but may be for the other one, or for both. */
    @ParameterizedTest
    @CsvSource({"false,false", "true,false", "false,true", "true,true"})
    void readerAndWriterOfOneChannelWaitAtOnce(boolean virtualReader, boolean virtualWriter) throws Exception {
        byte[] bytes = SocketPair.pattern(3 * LENGTH);
        try (SocketPair pair = SocketPair.connected()) {
            OtherThread<?> echo = OtherThread.start(false, () -> {
                ByteBuffer part = ByteBuffer.allocateDirect(SocketPair.BUFFER / 3);
                while (pair.accepted.read(part.clear()) >= 0) {
                    pair.accepted.write(part.flip());
                }
                return null;
            });
            ByteBuffer into = ByteBuffer.allocate(bytes.length);
            OtherThread<ByteBuffer> reading = OtherThread.start(virtualReader, () -> readFully(pair.client, into))
                    .asleep();
            OtherThread<?> writing = OtherThread.start(virtualWriter, () -> {
                pair.client.write(ByteBuffer.wrap(bytes));
                return pair.client.shutdownOutput();
            });
            writing.join();
            assertThat(reading.join().array()).isEqualTo(bytes);
            echo.join();
        }
    }

    @Test
    void socketAdaptorReadsWithTimeout() throws Exception {
        try (SocketPair pair = SocketPair.connected()) {
            Socket socket = pair.client.socket();
            socket.setSoTimeout(50);
            assertThatThrownBy(() -> socket.getInputStream().read()).isInstanceOf(SocketTimeoutException.class);
            pair.accepted.write(ByteBuffer.wrap(new byte[] {9}));
            socket.setSoTimeout(0);
            assertThat(socket.getInputStream().read()).isEqualTo(9);
            socket.getOutputStream().write(new byte[] {1, 2});
            assertThat(readFully(pair.accepted, ByteBuffer.allocate(2)).get(1)).isEqualTo((byte) 2);
            pair.server.socket().setSoTimeout(50);
            assertThatThrownBy(pair.server.socket()::accept).isInstanceOf(SocketTimeoutException.class);
        }
    }

    private static List<Object> statesOnceClosed(SocketChannel channel) throws IOException {
        Socket socket = channel.socket();
        SocketAddress peer = socket.getRemoteSocketAddress();
        assertThat(channel.isConnected()).isTrue();
        channel.close();
        for (ThrowingCallable ended : List.<ThrowingCallable>of(
                channel::getRemoteAddress, channel::getLocalAddress, channel::shutdownInput)) {
            assertThatThrownBy(ended).isExactlyInstanceOf(ClosedChannelException.class);
        }
        return List.of(
                channel.isOpen(),
                channel.isConnected(),
                channel.isConnectionPending(),
                socket.isClosed(),
                socket.isConnected(),
                socket.isBound(),
                socket.toString(),
                peer.equals(socket.getRemoteSocketAddress()));
    }

    @Test
    void closedChannelIsInTheStatesOfTheJdks() throws Exception {
        try (SocketPair pair = SocketPair.connected();
                ServerSocketChannel jdk = ServerSocketChannel.open().bind(null)) {
            List<Object> states = statesOnceClosed(SocketChannel.open(jdk.getLocalAddress()));
            assertThat(states).containsExactly(false, false, false, true, false, true, "Socket[unconnected]", true);
            assertThat(statesOnceClosed(pair.client)).isEqualTo(states);
            assertThat(statesOnceClosed(pair.accepted)).isEqualTo(states);
        }
    }

    private static List<Object> optionsOf(Socket socket) throws IOException {
        socket.setTcpNoDelay(true);
        socket.setKeepAlive(true);
        socket.setReuseAddress(true);
        socket.setSoTimeout(7);
        socket.setSoLinger(true, 5);
        int linger = socket.getSoLinger();
        socket.setSoLinger(false, 0);
        socket.setSendBufferSize(20_000);
        assertThatThrownBy(() -> socket.setReceiveBufferSize(0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> socket.setSoTimeout(-1)).isInstanceOf(IllegalArgumentException.class);
        List<Object> options = List.of(
                socket.getTcpNoDelay(),
                socket.getKeepAlive(),
                socket.getReuseAddress(),
                socket.getSoTimeout(),
                linger,
                socket.getSoLinger(),
                socket.getOption(StandardSocketOptions.TCP_NODELAY),
                socket.supportedOptions().contains(StandardSocketOptions.SO_SNDBUF),
                socket.getLocalAddress().isAnyLocalAddress(),
                socket.getLocalPort(),
                socket.getPort(),
                socket.toString());
        socket.close();
        assertThatThrownBy(socket::getTcpNoDelay).isInstanceOf(SocketException.class);
        assertThatThrownBy(() -> socket.setSoTimeout(1)).isInstanceOf(SocketException.class);
        return options;
    }

    @Test
    void socketAdaptorHasTheOptionsOfTheJdks() throws Exception {
        try (SocketChannel jdk = SocketChannel.open();
                RdmaSocketChannel ours = SocketPair.open()) {
            List<Object> options = optionsOf(jdk.socket());
            assertThat(options).startsWith(true, true, true, 7, 5, -1, true, true, true);
            assertThat(optionsOf(ours.socket())).isEqualTo(options);
        }
    }

    @Test
    void serverSocketAdaptorKnowsItsAddressAndOptions() throws Exception {
        try (ServerSocketChannel channel = SocketPair.listening()) {
            ServerSocket socket = channel.socket();
            InetSocketAddress address = (InetSocketAddress) channel.getLocalAddress();
            assertThat(socket.getLocalSocketAddress()).isEqualTo(address);
            assertThat(socket.toString())
                    .isEqualTo("ServerSocket[addr=" + address.getAddress() + ",localport=" + address.getPort() + "]");
            assertThat(socket.getReceiveBufferSize()).isEqualTo(SocketPair.BUFFER);
            socket.setSoTimeout(9);
            assertThat(socket.getSoTimeout()).isEqualTo(9);
            assertThatThrownBy(() -> socket.bind(null)).isInstanceOf(SocketException.class);
        }
    }

    @Test
    void buffersOfClosedArenasAreRefused() throws Exception {
        try (SocketPair pair = SocketPair.connected()) {
            ByteBuffer buffer;
            try (Arena arena = Arena.ofShared()) {
                buffer = arena.allocate(64).asByteBuffer();
                ByteBuffer lent = buffer;
                OtherThread<Object> reading = OtherThread.start(false, () -> pair.accepted.read(lent));
                pair.client.write(ByteBuffer.allocate(8));
                assertThat(reading.join()).isEqualTo(8);
            }
            assertThatThrownBy(() -> pair.client.write(buffer)).isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void serverAcceptsManyConnectsAtOnce() throws Exception {
        int count = 16;
        try (ServerSocketChannel server = SocketPair.listening()) {
            List<OtherThread<RdmaSocketChannel>> clients = IntStream.range(0, count)
                    .mapToObj(i -> OtherThread.start(true, () -> {
                        RdmaSocketChannel client = SocketPair.small(SocketPair.open());
                        client.connect(server.getLocalAddress());
                        client.write(ByteBuffer.wrap(new byte[] {(byte) i}));
                        return client;
                    }))
                    .toList();
            long sum = 0;
            for (int i = 0; i < count; i++) {
                try (SocketChannel accepted = server.accept()) {
                    sum += readFully(accepted, ByteBuffer.allocate(1)).get(0);
                }
            }
            assertThat(sum).isEqualTo(count * (count - 1) / 2);
            for (OtherThread<RdmaSocketChannel> client : clients) {
                client.join().close();
            }
        }
    }
}
