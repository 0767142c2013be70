package dev.verbena.pair;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.sockets.RdmaSocketChannel;
import dev.verbena.sockets.RdmaSockets;
import dev.verbena.support.Await;
import dev.verbena.support.Resources;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Sockets over RDMA on a wire with faults. */
@PairTest
class SocketWireTest {
    private static final int MUCH = 3 << 20;

    /** More than there are threads that close. */
    private static final int SOCKETS = 20;

    private static final String RESET =
            "java.net.SocketException: Connection reset: the peer's RDMA adapter does not answer";

    @RegisterExtension
    final Laboratory laboratory = new Laboratory();

    private static RdmaSocketChannel connect(Conversation peer) throws IOException {
        RdmaSocketChannel channel = RdmaSockets.openSocketChannel(StandardProtocolFamily.INET);
        channel.connect(Laboratory.peer(Integer.parseInt(peer.next())));
        return channel;
    }

    private static <T> T get(FutureTask<T> task) throws Exception {
        return task.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
    }

    @Test
    void streamIsWholeAtALossOfOnePercent() throws Exception {
        Conversation peer = laboratory.start(SocketEnd.class);
        laboratory.request("wire netem limit 100000 loss 1%");
        try (SocketChannel channel = connect(peer)) {
            Exchange exchange = new Exchange(channel);
            exchange.awaitEnd(peer);
            assertThat(LinkTest.lostHere()).as("packets that were lost").isPositive();
        }
        peer.end();
    }

    /** As with TCP, the stream waits. */
    @Test
    void streamIsWholeWhenTheCableWasPulledOut() throws Exception {
        Conversation peer = laboratory.start(SocketEnd.class);
        try (SocketChannel channel = connect(peer)) {
            laboratory.request("wire down");
            Exchange exchange = new Exchange(channel);
            Await.until("the writer waits for the peer", exchange::isWaiting);
            assertThat(exchange.writing).isNotDone();
            laboratory.request("wire up");
            exchange.awaitEnd(peer);
        }
        peer.end();
    }

    /** soft-RoCE sends the last data again for ever, and C would wait for ever. */
    @Test
    void moreSocketsToADeadMachineThanThreadsAreClosed() throws Exception {
        Conversation peer = laboratory.start(AcceptingEnd.class);
        InetSocketAddress address = Laboratory.peer(Integer.parseInt(peer.next()));
        List<SocketChannel> channels = new ArrayList<>();
        for (int i = 0; i < SOCKETS; i++) {
            RdmaSocketChannel channel = RdmaSockets.openSocketChannel(StandardProtocolFamily.INET);
            channel.connect(address);
            channels.add(channel);
        }
        laboratory.cutPower();
        for (SocketChannel channel : channels) {
            assertThat(channel.write(ByteBuffer.allocate(1))).isEqualTo(1);
            channel.configureBlocking(false);
            channel.close();
        }
        Await.until("C has closed all sockets", SocketWireTest::hasNoQueuePairs);
    }

    /** A full send queue hides that the connection is there. C would wait for the peer to close it. */
    @Test
    void acceptedSocketsOfADeadMachineAreClosedWithFullSendQueues() throws Exception {
        Conversation peer = laboratory.start(ConnectingEnd.class);
        List<SocketChannel> channels = new ArrayList<>();
        try (ServerSocketChannel server = RdmaSockets.openServerSocketChannel(StandardProtocolFamily.INET)) {
            server.bind(Laboratory.own(0), SOCKETS);
            peer.say("" + server.socket().getLocalPort());
            peer.say("" + SOCKETS);
            for (int i = 0; i < SOCKETS; i++) {
                SocketChannel channel = server.accept();
                channel.configureBlocking(false);
                channels.add(channel);
            }
            assertThat(peer.next()).isEqualTo("connected");
        }
        laboratory.cutPower();
        for (SocketChannel channel : channels) {
            while (channel.write(ByteBuffer.allocate(MUCH)) > 0) {
                // until the send queue is full
            }
            channel.close();
        }
        Await.until("C has closed all sockets", SocketWireTest::hasNoQueuePairs);
    }

    private static boolean hasNoQueuePairs() {
        try {
            return Resources.ofThisProcess().stream().noneMatch(entry -> entry.startsWith("qp "));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A stream to the peer and back again. */
    private static final class Exchange {
        private final byte[] bytes = new byte[MUCH];
        private final ByteBuffer back = ByteBuffer.allocate(MUCH);
        private final FutureTask<Integer> writing;
        private final FutureTask<Integer> reading;
        private final Thread writer;

        Exchange(SocketChannel channel) {
            new Random(1).nextBytes(bytes);
            writing = new FutureTask<>(() -> {
                int written = channel.write(ByteBuffer.wrap(bytes));
                channel.shutdownOutput();
                return written;
            });
            reading = new FutureTask<>(() -> {
                while (channel.read(back) > 0) {
                    // until the end of the stream, or of the buffer
                }
                return channel.read(ByteBuffer.allocate(1));
            });
            writer = Thread.ofVirtual().start(writing);
            Thread.ofVirtual().start(reading);
        }

        /** Returns whether the writer has filled the buffers of the connection. */
        boolean isWaiting() {
            return writer.getState() == Thread.State.WAITING || writer.getState() == Thread.State.TIMED_WAITING;
        }

        void awaitEnd(Conversation peer) throws Exception {
            assertThat(get(writing)).isEqualTo(MUCH);
            assertThat(get(reading)).as("the end of the stream").isEqualTo(-1);
            assertThat(back.array()).isEqualTo(bytes);
            assertThat(peer.next()).isEqualTo("the end");
        }
    }
}
