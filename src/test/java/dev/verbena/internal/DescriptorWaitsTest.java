package dev.verbena.internal;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.support.Await;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Tests the waits of threads at one descriptor, an eventfd whose counter each read decrements. Each event is for one of
 * several boxes, at which threads wait.
 */
@Timeout(180)
class DescriptorWaitsTest {
    /** A timeout beyond that of the tests: a thread that is not woken finds its event too late. */
    private static final Duration LONG = Duration.ofSeconds(600);

    private static final int SEMAPHORE_NON_BLOCKING = 04001;

    private final ReentrantLock taking = new ReentrantLock();
    private final ConcurrentLinkedQueue<Box> sent = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean closed = new AtomicBoolean();
    private final AtomicBoolean broken = new AtomicBoolean();
    private final AtomicBoolean busy = new AtomicBoolean();
    private final AtomicBoolean ticking = new AtomicBoolean(true);
    private final AtomicInteger ticks = new AtomicInteger();
    private final AtomicInteger takes = new AtomicInteger();
    private final List<Thread> threads = new ArrayList<>();
    private int number;
    private DescriptorWaits waits;

    /** The events of one kind, and the threads that wait for them. */
    private final class Box {
        final Waiters waiters = new Waiters();
        final AtomicInteger events = new AtomicInteger();

        @Nullable
        String tryToTake() {
            if (closed.get()) {
                throw new IllegalStateException("closed");
            }
            int known = events.get();
            while (known > 0 && !events.compareAndSet(known, known - 1)) {
                known = events.get();
            }
            return known > 0 ? "event" : null;
        }

        /** The waits of the thread that waits, and of the descriptor beside it; null without one. */
        DescriptorWaits at = waits;

        @Nullable
        DescriptorWaits beside;

        @Nullable
        String await(Duration timeout) throws InterruptedException {
            try (DescriptorWaits.Wait wait = at.begin(waiters, this).beside(beside == null ? null : () -> beside)) {
                return waiters.await(this::tryToTake, this::tryToTake, wait, timeout);
            }
        }

        Sleeper start(Thread.Builder builder) {
            return new Sleeper(this, builder, LONG);
        }

        /** Starts a platform thread that waits, and returns when it is asleep. */
        Sleeper sleeper() {
            return start(Thread.ofPlatform().daemon()).asleep();
        }

        /** Starts a virtual thread that waits, and returns when it is asleep. */
        Sleeper virtualSleeper() {
            return start(Thread.ofVirtual()).asleep();
        }
    }

    private final class Sleeper {
        final CompletableFuture<String> result = new CompletableFuture<>();
        final Thread thread;

        Sleeper(Box box, Thread.Builder builder, Duration timeout) {
            thread = builder.unstarted(() -> {
                try {
                    result.complete(String.valueOf(box.await(timeout)));
                } catch (Throwable t) {
                    result.completeExceptionally(t);
                }
            });
            threads.add(thread);
            thread.start();
        }

        Sleeper asleep() {
            Await.until("the sleep", () -> Await.isAsleep(thread));
            return this;
        }

        boolean isInC() {
            return thread.getState() == Thread.State.RUNNABLE && Await.isAsleep(thread);
        }

        String end() throws Exception {
            return result.get(60, SECONDS);
        }

        void endsWith(Class<? extends Throwable> cause) {
            assertThatThrownBy(this::end).isInstanceOf(ExecutionException.class).hasCauseInstanceOf(cause);
        }
    }

    private final class Events implements DescriptorWaits.Events {
        @Override
        public void take(DescriptorWaits.Wait wait) {
            takes.incrementAndGet();
            taking.lock();
            try {
                while (wait.goesOn() && takeOne()) {
                    // as long as there are events of others
                }
            } finally {
                taking.unlock();
            }
        }

        @Override
        public void takeAll() {
            DescriptorWaitsTest.this.takeAll();
        }

        @Override
        public RuntimeException cannotWait(Object owner, Throwable cause) {
            return new IllegalArgumentException(cause);
        }

        @Override
        public boolean mayBlock() {
            return false;
        }

        @Override
        public boolean isBusy() {
            return busy.get();
        }

        @Override
        public @Nullable Runnable ticker() {
            return ticking.get() ? ticks::incrementAndGet : null;
        }
    }

