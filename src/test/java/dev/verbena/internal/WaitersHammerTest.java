package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Hammer;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Two threads wait while an event meets an interrupt, a time-out, a close or a failure. The event is taken by the thread
 * that goes on, and no thread sleeps for ever. An event wakes somebody only if a thread has asked since the last one, as
 * the event thread does.
 */
@Hammer
class WaitersHammerTest {
    private static final int ROUNDS = 750;
    private static final Duration FOR_EVER = Duration.ofDays(1);
    private static final int DEADLINE_SECONDS = 30;
    private static final int MOST_SPINS = 3_000;

    private final SplittableRandom random = new SplittableRandom(20_261);

    /** A source of events, and the threads that wait for them. */
    private static final class Source {
        private final Waiters waiters = new Waiters();
        private final AtomicInteger events = new AtomicInteger();
        private final AtomicBoolean asked = new AtomicBoolean();
        private final AtomicBoolean closed = new AtomicBoolean();
        private final AtomicInteger begun = new AtomicInteger();

        private @Nullable String take() {
            if (closed.get()) {
                throw new IllegalStateException("closed");
            }
            int left = events.get();
            return left > 0 && events.compareAndSet(left, left - 1) ? "event" : null;
        }

        private DescriptorWaits.@Nullable Wait ask() {
            begun.incrementAndGet();
            asked.set(true);
            return null;
        }

        private void raise() {
            events.incrementAndGet();
            if (asked.getAndSet(false)) {
                waiters.wake();
            }
        }
    }

    /** A thread that waits once. */
    private static final class Waiting {
        private final CompletableFuture<Object> end = new CompletableFuture<>();
        private final Thread thread;

        Waiting(Source source, Duration timeout, boolean virtual) {
            Runnable work = () -> {
                try {
                    String found = source.waiters.await(source::take, source::take, source::ask, timeout);
                    end.complete(found == null ? "time-out" : found);
                } catch (InterruptedException interrupted) {
                    end.complete("interrupt");
                } catch (Throwable thrown) {
                    end.complete(thrown);
                }
            };
            thread = virtual
                    ? Thread.startVirtualThread(work)
                    : Thread.ofPlatform().daemon().start(work);
        }

        Object end() throws Exception {
            try {
                return end.get(DEADLINE_SECONDS, TimeUnit.SECONDS);
            } catch (TimeoutException lost) {
                AssertionError stuck = new AssertionError("a thread sleeps although there is an event, or an end");
                stuck.setStackTrace(thread.getStackTrace());
                throw stuck;
            }
        }
    }

    private void pause() {
        for (int i = random.nextInt(MOST_SPINS); i > 0; i--) {
            Thread.onSpinWait();
        }
    }

    /** Does two things at about the same time, in either order. */
    private void beside(Runnable one, Runnable other) throws Exception {
        Thread second = Thread.ofPlatform().daemon().unstarted(other);
        if (random.nextBoolean()) {
            second.start();
            pause();
            one.run();
        } else {
            second.start();
            one.run();
        }
        second.join();
    }

    /** One thread gives up in each round while one event comes: the other thread gets the event, unless the first has. */
    private void giveUpBesideAnEvent(Duration timeout, Consumer<Waiting> giveUp) throws Exception {
        int taken = 0;
        for (int round = 0; round < ROUNDS; round++) {
            Source source = new Source();
            boolean virtual = round % 2 == 0;
            Waiting first = new Waiting(source, timeout, virtual);
            Waiting second = new Waiting(source, FOR_EVER, virtual);
            pause();
            if (round % 3 == 0) {
                source.raise();
                giveUp.accept(first);
            } else {
                beside(source::raise, () -> giveUp.accept(first));
            }
            if (first.end().equals("event")) {
                taken++;
                source.raise();
            }
            assertThat(second.end()).isEqualTo("event");
            assertThat(source.events).hasValue(0);
        }
        System.out.println(taken + " of " + ROUNDS + " events were taken by the thread that was about to give up");
    }

    @Test
    void eventBesideAnInterruptIsNotLost() throws Exception {
        giveUpBesideAnEvent(FOR_EVER, waiting -> waiting.thread.interrupt());
    }

    @Test
    void eventBesideATimeOutIsNotLost() throws Exception {
        giveUpBesideAnEvent(Duration.ofNanos(50_000), waiting -> {});
    }

    /** The event comes while a thread is on its way to sleep. */
    @Test
    void eventBeforeTheSleepIsNotLost() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            Source source = new Source();
            Waiting waiting = new Waiting(source, FOR_EVER, round % 2 == 0);
            pause();
            source.raise();
            assertThat(waiting.end()).isEqualTo("event");
        }
    }

    /** As many events as threads: each thread gets one, and the threads wake each other. */
    @Test
    void eachOfManyThreadsGetsAnEvent() throws Exception {
        for (int round = 0; round < ROUNDS / 5; round++) {
            Source source = new Source();
            Waiting[] waiting = new Waiting[5];
            for (int i = 0; i < waiting.length; i++) {
                waiting[i] = new Waiting(source, FOR_EVER, true);
            }
            for (int i = 0; i < waiting.length; i++) {
                pause();
                source.raise();
            }
            for (Waiting each : waiting) {
                assertThat(each.end()).isEqualTo("event");
            }
        }
    }

    @Test
    void closeBesideWaitsEndsAll() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            Source source = new Source();
            Waiting first = new Waiting(source, FOR_EVER, round % 2 == 0);
            Waiting second = new Waiting(source, FOR_EVER, round % 2 == 0);
            pause();
            source.closed.set(true);
            source.waiters.wakeAll();
            assertThat(first.end()).isInstanceOf(IllegalStateException.class);
            assertThat(second.end()).isInstanceOf(IllegalStateException.class);
        }
    }

    /** A failure ends the waits that have begun. */
    @Test
    void failureBesideWaitsEndsAllThatHaveBegun() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            Source source = new Source();
            Waiting first = new Waiting(source, FOR_EVER, round % 2 == 0);
            Waiting second = new Waiting(source, FOR_EVER, round % 2 == 0);
            while (source.begun.get() < 2) {
                Thread.onSpinWait();
            }
            source.waiters.fail(() -> new IllegalArgumentException("no event will come"));
            assertThat(first.end()).isInstanceOf(IllegalArgumentException.class);
            assertThat(second.end()).isInstanceOf(IllegalArgumentException.class);
        }
    }
}
