package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import dev.verbena.support.Await;
import dev.verbena.support.OpenFileLimit;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The two descriptors that end a thread's wait in C. */
class WakeUpTest {
    private static final MemorySegment POLL =
            Linker.nativeLinker().defaultLookup().find("poll").orElseThrow();
    private static final short READABLE = 1;
    private static final long HOUR = 3_600_000_000_000L;

    private final WakeUp wakeUp = new WakeUp();

    @AfterEach
    void close() {
        wakeUp.close();
    }

    /** Returns whether a descriptor is readable within a time. */
    private static boolean isReadable(int descriptor, long millis) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment file = arena.allocate(8, 4); // struct pollfd
            file.set(ValueLayout.JAVA_INT, 0, descriptor);
            file.set(ValueLayout.JAVA_SHORT, 4, READABLE);
            int ready = (int) CFunction.at("function", POLL).call(file.address(), 1, millis);
            return ready == 1 && file.get(ValueLayout.JAVA_SHORT, 6) == READABLE;
        }
    }

    /** Returns what the kernel says of a descriptor, such as its flags. */
    private static String about(int descriptor) throws IOException {
        return Files.readString(Path.of("/proc/self/fdinfo/" + descriptor));
    }

    @Test
    void signalMakesTheEventReadableUntilItIsCleared() {
        assertThat(wakeUp.clear()).isFalse();
        assertThat(isReadable(wakeUp.event(), 0)).isFalse();
        for (int round = 0; round < 3; round++) {
            wakeUp.signal();
            wakeUp.signal();
            assertThat(isReadable(wakeUp.event(), 0)).isTrue();
            assertThat(wakeUp.clear()).isTrue();
            assertThat(isReadable(wakeUp.event(), 0)).isFalse();
            assertThat(wakeUp.clear()).isFalse();
        }
    }

    @Test
    void signalIsCountedOnce() throws IOException {
        wakeUp.signal();
        wakeUp.signal();
        assertThat(about(wakeUp.event())).containsPattern("eventfd-count: +1\\n");
    }

    @Test
    void timerIsReadableWhenItsTimeIsOver() {
        int timer = wakeUp.startTimer(HOUR);
        assertThat(timer).isNotEqualTo(wakeUp.event());
        assertThat(isReadable(timer, 0)).isFalse();
        assertThat(wakeUp.startTimer(1_000)).as("the same timer").isEqualTo(timer);
        assertThat(isReadable(timer, 60_000)).isTrue();
        assertThat(wakeUp.startTimer(HOUR)).isEqualTo(timer);
        assertThat(isReadable(timer, 0)).as("started anew").isFalse();
    }

    /** A timer of 0 would be stopped. */
    @Test
    void timerWithoutTimeIsReadableAtOnce() {
        assertThat(isReadable(wakeUp.startTimer(0), 60_000)).isTrue();
        assertThat(isReadable(wakeUp.startTimer(-HOUR), 60_000)).isTrue();
    }

    @Test
    void timerTakesSecondsAndNanoseconds() throws IOException {
        int timer = wakeUp.startTimer(2 * HOUR);
        assertThat(about(timer)).containsPattern("it_value: \\(71(99|98), [0-9]+\\)|it_value: \\(7200, 0\\)");
        assertThat(about(timer))
                .contains("it_interval: (0, 0)")
                .contains("clockid: 1")
                .contains("settime flags: 00");
    }

    @Test
    void descriptorsAreNotInheritedAndDoNotBlock() throws IOException {
        String flags = "flags:\\t02004002\\n"; // O_CLOEXEC, O_NONBLOCK, O_RDWR
        assertThat(about(wakeUp.event())).containsPattern(flags);
        assertThat(about(wakeUp.startTimer(HOUR))).containsPattern(flags);
    }

    @Test
    void closeFreesBothDescriptorsOnce() {
        long before = OpenFileLimit.count();
        WakeUp other = new WakeUp();
        int event = other.event();
        int timer = other.startTimer(HOUR);
        assertThat(OpenFileLimit.count()).isEqualTo(before + 2);
        other.close();
        assertThat(OpenFileLimit.count()).isEqualTo(before);
        WakeUp later = new WakeUp(); // gets the numbers of the closed descriptors
        assertThat(later.event()).isIn(event, timer);
        later.startTimer(HOUR);
        other.close();
        assertThat(OpenFileLimit.count()).isEqualTo(before + 2);
        later.close();
    }

    @Test
    void closeWithoutATimerClosesNothingElse() {
        long before = OpenFileLimit.count();
        new WakeUp().close();
        assertThat(OpenFileLimit.count()).isEqualTo(before);
    }

    /** Another thread may signal at the moment of the close: the number may belong to another file by then. */
    @Test
    void signalAfterTheCloseDoesNothing() {
        WakeUp other = new WakeUp();
        other.signal();
        other.close();
        WakeUp later = new WakeUp();
        assertThat(later.event()).isEqualTo(other.event());
        later.signal();
        assertThatCode(other::signal).doesNotThrowAnyException();
        assertThatCode(other::clear).doesNotThrowAnyException();
        assertThat(isReadable(later.event(), 0)).isTrue();
        later.close();
        WakeUp unsignalled = new WakeUp();
        unsignalled.close();
        assertThatCode(unsignalled::signal).doesNotThrowAnyException();
    }

    /** Each call leaves the descriptors to the next one. */
    @Test
    void callsOfManyThreadsDoNotWaitForEachOther() throws InterruptedException {
        wakeUp.signal();
        wakeUp.clear();
        Thread other = Thread.ofPlatform().daemon().start(() -> {
            wakeUp.signal();
            wakeUp.clear();
            wakeUp.close();
        });
        Await.end(other);
    }
}
