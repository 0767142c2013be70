package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.support.Await;
import dev.verbena.support.OtherThread;
import dev.verbena.support.SystemCallFilter;
import java.io.File;
import java.io.IOException;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests what the event thread does for waits of virtual threads, and for events that are wanted while no thread waits. {@link
 * DescriptorWaitsTest} has what ends a wait.
 */
@Timeout(180)
class VirtualWaitsTest {
    /** A timeout beyond that of the tests: a waiter that is not woken finds the data too late. */
    private static final Duration LONG = Duration.ofSeconds(600);

    private static final int SIGNALS = 100;
    private static final int SIGPIPE = 13;

    private final List<Integer> descriptors = new ArrayList<>();
    private final List<VirtualWaits> all = new ArrayList<>();
    private final int number = eventDescriptor();

    /** Waits of virtual threads, which take the events themselves. While none waits, a thread of its own calls a reader. */
    private final class VirtualWaits implements DescriptorWaits.Events {
        final AtomicInteger failures = new AtomicInteger();
        private final Waiters waiters = new Waiters();
        private final DescriptorWaits waits;
        private final @Nullable Runnable reader;

        VirtualWaits(int number, @Nullable Runnable reader) {
            this.waits = new DescriptorWaits(number, this);
            this.reader = reader;
            all.add(this);
        }

        @Override
        public void takeAll() {
            Objects.requireNonNull(reader).run();
        }

        @Override
        public RuntimeException cannotWait(Object owner, Throwable cause) {
            failures.incrementAndGet();
            return new IllegalStateException("can't wait", cause);
        }

        @Override
        public boolean areWanted() {
            return reader != null;
        }

        /** Starts a virtual thread that waits. */
        <T> OtherThread<T> start(Supplier<? extends @Nullable T> attempt) {
            return OtherThread.start(true, () -> {
                try (DescriptorWaits.Wait own = waits.begin(waiters, this)) {
                    return waiters.await(attempt, attempt, own, LONG);
                }
            });
        }

        /** Has the event thread watch the descriptor: for a wait that never ends, or because events are wanted. */
        void watch() throws Exception {
            if (reader != null) {
                waits.released();
            } else {
                OtherThread.start(true, () -> waits.begin(waiters, this).ask()).join();
            }
        }

        /** Has the event thread watch the descriptor, and returns when an event was handed on. */
        void awaitEvent() throws Exception {
            long before = waiters.wakes();
            watch();
            Await.until("the event", () -> waiters.wakes() > before);
        }
    }

    @BeforeEach
    void awaitNoWatch() {
        Await.until("the end of earlier watches", () -> !RunningEventThread.runs());
    }

    @AfterEach
    void close() {
        all.forEach(each -> each.waits.close());
        descriptors.forEach(SystemCall::close);
    }

    private int eventDescriptor() {
        int made = EventDescriptor.make(0);
        descriptors.add(made);
        return made;
    }

    private VirtualWaits handedOn() {
        return new VirtualWaits(number, null);
    }

    private void send() {
        EventDescriptor.raise(number);
    }

    private @Nullable String tryToTake() {
        return EventDescriptor.take(number) ? "event" : null;
    }

    /** Starts a virtual thread that waits, and returns when it is asleep. */
    private OtherThread<String> sleeper() {
        return handedOn().<String>start(this::tryToTake).asleep();
    }

    private void assertGetsItsEvent(OtherThread<String> sleeper) throws Exception {
        send();
        assertThat(sleeper.join()).isEqualTo("event");
    }

    @Test
    void eventThreadDeathFailsAllWaitsWithItsReasonAndAnotherOneBegins() throws Exception {
        VirtualWaits waits = handedOn();
        List<OtherThread<String>> sleepers = List.of(
                waits.<String>start(this::tryToTake).asleep(),
                waits.<String>start(this::tryToTake).asleep());
        int wakes = eventDescriptor();
        EventThread.watch(wakes, false, new EventThreadTest.Recorded(() -> {}));
        RunningEventThread.breakBy(wakes);
        for (OtherThread<String> each : sleepers) {
            assertThat(each.failure())
                    .hasMessage("can't wait")
                    .rootCause()
                    .isInstanceOf(SystemCallException.class)
                    .hasMessage("epoll_wait: " + Errno.describe(Errno.EINVAL));
        }
        assertGetsItsEvent(waits.<String>start(this::tryToTake).asleep());
    }

    @Test
    void slowReaderDelaysNoOtherWait() throws Exception {
        CountDownLatch reading = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        AtomicInteger reads = new AtomicInteger();
        int ready = eventDescriptor();
        EventDescriptor.raise(ready); // and nobody reads
        VirtualWaits slow = new VirtualWaits(ready, () -> {
            reading.countDown();
            EventThreadTest.awaitLatch(goOn);
            reads.incrementAndGet();
        });
        slow.watch();
        EventThreadTest.awaitLatch(reading);
        assertGetsItsEvent(sleeper());
        goOn.countDown();
        Await.until("the descriptor is watched again", () -> reads.get() > 1);
    }

