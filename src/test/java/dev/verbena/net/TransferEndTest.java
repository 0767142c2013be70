package dev.verbena.net;

import static dev.verbena.net.NodePair.end;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import dev.verbena.support.FencedTest;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Channels that are closed in the middle of a transfer, after its first piece: both sides learn that, and nothing leaks. */
@FencedTest
class TransferEndTest extends ConnectedTest {
    /** Eight pieces of a sealed transfer, sixteen of another one. Two are under way at once. */
    private static final long SIZE = 4L << 20;

    /** The side that closes gets an exception of its own mistake; the other side gets the reason. */
    @ParameterizedTest
    @CsvSource({"true, true", "true, false", "false, true", "false, false"})
    void closeInTheMiddleEndsBothSides(boolean senderCloses, boolean ofTheProgram) throws Exception {
        MemorySegment data = ofTheProgram ? nodes.arena.allocate(SIZE) : MemorySegment.ofArray(new byte[(int) SIZE]);
        MemorySegment target = ofTheProgram ? nodes.arena.allocate(SIZE) : MemorySegment.ofArray(new byte[(int) SIZE]);
        Channel closing = senderCloses ? ends.client() : ends.server();
        Channel other = senderCloses ? ends.server() : ends.client();
        Future<?> offered = nodes.run(() -> ends.client().offer(data, new byte[0], DEADLINE));
        CompletableFuture<Void> closed = new CompletableFuture<>();
        AtomicLong last = new AtomicLong();
        Future<?> fetched = nodes.run(() -> {
            try (Message message = ends.server().receive(DEADLINE);
                    Transfer transfer = message.transfer()) {
                transfer.accept(
                        target,
                        done -> {
                            if (last.getAndSet(done) == 0) {
                                nodes.run(() -> {
                                    try {
                                        closing.close();
                                    } finally {
                                        closed.complete(null);
                                    }
                                });
                                Await.until("it is being closed", () -> !closing.isOpen() && !other.isOpen());
                            }
                        },
                        DEADLINE);
            }
        });
        Future<?> ofCloser = senderCloses ? offered : fetched;
        Future<?> ofOther = senderCloses ? fetched : offered;
        assertThat(NodePair.failure(ofOther))
                .isInstanceOfSatisfying(
                        ChannelException.class,
                        told -> assertThat(told.reason())
                                .isIn(EndReason.CLOSED_BY_PEER, EndReason.LOST, EndReason.ACCESS_DENIED));
        assertThat(NodePair.failure(ofCloser))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
        end(closed);
        assertThat(last.get()).isLessThan(SIZE);
    }

    @Test
    void nodeClosedByAnInterruptedThreadWaitsForTheThreadsInTransfers() throws Exception {
        MemorySegment data = nodes.arena.allocate(SIZE);
        Future<?> offered = nodes.run(() -> ends.client().offer(data, new byte[0], DEADLINE));
        FutureTask<Boolean> closing = new FutureTask<>(() -> {
            Thread.currentThread().interrupt();
            nodes.server.close();
            return Thread.interrupted();
        });
        Thread closer = Thread.ofPlatform().daemon().unstarted(closing);
        Future<?> fetched = nodes.run(() -> {
            try (Message message = ends.server().receive(DEADLINE);
                    Transfer transfer = message.transfer()) {
                transfer.accept(
                        nodes.arena.allocate(SIZE),
                        done -> {
                            if (closer.getState() == Thread.State.NEW) {
                                closer.start();
                                Await.until("it waits", () -> closing.isDone() || Await.isAsleep(closer));
                            }
                        },
                        DEADLINE);
            }
        });
        assertThat(closing).succeedsWithin(DEADLINE).isEqualTo(true);
        assertThat(fetched).failsWithin(DEADLINE);
        assertThat(offered).failsWithin(DEADLINE);
    }
}
