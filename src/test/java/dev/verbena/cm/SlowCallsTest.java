package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.Await;
import dev.verbena.support.ChannelLoopback;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.WorkCompletion;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Calls of C that take long: waits for other objects go on meanwhile, and waits of the same channel keep their timeouts. */
@FencedTest
@Timeout(240)
class SlowCallsTest {
    @AutoClose
    private final FencedIds ids = new FencedIds();

    /** Waits for a completion that comes after the wait has begun. */
    private static void awaitCompletion() throws Exception {
        try (ChannelLoopback loopback = new ChannelLoopback(VerbsArena.ofShared(), 1)) {
            ChannelLoopback.Connection pair = loopback.get(0);
            FutureTask<WorkCompletion> done =
                    new FutureTask<>(() -> pair.right().queue.await(DEADLINE));
            Thread waiting = Thread.ofPlatform().daemon().start(done);
            Await.until("a thread that waits", () -> Await.isAsleep(waiting));
            pair.right().pair.postReceive(2, pair.right().buffer);
            pair.left().pair.postSend(1, pair.left().buffer.slice(0, 8));
            assertThat(FencedIds.end(done).id()).isEqualTo(2);
        }
    }

    @Test
    void slowEventOfAChannelDelaysNoOtherWait() throws Exception {
        ConnectionId id = ids.channel.createId(PortSpace.TCP);
        FutureTask<CmEvent> waiting = new FutureTask<>(() -> id.awaitEvent(DEADLINE));
        Thread thread = Thread.ofPlatform().daemon().start(waiting);
        Await.until("a thread that waits", () -> Await.isAsleep(thread));
        Fenced.stop("rdma_get_cm_event");
        id.beginResolveAddress(null, FencedIds.OWN, DEADLINE);
        Fenced.awaitStopped("rdma_get_cm_event", 1);
        awaitCompletion();
        Fenced.goOn("rdma_get_cm_event");
        assertThat(FencedIds.end(waiting).type()).isEqualTo(CmEvent.Type.ADDRESS_RESOLVED);
    }

    @Test
    void listingDevicesDelaysNoWaitOfTheChannel() throws Exception {
        ConnectionId first = ids.channel.createId(PortSpace.TCP);
        first.bind(FencedIds.OWN);
        Fenced.stop("rdma_get_devices");
        Future<?> opening = ids.start(first::context);
        Fenced.awaitStopped("rdma_get_devices", 1);
        Future<?> resolving = ids.start(() -> {
            ids.channel.createId(PortSpace.TCP).resolveAddress(FencedIds.OWN, DEADLINE);
            return null;
        });
        FencedIds.end(resolving);
        Fenced.goOn("rdma_get_devices");
        FencedIds.end(opening);
    }

    @Test
    void slowDestructionOfAQueuePairKeepsTimeouts() throws Exception {
        ConnectionId first = ids.channel.createId(PortSpace.TCP);
        first.bind(FencedIds.OWN);
        first.createQueuePair(FencedIds.SIZES);
        ConnectionId second = ids.channel.createId(PortSpace.TCP);
        Fenced.stop("ibv_destroy_qp");
        Future<?> closing = ids.start(first.queuePair().orElseThrow()::close);
        Fenced.awaitStopped("ibv_destroy_qp", 1);
        keepsItsTimeout(second);
        Fenced.goOn("ibv_destroy_qp");
        FencedIds.end(closing);
        second.resolveAddress(FencedIds.OWN, DEADLINE);
    }

    @Test
    void slowMoveOfAnIdKeepsTimeouts() throws Exception {
        ConnectionId first = ids.channel.createId(PortSpace.TCP);
        ConnectionId second = ids.channel.createId(PortSpace.TCP);
        EventChannel other = EventChannel.create(ids.arena);
        Fenced.stop("rdma_migrate_id");
        Future<?> moving = ids.start(() -> first.migrate(other));
        Fenced.awaitStopped("rdma_migrate_id", 1);
        keepsItsTimeout(second);
        Fenced.goOn("rdma_migrate_id");
        FencedIds.end(moving);
        second.resolveAddress(FencedIds.OWN, DEADLINE);
    }

    private void keepsItsTimeout(ConnectionId id) throws Exception {
        Future<?> waiting = ids.start(() -> {
            assertThatThrownBy(() -> id.awaitEvent(Duration.ofMillis(1))).isInstanceOf(VerbsTimeoutException.class);
        });
        FencedIds.end(waiting);
    }
}
