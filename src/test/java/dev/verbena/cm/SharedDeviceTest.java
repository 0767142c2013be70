package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.verbs.AsyncEvent;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The connection manager opens a device once for all event channels: each gets the events of its own objects. */
@DeviceTest
class SharedDeviceTest {
    private static final int WRITES = 40;

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private VerbsArena oneArena;
    private VerbsArena twoArena;
    private Context one;
    private Context two;

    @BeforeEach
    void open() {
        oneArena = VerbsArena.ofShared();
        twoArena = VerbsArena.ofShared();
        one = contextOf(EventChannel.create(oneArena));
        two = contextOf(EventChannel.create(twoArena));
    }

    @AfterEach
    void close() {
        threads.shutdownNow();
        twoArena.close();
        oneArena.close();
    }

    private static Context contextOf(EventChannel channel) {
        ConnectionId id = channel.createId(PortSpace.TCP);
        id.bind(CmAddress.four(0));
        return id.context();
    }

    private Future<AsyncEvent> eventOf(Context context) {
        return threads.submit(() -> context.events().await(DEADLINE));
    }

    /** A queue that gets more completions than it holds. */
    private static CompletionQueue overrun(Context context) {
        CompletionQueue small = context.createCompletionQueue(4);
        ProtectionDomain domain = context.allocateProtectionDomain();
        QueuePair sender = domain.createQueuePair(QueuePair.rc(small).sendDepth(WRITES));
        QueuePair receiver = domain.createQueuePair(QueuePair.rc(context.createCompletionQueue(4)));
        sender.connect(receiver.endpoint());
        receiver.connect(sender.endpoint());
        MemoryRegion buffer = domain.register(context.arena().allocate(16), LOCAL_WRITE, REMOTE_WRITE);
        try {
            for (int i = 0; i < WRITES; i++) {
                sender.postWrite(i, buffer.slice(0, 8), buffer.slice(8, 8).remote());
            }
        } catch (VerbsException lost) {
            assertThat(lost).hasMessageContaining("some were lost"); // an event came before the last write
        }
        return small;
    }

    private static void assertTells(Future<AsyncEvent> waiting, CompletionQueue queue) throws Exception {
        assertThat(waiting.get(DEADLINE.toSeconds(), SECONDS))
                .isInstanceOfSatisfying(AsyncEvent.OfCompletionQueue.class, event -> {
                    assertThat(event.type()).isEqualTo(AsyncEvent.Type.CQ_ERR);
                    assertThat(event.queue()).isSameAs(queue);
                    assertThat(event.context()).isSameAs(queue.context());
                });
    }

    @Test
    void awaitReturnsEventsOfItsOwnObjects() throws Exception {
        Future<AsyncEvent> ofOne = eventOf(one);
        Future<AsyncEvent> ofTwo = eventOf(two);
        assertTells(ofTwo, overrun(two));
        assertTells(ofOne, overrun(one));
    }

    @Test
    void pollLeavesEventsOfOthers() throws Exception {
        CompletionQueue broken = overrun(two);
        Future<AsyncEvent> ofOne = eventOf(one);
        assertTells(eventOf(two), broken);
        assertThat(ofOne.isDone()).isFalse();
        assertThat(one.events().poll()).isNull();
        assertTells(ofOne, overrun(one));
    }

    @Test
    void channelCloseKeepsOtherWaits() throws Exception {
        Future<AsyncEvent> ofOne = eventOf(one);
        Future<AsyncEvent> ofTwo = eventOf(two);
        oneArena.close();
        assertThatThrownBy(() -> ofOne.get(DEADLINE.toSeconds(), SECONDS))
                .hasCauseInstanceOf(IllegalStateException.class);
        assertTells(ofTwo, overrun(two));
        oneArena = VerbsArena.ofShared();
        one = contextOf(EventChannel.create(oneArena));
        Future<AsyncEvent> again = eventOf(one);
        assertTells(again, overrun(one));
    }
}
