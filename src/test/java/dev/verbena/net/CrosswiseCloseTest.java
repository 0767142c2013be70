package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.Await;
import dev.verbena.support.CloseAtOnce;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.AccessFlag;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Arenas and nodes that close each other's objects: whoever comes second waits for the one object that both close. */
@FencedTest
@Timeout(120)
class CrosswiseCloseTest {
    private static final int ROUNDS = 20;

    /** Longer than a test may take. */
    private static final NodeOptions PATIENT = SMALL.closeTimeout(DEADLINE);

    private static InetSocketAddress own(Transport transport) {
        return transport == Transport.RDMA ? NodePair.OWN : new InetSocketAddress("127.0.0.1", 0);
    }

    /** Closes, as often as another close has not come far enough. */
    private static void close(AutoCloseable object) {
        Await.until("closed", () -> {
            try {
                object.close();
                return true;
            } catch (ResourceBusyException early) {
                return false;
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        });
    }

    @ParameterizedTest
    @CsvSource({"RDMA, true", "RDMA, false", "TCP, true", "TCP, false"})
    void arenasWhoseNodesExportEachOthersMemoryCloseAtOnce(Transport transport, boolean arenas) throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            VerbsArena one = VerbsArena.ofShared();
            VerbsArena other = VerbsArena.ofShared();
            Node ofOne = Node.open(own(transport), PATIENT.transport(transport), one);
            Node ofOther = Node.open(own(transport), PATIENT.transport(transport), other);
            ofOne.export("memory", other.allocate(64), List.of(AccessFlag.REMOTE_READ), other);
            ofOther.export("memory", one.allocate(64), List.of(AccessFlag.REMOTE_READ), one);
            if (!arenas) {
                CloseAtOnce.close(List.of(() -> close(ofOne), () -> close(ofOther)), List.of());
            }
            CloseAtOnce.close(List.of(() -> close(one), () -> close(other)), List.of());
            assertThat(one.scope().isAlive() || other.scope().isAlive()).isFalse();
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = Transport.class,
            names = {"RDMA", "TCP"})
    void continuationOfACallClosesTheArenaWhileAnotherThreadDoes(Transport transport) throws Exception {
        try (VerbsArena ofPeer = VerbsArena.ofShared()) {
            Node peer = Node.open(own(transport), SMALL.transport(transport), ofPeer);
            VerbsArena arena = VerbsArena.ofShared();
            Node node =
                    Node.open(own(transport), SMALL.transport(transport).progress(NodeOptions.Progress.CALLER), arena);
            Channel channel = node.connect(peer.address(), DEADLINE);
            CompletableFuture<Message> call = channel.callAsync(channel.message(DEADLINE));
            CountDownLatch begun = new CountDownLatch(1);
            Future<Void> continued = call.handle((reply, failure) -> {
                begun.countDown();
                Await.until("the other thread closes", () -> !node.isOpen());
                closeUnlessClosed(arena);
                return null;
            });
            Thread first = Thread.ofPlatform().daemon().start(channel::close);
            begun.await();
            Thread second = Thread.ofPlatform().daemon().start(arena::close);
            Await.end(second);
            Await.end(first);
            assertThat(continued).succeedsWithin(DEADLINE);
            assertThat(arena.scope().isAlive()).isFalse();
        }
    }

    private static void closeUnlessClosed(VerbsArena arena) {
        try {
            arena.close();
        } catch (IllegalStateException closed) {
            // The other thread was first.
        }
    }

    @ParameterizedTest
    @CsvSource({"RDMA, NONE", "RDMA, SEALED", "TCP, NONE"})
    void progressOfATransferClosesTheArena(Transport transport, Protection protection) throws Exception {
        NodeOptions options = PATIENT.transport(transport);
        if (protection != Protection.NONE) {
            options = options.secret("0123456789abcdef".getBytes(StandardCharsets.US_ASCII))
                    .protection(protection);
        }
        try (VerbsArena ofPeer = VerbsArena.ofShared()) {
            Node peer = Node.open(own(transport), options, ofPeer);
            VerbsArena arena = VerbsArena.ofShared();
            Node node = Node.open(own(transport), options, arena);
            Channel sending = peer.connect(node.address(), DEADLINE);
            Channel receiving = node.accept(DEADLINE);
            AtomicReference<Throwable> ended = new AtomicReference<>();
            Thread offering = Thread.ofPlatform().daemon().start(() -> {
                try {
                    sending.offer(MemorySegment.ofArray(new byte[100]), new byte[0], DEADLINE);
                } catch (Exception e) {
                    ended.set(e);
                }
            });
            Throwable thrown = null;
            try (Message message = receiving.receive(DEADLINE);
                    Transfer transfer = message.transfer()) {
                transfer.accept(MemorySegment.ofArray(new byte[100]), done -> arena.close(), DEADLINE);
            } catch (IllegalStateException | VerbsException closed) {
                thrown = closed;
            }
            assertThat(thrown).isNotNull();
            assertThat(arena.scope().isAlive()).isFalse();
            Await.end(offering);
            assertThat(ended.get()).isInstanceOf(ChannelException.class);
        }
    }
}
