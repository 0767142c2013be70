package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import dev.verbena.support.OtherThread;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests the waits of threads at one descriptor. Each event is for one of several boxes, at which threads wait. One thread takes
 * the events for all, and the event thread does if only virtual threads wait.
 */
@Timeout(180)
class DescriptorWaitsTest {
    /** The same waits, where the event thread takes no events: it hands each on to a thread that waits. */
    static class HandedOnTest extends DescriptorWaitsTest {
        @Override
        boolean mayBlock() {
            return true;
        }
    }

    boolean mayBlock() {
        return false;
    }

    /** A timeout beyond that of the tests: a thread that is not woken finds its event too late. */
    private static final Duration LONG = Duration.ofSeconds(600);

    private final ReentrantLock taking = new ReentrantLock();
    private final ConcurrentLinkedQueue<Box> sent = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean closed = new AtomicBoolean();
    private final AtomicBoolean broken = new AtomicBoolean();
    private final AtomicBoolean busy = new AtomicBoolean();
    private final AtomicBoolean ticking = new AtomicBoolean(true);
    private final AtomicInteger ticks = new AtomicInteger();
    private final AtomicInteger takes = new AtomicInteger();
    private final List<Thread> threads = new ArrayList<>();
    private final int number = EventDescriptor.make(0);
    private final DescriptorWaits waits = new DescriptorWaits(number, new Events());

    /** The events of one kind, and the threads that wait for them. */
    private final class Box {
        final Waiters waiters = new Waiters();
        final AtomicInteger events = new AtomicInteger();

        /** The waits of the thread that waits, and of the descriptor beside it; null without one. */
        DescriptorWaits at = waits;

        @Nullable
        DescriptorWaits beside;

        @Nullable
        String tryToTake() {
            if (closed.get()) {
                throw new IllegalStateException("closed");
            }
            if (mayBlock()) {
                takeAll();
            }
            int known = events.get();
            while (known > 0 && !events.compareAndSet(known, known - 1)) {
                known = events.get();
            }
            return known > 0 ? "event" : null;
        }

        @Nullable
        String await(Duration timeout) throws InterruptedException {
            try (DescriptorWaits.Wait wait = at.begin(waiters, this).beside(beside == null ? null : () -> beside)) {
                return waiters.await(this::tryToTake, this::tryToTake, wait, timeout);
            }
        }

        OtherThread<String> start(boolean virtual) {
            OtherThread<String> started = OtherThread.start(virtual, () -> await(LONG));
            threads.add(started.thread());
            return started;
        }

        /** Starts a platform thread that waits, and returns when it is asleep. */
        OtherThread<String> sleeper() {
            return start(false).asleep();
        }

        /** Starts a virtual thread that waits, and returns when it is asleep. */
        OtherThread<String> virtualSleeper() {
            return start(true).asleep();
        }
    }

    @SafeVarargs
    private static void getEvents(OtherThread<String>... sleepers) throws Exception {
        for (OtherThread<String> each : sleepers) {
            assertThat(each.join()).isEqualTo("event");
        }
    }

