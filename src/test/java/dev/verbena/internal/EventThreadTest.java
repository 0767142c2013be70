package dev.verbena.internal;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.support.Await;
import dev.verbena.support.OpenFileLimit;
import dev.verbena.support.OtherThread;
import dev.verbena.support.SystemCallFilter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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
        return watch(descriptor, false, handler);
    }

    private EventThread.Watch watch(int descriptor, boolean apart, EventThread.Handler handler) {
        EventThread.Watch watch = EventThread.watch(descriptor, apart, handler);
        watched.add(watch);
        return watch;
    }

    private int eventDescriptor(long events) {
        int made = EventDescriptor.make(events);
        opened.add(made);
        return made;
    }

    /** A handler that does something for each event, and keeps what ended its watch. */
    static class Recorded implements EventThread.Handler {
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

    private static void assertFailed(List<Recorded> handlers) throws Exception {
        for (Recorded handler : handlers) {
            assertThat(handler.failure.get(60, SECONDS)).isInstanceOf(SystemCallException.class);
        }
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
        for (int i = 0; i < 2; i++) {
            int descriptor = descriptors.get(i);
            AtomicInteger count = handled.get(i);
            Recorded handler = new Recorded(() -> {
                assertThat(EventDescriptor.take(descriptor)).isTrue();
                count.incrementAndGet();
            });
            handlers.add(handler);
            watch(descriptor, i == 1, handler); // the second one has a reader call the handler
        }
        Thread events = threads("verbena-events").getFirst();
        for (int i = 1; i <= 1_000; i++) {
            int round = i;
            descriptors.forEach(EventDescriptor::raise);
            threads("verbena-events", "verbena-reader").forEach(Thread::interrupt);
            Await.until("both events", () -> handled.stream().allMatch(count -> count.get() >= round));
        }
        descriptors.forEach(EventDescriptor::raise);
        Await.until("the interrupt is over", () -> !events.isInterrupted());
        assertThat(events.isAlive()).isTrue();
        assertThat(handlers).noneMatch(handler -> handler.failure.isDone());
    }

    /** More descriptors than the kernel reports at once become readable while the thread is in a handler. */
    @Test
    void eventsOfManyDescriptorsAtOnceAreAllHandled() throws Exception {
        CountDownLatch busy = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        int first = eventDescriptor(0);
        watch(first, true, new Handed(() -> {
            busy.countDown();
            awaitLatch(goOn);
        }));
        int many = 150;
        CountDownLatch handled = new CountDownLatch(many);
        AtomicInteger wrong = new AtomicInteger();
        for (int i = 0; i < many; i++) {
            CountDownLatch once = new CountDownLatch(1);
            watch(eventDescriptor(0), true, new Handed(() -> {
                if (once.getCount() == 0) {
                    wrong.incrementAndGet();
                }
                once.countDown();
                handled.countDown();
            }));
        }
        EventDescriptor.raise(first);
        assertThat(busy.await(60, SECONDS)).isTrue();
        opened.subList(1, opened.size()).forEach(EventDescriptor::raise);
        goOn.countDown();
        assertThat(handled.await(60, SECONDS)).isTrue();
        watched.forEach(EventThread.Watch::close);
        assertThat(wrong).as("events that were handled twice").hasValue(0);
    }

    static void awaitLatch(CountDownLatch latch) {
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
            awaitNoOtherThread(); // it ends with the last watch
        }
    }

    @Test
    void eventThatIsHandedOnIsOneUntilItIsAskedAgain() throws Exception {
        AtomicInteger events = new AtomicInteger();
        int descriptor = eventDescriptor(1); // stays readable
        Recorded handing = new Handed(events::incrementAndGet);
        EventThread.Watch watch = watch(descriptor, true, handing);
        Await.until("the event", () -> events.get() == 1);
        CountDownLatch later = new CountDownLatch(3);
        watch(eventDescriptor(1), new Recorded(later::countDown));
        assertThat(later.await(60, SECONDS)).as("the thread went round").isTrue();
        assertThat(events).hasValue(1);
        watch.again();
        Await.until("the next event", () -> events.get() == 2);
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

    /** A handler throws when its ticker is called, or for an event. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    @ExtendWith(ShortTicks.class)
    void handlerThatThrowsEndsItsWatchAlone(boolean ticks) throws Exception {
        AtomicInteger others = new AtomicInteger();
        watch(eventDescriptor(0), new Ticking(others::incrementAndGet));
        IllegalStateException broken = new IllegalStateException("broken");
        AtomicInteger wrong = new AtomicInteger();
        Runnable work = () -> {
            wrong.incrementAndGet();
            throw broken;
        };
        Recorded throwing = ticks ? new Ticking(work) : new Recorded(work);
        watch(eventDescriptor(ticks ? 0 : 1), throwing);
        assertThat(throwing.failure.get(60, SECONDS)).isSameAs(broken);
        int before = others.get();
        Await.until("ticks of the other watch", () -> others.get() > before + 1);
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

    /** The closed watches are the oldest, one between others and the newest, or one alone. */
    @ParameterizedTest(name = "open watches: {0}")
    @ValueSource(strings = {"1 2 4", "0 1 3 4 5"})
    void endedThreadTellsItsWatchesTheOldestFirstAndNoClosedOne(String open) {
        List<Integer> left = Stream.of(open.split(" ")).map(Integer::valueOf).toList();
        List<Integer> told = Collections.synchronizedList(new ArrayList<>());
        for (int i = 0; i < 6; i++) {
            int number = i;
            watch(eventDescriptor(0), new Recorded(() -> {}) {
                @Override
                public void failed(Throwable cause) {
                    told.add(number);
                }
            });
        }
        for (int i = 0; i < 6; i++) {
            if (!left.contains(i)) {
                watched.get(i).close();
            }
        }
        RunningEventThread.breakBy(opened.get(left.getFirst()));
        awaitNoOtherThread();
        assertThat(told).isEqualTo(left);
    }

    /** The handlers of an ended thread throw: what they were given, or something else. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void endedThreadFailsAllItsWatchesAndEndsThem(boolean rethrow) throws Exception {
        List<Recorded> handlers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            handlers.add(new Recorded(() -> {}) {
                @Override
                public void failed(Throwable cause) {
                    super.failed(cause);
                    throw rethrow ? (SystemCallException) cause : new IllegalStateException("broken handler");
                }
            });
            watch(eventDescriptor(0), handlers.get(i));
        }
        RunningEventThread.breakBy(opened.getFirst());
        assertFailed(handlers);
        assertThat(RunningEventThread.runs()).isFalse();
        awaitNoOtherThread();
        assertThat(handlers.getFirst().failure.get().getSuppressed()).hasSize(rethrow ? 0 : handlers.size());
        for (EventThread.Watch watch : watched) {
            assertThatCode(watch::again).doesNotThrowAnyException();
            assertThatCode(watch::close).doesNotThrowAnyException();
        }
    }

    @Test
    void watchOfAnInvalidDescriptorLeavesNothingWatched() {
        long before = OpenFileLimit.count();
        assertThatThrownBy(() -> EventThread.watch(-1, false, new Recorded(() -> {})))
                .hasMessage("epoll_ctl: " + Errno.describe(Errno.EBADF));
        assertThat(RunningEventThread.runs()).isFalse();
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
        assertThat(RunningEventThread.runs()).isTrue();
        EventDescriptor.raise(descriptor);
        Await.until("the event", () -> events.get() > 0);
        watch.close();
        assertThat(RunningEventThread.runs()).isFalse();
    }

    @Test
    void startWithoutDescriptorsOrAThreadLeavesNothingOpen() {
        int descriptor = eventDescriptor(0);
        Recorded handler = new Recorded(() -> {});
        watchOfAnInvalidDescriptorLeavesNothingWatched(); // loads the classes, which are in files
        awaitNoOtherThread();
        Set<String> before = OpenFileLimit.files();
        ThrowingCallable start = () -> EventThread.watch(descriptor, false, handler);
        try (OpenFileLimit _ = OpenFileLimit.reached()) {
            assertThatThrownBy(start).hasMessage("epoll_create1: EMFILE (too many open files)");
        }
        try (OpenFileLimit _ = OpenFileLimit.oneLeft()) {
            assertThatThrownBy(start).hasMessage("eventfd: EMFILE (too many open files)");
        }
        assertThatThrownBy(() -> OtherThread.call(() -> {
                    SystemCallFilter.forbidThreadsHere();
                    return EventThread.watch(descriptor, false, handler);
                }))
                .isInstanceOf(OutOfMemoryError.class);
        assertThat(RunningEventThread.runs()).isFalse();
        assertThat(OpenFileLimit.openedSince(before)).isEmpty();
        EventThread.watch(descriptor, false, handler).close();
    }
}
