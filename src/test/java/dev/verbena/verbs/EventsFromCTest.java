package dev.verbena.verbs;

import static dev.verbena.verbs.Refusals.assertIllegalState;
import static dev.verbena.verbs.Refusals.assertRefusedByC;
import static dev.verbena.verbs.Refusals.assertThrows;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Errno;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.OtherThread;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.access.VerbsAccess;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Asynchronous events of each kind, on the provider, which raises them when a test wants them. */
@FencedTest
class EventsFromCTest {
    private static final Duration NOW = Duration.ZERO;

    private final VerbsArena arena = VerbsArena.ofShared();
    private final Context context = TestDevice.get().open(arena);
    private final ProtectionDomain domain = context.allocateProtectionDomain();
    private final CompletionQueue queue = context.createCompletionQueue(4);
    private final QueuePair pair = domain.createQueuePair(QueuePair.rc(queue));

    @AfterEach
    void close() {
        if (arena.scope().isAlive()) {
            arena.close();
        }
    }

    private AsyncEvent next() {
        return Objects.requireNonNull(context.events().poll());
    }

    /** A listener that keeps its events, and what its thread would report. */
    private static class Told implements Consumer<AsyncEvent> {
        private final BlockingQueue<AsyncEvent> events = new LinkedBlockingQueue<>();
        final BlockingQueue<Throwable> reported = new LinkedBlockingQueue<>();
        volatile Thread thread;

        @Override
        public void accept(AsyncEvent event) {
            thread = Thread.currentThread();
            thread.setUncaughtExceptionHandler((on, thrown) -> reported.add(thrown));
            events.add(event);
        }

        AsyncEvent take() throws InterruptedException {
            AsyncEvent event = events.poll(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS);
            assertThat(event).as("an event").isNotNull();
            return event;
        }
    }

