package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.support.Await;
import dev.verbena.support.OtherThread;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Threads that wait for events: each step of a wait, with one thread at a time. */
class WaitersTest {
    private static final Duration LONG = Duration.ofSeconds(180);

    private final Waiters waiters = new Waiters();
    private final ConcurrentLinkedQueue<String> events = new ConcurrentLinkedQueue<>();
    private final AtomicInteger tries = new AtomicInteger();
    private final AtomicInteger asked = new AtomicInteger();

    @AfterEach
    void clearInterrupt() {
        assertThat(Thread.interrupted()).isFalse();
    }

    private @Nullable String attempt() {
        tries.incrementAndGet();
        return events.poll();
    }

    private @Nullable String await(Duration timeout) throws InterruptedException {
        return await(asked::incrementAndGet, timeout);
    }

    private @Nullable String await(Runnable ask, Duration timeout) throws InterruptedException {
        Waiters.Asking asking = () -> {
            ask.run();
            return null;
        };
        return waiters.await(this::attempt, this::attempt, asking, timeout);
    }

    /** Starts a thread that waits, and returns when it sleeps. */
    private OtherThread<String> sleeper() {
        return OtherThread.start(() -> await(LONG)).asleep();
    }

    /** Threads sleep at many descriptors while the waiters live. */
    @Test
    void placeOfAThreadThatWokeIsForgotten() {
        WeakReference<SleepInC> place = placeThatWasLeft();
        Await.until("the place is collected", () -> {
            System.gc();
            return place.refersTo(null);
        });
    }

    @Test
    void threadThatWokeInCIsNotWokenForTheNextOne() throws Exception {
        WeakReference<SleepInC> place = placeThatWasLeft();
        long before = waiters.wakes();
        assertThat(await(Duration.ofMillis(1))).isNull();
        assertThat(waiters.wakes()).as("nobody else waits").isEqualTo(before);
        assertThat(place).isNotNull();
    }

    private WeakReference<SleepInC> placeThatWasLeft() {
        SleepInC place = new SleepInC(-1);
        assertThat(waiters.fallAsleep(place, waiters.wakes())).isTrue();
        waiters.awake(place);
        place.close();
        return new WeakReference<>(place);
    }

    @Test
    void eventThatIsThereIsTakenWithoutAsking() throws Exception {
        events.add("event");
        assertThat(await(LONG)).isEqualTo("event");
        assertThat(asked).hasValue(0);
        assertThat(tries).hasValue(1);
    }

    @Test
    void eventBetweenTheFirstTryAndTheAskingIsFound() throws Exception {
        Runnable ask = () -> {
            asked.incrementAndGet();
            events.add("event");
        };
        assertThat(await(ask, LONG)).isEqualTo("event");
        assertThat(tries).hasValue(2);
    }