    @Test
    void readerThatThrowsIsWatchedAgainByTheNextOne() {
        AtomicInteger reads = new AtomicInteger();
        VirtualWaits broken = new VirtualWaits(number, () -> {
            if (tryToTake() != null) {
                reads.incrementAndGet();
            }
            throw new IllegalStateException("broken reader");
        });
        for (int i = 1; i < 4; i++) {
            int before = i;
            send();
            Await.until("the reader", () -> {
                broken.watch();
                return reads.get() == before;
            });
        }
    }

    @Test
    void handedOnEventIsNotReadAndIsAskedForAnew() throws Exception {
        VirtualWaits handing = handedOn();
        handing.watch();
        handing.waits.close(); // the watch that this ends has asked for an event, which says nothing of the next watch
        handing.waits.reopen();
        send();
        for (int i = 0; i < 3; i++) { // nobody reads: each time there is an event
            handing.awaitEvent();
        }
        assertThat(tryToTake()).as("nobody has read").isNotNull();
    }

    @Test
    void closedDescriptorIsWatchedAgainOnlyOnceItIsReopened() throws Exception {
        VirtualWaits waits = handedOn();
        waits.watch();
        assertThat(RunningEventThread.runs()).isTrue();
        waits.waits.close();
        waits.watch();
        assertThat(RunningEventThread.runs()).isFalse();
        waits.waits.reopen();
        waits.watch();
        assertThat(RunningEventThread.runs()).isTrue();
    }

    /** A reader is at work when the descriptor is closed and opened again, and fails when others wait anew. */
    @Test
    void lateFailureOfAnEndedWatchFailsNoLaterWait() throws Exception {
        CompletableFuture<Thread> reading = new CompletableFuture<>();
        CountDownLatch goOn = new CountDownLatch(1);
        VirtualWaits waits = new VirtualWaits(number, () -> {
            reading.complete(Thread.currentThread());
            EventThreadTest.awaitLatch(goOn);
            throw new IllegalStateException("too late");
        });
        waits.watch();
        send();
        Thread late = reading.join();
        waits.waits.close();
        assertThat(tryToTake()).isNotNull();
        waits.waits.reopen();
        OtherThread<String> sleeper = waits.<String>start(this::tryToTake).asleep();
        goOn.countDown();
        Set<Thread.State> idle = Set.of(Thread.State.TIMED_WAITING, Thread.State.TERMINATED);
        Await.until("the end of the late reader", () -> idle.contains(late.getState()));
        waits.watch();
        assertGetsItsEvent(sleeper);
        assertThat(waits.failures).hasValue(0);
    }

    /** At the limit of threads, a watch fails; once there are threads, waits begin as ever. */
    @Test
    void watchWithoutAThreadFailsAndCanBeRepeated() throws Exception {
        VirtualWaits wanted = new VirtualWaits(number, this::tryToTake);
        assertThatThrownBy(() -> OtherThread.call(() -> {
                    SystemCallFilter.forbidThreadsHere();
                    wanted.watch();
                    return null;
                }))
                .isInstanceOf(OutOfMemoryError.class)
                .hasMessageContaining("thread");
        assertThat(RunningEventThread.runs()).isFalse();
        wanted.watch();
        assertThat(RunningEventThread.runs()).isTrue();
        wanted.waits.close();
        assertGetsItsEvent(sleeper());
    }

    /** A descriptor that was closed under the watch, or before it: each wait says so, and none sleeps for ever. */
    @Test
    void waitThatCanAskNoMoreFailsEachTime() throws Exception {
        int gone = EventDescriptor.make(1);
        VirtualWaits watched = new VirtualWaits(gone, null);
        VirtualWaits never = new VirtualWaits(gone, null);
        watched.awaitEvent();
        SystemCall.close(gone);
        for (VirtualWaits each : List.of(watched, watched, never, never)) {
            assertThat(each.start(() -> null).failure())
                    .hasMessage("can't wait")
                    .hasRootCauseMessage("epoll_ctl: " + Errno.describe(Errno.EBADF));
        }
        assertThatThrownBy(watched.waits::close).isInstanceOf(SystemCallException.class);
    }

    /** The virtual machine ignores SIGPIPE, but the signal interrupts system calls. */
    @Test
    void eventThreadSurvivesSignals() throws Exception {
        MemorySegment kill =
                Linker.nativeLinker().defaultLookup().find("tgkill").orElseThrow();
        OtherThread<String> sleeper = sleeper();
        Await.until("the event thread", () -> !tasksOfEventThreads().isEmpty());
        for (int i = 0; i < SIGNALS; i++) {
            for (long task : tasksOfEventThreads()) { // one of an earlier test may be about to end
                CFunction.at("function", kill).call(ProcessHandle.current().pid(), task, SIGPIPE);
            }
            Thread.yield();
        }
        assertGetsItsEvent(sleeper);
    }

    private static List<Long> tasksOfEventThreads() {
        List<Long> found = new ArrayList<>();
        for (String task : Objects.requireNonNull(new File("/proc/self/task").list())) {
            try {
                Path name = Path.of("/proc/self/task", task, "comm");
                if (Files.readString(name).strip().equals("verbena-events")) {
                    found.add(Long.parseLong(task));
                }
            } catch (IOException ended) {
                assertThat(ended).as("a thread that has ended").isNotNull();
            }
        }
        return found;
    }
}
