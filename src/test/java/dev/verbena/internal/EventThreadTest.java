package dev.verbena.internal;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.support.Await;
import dev.verbena.support.OpenFileLimit;
import dev.verbena.support.OtherThread;
import dev.verbena.support.SystemCallFilter;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The thread that waits for descriptors, by eventfds: what it leaves behind, and what its handlers may rely on. */
class EventThreadTest {
    private final List<Integer> opened = new ArrayList<>();
    private final List<EventThread.Watch> watched = new ArrayList<>();

    /** A thread that has nothing left to watch still has its descriptors open for a moment. */
    @BeforeEach
    void awaitNoOtherThread() {
        Await.until(
                "the end of earlier threads",
                () -> Thread.getAllStackTraces().keySet().stream()
                        .noneMatch(thread -> thread.getName().equals("verbena-events")));
    }

    @AfterEach
    void closeDescriptors() {
        watched.forEach(EventThread.Watch::close);
        opened.forEach(SystemCall::close);
    }

    /** Watches a descriptor until the end of the test. */
    private EventThread.Watch watch(int descriptor, EventThread.Handler handler) {
        EventThread.Watch watch = EventThread.watch(descriptor, false, handler);
        watched.add(watch);
        return watch;
    }

    private int eventDescriptor(long count) {
        int made = SystemCall.EVENTFD.call(count, 0);
        opened.add(made);
        return made;
    }

