package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import dev.verbena.support.Await;
import dev.verbena.support.OpenFileLimit;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The descriptor that ends a thread's wait in C. */
class WakeUpTest {
    private final WakeUp wakeUp = new WakeUp();

    @AfterEach
    void close() {
        wakeUp.close();
    }

    private static boolean isReadable(int descriptor) {
        PollSet one = new PollSet(1);
        one.set(0, descriptor, PollSet.IN);
        return one.poll(1, 0) == 1 && one.reported(0) == PollSet.IN;
    }

    /** Returns what the kernel says of a descriptor, such as its flags. */
    private static String about(int descriptor) throws IOException {
        return Files.readString(Path.of("/proc/self/fdinfo/" + descriptor));
    }

    @Test
    void signalMakesTheEventReadableUntilItIsCleared() {
        assertThat(wakeUp.clear()).isFalse();
        assertThat(isReadable(wakeUp.event())).isFalse();
        for (int round = 0; round < 3; round++) {
            wakeUp.signal();
            wakeUp.signal();
            assertThat(isReadable(wakeUp.event())).isTrue();
            assertThat(wakeUp.clear()).isTrue();
            assertThat(isReadable(wakeUp.event())).isFalse();
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
    void descriptorIsNotInheritedAndDoesNotBlock() throws IOException {
        String flags = "flags:\\t02004002\\n"; // O_CLOEXEC, O_NONBLOCK, O_RDWR
        assertThat(about(wakeUp.event())).containsPattern(flags);
    }

    @Test
    void closeFreesTheDescriptorOnce() {
        Set<String> before = OpenFileLimit.files();
        WakeUp other = new WakeUp();
        int event = other.event();
        assertThat(OpenFileLimit.openedSince(before)).hasSize(1);
        other.close();
        assertThat(OpenFileLimit.openedSince(before)).isEmpty();
        assertThat((int) new CFunction(NativeLibraries.C, "dup2").call(0, event))
                .isEqualTo(event);
        other.close();
        assertThat(OpenFileLimit.openedSince(before)).as("the later file").hasSize(1);
        SystemCall.close(event);
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
        assertThat(isReadable(later.event())).isTrue();
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