    @SafeVarargs
    private static void endWith(Class<? extends Throwable> failure, OtherThread<String>... sleepers) {
        for (OtherThread<String> each : sleepers) {
            assertThat(each.failure()).isInstanceOf(failure);
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
            return DescriptorWaitsTest.this.mayBlock();
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
        if (!EventDescriptor.take(number)) {
            return false;
        }
        Box box = sent.remove();
        box.events.incrementAndGet();
        box.waiters.wake();
        return true;
    }

    private void send(Box box) {
        sent.add(box);
        EventDescriptor.raise(number);
    }

    @Test
    void loneThreadSleepsInCWithoutTheEventThread() throws Exception {
        Box box = new Box();
        for (int i = 0; i < 100; i++) {
            OtherThread<String> sleeper = box.sleeper();
            assertThat(sleeper.isInC()).isTrue();
            assertThat(RunningEventThread.runs()).isFalse();
            send(box);
            getEvents(sleeper);
        }
    }

    @Test
    void leaderTakesTheEventsOfOthers() throws Exception {
        Box own = new Box();
        Box other = new Box();
        OtherThread<String> leader = own.sleeper();
        OtherThread<String> follower = other.sleeper();
        OtherThread<String> virtual = other.virtualSleeper();
        assertThat(leader.isInC()).isTrue();
        assertThat(follower.isInC()).isFalse();
        assertThat(RunningEventThread.runs()).isFalse();
        send(other);
        send(other);
        getEvents(follower, virtual);
        assertThat(leader.isDone()).isFalse();
        send(own);
        getEvents(leader);
    }

    /** Two events and one wake-up: the thread that has one of them wakes the other one, which sleeps in C. */
    @Test
    void threadThatLeavesWakesTheOneInC() throws Exception {
        ticking.set(false); // else the thread looks around each second
        Box box = new Box();
        OtherThread<String> inC = box.sleeper();
        OtherThread<String> parked = box.sleeper();
        assertThat(inC.isInC()).isTrue();
        assertThat(parked.isInC()).isFalse();
        box.events.set(2);
        box.waiters.wake();
        getEvents(parked, inC);
    }

    @Test
    void leaderThatLeavesHandsOn() throws Exception {
        List<Box> boxes = List.of(new Box(), new Box(), new Box());
        List<OtherThread<String>> sleepers = boxes.stream().map(Box::sleeper).toList();
        boxes.forEach(this::send); // the second stays in the kernel until the next leader takes it
        for (OtherThread<String> each : sleepers) {
            getEvents(each);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 1}) // one of so many threads is virtual
    void threadsOfOneBoxShareItsEvents(int virtual) throws Exception {
        Box box = new Box();
        List<OtherThread<String>> sleepers = IntStream.range(0, 6)
                .mapToObj(i -> box.start(i % virtual == virtual - 1).asleep())
                .toList();
        sleepers.forEach(any -> send(box));
        for (OtherThread<String> each : sleepers) {
            getEvents(each);
        }
    }

    @Test
    void eachOfManyVirtualThreadsGetsItsEvent() throws Exception {
        Box box = new Box();
        List<OtherThread<String>> all =
                Stream.generate(() -> box.start(true)).limit(2000).toList();
        all.forEach(any -> send(box));
        for (OtherThread<String> each : all) {
            getEvents(each);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void interruptEndsItsOwnSleepAndHandsOn(boolean virtual) throws Exception {
        Box box = new Box();
        OtherThread<String> first = box.start(virtual).asleep();
        OtherThread<String> second = box.start(virtual).asleep();
        first.thread().interrupt();
        endWith(InterruptedException.class, first); // else it may take the event as it ends
        Await.until("the second leads", () -> virtual || second.isInC());
        send(box);
        getEvents(second);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void timeEndsTheSleep(boolean virtual) throws Exception {
        Box box = new Box();
        assertThat(OtherThread.start(virtual, () -> box.await(Duration.ofMillis(20)))
                        .join())
                .isNull();
        assertThat(box.await(Duration.ofNanos(1))).isNull();
        OtherThread<String> other = box.start(virtual).asleep();
        assertThat(box.await(Duration.ofMillis(20))).isNull();
        send(box);
        getEvents(other);
    }

    /** The ends of all waits, each with what the threads throw. */
    private enum End {
        WAKE_UP(IllegalStateException.class),
        FAILURE(IllegalArgumentException.class),
        CLOSE(IllegalStateException.class);

        private final Class<? extends Throwable> thrown;

        End(Class<? extends Throwable> thrown) {
            this.thrown = thrown;
        }
    }

    @ParameterizedTest
    @EnumSource
    void allWaitsEnd(End end) {
        ticking.set(false); // else the leader wakes each second
        Box box = new Box();
        OtherThread<String> leader = box.sleeper();
        OtherThread<String> follower = box.sleeper();
        OtherThread<String> virtual = box.virtualSleeper();
        assertThat(leader.isInC()).isTrue();
        closed.set(end != End.FAILURE);
        switch (end) {
            case WAKE_UP -> box.waiters.wakeAll();
            case FAILURE -> waits.fail(new IllegalStateException("no event will come"));
            case CLOSE -> {
                waits.close();
                assertThat(leader.isInC())
                        .as("the descriptor may be closed now")
                        .isFalse();
            }
        }
        endWith(end.thrown, leader, follower, virtual);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void brokenDescriptorEndsAllWaits(boolean virtual) throws Exception {
        Box box = new Box();
        Box other = new Box();
        OtherThread<String> first = box.start(virtual).asleep();
        OtherThread<String> second = other.start(virtual).asleep();
        OtherThread<String> third = other.virtualSleeper();
        broken.set(true);
        send(box);
        endWith(IllegalArgumentException.class, first, second, third);
        broken.set(false);
        // A wait that ends has the descriptor watched for the others: one more fault may be on its way.
        Await.until(
                "the next wait has it watched again",
                () -> box.start(virtual).failure().getMessage().equals("no failure, but event"));
    }

    @Test
    void waitsGoOnAfterReopen() throws Exception {
        Box box = new Box();
        OtherThread<String> leader = box.sleeper();
        OtherThread<String> follower = box.sleeper();
        OtherThread<String> virtual = box.virtualSleeper();
        waits.close(); // the attempts do not throw
        Await.until("the leader parks", () -> Await.isAsleep(leader.thread()) && !leader.isInC());
        assertThat(RunningEventThread.runs()).isFalse();
        waits.reopen();
        for (int i = 0; i < 3; i++) {
            send(box);
        }
        getEvents(leader, follower, virtual);
        OtherThread<String> later = box.sleeper();
        Await.until("the later thread leads", later::isInC);
        send(box);
        getEvents(later);
    }

    @Test
    void eventThreadServesVirtualThreadsThatTheLeaderLeaves() throws Exception {
        Box box = new Box();
        Box other = new Box();
        OtherThread<String> leader = box.sleeper();
        OtherThread<String> virtual = other.virtualSleeper();
        assertThat(RunningEventThread.runs()).isFalse();
        send(box);
        getEvents(leader);
        Await.until("the event thread watches", RunningEventThread::runs);
        OtherThread<String> beside = box.sleeper();
        assertThat(beside.isInC())
                .as("sleeps in C though the event thread watches")
                .isFalse();
        send(box);
        getEvents(beside);
        send(other);
        getEvents(virtual);
        OtherThread<String> later = box.sleeper();
        assertThat(later.isInC()).as("no virtual thread waits any more").isTrue();
        Await.until("the event thread ends", () -> mayBlock() || !RunningEventThread.runs());
        send(box);
        getEvents(later);
    }

    /** A second descriptor, whose events are for a box. */
    private final class Second implements DescriptorWaits.Events, AutoCloseable {
        final int descriptor = EventDescriptor.make(0);
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
            EventDescriptor.raise(descriptor);
        }

        @Override
        public void take(DescriptorWaits.Wait wait) {
            takeAll();
        }

        @Override
        public void takeAll() {
            assertThat(EventDescriptor.take(descriptor)).isTrue();
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
            OtherThread<String> leader = second.besideThis().sleeper();
            OtherThread<String> follower = other.sleeper();
            assertThat(leader.isInC()).isTrue();
            assertThat(follower.isInC()).isFalse();
            second.send();
            getEvents(follower);
            assertThat(RunningEventThread.runs()).isFalse();
        }
    }

    @Test
    void secondDescriptorIsLeftToTheThreadThatWaitsThere() throws Exception {
        Box there = new Box();
        try (Second second = new Second(there)) {
            there.at = second.its;
            OtherThread<String> own = there.sleeper();
            Box box = second.besideThis();
            OtherThread<String> leader = box.sleeper();
            assertThat(own.isInC()).isTrue();
            assertThat(leader.isInC()).isTrue();
            second.send();
            getEvents(own);
            send(box);
            getEvents(leader);
        }
    }

    @Test
    void leaderThatLeavesHandsTheSecondDescriptorOn() throws Exception {
        Box there = new Box();
        try (Second second = new Second(there)) {
            there.at = second.its;
            Box box = second.besideThis();
            OtherThread<String> leader = box.sleeper();
            OtherThread<String> own = there.sleeper();
            assertThat(own.isInC()).isFalse();
            send(box);
            getEvents(leader);
            Await.until("the thread leads", own::isInC);
            second.send();
            getEvents(own);
        }
    }

    /** No thread sleeps in C at the second descriptor: the event thread sees its events. */
    @Test
    void followerLeavesTheSecondDescriptorToTheEventThread() throws Exception {
        Box box = new Box();
        try (Second second = new Second(box)) {
            second.its.released();
            OtherThread<String> leader = new Box().sleeper();
            OtherThread<String> follower = second.besideThis().sleeper();
            assertThat(leader.isInC()).isTrue();
            assertThat(follower.isInC()).isFalse();
            OtherThread<String> target = box.sleeper();
            second.send();
            getEvents(target);
        }
    }

    @Test
    void secondDescriptorCanBeClosedWhileTheLeaderSleeps() throws Exception {
        Second second = new Second(new Box());
        Box box = second.besideThis();
        OtherThread<String> leader = box.sleeper();
        second.close();
        Await.until("the leader sleeps at the first", leader::isInC);
        send(box);
        getEvents(leader);
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
        OtherThread<String> leader = box.sleeper();
        send(box);
        int before = ticks.get();
        Await.until("ticks, so that the leader woke", () -> ticks.get() > before + 1);
        assertThat(takes).hasValue(0);
        busy.set(false);
        waits.released();
        getEvents(leader);
    }

    @Test
    void leaderIsToldOfEventsThatItSleptThrough() throws Exception {
        ticking.set(false); // else it looks around each second
        Box box = new Box();
        busy.set(true);
        OtherThread<String> leader = box.sleeper();
        send(box);
        busy.set(false);
        waits.heard();
        getEvents(leader);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void eventThreadWatchesForAVirtualThreadOnceNoOtherThreadTakesEvents(boolean another) throws Exception {
        Box box = new Box();
        busy.set(another);
        OtherThread<String> virtual = box.virtualSleeper();
        assertThat(virtual.isInC()).isFalse();
        assertThat(RunningEventThread.runs()).isEqualTo(!another);
        busy.set(false);
        if (another) {
            waits.released();
            assertThat(RunningEventThread.runs()).isTrue();
        }
        send(box);
        getEvents(virtual);
    }

    @Test
    @ExtendWith(ShortTicks.class)
    void leaderTicks() throws Exception {
        Box box = new Box();
        OtherThread<String> leader = box.sleeper();
        Await.until("ticks", () -> ticks.get() > 1);
        send(box);
        getEvents(leader);
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