    private static void raise(int descriptor) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment one = arena.allocateFrom(ValueLayout.JAVA_LONG, 1L);
            SystemCall.WRITE.call(descriptor, one.address(), Long.BYTES);
        }
    }

    /** A handler that does something for each event, and keeps what ended its watch. */
    private static class Recorded implements EventThread.Handler {
        private final Runnable work;
        final CompletableFuture<Throwable> failure = new CompletableFuture<>();

        Recorded(Runnable work) {
            this.work = work;
        }

        @Override
        public void readable() {
            work.run();
        }

        @Override
        public void failed(Throwable cause) {
            failure.complete(cause);
        }
    }

    /** A handler that does its work in the event thread for each event, of which it asks for one at a time. */
    private static final class Handed extends Recorded {
        Handed(Runnable work) {
            super(work);
        }

        @Override
        public boolean handOn() {
            readable();
            return true;
        }
    }

    /** A handler that does something about once a second. */
    private static final class Ticking extends Recorded {
        private final Runnable ticker;

        Ticking(Runnable ticker) {
            super(() -> {});
            this.ticker = ticker;
        }

        @Override
        public Runnable ticker() {
            return ticker;
        }
    }

    /** Replaces the file of the epoll descriptor, so that the next wait of the thread fails. */
    private static void breakThread(int wakeUp) {
        MemorySegment dup2 = Linker.nativeLinker().defaultLookup().find("dup2").orElseThrow();
        int poll = RunningEventThread.pollDescriptor();
        int other = SystemCall.EVENTFD.call(0, 0);
        assertThat((int) CFunction.at("function", dup2).call(other, poll)).isEqualTo(poll);
        SystemCall.close(other);
        raise(wakeUp);
    }

    private static List<Thread> threads(String... names) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> List.of(names).contains(thread.getName()))
                .toList();
    }

    /** A handler reads its descriptor and awaits, which an interrupt that is left over would end. */
    @Test
    void threadsGoOnAfterInterrupts() throws Exception {
        List<Integer> descriptors = List.of(eventDescriptor(0), eventDescriptor(0));
        List<AtomicInteger> handled = List.of(new AtomicInteger(), new AtomicInteger());
        List<Recorded> handlers = new ArrayList<>();
        List<EventThread.Watch> watches = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            int descriptor = descriptors.get(i);
            AtomicInteger count = handled.get(i);
            Recorded handler = new Recorded(() -> {
                try (Arena arena = Arena.ofConfined()) {
                    SystemCall.READ.call(descriptor, arena.allocate(Long.BYTES).address(), Long.BYTES);
                }
                count.incrementAndGet();
            });
            handlers.add(handler);
            watches.add(EventThread.watch(descriptor, i == 1, handler)); // the second one has a reader call the handler
        }
        Thread events = threads("verbena-events").getFirst();
        for (int i = 1; i <= 1_000; i++) {
            int round = i;
            descriptors.forEach(EventThreadTest::raise);
            threads("verbena-events", "verbena-reader").forEach(Thread::interrupt);
            Await.until("both events", () -> handled.stream().allMatch(count -> count.get() >= round));
        }
        descriptors.forEach(EventThreadTest::raise);
        Await.until("the interrupt is over", () -> !events.isInterrupted());
        assertThat(events.isAlive()).isTrue();
        assertThat(handlers).noneMatch(handler -> handler.failure.isDone());
        watches.forEach(EventThread.Watch::close);
    }

    /** More descriptors than the kernel reports at once become readable while the thread is in a handler. */
    @Test
    void eventsOfManyDescriptorsAtOnceAreAllHandled() throws Exception {
        CountDownLatch busy = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        int first = eventDescriptor(0);
        List<EventThread.Watch> watches = new ArrayList<>();
        watches.add(EventThread.watch(first, true, new Handed(() -> {
            busy.countDown();
            awaitLatch(goOn);
        })));
        int many = 150;
        CountDownLatch handled = new CountDownLatch(many);
        AtomicInteger wrong = new AtomicInteger();
        for (int i = 0; i < many; i++) {
            CountDownLatch once = new CountDownLatch(1);
            watches.add(EventThread.watch(eventDescriptor(0), true, new Handed(() -> {
                if (once.getCount() == 0) {
                    wrong.incrementAndGet();
                }
                once.countDown();
                handled.countDown();
            })));
        }
        raise(first);
        assertThat(busy.await(60, SECONDS)).isTrue();
        opened.subList(1, opened.size()).forEach(EventThreadTest::raise);
        goOn.countDown();
        assertThat(handled.await(60, SECONDS)).isTrue();
        watches.forEach(EventThread.Watch::close);
        assertThat(wrong).as("events that were handled twice").hasValue(0);
    }

    private static void awaitLatch(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** The threads outlive the program's part that needed them first, and must not keep what it has stored. */
    @Test
    void threadsAreNamedDaemonsAndInheritNothing() throws Exception {
        InheritableThreadLocal<String> local = new InheritableThreadLocal<>();
        local.set("of the program");
        for (boolean apart : List.of(false, true)) {
            CompletableFuture<Thread> handler = new CompletableFuture<>();
            CompletableFuture<Optional<String>> inherited = new CompletableFuture<>();
            int descriptor = eventDescriptor(1);
            EventThread.Watch watch = EventThread.watch(descriptor, apart, new Recorded(() -> {
                inherited.complete(Optional.ofNullable(local.get()));
                handler.complete(Thread.currentThread());
            }));
            assertThat(handler.get(60, SECONDS).getName()).isEqualTo(apart ? "verbena-reader" : "verbena-events");
            assertThat(handler.get().isDaemon()).isTrue();
            assertThat(inherited.get(60, SECONDS)).isEmpty();
            watch.close();
        }
    }

    @Test
    void eventThatIsHandedOnIsOneUntilItIsAskedAgain() throws Exception {
        AtomicInteger events = new AtomicInteger();
        int descriptor = eventDescriptor(1); // stays readable
        Recorded handing = new Handed(events::incrementAndGet);
        EventThread.Watch watch = EventThread.watch(descriptor, true, handing);
        Await.until("the event", () -> events.get() == 1);
        CountDownLatch later = new CountDownLatch(3);
        EventThread.Watch other = EventThread.watch(eventDescriptor(1), false, new Recorded(later::countDown));
        assertThat(later.await(60, SECONDS)).as("the thread went round").isTrue();
        assertThat(events).hasValue(1);
        watch.again();
        Await.until("the next event", () -> events.get() == 2);
        watch.close();
        other.close();
    }

    @Test
    @ExtendWith(ShortTicks.class)
    void handlersTickWhileTheyAreWatched() {
        AtomicInteger first = new AtomicInteger();
        AtomicInteger second = new AtomicInteger();
        EventThread.Watch closed = watch(eventDescriptor(0), new Ticking(first::incrementAndGet));
        Await.until("ticks", () -> first.get() > 1);
        closed.close();
        watch(eventDescriptor(0), new Ticking(second::incrementAndGet));
        Await.until("the next tick", () -> second.get() > 0);
        int before = first.get();
        Await.until("more ticks", () -> second.get() > 2);
        assertThat(first).hasValue(before);
    }

    @Test
    @ExtendWith(ShortTicks.class)
    void handlersTickThoughTheThreadSleptForEverBefore() {
        watch(eventDescriptor(0), new Recorded(() -> {}));
        Thread events = threads("verbena-events").getFirst();
        Await.until(
                "the thread asks for events",
                () -> Arrays.stream(events.getStackTrace())
                        .anyMatch(frame -> frame.getMethodName().equals("take")));
        AtomicInteger ticks = new AtomicInteger();
        watch(eventDescriptor(0), new Ticking(ticks::incrementAndGet));
        Await.until("a tick", () -> ticks.get() > 0);
    }

    @Test
    @ExtendWith(ShortTicks.class)
    void tickThatThrowsEndsItsWatchAlone() throws Exception {
        AtomicInteger ticks = new AtomicInteger();
        watch(eventDescriptor(0), new Ticking(ticks::incrementAndGet));
        IllegalStateException broken = new IllegalStateException("broken ticker");
        AtomicInteger wrong = new AtomicInteger();
        Ticking throwing = new Ticking(() -> {
            wrong.incrementAndGet();
            throw broken;
        });
        watch(eventDescriptor(0), throwing);
        assertThat(throwing.failure.get(60, SECONDS)).isSameAs(broken);
        int before = ticks.get();
        Await.until("ticks of the other watch", () -> ticks.get() > before + 1);
        assertThat(wrong).hasValue(1);
    }

    /** Both events are there before the first is told. */
    @Test
    void watchThatTheEventBeforeHasClosedIsNotTold() {
        CountDownLatch goOn = new CountDownLatch(1);
        AtomicInteger rounds = new AtomicInteger();
        watch(eventDescriptor(1), new Recorded(() -> {
            awaitLatch(goOn);
            rounds.incrementAndGet();
        }));
        AtomicInteger told = new AtomicInteger();
        for (int i = 0; i < 2; i++) {
            watch(eventDescriptor(1), new Recorded(() -> {
                told.incrementAndGet();
                watched.subList(1, 3).forEach(EventThread.Watch::close);
            }));
        }
        goOn.countDown();
        Await.until("an event", () -> told.get() > 0);
        int before = rounds.get();
        Await.until("the thread goes on", () -> rounds.get() > before + 1);
        assertThat(told).hasValue(1);
    }

    @Test
    void endedThreadTellsNoClosedWatch() throws Exception {
        List<Recorded> handlers = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            handlers.add(new Recorded(() -> {}));
            watch(eventDescriptor(0), handlers.get(i));
        }
        for (int i : List.of(0, 3, 5)) { // the oldest, one between others, and the newest
            watched.get(i).close();
        }
        breakThread(opened.get(1));
        for (int i : List.of(1, 2, 4)) {
            assertThat(handlers.get(i).failure.get(60, SECONDS)).isInstanceOf(SystemCallException.class);
        }
        awaitNoOtherThread();
        for (int i : List.of(0, 3, 5)) {
            assertThat(handlers.get(i).failure).isNotDone();
        }
    }

    /** The order is that of the watches, whatever was closed between them. */
    @Test
    void handlersHearOfTheEndTheOldestFirst() throws Exception {
        List<Integer> told = Collections.synchronizedList(new ArrayList<>());
        List<Recorded> handlers = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            int number = i;
            handlers.add(new Recorded(() -> {}) {
                @Override
                public void failed(Throwable cause) {
                    told.add(number);
                    super.failed(cause);
                }
            });
            watch(eventDescriptor(0), handlers.get(i));
        }
        watched.get(2).close();
        breakThread(opened.getFirst());
        for (int i : List.of(0, 1, 3, 4, 5)) {
            handlers.get(i).failure.get(60, SECONDS);
        }
        assertThat(told).containsExactly(0, 1, 3, 4, 5);
    }

    @Test
    void endedThreadFailsAllItsWatchesAndEndsThem() throws Exception {
        int wakeUp = eventDescriptor(0);
        List<Recorded> handlers = new ArrayList<>();
        List<EventThread.Watch> watches = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Recorded handler = new Recorded(() -> {}) {
                @Override
                public void failed(Throwable cause) {
                    super.failed(cause);
                    throw new IllegalStateException("broken handler");
                }
            };
            handlers.add(handler);
            watches.add(EventThread.watch(i == 0 ? wakeUp : eventDescriptor(0), false, handler));
        }
        breakThread(wakeUp);
        for (Recorded handler : handlers) {
            assertThat(handler.failure.get(60, SECONDS)).isInstanceOf(SystemCallException.class);
        }
        assertThat(RunningEventThread.pollDescriptor()).isEqualTo(-1);
        awaitNoOtherThread();
        assertThat(handlers.getFirst().failure.get().getSuppressed()).hasSize(handlers.size());
        for (EventThread.Watch watch : watches) {
            assertThatCode(watch::again).doesNotThrowAnyException();
            assertThatCode(watch::close).doesNotThrowAnyException();
        }
    }

    /** Of the handlers of an ended thread, one throws what it was given. */
    @Test
    void endedThreadFailsTheOtherWatchesIfAHandlerRethrows() throws Exception {
        int wakeUp = eventDescriptor(0);
        List<Recorded> handlers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Recorded handler = new Recorded(() -> {}) {
                @Override
                public void failed(Throwable cause) {
                    super.failed(cause);
                    throw (SystemCallException) cause;
                }
            };
            handlers.add(handler);
            EventThread.watch(i == 0 ? wakeUp : eventDescriptor(0), false, handler);
        }
        breakThread(wakeUp);
        for (Recorded handler : handlers) {
            assertThat(handler.failure.get(60, SECONDS)).isInstanceOf(SystemCallException.class);
        }
    }

    @Test
    void watchOfAnInvalidDescriptorLeavesNothingWatched() {
        long before = OpenFileLimit.count();
        assertThatThrownBy(() -> EventThread.watch(-1, false, new Recorded(() -> {})))
                .hasMessage("epoll_ctl: " + Errno.describe(Errno.EBADF));
        assertThat(RunningEventThread.pollDescriptor()).isEqualTo(-1);
        Await.until("as few descriptors as before", () -> OpenFileLimit.count() <= before);
    }

    /** A thread that was refused its watch must not end the thread of others. */
    @Test
    void watchOfAnInvalidDescriptorLeavesOtherWatches() throws Exception {
        AtomicInteger events = new AtomicInteger();
        int descriptor = eventDescriptor(0);
        EventThread.Watch watch = EventThread.watch(descriptor, false, new Recorded(events::incrementAndGet));
        assertThatThrownBy(() -> EventThread.watch(-1, false, new Recorded(() -> {})))
                .isInstanceOf(SystemCallException.class);
        assertThat(RunningEventThread.pollDescriptor()).isNotEqualTo(-1);
        raise(descriptor);
        Await.until("the event", () -> events.get() > 0);
        watch.close();
        assertThat(RunningEventThread.pollDescriptor()).isEqualTo(-1);
    }

    @Test
    void startWithoutDescriptorsLeavesNothingOpen() {
        int descriptor = eventDescriptor(0);
        Recorded handler = new Recorded(() -> {});
        watchOfAnInvalidDescriptorLeavesNothingWatched(); // loads the classes, which are in files
        awaitNoOtherThread();
        long before = OpenFileLimit.count();
        try (OpenFileLimit limit = OpenFileLimit.reached()) {
            assertThat(limit.limit()).isPositive();
            assertThatThrownBy(() -> EventThread.watch(descriptor, false, handler))
                    .isInstanceOf(SystemCallException.class)
                    .hasMessage("epoll_create1: EMFILE (too many open files)");
        }
        try (OpenFileLimit limit = OpenFileLimit.oneLeft()) {
            assertThat(limit.limit()).isPositive();
            assertThatThrownBy(() -> EventThread.watch(descriptor, false, handler))
                    .isInstanceOf(SystemCallException.class)
                    .hasMessage("eventfd: EMFILE (too many open files)");
        }
        assertThat(OpenFileLimit.count()).isEqualTo(before);
        EventThread.watch(descriptor, false, handler).close();
    }

    @Test
    void startWithoutAThreadLeavesNothingOpen() {
        int descriptor = eventDescriptor(0);
        watchOfAnInvalidDescriptorLeavesNothingWatched();
        awaitNoOtherThread();
        long before = OpenFileLimit.count();
        assertThatThrownBy(() -> OtherThread.call(() -> {
                    SystemCallFilter.forbidThreadsHere();
                    return EventThread.watch(descriptor, false, new Recorded(() -> {}));
                }))
                .isInstanceOf(OutOfMemoryError.class);
        assertThat(RunningEventThread.pollDescriptor()).isEqualTo(-1);
        assertThat(OpenFileLimit.count()).isEqualTo(before);
    }
}
