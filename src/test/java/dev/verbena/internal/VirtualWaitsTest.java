package dev.verbena.internal;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.support.Await;
import dev.verbena.support.OtherThread;
import dev.verbena.support.SystemCallFilter;
import java.io.File;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests waits of virtual threads, and so the event thread, with an eventfd whose counter each read decrements. */
class VirtualWaitsTest {
    /** A timeout beyond that of the tests: a waiter that is not woken finds the data too late. */
    private static final Duration LONG = Duration.ofSeconds(180);

    private static final int SEMAPHORE = 1;
    private static final int SIGNALS = 100;
    private static final int SIGPIPE = 13;

    private final AtomicBoolean closed = new AtomicBoolean();

    /** Has a permit for each wait of {@link #waiting} that has ended. */
    private final Semaphore ended = new Semaphore(0);

    private int number;
    private VirtualWaits descriptor;

    @BeforeEach
    void open() {
        number = SystemCall.EVENTFD.call(0, SEMAPHORE);
        SystemCall.makeNonBlocking(number);
        descriptor = VirtualWaits.handedOn(number, cause -> new IllegalStateException("can't wait", cause));
    }

    @AfterEach
    void close() {
        descriptor.close();
        SystemCall.close(number);
    }

    private void write(long count) {
        write(number, count);
    }

