package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsArena;
import dev.verbena.support.Await;
import dev.verbena.tools.Listening;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Peers whose processes are killed at bad moments: all waits end with one cause, nothing is left, and the node goes on. */
@Timeout(300)
abstract class KilledPeers {
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final VerbsArena arena = VerbsArena.ofShared();

    private final InetSocketAddress own;
    private final Transport transport;
    private final Node node;

    /** Opens a node, with time for peers whose JVM starts slowly. */
    KilledPeers(InetSocketAddress own, Transport transport) {
        this.own = own;
        this.transport = transport;
        this.node = Node.open(own, options().handshakeTimeout(DEADLINE), arena);
    }

    private NodeOptions options() {
        return NodeOptions.defaults().transport(transport);
    }

    @AfterEach
    void close() {
        threads.shutdownNow();
        arena.close();
    }

    /** Over RDMA, the kernel may take the memory of a killed process away before it ends the connection. */
    private Set<EndReason> ofKilledPeers() {
        return transport == Transport.RDMA
                ? EnumSet.of(EndReason.LOST, EndReason.ACCESS_DENIED)
                : EnumSet.of(EndReason.LOST);
    }

    private void assertLost(Future<?> wait) {
        assertThat(wait)
                .failsWithin(DEADLINE)
                .withThrowableThat()
                .withCauseInstanceOf(ChannelException.class)
                .satisfies(told -> assertThat(((ChannelException) told.getCause()).reason())
                        .isIn(ofKilledPeers()))
                .satisfies(told -> assertThat(told.getCause()).hasMessageContaining("the peer's process has ended"));
    }

    private void assertGoesOn() throws Exception {
        Node client = Node.open(own, options(), arena);
        Future<Channel> accepted = threads.submit(() -> node.accept(DEADLINE));
        Channel left = client.connect(node.address(), DEADLINE);
        left.send(left.message(DEADLINE).length(3), DEADLINE);
        Channel right = accepted.get(DEADLINE.toSeconds(), SECONDS);
        try (Message message = right.receive(DEADLINE)) {
            assertThat(message.length()).isEqualTo(3);
        }
        left.close();
    }

    /** Waits in all ways at once. */
    @Test
    void killedSenderEndsItsTransferAndAllWaits() throws Exception {
        try (NodePeer peer = NodePeer.start(node.address(), transport, NodePeer.Work.OFFER)) {
            Channel channel = peer.accept(node);
            try (Message message = channel.receive(DEADLINE);
                    Transfer transfer = message.transfer()) {
                CompletableFuture<Message> call = channel.callAsync(channel.message(DEADLINE));
                Future<?> receiving = threads.submit(() -> channel.receive(DEADLINE));
                MemorySegment target = arena.allocate(transfer.length(), 4096);
                AtomicBoolean last = new AtomicBoolean();
                Future<?> fetching = threads.submit(() -> {
                    transfer.fetch(
                            target,
                            done -> {
                                peer.kill(); // at the first piece
                                last.set(done == transfer.length());
                            },
                            DEADLINE);
                    return null;
                });
                assertLost(fetching);
                assertLost(receiving);
                assertLost(call);
                assertThat(last).isFalse();
            }
            assertThatExceptionOfType(ChannelException.class).isThrownBy(channel::pollMessage);
            channel.close();
        }
        assertGoesOn();
    }

    @Test
    void killedReceiverEndsTheOfferAndAllWaits() throws Exception {
        try (NodePeer peer = NodePeer.start(node.address(), transport, NodePeer.Work.FETCH)) {
            Channel channel = peer.accept(node);
            MemorySegment data = arena.allocate(NodePeer.TRANSFER_BYTES, 4096);
            Future<?> offering = threads.submit(() -> {
                channel.offer(data, new byte[0], DEADLINE);
                return null;
            });
            Future<?> receiving = threads.submit(() -> channel.receive(DEADLINE));
            peer.awaitWord("begins");
            CompletableFuture<Message> call = channel.callAsync(channel.message(DEADLINE));
            peer.kill();
            assertLost(offering);
            assertLost(receiving);
            assertLost(call);
            channel.close();
        }
        assertGoesOn();
    }

    /** Channels that were made, half made, and being closed: the node forgets them all. */
    @Test
    void peerThatIsKilledWhileItConnectsLeavesNothing() throws Exception {
        Node server = Node.open(own, options().handshakeTimeout(DEADLINE), arena);
        server.listen((channel, message) -> {});
        for (int round = 0; round < rounds(); round++) {
            try (NodePeer peer = NodePeer.start(server.address(), transport, NodePeer.Work.CONNECT)) {
                for (int i = 0; i < 3 + round; i++) {
                    peer.awaitWord("connects");
                }
            }
            Await.until(
                    "no channel of the peer is left",
                    () -> server.toString().contains("(0 of 64 channels, 0 waiting)"));
        }
        assertGoesOn();
    }

    /** Returns the number of processes to kill while they connect. */
    abstract int rounds();

    @Test
    void serverThatIsKilledWhilePeersConnectEndsEachConnect() throws Exception {
        InetSocketAddress free = new InetSocketAddress(own.getAddress(), Listening.freePort());
        try (NodePeer server = NodePeer.start(free, transport, NodePeer.Work.SERVE)) {
            server.awaitWord("listens");
            Callable<Void> work = () -> {
                for (int i = 0; ; i++) {
                    try (Channel channel = node.connect(free, DEADLINE)) {
                        channel.send(channel.message(DEADLINE).length(1), DEADLINE);
                    } catch (ChannelException lost) { // a close may be late for its last goodbye
                        if (lost.reason() == EndReason.UNREACHABLE) {
                            throw lost;
                        }
                    }
                    if (i == 5) {
                        server.kill();
                    }
                }
            };
            assertThat(threads.submit(work))
                    .failsWithin(DEADLINE.multipliedBy(2))
                    .withThrowableThat()
                    .withCauseInstanceOf(ChannelException.class);
        }
        assertThat(node.toString()).contains("(0 of 64 channels, 0 waiting)");
        assertGoesOn();
    }
}