    @Test
    void interruptedThreadTakesAnEventThatIsThere() throws Exception {
        events.add("event");
        Thread.currentThread().interrupt();
        assertThat(await(LONG)).isEqualTo("event");
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void interruptedThreadDoesNotAsk() {
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> await(LONG)).isInstanceOf(InterruptedException.class);
        assertThat(asked).hasValue(0);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> await(Duration.ZERO)).isInstanceOf(InterruptedException.class);
    }

    @Test
    void waitWithoutTimeTriesOnce() throws Exception {
        for (Duration none : List.of(Duration.ZERO, Duration.ofSeconds(Long.MIN_VALUE))) {
            tries.set(0);
            assertThat(await(none)).isNull();
            assertThat(tries).hasValue(1);
            assertThat(asked).hasValue(0);
        }
        events.add("event");
        assertThatNullPointerException().isThrownBy(() -> await(null)); // takes nothing
        assertThat(await(Duration.ZERO)).isEqualTo("event");
    }

    @Test
    void timeoutMayBeLongerThanNanosecondsCanSay() throws Exception {
        OtherThread<String> sleeper = OtherThread.start(() -> await(Duration.ofSeconds(Long.MAX_VALUE)))
                .asleep();
        events.add("event");
        waiters.wake();
        assertThat(sleeper.join()).isEqualTo("event");
    }

    /** One event wakes the first thread only, which wakes the next one when it leaves: more events have come. */
    @Test
    void threadThatLeavesWakesTheNext() throws Exception {
        List<OtherThread<String>> sleepers = List.of(sleeper(), sleeper(), sleeper());
        events.addAll(List.of("event", "event", "event"));
        waiters.wake();
        for (OtherThread<String> sleeper : sleepers) {
            assertThat(sleeper.join()).isEqualTo("event");
        }
    }

    /** The event was for the thread that is interrupted: the next one takes it. */
    @Test
    void interruptedThreadLeavesItsEventToTheNext() throws Exception {
        OtherThread<String> first = sleeper();
        OtherThread<String> second = sleeper();
        events.add("event");
        first.thread().interrupt();
        assertThat(first.failure()).isInstanceOf(InterruptedException.class);
        assertThat(second.join()).isEqualTo("event");
    }

    @Test
    void eventWakesOneThread() throws Exception {
        OtherThread<String> first = sleeper();
        OtherThread<String> second = sleeper();
        int before = tries.get();
        waiters.wake(); // there is nothing: the first thread tries, asks, tries and sleeps again
        Await.until("the first thread", () -> tries.get() == before + 2);
        first.asleep();
        assertThat(tries).hasValue(before + 2);
        assertThat(asked).hasValue(3);
        events.addAll(List.of("event", "event"));
        waiters.wakeAll();
        assertThat(first.join()).isEqualTo("event");
        assertThat(second.join()).isEqualTo("event");
    }

    @Test
    void failureEndsWaitsThatHaveBegunAndNoOthers() throws Exception {
        OtherThread<String> first = sleeper();
        OtherThread<String> second = sleeper();
        waiters.fail(() -> new IllegalArgumentException("no event will come"));
        assertThat(List.of(first.failure(), second.failure()))
                .hasOnlyElementsOfType(IllegalArgumentException.class)
                .as("each thread has its own")
                .doesNotHaveDuplicates();
        events.add("event");
        assertThat(await(LONG)).isEqualTo("event");
        OtherThread<String> later = sleeper();
        events.add("event");
        waiters.wake();
        assertThat(later.join()).isEqualTo("event");
    }

    @Test
    void failureDuringTheFirstTryIsNotLost() {
        Supplier<@Nullable String> failing = () -> {
            if (tries.incrementAndGet() == 1) {
                waiters.fail(() -> new IllegalArgumentException("no event will come"));
            }
            return null;
        };
        assertThatThrownBy(() -> waiters.await(failing, LONG)).isInstanceOf(IllegalArgumentException.class);
    }

    /**
     * The ways in which a thread leaves, with the number of wake-ups of the way itself. They come between the asking and the
     * sleep, and are not lost.
     */
    private enum Leaving {
        FOUND_BY_LOOK(0),
        FOUND_BY_ATTEMPT(1),
        TIME_OVER(0),
        INTERRUPTED_BEFORE(0),
        INTERRUPTED_IN_SLEEP(1),
        FAILED(1);

        final int wakes;

        Leaving(int wakes) {
            this.wakes = wakes;
        }
    }

    private void leave(Leaving way) {
        AtomicInteger attempts = new AtomicInteger();
        boolean found = way == Leaving.FOUND_BY_ATTEMPT;
        if (way == Leaving.INTERRUPTED_BEFORE) {
            Thread.currentThread().interrupt();
        }
        try {
            waiters.await(
                    () -> attempts.incrementAndGet() == 2 && found ? "event" : null,
                    () -> {
                        switch (way) {
                            case FOUND_BY_LOOK -> {
                                return "event";
                            }
                            case FOUND_BY_ATTEMPT -> waiters.wake();
                            case INTERRUPTED_IN_SLEEP -> {
                                waiters.wake();
                                Thread.currentThread().interrupt();
                            }
                            case FAILED -> waiters.fail(IllegalArgumentException::new);
                            default -> {}
                        }
                        return null;
                    },
                    () -> null,
                    way == Leaving.TIME_OVER ? Duration.ofMillis(1) : LONG);
            assertThat(way.name()).doesNotStartWith("INTERRUPTED").isNotEqualTo("FAILED");
        } catch (InterruptedException e) {
            assertThat(way.name()).startsWith("INTERRUPTED");
        } catch (IllegalArgumentException e) {
            assertThat(way).isEqualTo(Leaving.FAILED);
        }
    }

    @ParameterizedTest
    @EnumSource
    void threadThatLeavesWakesOneThatSleepsInC(Leaving way) {
        SleepInC place = new SleepInC(-1);
        assertThat(waiters.fallAsleep(place, waiters.wakes())).isTrue();
        long before = waiters.wakes();
        leave(way);
        assertThat(waiters.wakes()).isEqualTo(before + way.wakes + 1);
        place.sleep(null, true, Long.MAX_VALUE); // ends, because the place was woken
        waiters.awake(place);
        place.close();
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "FAILED") // which wakes all
    void threadThatLeavesWakesOneThatParks(Leaving way) throws Exception {
        // One still parks when the way itself has woken the other.
        List<OtherThread<String>> sleepers = List.of(sleeper(), sleeper());
        long before = waiters.wakes();
        leave(way);
        assertThat(waiters.wakes()).isEqualTo(before + way.wakes + 1);
        events.addAll(List.of("event", "event"));
        waiters.wakeAll();
        for (OtherThread<String> sleeper : sleepers) {
            assertThat(sleeper.join()).isEqualTo("event");
        }
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "FAILED")
    void threadThatLeavesAloneWakesNobody(Leaving way) {
        long before = waiters.wakes();
        leave(way);
        assertThat(waiters.wakes()).isEqualTo(before + way.wakes);
    }

    @Test
    void allThreadsInCAreWoken() {
        List<SleepInC> places = List.of(new SleepInC(-1), new SleepInC(-1));
        places.forEach(place -> waiters.fallAsleep(place, waiters.wakes()));
        waiters.wakeAll();
        places.forEach(place -> place.sleep(null, true, Long.MAX_VALUE));
        places.forEach(SleepInC::close);
    }

    @Test
    void threadThatWasWokenDoesNotFallAsleep() {
        SleepInC place = new SleepInC(-1);
        long seen = waiters.wakes();
        waiters.wake();
        assertThat(waiters.fallAsleep(place, seen)).isFalse();
        place.close();
    }
}