    /** What C raises, and what a program is told. */
    private record Raised(long element, Object source, AsyncEvent event) {}

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "UNKNOWN")
    void eventNamesItsSource(AsyncEvent.Type type) {
        SharedReceiveQueue shared = domain.createSharedReceiveQueue(SharedReceiveQueue.basic());
        WorkQueue work = domain.createWorkQueue(WorkQueueOptions.of(queue, 4));
        int code = type.code();
        Raised raised = switch (type.source()) {
            case COMPLETION_QUEUE ->
                new Raised(queue.address(), queue, new AsyncEvent.OfCompletionQueue(context, type, code, queue, 1));
            case QUEUE_PAIR -> new Raised(pair.address, pair, new AsyncEvent.OfQueuePair(context, type, code, pair));
            case SHARED_RECEIVE_QUEUE ->
                new Raised(shared.address(), shared, new AsyncEvent.OfSharedReceiveQueue(context, type, code, shared));
            case WORK_QUEUE -> new Raised(work.address(), work, new AsyncEvent.OfWorkQueue(context, type, code, work));
            case PORT -> new Raised(3, "port 3 of fenced0", new AsyncEvent.OfPort(context, type, code, 3));
            default -> new Raised(0, "fenced0", new AsyncEvent.OfDevice(context, type, code));
        };
        Fenced.raise(context, code, raised.element);
        AsyncEvent event = next();
        assertThat(event).isEqualTo(raised.event);
        assertThat(event).hasToString(type + " of " + raised.source + ": " + type.meaning());
        assertThat(type.meaning()).isNotEqualTo("IBV_EVENT_" + type);
        assertThat(context.events().poll()).isNull();
    }

    @Test
    void eventOfANewerReleaseKeepsItsNumbers() {
        Fenced.raise(context, 99, 0xabcL);
        AsyncEvent event = next();
        assertThat(event).isEqualTo(new AsyncEvent.OfSomethingElse(context, AsyncEvent.Type.UNKNOWN, 99, 0xabc));
        assertThat(event).hasToString("event 99 of fenced0, element 0xabc: " + AsyncEvent.Type.UNKNOWN.meaning());
    }

    @Test
    void errorsOfAQueueAreCountedUntilTheyAreRead() {
        CompletionQueue other = context.createCompletionQueue(4);
        for (int i = 0; i < 3; i++) {
            Fenced.raise(context, rdma_h.IBV_EVENT_CQ_ERR(), queue.address());
        }
        Fenced.raise(context, rdma_h.IBV_EVENT_CQ_ERR(), other.address());
        assertThat(next()).isEqualTo(new AsyncEvent.OfCompletionQueue(context, AsyncEvent.Type.CQ_ERR, 0, queue, 3));
        assertThat(next()).isEqualTo(new AsyncEvent.OfCompletionQueue(context, AsyncEvent.Type.CQ_ERR, 0, other, 1));
        assertThat(context.events().poll()).isNull();
        Fenced.raise(context, rdma_h.IBV_EVENT_CQ_ERR(), queue.address());
        assertThat(next()).isEqualTo(new AsyncEvent.OfCompletionQueue(context, AsyncEvent.Type.CQ_ERR, 0, queue, 1));
    }

    @Test
    void listenersThreadGoesOnAfterInterrupts() {
        AtomicInteger events = new AtomicInteger();
        try (AsyncEvents.Subscription _ = context.events().subscribe(event -> events.incrementAndGet())) {
            Thread listening = Thread.getAllStackTraces().keySet().stream()
                    .filter(thread -> thread.getName().startsWith("verbena-async-events-"))
                    .findFirst()
                    .orElseThrow();
            for (int i = 1; i <= 1_000; i++) {
                int round = i;
                Fenced.raise(context, rdma_h.IBV_EVENT_PORT_ERR());
                listening.interrupt();
                Await.until("the event", () -> events.get() == round);
            }
            Await.until("the interrupt is over", () -> !listening.isInterrupted());
            assertThat(listening.isAlive()).isTrue();
        }
    }

    @Test
    void eventsOfAClosedObjectAreDroppedAndOthersAreNot() {
        QueuePair other = domain.createQueuePair(QueuePair.rc(queue));
        CompletionQueue closed = context.createCompletionQueue(4);
        Fenced.raise(context, rdma_h.IBV_EVENT_PORT_ERR());
        Fenced.raise(context, rdma_h.IBV_EVENT_COMM_EST(), pair);
        for (int i = 0; i < 2; i++) { // are counted
            Fenced.raise(context, rdma_h.IBV_EVENT_CQ_ERR(), closed.address());
        }
        Fenced.raise(context, rdma_h.IBV_EVENT_COMM_EST(), other);
        assertThat(next()).as("and takes the others from C").isInstanceOf(AsyncEvent.OfPort.class);
        pair.close();
        closed.close();
        assertThat(next())
                .isInstanceOfSatisfying(
                        AsyncEvent.OfQueuePair.class,
                        event -> assertThat(event.queuePair()).isSameAs(other));
        assertThat(context.events().poll()).isNull();
    }

    @Test
    void removedDeviceSaysSo() {
        assertRefusedByC("ibv_get_async_event(fenced0): EIO", "The device was removed", context.events()::poll);
        assertRefusedByC("ibv_get_async_event(fenced0): EINVAL", context.events()::poll)
                .hasMessageNotContaining("removed");
    }

    @Test
    void timeoutOfAWaitNamesTheFunctionAndTheDevice() throws InterruptedException {
        assertThrows(
                        VerbsTimeoutException.class,
                        "ibv_get_async_event",
                        () -> context.events().await(NOW))
                .hasMessageContaining("fenced0");
        Fenced.raise(context, rdma_h.IBV_EVENT_PORT_ERR());
        assertThat(context.events().await(NOW)).isInstanceOf(AsyncEvent.OfPort.class);
    }

    /** The ends of all waits of a context, each with what the threads throw. */
    private enum End {
        CLOSE(IllegalStateException.class, "closed"),
        LISTENER(IllegalStateException.class, "listener"),
        INTERRUPT(InterruptedException.class, "");

        private final Class<? extends Throwable> thrown;
        private final String words;

        End(Class<? extends Throwable> thrown, String words) {
            this.thrown = thrown;
            this.words = words;
        }
    }

    @ParameterizedTest
    @EnumSource
    void allWaitsEnd(End end) {
        List<OtherThread<AsyncEvent>> waiters = Stream.of(false, true)
                .map(virtual -> OtherThread.start(
                                virtual, () -> context.events().await(Loopback.DEADLINE))
                        .asleep())
                .toList();
        switch (end) {
            case CLOSE -> arena.close();
            case LISTENER -> context.events().subscribe(event -> {});
            case INTERRUPT -> waiters.forEach(waiter -> waiter.thread().interrupt());
        }
        for (OtherThread<AsyncEvent> waiter : waiters) {
            Throwable thrown = waiter.failure();
            assertThat(thrown).isInstanceOf(end.thrown);
            assertThat(String.valueOf(thrown.getMessage())).contains(end.words);
        }
    }

    // Listeners

    /** Makes a subscription that has told an event. */
    private AsyncEvents.Subscription subscribe(Told told) throws InterruptedException {
        AsyncEvents.Subscription made = context.events().subscribe(told);
        Fenced.raise(context, rdma_h.IBV_EVENT_PORT_ERR());
        told.take();
        return made;
    }

    @Test
    void listenersReceiveEventsOfAConfinedContext() throws Exception {
        try (VerbsArena confined = VerbsArena.ofConfined()) {
            Context own = TestDevice.get().open(confined);
            Told told = new Told();
            own.events().subscribe(told);
            Fenced.raise(own, rdma_h.IBV_EVENT_PORT_ERR());
            assertThat(told.take()).isEqualTo(new AsyncEvent.OfPort(own, AsyncEvent.Type.PORT_ERR, 10, 1));
        }
    }

    @Test
    void listenersGetEachEventInOrder() throws Exception {
        Told first = new Told();
        Told second = new Told();
        assertThatNullPointerException().isThrownBy(() -> context.events().subscribe(null));
        AsyncEvents.Subscription one = context.events().subscribe(first);
        AsyncEvents.Subscription two = context.events().subscribe(second);
        Fenced.raise(context, rdma_h.IBV_EVENT_PORT_ERR());
        Fenced.raise(context, rdma_h.IBV_EVENT_COMM_EST(), pair);
        for (Told told : List.of(first, second)) {
            assertThat(told.take()).isInstanceOf(AsyncEvent.OfPort.class);
            assertThat(told.take()).isInstanceOf(AsyncEvent.OfQueuePair.class);
        }
        Await.until("a listener that sleeps until the next event", () -> Await.isAsleep(first.thread));
        assertThat(second.thread).isSameAs(first.thread);
        assertThat(first.thread.isDaemon()).isTrue();
        assertThat(first.thread.getName()).isEqualTo("verbena-async-events-fenced0");
        assertIllegalState("go to the listeners", context.events()::poll);
        two.close();
        Fenced.raise(context, rdma_h.IBV_EVENT_PORT_ACTIVE());
        assertThat(first.take().type()).isEqualTo(AsyncEvent.Type.PORT_ACTIVE);
        one.close();
        one.close();
        Await.end(first.thread);
        assertThat(second.events).isEmpty();
        Fenced.raise(context, rdma_h.IBV_EVENT_PORT_ERR());
        assertThat(next().type()).isEqualTo(AsyncEvent.Type.PORT_ERR);
    }

    @Test
    void subscriptionAfterTheLastStartsAThreadAgain() throws Throwable {
        for (int round = 0; round < 3; round++) {
            subscribe(new Told()).close();
        }
        assertThat(OtherThread.call(() -> context.events().poll()))
                .as("no call keeps the lock")
                .isNull();
    }

    @Test
    void listenerThatThrowsIsReportedAndTheOthersGoOn() throws Exception {
        Told told = new Told();
        IllegalArgumentException fault = new IllegalArgumentException("a fault of the listener's own");
        Told faulty = new Told() {
            @Override
            public void accept(AsyncEvent event) {
                super.accept(event);
                throw fault;
            }
        };
        context.events().subscribe(faulty);
        context.events().subscribe(told);
        for (int round = 0; round < 2; round++) {
            Fenced.raise(context, rdma_h.IBV_EVENT_PORT_ERR());
            told.take();
            assertThat(faulty.reported.poll(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS))
                    .isSameAs(fault);
        }
    }

    @Test
    void listenersEndWhenTheDeviceIsRemoved() throws Exception {
        Told told = new Told();
        subscribe(told);
        Fenced.fail("ibv_get_async_event", 1, Errno.EIO);
        Fenced.raise(context, rdma_h.IBV_EVENT_PORT_ERR());
        Await.end(told.thread);
        assertThat(told.reported.take()).isInstanceOf(VerbsException.class).hasMessageContaining("removed");
        assertThat(next()).as("there are no listeners any more").isInstanceOf(AsyncEvent.OfPort.class);
    }

    @Test
    void closedContextEndsItsListenersQuietly() throws Exception {
        Told told = new Told();
        subscribe(told);
        arena.close();
        Await.end(told.thread);
        assertThat(told.reported).isEmpty();
    }

    // Contexts over one of another library

    private Context adopt() {
        return VerbsAccess.get().adoptContext(context.address(), arena, () -> {});
    }

    @Test
    void eventsOfADeviceGoToAllContextsOverIt() throws Throwable {
        Context first = adopt();
        Context second = adopt();
        OtherThread<AsyncEvent> waiter = OtherThread.start(() -> second.events().await(Loopback.DEADLINE))
                .asleep();
        QueuePair own = first.allocateProtectionDomain().createQueuePair(QueuePair.rc(first.createCompletionQueue(4)));
        Fenced.raise(context, rdma_h.IBV_EVENT_COMM_EST(), own);
        assertThat(first.events().await(Loopback.DEADLINE))
                .as("an object belongs to one context")
                .isEqualTo(new AsyncEvent.OfQueuePair(first, AsyncEvent.Type.COMM_EST, 4, own));
        assertThat(waiter.isDone()).isFalse();
        Fenced.raise(context, rdma_h.IBV_EVENT_PORT_ERR());
        assertThat(first.events().await(Loopback.DEADLINE)).isInstanceOf(AsyncEvent.OfPort.class);
        assertThat(waiter.join()).isEqualTo(new AsyncEvent.OfPort(second, AsyncEvent.Type.PORT_ERR, 10, 1));
    }

    @Test
    void contextThatLeavesEndsItsWaitsOnly() throws Throwable {
        Context first = adopt();
        Context second = adopt();
        OtherThread<AsyncEvent> waiter =
                OtherThread.start(() -> first.events().await(Loopback.DEADLINE)).asleep();
        assertThat(second.events().poll()).isNull();
        first.close();
        assertThat(waiter.failure()).isInstanceOf(IllegalStateException.class).hasMessageContaining("closed");
        Fenced.raise(context, rdma_h.IBV_EVENT_PORT_ERR());
        assertThat(second.events().await(Loopback.DEADLINE)).isInstanceOf(AsyncEvent.OfPort.class);
        Context third = adopt();
        Fenced.raise(context, rdma_h.IBV_EVENT_PORT_ERR());
        assertThat(second.events().await(Loopback.DEADLINE)).isInstanceOf(AsyncEvent.OfPort.class);
        assertThat(third.events().poll()).as("of the same source").isNotNull();
        second.close();
        third.close();
        Context last = adopt();
        Fenced.raise(context, rdma_h.IBV_EVENT_PORT_ERR());
        assertThat(last.events().await(Loopback.DEADLINE)).isInstanceOf(AsyncEvent.OfPort.class);
    }
}
