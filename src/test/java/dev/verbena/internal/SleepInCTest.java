package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.OpenFileLimit;
import dev.verbena.support.OtherThread;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests what ends a sleep in C, and what it has seen. A sleep that goes on runs into the time limit. */
@Timeout(180)
class SleepInCTest {
    private static final long FOR_EVER = Long.MAX_VALUE;

    private final WakeUp event = new WakeUp();
    private final WakeUp eventBeside = new WakeUp();
    private final SleepInC place = new SleepInC(event.event());
    private final SleepInC beside = new SleepInC(eventBeside.event());

    @AfterEach
    void close() {
        assertThat(Thread.interrupted()).isFalse();
        place.close();
        beside.close();
        event.close();
        eventBeside.close();
    }

    private void hasSeen(boolean here, boolean there) {
        assertThat(place.hasSeen()).as("an event here").isEqualTo(here);
        assertThat(beside.hasSeen()).as("an event of the place beside").isEqualTo(there);
    }

    @ParameterizedTest
    @CsvSource({"true, false", "false, true", "true, true"})
    void eventsEndTheSleepUntilTheyAreRead(boolean here, boolean there) {
        if (here) {
            event.signal();
        }
        if (there) {
            eventBeside.signal();
        }
        for (int i = 0; i < 2; i++) {
            place.sleep(beside, true, FOR_EVER);
            hasSeen(here, there);
        }
        event.clear();
        eventBeside.clear();
        place.sleep(beside, true, 1); // until its time is over
        hasSeen(false, false);
    }

    @Test
    void wakeUpsEndTheSleepWithoutAnEvent() {
        for (SleepInC woken : new SleepInC[] {place, beside}) {
            woken.wake();
            place.sleep(beside, true, FOR_EVER);
            hasSeen(false, false);
            woken.clear();
        }
    }

    @Test
    void placeThatDoesNotListenSleepsThroughEvents() throws Exception {
        event.signal();
        place.listen(false);
        OtherThread<Void> sleeper = asleep(() -> place.sleep(null, true, FOR_EVER));
        place.wake();
        sleeper.join();
        hasSeen(false, false);
        place.clear();
        place.listen(true);
        place.sleep(null, true, FOR_EVER);
        hasSeen(true, false);
    }

    @Test
    void placeBesideIsForgottenByTheNextSleep() throws Exception {
        eventBeside.signal();
        place.sleep(beside, true, FOR_EVER);
        OtherThread<Void> sleeper = asleep(() -> place.sleep(null, true, FOR_EVER));
        event.signal();
        sleeper.join();
        assertThat(place.hasSeen()).isTrue();
    }

    /** An interrupt closes what wakes the thread: the next sleep must have another one. */
    @Test
    void everyInterruptEndsASleep() throws Exception {
        for (int i = 0; i < 3; i++) {
            OtherThread<Void> sleeper = asleep(() -> place.sleep(null, true, FOR_EVER));
            sleeper.thread().interrupt();
            sleeper.join();
            hasSeen(false, false);
            place.clear();
            Thread.currentThread().interrupt(); // before the sleep
            place.sleep(null, true, FOR_EVER);
            assertThat(Thread.interrupted()).isTrue();
            place.clear();
        }
    }

    /** An interrupt after a sleep must not wake the next one. */
    @Test
    void interruptAfterTheSleepSignalsNothing() throws Exception {
        event.signal();
        place.sleep(null, true, FOR_EVER);
        Thread.currentThread().interrupt();
        assertThat(Thread.interrupted()).isTrue();
        event.clear();
        OtherThread<Void> sleeper = asleep(() -> place.sleep(null, true, FOR_EVER));
        event.signal();
        sleeper.join();
        hasSeen(true, false);
    }

    @Test
    void sleepThatIsNotInterruptibleWaitsForItsEvent() throws Exception {
        OtherThread<Void> sleeper = asleep(() -> {
            Thread.currentThread().interrupt();
            place.sleep(null, false, FOR_EVER);
        });
        event.signal();
        sleeper.join();
        hasSeen(true, false);
    }

    @Test
    void closeClosesTheDescriptorThatWakes() {
        Set<String> before = OpenFileLimit.files();
        SleepInC closed = new SleepInC(-1);
        assertThat(OpenFileLimit.openedSince(before)).hasSize(1);
        closed.close();
        assertThat(OpenFileLimit.openedSince(before)).isEmpty();
    }

    /** Starts a thread, and returns it when it sleeps in C, where it stays for a while. */
    private static OtherThread<Void> asleep(Runnable work) {
        return OtherThread.start(work).asleep();
    }
}