    @BeforeEach
    void open() {
        number = SystemCall.EVENTFD.call(0, SEMAPHORE_NON_BLOCKING);
        waits = new DescriptorWaits(number, new Events());
    }

    @AfterEach
    void close() throws InterruptedException {
        closed.set(true);
        waits.close();
        for (Thread thread : threads) {
            Await.end(thread);
        }
        SystemCall.close(number);
        assertThat(Thread.interrupted()).isFalse();
    }

    private void takeAll() {
        taking.lock();
        try {
            while (takeOne()) {
                // until there is none
            }
        } finally {
            taking.unlock();
        }
    }

    private boolean takeOne() {
        if (broken.get()) {
            throw new IllegalArgumentException("the device was removed");
        }
        try (Arena arena = Arena.ofConfined()) {
            SystemCall.READ.call(number, arena.allocate(Long.BYTES).address(), Long.BYTES);
        } catch (SystemCallException none) {
            assertThat(none.errno()).isEqualTo(Errno.EAGAIN);
            return false;
        }
        Box box = sent.remove();
        box.events.incrementAndGet();
        box.waiters.wake();
        return true;
    }

    private void send(Box box) {
        sent.add(box);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment one = arena.allocateFrom(ValueLayout.JAVA_LONG, 1L);
            SystemCall.WRITE.call(number, one.address(), Long.BYTES);
        }
    }

    @Test
    void loneThreadSleepsInCWithoutTheEventThread() throws Exception {
        Box box = new Box();
        for (int i = 0; i < 100; i++) {
            Sleeper sleeper = box.sleeper();
            assertThat(sleeper.isInC()).isTrue();
            assertThat(RunningEventThread.pollDescriptor())
                    .as("nothing is watched")
                    .isEqualTo(-1);
            send(box);
            assertThat(sleeper.end()).isEqualTo("event");
        }
    }

    @Test
    void virtualThreadParks() throws Exception {
        Box box = new Box();
        Sleeper sleeper = box.virtualSleeper();
        assertThat(sleeper.isInC()).isFalse();
        assertThat(RunningEventThread.pollDescriptor())
                .as("the event thread watches")
                .isNotEqualTo(-1);
        send(box);
        assertThat(sleeper.end()).isEqualTo("event");
    }

    @Test
    void leaderTakesTheEventsOfOthers() throws Exception {
        Box own = new Box();
        Box other = new Box();
        Sleeper leader = own.sleeper();
        Sleeper follower = other.sleeper();
        Sleeper virtual = other.virtualSleeper();
        assertThat(leader.isInC()).isTrue();
        assertThat(follower.isInC()).isFalse();
        assertThat(RunningEventThread.pollDescriptor()).isEqualTo(-1);
        send(other);
        send(other);
        assertThat(follower.end()).isEqualTo("event");
        assertThat(virtual.end()).isEqualTo("event");
        assertThat(leader.result).isNotDone();
        send(own);
        assertThat(leader.end()).isEqualTo("event");
    }

    /** Two events and one wake-up: the thread that has one of them wakes the other one, which sleeps in C. */
    @Test
    void threadThatLeavesWakesTheOneInC() throws Exception {
        ticking.set(false); // else the thread looks around each second
        Box box = new Box();
        Sleeper inC = box.sleeper();
        Sleeper parked = box.sleeper();
        assertThat(inC.isInC()).isTrue();
        assertThat(parked.isInC()).isFalse();
        box.events.set(2);
        box.waiters.wake();
        assertThat(parked.end()).isEqualTo("event");
        assertThat(inC.end()).isEqualTo("event");
    }

    @Test
    void leaderThatLeavesHandsOn() throws Exception {
        Box first = new Box();
        Box second = new Box();
        Box third = new Box();
        List<Sleeper> sleepers = List.of(first.sleeper(), second.sleeper(), third.sleeper());
        send(first);
        send(second); // stays in the kernel until the next leader takes it
        send(third);
        for (Sleeper sleeper : sleepers) {
            assertThat(sleeper.end()).isEqualTo("event");
        }
    }

    @Test
    void followerLeadsWhenTheLeaderHasLeft() throws Exception {
        Box box = new Box();
        Box other = new Box();
        Sleeper leader = box.sleeper();
        Sleeper follower = other.sleeper();
        send(box);
        assertThat(leader.end()).isEqualTo("event");
        Await.until("the follower leads", follower::isInC);
        send(other);
        assertThat(follower.end()).isEqualTo("event");
    }

    @Test
    void threadsOfOneBoxShareItsEvents() throws Exception {
        Box box = new Box();
        List<Sleeper> sleepers = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            sleepers.add(i % 3 == 2 ? box.virtualSleeper() : box.sleeper());
        }
        for (int i = 0; i < 6; i++) {
            send(box);
        }
        for (Sleeper sleeper : sleepers) {
            assertThat(sleeper.end()).isEqualTo("event");
        }
    }

    @Test
    void interruptEndsTheSleepAndHandsOn() throws Exception {
        Box box = new Box();
        Sleeper leader = box.sleeper();
        Sleeper follower = box.sleeper();
        leader.thread.interrupt();
        leader.endsWith(InterruptedException.class);
        Await.until("the follower leads", follower::isInC);
        follower.thread.interrupt();
        follower.endsWith(InterruptedException.class);
    }

    @Test
    void timeEndsTheSleep() throws Exception {
        Box box = new Box();
        assertThat(box.await(Duration.ofMillis(20))).isNull();
        assertThat(box.await(Duration.ofNanos(1))).isNull();
        Sleeper follower = new Sleeper(box, Thread.ofPlatform().daemon(), LONG).asleep();
        assertThat(box.await(Duration.ofMillis(20))).isNull();
        send(box);
        assertThat(follower.end()).isEqualTo("event");
    }

    @Test
    void wakeAllEndsTheSleep() throws Exception {
        Box box = new Box();
        List<Sleeper> sleepers = List.of(box.sleeper(), box.sleeper(), box.virtualSleeper());
        closed.set(true);
        box.waiters.wakeAll();
        for (Sleeper sleeper : sleepers) {
            sleeper.endsWith(IllegalStateException.class);
        }
    }

    @Test
    void failureEndsTheSleep() throws Exception {
        Box box = new Box();
        Sleeper leader = box.sleeper();
        Sleeper follower = box.sleeper();
        waits.fail(new IllegalStateException("no event will come"));
        leader.endsWith(IllegalArgumentException.class);
        follower.endsWith(IllegalArgumentException.class);
    }

    @Test
    void brokenDescriptorEndsAllWaits() throws Exception {
        Box box = new Box();
        Box other = new Box();
        List<Sleeper> sleepers = List.of(box.sleeper(), other.sleeper(), box.sleeper(), other.virtualSleeper());
        broken.set(true);
        send(box);
        for (Sleeper sleeper : sleepers) {
            sleeper.endsWith(IllegalArgumentException.class);
        }
    }

    @Test
    void closeEndsAllWaitsBeforeItReturns() throws Exception {
        ticking.set(false); // else the leader wakes each second
        Box box = new Box();
        Sleeper leader = box.sleeper();
        Sleeper follower = box.sleeper();
        Sleeper virtual = box.virtualSleeper();
        assertThat(leader.isInC()).isTrue();
        closed.set(true);
        waits.close();
        assertThat(leader.isInC()).as("the descriptor may be closed now").isFalse();
        for (Sleeper sleeper : List.of(leader, follower, virtual)) {
            sleeper.endsWith(IllegalStateException.class);
        }
    }

    @Test
    void waitsGoOnAfterReopen() throws Exception {
        Box box = new Box();
        Sleeper leader = box.sleeper();
        Sleeper follower = box.sleeper();
        Sleeper virtual = box.virtualSleeper();
        waits.close(); // the attempts do not throw
        Await.until("the leader parks", () -> Await.isAsleep(leader.thread) && !leader.isInC());
        assertThat(RunningEventThread.pollDescriptor()).as("nothing is watched").isEqualTo(-1);
        waits.reopen();
        for (int i = 0; i < 3; i++) {
            send(box);
        }
        for (Sleeper sleeper : List.of(leader, follower, virtual)) {
            assertThat(sleeper.end()).isEqualTo("event");
        }
        Sleeper later = box.sleeper();
        Await.until("the later thread leads", later::isInC);
        send(box);
        assertThat(later.end()).isEqualTo("event");
    }

    @Test
    void eventThreadServesVirtualThreadsThatTheLeaderLeaves() throws Exception {
        Box box = new Box();
        Box other = new Box();
        Sleeper leader = box.sleeper();
        Sleeper virtual = other.virtualSleeper();
        assertThat(RunningEventThread.pollDescriptor()).isEqualTo(-1);
        send(box);
        assertThat(leader.end()).isEqualTo("event");
        Await.until("the event thread watches", () -> RunningEventThread.pollDescriptor() != -1);
        Sleeper beside = box.sleeper();
        assertThat(beside.isInC())
                .as("sleeps in C although the event thread watches")
                .isFalse();
        send(box);
        assertThat(beside.end()).isEqualTo("event");
        send(other);
        assertThat(virtual.end()).isEqualTo("event");
        Sleeper later = box.sleeper();
        assertThat(later.isInC()).as("no virtual thread waits any more").isTrue();
        Await.until("the event thread ends", () -> RunningEventThread.pollDescriptor() == -1);
        send(box);
        assertThat(later.end()).isEqualTo("event");
    }

    /** A second descriptor, whose events are for a box. */
    private final class Second implements DescriptorWaits.Events, AutoCloseable {
        final int descriptor = SystemCall.EVENTFD.call(0, SEMAPHORE_NON_BLOCKING);
        final DescriptorWaits its = new DescriptorWaits(descriptor, this);
        final Box box;

        Second(Box box) {
            this.box = box;
        }

        /** Makes a box whose threads wait at the first descriptor, and beside that at this one. */
        Box besideThis() {
            Box made = new Box();
            made.beside = its;
            return made;
        }

        void send() {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment one = arena.allocateFrom(ValueLayout.JAVA_LONG, 1L);
                SystemCall.WRITE.call(descriptor, one.address(), Long.BYTES);
            }
        }

        @Override
        public void take(DescriptorWaits.Wait wait) {
            takeAll();
        }

        @Override
        public void takeAll() {
            try (Arena arena = Arena.ofConfined()) {
                SystemCall.READ.call(descriptor, arena.allocate(Long.BYTES).address(), Long.BYTES);
            }
            box.events.incrementAndGet();
            box.waiters.wake();
        }

        @Override
        public boolean areWanted() {
            return true;
        }

        @Override
        public RuntimeException cannotWait(Object owner, Throwable cause) {
            return new IllegalArgumentException(cause);
        }

        @Override
        public void close() {
            its.close();
            SystemCall.close(descriptor);
        }
    }

    @Test
    void leaderSeesEventsOfASecondDescriptor() throws Exception {
        Box other = new Box();
        try (Second second = new Second(other)) {
            Sleeper leader = second.besideThis().sleeper();
            Sleeper follower = other.sleeper();
            assertThat(leader.isInC()).isTrue();
            assertThat(follower.isInC()).isFalse();
            second.send();
            assertThat(follower.end()).isEqualTo("event");
            assertThat(RunningEventThread.pollDescriptor())
                    .as("nothing is watched")
                    .isEqualTo(-1);
        }
    }

    @Test
    void secondDescriptorIsLeftToTheThreadThatWaitsThere() throws Exception {
        Box there = new Box();
        try (Second second = new Second(there)) {
            there.at = second.its;
            Sleeper own = there.sleeper();
            Box box = second.besideThis();
            Sleeper leader = box.sleeper();
            assertThat(own.isInC()).isTrue();
            assertThat(leader.isInC()).isTrue();
            second.send();
            assertThat(own.end()).isEqualTo("event");
            send(box);
            assertThat(leader.end()).isEqualTo("event");
        }
    }

    @Test
    void leaderThatLeavesHandsTheSecondDescriptorOn() throws Exception {
        Box there = new Box();
        try (Second second = new Second(there)) {
            there.at = second.its;
            Box box = second.besideThis();
            Sleeper leader = box.sleeper();
            Sleeper own = there.sleeper();
            assertThat(own.isInC()).isFalse();
            send(box);
            assertThat(leader.end()).isEqualTo("event");
            Await.until("the thread leads", own::isInC);
            second.send();
            assertThat(own.end()).isEqualTo("event");
        }
    }

    /** No thread sleeps in C at the second descriptor: the event thread sees its events. */
    @Test
    void followerLeavesTheSecondDescriptorToTheEventThread() throws Exception {
        Box box = new Box();
        try (Second second = new Second(box)) {
            second.its.released();
            Sleeper leader = new Box().sleeper();
            Sleeper follower = second.besideThis().sleeper();
            assertThat(leader.isInC()).isTrue();
            assertThat(follower.isInC()).isFalse();
            Sleeper target = box.sleeper();
            second.send();
            assertThat(target.end()).isEqualTo("event");
        }
    }

    @Test
    void secondDescriptorCanBeClosedWhileTheLeaderSleeps() throws Exception {
        Second second = new Second(new Box());
        Box box = second.besideThis();
        Sleeper leader = box.sleeper();
        second.close();
        Await.until("the leader sleeps at the first", leader::isInC);
        send(box);
        assertThat(leader.end()).isEqualTo("event");
    }

    /** A wake-up between the asking and the sleep. */
    @Test
    void wakeUpBeforeTheSleepIsNotLost() throws Exception {
        Box box = new Box();
        AtomicInteger looks = new AtomicInteger();
        try (DescriptorWaits.Wait wait = waits.begin(box.waiters, box)) {
            String found = box.waiters.await(
                    box::tryToTake,
                    () -> {
                        if (looks.incrementAndGet() == 1) {
                            box.events.incrementAndGet();
                            box.waiters.wake();
                        }
                        return null;
                    },
                    wait,
                    LONG);
            assertThat(found).isEqualTo("event");
        }
    }

    @Test
    @ExtendWith(ShortTicks.class)
    void leaderSleepsThroughEventsThatAnotherThreadTakes() throws Exception {
        Box box = new Box();
        busy.set(true);
        Sleeper leader = box.sleeper();
        send(box);
        int before = ticks.get();
        Await.until("ticks, so that the leader woke", () -> ticks.get() > before + 1);
        assertThat(takes).hasValue(0);
        busy.set(false);
        waits.released();
        assertThat(leader.end()).isEqualTo("event");
    }

    @Test
    void leaderIsToldOfEventsThatItSleptThrough() throws Exception {
        ticking.set(false); // else it looks around each second
        Box box = new Box();
        busy.set(true);
        Sleeper leader = box.sleeper();
        send(box);
        busy.set(false);
        waits.heard();
        assertThat(leader.end()).isEqualTo("event");
    }

    @Test
    void eventThreadWatchesOnceNoOtherThreadTakesEvents() throws Exception {
        Box box = new Box();
        busy.set(true);
        Sleeper virtual = box.virtualSleeper();
        assertThat(RunningEventThread.pollDescriptor()).as("nothing is watched").isEqualTo(-1);
        busy.set(false);
        waits.released();
        assertThat(RunningEventThread.pollDescriptor()).isNotEqualTo(-1);
        send(box);
        assertThat(virtual.end()).isEqualTo("event");
    }

    @Test
    @ExtendWith(ShortTicks.class)
    void leaderTicks() throws Exception {
        Box box = new Box();
        Sleeper leader = box.sleeper();
        Await.until("ticks", () -> ticks.get() > 1);
        send(box);
        assertThat(leader.end()).isEqualTo("event");
    }

    /** Many threads of both kinds, that are interrupted and run out of time: no event is lost, and no thread is stuck. */
    @Test
    void manyThreadsLoseNoEvent() throws Exception {
        int count = 6;
        int each = 1_500;
        List<Box> boxes = List.of(new Box(), new Box(), new Box());
        AtomicInteger left = new AtomicInteger(count * each);
        for (int i = 0; i < count; i++) {
            Box box = boxes.get(i % boxes.size());
            Thread.Builder builder =
                    i == 4 ? Thread.ofVirtual() : Thread.ofPlatform().daemon();
            threads.add(builder.start(() -> {
                for (int taken = 0; taken < each; ) {
                    try {
                        long random = ThreadLocalRandom.current().nextLong(4);
                        Duration timeout = random == 0 ? Duration.ofNanos(50_000) : LONG;
                        if (box.await(timeout) != null) {
                            taken++;
                            left.decrementAndGet();
                        }
                    } catch (InterruptedException again) {
                        // tries again
                    }
                }
            }));
        }
        Thread interrupting = Thread.ofPlatform().daemon().start(() -> {
            while (left.get() > 0) {
                threads.get(ThreadLocalRandom.current().nextInt(count)).interrupt();
                Thread.yield();
            }
        });
        for (int i = 0; i < count * each; i++) {
            send(boxes.get(i % boxes.size()));
            if (i % 8 == 0) {
                Thread.yield();
            }
        }
        Await.until("all events", () -> left.get() == 0);
        Await.end(interrupting);
    }
}
