package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

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

    @Test
    void eventEndsTheSleep() {
        event.signal();
        place.sleep(beside, true, FOR_EVER);
        hasSeen(true, false);
        place.sleep(null, true, FOR_EVER);
        hasSeen(true, false);
    }

    @Test
    void eventBesideEndsTheSleep() {
        eventBeside.signal();
        place.sleep(beside, true, FOR_EVER);
        hasSeen(false, true);
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
    void timeEndsTheSleepWithoutAnEvent() {
        event.signal();
        eventBeside.signal();
        place.sleep(beside, true, FOR_EVER);
        hasSeen(true, true);
        event.clear();
        eventBeside.clear();
        place.sleep(beside, true, 1);
        hasSeen(false, false);
    }

    @Test
    void placeThatDoesNotListenSleepsThroughEvents() throws InterruptedException {
        event.signal();
        place.listen(false);
        Thread sleeper = asleep(() -> place.sleep(null, true, FOR_EVER));
        place.wake();
        Await.end(sleeper);
        hasSeen(false, false);
        place.clear();
        place.listen(true);
        place.sleep(null, true, FOR_EVER);
        hasSeen(true, false);
    }

    @Test
    void placeBesideIsForgottenByTheNextSleep() throws InterruptedException {
        eventBeside.signal();
        place.sleep(beside, true, FOR_EVER);
        Thread sleeper = asleep(() -> place.sleep(null, true, FOR_EVER));
        event.signal();
        Await.end(sleeper);
        assertThat(place.hasSeen()).isTrue();
    }

    @Test
    void interruptEndsTheSleep() throws InterruptedException {
        Thread sleeper = asleep(() -> place.sleep(null, true, FOR_EVER));
        sleeper.interrupt();
        Await.end(sleeper);
        hasSeen(false, false);
    }

    @Test
    void interruptBeforeTheSleepEndsIt() {
        Thread.currentThread().interrupt();
        place.sleep(null, true, FOR_EVER);
        assertThat(Thread.interrupted()).isTrue();
    }

    /** An interrupt after a sleep must not wake the next one. */
    @Test
    void interruptAfterTheSleepSignalsNothing() throws InterruptedException {
        event.signal();
        place.sleep(null, true, FOR_EVER);
        Thread.currentThread().interrupt();
        assertThat(Thread.interrupted()).isTrue();
        event.clear();
        Thread sleeper = asleep(() -> place.sleep(null, true, FOR_EVER));
        event.signal();
        Await.end(sleeper);
        hasSeen(true, false);
    }

    @Test
    void sleepThatIsNotInterruptibleWaitsForItsEvent() throws InterruptedException {
        Thread sleeper = asleep(() -> {
            Thread.currentThread().interrupt();
            place.sleep(null, false, FOR_EVER);
        });
        event.signal();
        Await.end(sleeper);
        hasSeen(true, false);
    }

    @Test
    void closeClosesTheDescriptorThatWakes() throws IOException {
        long before = descriptors();
        SleepInC closed = new SleepInC(-1);
        assertThat(descriptors()).isEqualTo(before + 1);
        closed.close();
        assertThat(descriptors()).isEqualTo(before);
    }

    private static long descriptors() throws IOException {
        try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
            return all.count();
        }
    }

    /** Starts a thread, and returns it when it sleeps in C, where it stays for a while. */
    private static Thread asleep(Runnable work) {
        Thread thread = Thread.ofPlatform().daemon().start(work);
        Await.until("the sleep", () -> Await.isAsleep(thread));
        return thread;
    }
}