    private static void write(int to, long count) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocateFrom(ValueLayout.JAVA_LONG, count);
            SystemCall.WRITE.call(to, value.address(), Long.BYTES);
        }
    }

    private @Nullable Long tryToRead() {
        if (closed.get()) {
            throw new IllegalStateException("closed");
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment value = arena.allocate(ValueLayout.JAVA_LONG);
            MemorySegment read = java.lang.foreign.Linker.nativeLinker()
                    .defaultLookup()
                    .find("read")
                    .orElseThrow();
            long count = CFunction.at("function", read).call(number, value.address(), Long.BYTES);
            if (count < 0) {
                assertThat(CFunction.errno()).isEqualTo(Errno.EAGAIN);
                return null;
            }
            return value.get(ValueLayout.JAVA_LONG, 0);
        }
    }

    private @Nullable Long read() throws InterruptedException {
        return descriptor.await(this::tryToRead, LONG);
    }

    /** Starts a waiting thread, and returns when it has tried for the second time and is about to sleep. */
    private Future<Long> waiting(ExecutorService threads) throws Exception {
        AtomicInteger tries = new AtomicInteger();
        CountDownLatch second = new CountDownLatch(2);
        Supplier<@Nullable Long> attempt = () -> {
            Long found = tryToRead();
            tries.incrementAndGet();
            second.countDown();
            return found;
        };
        Future<Long> result = threads.submit(() -> {
            try {
                return descriptor.await(attempt, LONG);
            } finally {
                ended.release();
            }
        });
        assertThat(second.await(60, SECONDS)).isTrue();
        return result;
    }

    @Test
    void awaitReturnsWhatIsThereAtOnce() throws Exception {
        write(1);
        assertThat(read()).isEqualTo(1);
        assertThat(RunningEventThread.pollDescriptor()).as("nothing is watched").isEqualTo(-1);
    }

    @Test
    void awaitSleepsUntilDataArrives() throws Exception {
        try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
            Future<Long> reader = waiting(threads);
            write(1);
            assertThat(reader.get(60, SECONDS)).isEqualTo(1);
        }
    }

    @Test
    void awaitReturnsNullAtItsTimeout() throws Exception {
        assertThat(descriptor.await(this::tryToRead, Duration.ofMillis(20))).isNull();
    }

    @Test
    void awaitWithoutTimeLooksOnce() throws Exception {
        assertThat(descriptor.await(this::tryToRead, Duration.ofSeconds(Long.MIN_VALUE)))
                .isNull();
        write(1);
        assertThat(descriptor.await(this::tryToRead, Duration.ZERO)).isEqualTo(1);
    }

    @Test
    void awaitAcceptsTimeoutsBeyondNanoseconds() throws Exception {
        try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
            Future<Long> reader =
                    threads.submit(() -> descriptor.await(this::tryToRead, Duration.ofSeconds(Long.MAX_VALUE)));
            write(1);
            assertThat(reader.get(60, SECONDS)).isEqualTo(1);
        }
    }

    @Test
    void awaitServesEachOfManyVirtualThreads() throws Exception {
        int many = 2000;
        List<Future<Long>> readers = new ArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < many; i++) {
                readers.add(threads.submit(this::read));
            }
            write(many / 2);
            for (int i = 0; i < many / 2; i++) {
                write(1);
            }
            for (Future<Long> reader : readers) {
                assertThat(reader.get(60, SECONDS)).isEqualTo(1);
            }
        }
    }

    @Test
    void interruptEndsOnlyItsOwnWait() throws Exception {
        try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
            Future<Long> first = waiting(threads);
            Future<Long> second = waiting(threads);
            first.cancel(true);
            assertThat(ended.tryAcquire(60, SECONDS)).isTrue(); // else the first may take the event as it ends
            write(1);
            assertThat(second.get(60, SECONDS)).isEqualTo(1);
        }
    }

    @Test
    void closeEndsAllWaits() throws Exception {
        try (ExecutorService threads = Executors.newFixedThreadPool(3)) {
            List<Future<Long>> readers = List.of(waiting(threads), waiting(threads), waiting(threads));
            closed.set(true);
            descriptor.close();
            for (Future<Long> reader : readers) {
                assertThatThrownBy(() -> reader.get(60, SECONDS))
                        .isInstanceOf(ExecutionException.class)
                        .hasRootCauseMessage("closed");
            }
        }
    }

    @Test
    void reopenKeepsOldWaitsAndAllowsNewOnes() throws Exception {
        try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
            Future<Long> before = waiting(threads);
            descriptor.close();
            descriptor.reopen();
            Future<Long> after = threads.submit(this::read);
            write(2);
            assertThat(before.get(60, SECONDS) + after.get(60, SECONDS)).isEqualTo(2);
        }
    }

    @Test
    void eventThreadDeathFailsAllWaitsWithItsReason() throws Exception {
        try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
            List<Future<Long>> readers = List.of(waiting(threads), waiting(threads));
            breakEventThread();
            for (Future<Long> reader : readers) {
                assertThatThrownBy(() -> reader.get(60, SECONDS))
                        .cause()
                        .hasMessage("can't wait")
                        .hasRootCauseInstanceOf(SystemCallException.class)
                        .hasRootCauseMessage("epoll_wait: " + Errno.describe(Errno.EINVAL));
            }
        }
    }

    @Test
    void eventThreadIsReplacedAfterItsDeath() throws Exception {
        try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
            Future<Long> failed = waiting(threads);
            breakEventThread();
            assertThatThrownBy(() -> failed.get(60, SECONDS)).hasRootCauseInstanceOf(SystemCallException.class);
            Future<Long> next = waiting(threads);
            write(1);
            assertThat(next.get(60, SECONDS)).isEqualTo(1);
        }
    }

    /**
     * Replaces the file of the epoll descriptor by another, and wakes the thread until it notices. The number stays in
     * use: the thread closes it when it ends.
     */
    private static void breakEventThread() {
        int poll;
        while ((poll = RunningEventThread.pollDescriptor()) == -1) {
            Thread.yield();
        }
        int ready = SystemCall.EVENTFD.call(1, 0);
        EventThread.watch(ready, false, new EventThread.Handler() {
            @Override
            public void readable() {}

            @Override
            public void failed(Throwable cause) {
                SystemCall.close(ready);
            }
        });
        MemorySegment dup2 = java.lang.foreign.Linker.nativeLinker()
                .defaultLookup()
                .find("dup2")
                .orElseThrow();
        assertThat((int) CFunction.at("function", dup2).call(ready, poll)).isEqualTo(poll);
    }

    @Test
    void eventThreadReadsForThoseWhoWaitIfThereIsAReader() throws Exception {
        ConcurrentLinkedQueue<Long> taken = new ConcurrentLinkedQueue<>();
        VirtualWaits[] read = new VirtualWaits[1];
        Runnable reader = () -> {
            for (Long next = tryToRead(); next != null; next = tryToRead()) {
                taken.add(next);
                read[0].wake();
            }
        };
        read[0] = VirtualWaits.readBy(number, reader, IllegalStateException::new);
        try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
            Future<Long> first = threads.submit(() -> read[0].await(taken::poll, LONG));
            write(2);
            assertThat(first.get(60, SECONDS)).isEqualTo(1);
            assertThat(read[0].await(taken::poll, LONG)).isEqualTo(1);
        } finally {
            read[0].close();
        }
    }

    @Test
    void readerThatThrowsFailsAllWaitsAndIsWatchedAgainByTheNextOne() throws Exception {
        Runnable reader = () -> {
            tryToRead();
            throw new IllegalStateException("broken reader");
        };
        VirtualWaits broken =
                VirtualWaits.readBy(number, reader, cause -> new IllegalStateException("can't wait", cause));
        try {
            write(1);
            assertThatThrownBy(() -> broken.await(() -> null, LONG)).rootCause().hasMessage("broken reader");
            write(1);
            assertThatThrownBy(() -> broken.await(() -> null, LONG)).hasMessage("can't wait");
        } finally {
            broken.close();
        }
    }

    @Test
    void slowReaderDelaysNoOtherWait() throws Exception {
        CountDownLatch reading = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        AtomicInteger reads = new AtomicInteger();
        int ready = SystemCall.EVENTFD.call(1, SEMAPHORE);
        Runnable reader = () -> {
            reading.countDown();
            try {
                goOn.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            reads.incrementAndGet();
        };
        VirtualWaits slow = VirtualWaits.readApart(ready, reader, IllegalStateException::new);
        try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
            slow.watch();
            assertThat(reading.await(60, SECONDS)).isTrue();
            Future<Long> waiting = waiting(threads);
            write(1);
            assertThat(waiting.get(60, SECONDS)).isEqualTo(1);
            goOn.countDown();
            Await.until("the descriptor is watched again", () -> reads.get() > 1);
        } finally {
            goOn.countDown();
            slow.close();
            SystemCall.close(ready);
        }
    }

    @Test
    void slowReaderThatThrowsIsWatchedAgainByTheNextOne() throws Exception {
        AtomicInteger reads = new AtomicInteger();
        VirtualWaits broken = VirtualWaits.readApart(
                number,
                () -> {
                    if (tryToRead() != null) {
                        reads.incrementAndGet();
                    }
                    throw new IllegalStateException("broken reader");
                },
                cause -> new IllegalStateException("can't wait", cause));
        try {
            for (int i = 1; i < 4; i++) {
                int before = i;
                write(1);
                Await.until("the reader", () -> {
                    watch(broken);
                    return reads.get() == before;
                });
            }
        } finally {
            broken.close();
        }
    }

    private static void watch(VirtualWaits waits) {
        try {
            waits.watch();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void handedOnEventIsNotReadAndIsAskedForAnew() throws Exception {
        VirtualWaits handing = VirtualWaits.handedOn(number, IllegalStateException::new);
        try {
            write(1);
            for (int i = 0; i < 3; i++) { // nobody reads: each time there is an event
                long before = handing.wakes();
                handing.watch();
                Await.until("the event", () -> handing.wakes() > before);
            }
            assertThat(tryToRead()).as("nobody has read").isEqualTo(1);
        } finally {
            handing.close();
        }
    }

    @Test
    void closedDescriptorIsWatchedAgainOnlyOnceItIsReopened() throws Exception {
        Await.until("the end of earlier watches", () -> RunningEventThread.pollDescriptor() == -1);
        descriptor.watch();
        assertThat(RunningEventThread.pollDescriptor()).isNotEqualTo(-1);
        descriptor.close();
        descriptor.watch();
        assertThat(RunningEventThread.pollDescriptor()).as("nothing is watched").isEqualTo(-1);
        descriptor.reopen();
        descriptor.watch();
        assertThat(RunningEventThread.pollDescriptor()).isNotEqualTo(-1);
    }

    /** The watch that the closing has ended had asked for an event. That says nothing of the next watch. */
    @Test
    void reopenedDescriptorIsAskedForItsEventAnew() throws Exception {
        VirtualWaits handing = VirtualWaits.handedOn(number, IllegalStateException::new);
        try {
            handing.watch();
            handing.close();
            handing.reopen();
            long before = handing.wakes();
            handing.watch();
            write(1);
            Await.until("the event", () -> handing.wakes() > before);
        } finally {
            handing.close();
        }
    }

    /** A reader is at work when the descriptor is closed and opened again, and fails when others wait anew. */
    @Test
    void lateFailureOfAnEndedWatchFailsNoLaterWait() throws Exception {
        CompletableFuture<Thread> reading = new CompletableFuture<>();
        CountDownLatch goOn = new CountDownLatch(1);
        AtomicBoolean first = new AtomicBoolean(true);
        VirtualWaits[] handing = new VirtualWaits[1];
        AtomicInteger failures = new AtomicInteger();
        Runnable reader = () -> {
            if (first.getAndSet(false)) {
                reading.complete(Thread.currentThread());
                awaitLatch(goOn);
                throw new IllegalStateException("too late");
            }
            tryToRead();
            handing[0].wake();
        };
        AtomicInteger tries = new AtomicInteger();
        handing[0] = VirtualWaits.readApart(number, reader, cause -> {
            failures.incrementAndGet();
            return new IllegalStateException(cause);
        });
        try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
            handing[0].watch();
            write(1);
            Thread late = reading.get(60, SECONDS);
            handing[0].close();
            assertThat(tryToRead()).isEqualTo(1);
            handing[0].reopen();
            Future<String> wait =
                    threads.submit(() -> handing[0].await(() -> tries.incrementAndGet() > 2 ? "event" : null, LONG));
            Await.until("the later wait", () -> tries.get() == 2);
            goOn.countDown();
            Set<Thread.State> idle = Set.of(Thread.State.TIMED_WAITING, Thread.State.TERMINATED);
            Await.until("the end of the late reader", () -> idle.contains(late.getState()));
            handing[0].watch();
            write(1);
            assertThat(wait.get(60, SECONDS)).isEqualTo("event");
            assertThat(failures).hasValue(0);
        } finally {
            goOn.countDown();
            handing[0].close();
        }
    }

    private static void awaitLatch(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** At the limit of threads, a watch fails; once there are threads, waits begin as ever. */
    @Test
    void watchWithoutAThreadFailsAndCanBeRepeated() throws Throwable {
        Await.until("the end of earlier watches", () -> RunningEventThread.pollDescriptor() == -1);
        VirtualWaits wanted = VirtualWaits.readApart(number, this::tryToRead, IllegalStateException::new);
        assertThatThrownBy(() -> OtherThread.call(() -> {
                    SystemCallFilter.forbidThreadsHere();
                    wanted.watch();
                    return null;
                }))
                .isInstanceOf(OutOfMemoryError.class)
                .hasMessageContaining("thread");
        assertThat(RunningEventThread.pollDescriptor()).isEqualTo(-1);
        wanted.watch();
        assertThat(RunningEventThread.pollDescriptor()).isNotEqualTo(-1);
        wanted.close();
        awaitSleepsUntilDataArrives();
    }

    /** A descriptor that was closed under the watch: each wait says so, and none sleeps for ever. */
    @Test
    void waitThatCanAskNoMoreFailsEachTime() throws Exception {
        int gone = SystemCall.EVENTFD.call(0, 0);
        VirtualWaits handing = VirtualWaits.handedOn(gone, cause -> new IllegalStateException("can't wait", cause));
        long before = handing.wakes();
        handing.watch();
        write(gone, 1);
        Await.until("the event", () -> handing.wakes() > before);
        SystemCall.close(gone);
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(() -> handing.await(() -> null, LONG))
                    .hasMessage("can't wait")
                    .hasRootCauseMessage("epoll_ctl: " + Errno.describe(Errno.EBADF));
        }
        assertThatThrownBy(handing::close).isInstanceOf(SystemCallException.class);
        handing.close();
    }

    /** The virtual machine ignores SIGPIPE, but the signal interrupts system calls. */
    @Test
    void eventThreadSurvivesSignals() throws Exception {
        MemorySegment kill = java.lang.foreign.Linker.nativeLinker()
                .defaultLookup()
                .find("tgkill")
                .orElseThrow();
        try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
            Future<Long> reader = waiting(threads);
            Await.until("the event thread", () -> !tasksOfEventThreads().isEmpty());
            for (int i = 0; i < SIGNALS; i++) {
                for (long task : tasksOfEventThreads()) { // one of an earlier test may be about to end
                    CFunction.at("function", kill).call(ProcessHandle.current().pid(), task, SIGPIPE);
                }
                Thread.yield();
            }
            write(1);
            assertThat(reader.get(60, SECONDS)).isEqualTo(1);
        }
    }

    private static List<Long> tasksOfEventThreads() {
        List<Long> found = new ArrayList<>();
        for (String task : Objects.requireNonNull(new File("/proc/self/task").list())) {
            try {
                if (Files.readString(Path.of("/proc/self/task", task, "comm"))
                        .strip()
                        .equals("verbena-events")) {
                    found.add(Long.parseLong(task));
                }
            } catch (IOException ended) {
                assertThat(ended).as("a thread that has ended").isNotNull();
            }
        }
        return found;
    }

    @Test
    void awaitChecksItsTimeoutBeforeItTakesAnything() throws Exception {
        write(1);
        assertThatNullPointerException().isThrownBy(() -> descriptor.await(this::tryToRead, null));
        assertThat(read()).isEqualTo(1);
    }

    @Test
    void handlerThatThrowsEndsOnlyItsOwnWatch() throws Exception {
        try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
            Future<Long> reader = waiting(threads);
            int ready = SystemCall.EVENTFD.call(1, 0);
            CompletableFuture<Throwable> told = new CompletableFuture<>();
            EventThread.watch(ready, false, new EventThread.Handler() {
                @Override
                public void readable() {
                    throw new IllegalStateException("broken handler");
                }

                @Override
                public void failed(Throwable cause) {
                    told.complete(cause);
                }
            });
            assertThat(told.get(60, SECONDS)).hasMessage("broken handler");
            write(1);
            assertThat(reader.get(60, SECONDS)).isEqualTo(1);
            SystemCall.close(ready);
        }
    }

    @Test
    void eventThreadIsADaemonAndEndsWithTheLastWatch() throws Exception {
        assertThat(descriptor.await(this::tryToRead, Duration.ofMillis(1))).isNull();
        List<Thread> threads = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("verbena-events"))
                .toList();
        assertThat(threads).isNotEmpty().allMatch(Thread::isDaemon);
        descriptor.close();
        for (Thread thread : threads) {
            thread.join(60_000);
        }
        assertThat(threads).noneMatch(Thread::isAlive);
    }

    @Test
    void watchOfAnInvalidDescriptorFailsWithItsReason() throws Exception {
        assertThat(descriptor.await(this::tryToRead, Duration.ofMillis(1))).isNull();
        int gone = SystemCall.EVENTFD.call(0, 0);
        VirtualWaits broken =
                VirtualWaits.handedOn(gone, cause -> new IllegalStateException(cause.getMessage(), cause));
        SystemCall.close(gone);
        assertThatThrownBy(() -> broken.await(() -> null, LONG))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageStartingWith("epoll_ctl: EBADF");
        broken.close();
    }
}
