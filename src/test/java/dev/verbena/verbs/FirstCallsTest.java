package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import org.junit.jupiter.api.Test;

/**
 * The number of classes that a program loads for its first call, and for its first completion. The time of a start follows
 * the number: a class takes some 50 to 100 microseconds, and {@code scripts/bench --start} measures the sum. The limits are a
 * sixth above what JDK 25 loads.
 */
@FencedTest
class FirstCallsTest {
    private static final int LIST = 740;
    private static final int COMPLETION = 1_140;

    /** A program that does nothing. */
    static final class Idle {
        private Idle() {}

        public static void main(String[] args) {}
    }

    /** A program that lists the devices and does nothing else. */
    static final class Listing {
        private Listing() {}

        public static void main(String[] args) {
            if (Device.list().isEmpty()) {
                throw new AssertionError("the provider has a device");
            }
        }
    }

    /** A program that connects two queue pairs, writes and reads by RDMA, and takes the completions. */
    static final class Completing {
        private Completing() {}

        public static void main(String[] args) throws InterruptedException {
            try (Loopback loopback = Loopback.connected()) {
                RemoteMemory remote = loopback.right.buffer.slice(0, 8).remote();
                loopback.left.pair.postWrite(1, loopback.left.buffer.slice(0, 8), remote);
                loopback.left.done();
                loopback.left.pair.postRead(2, loopback.left.buffer.slice(0, 8), remote);
                loopback.left.done();
            }
        }
    }

    private static long loadedBy(Class<?> program) {
        return ChildJvm.onTheProvider("-Xlog:class+load")
                .runOnClassPath(program)
                .successfulOutput()
                .lines()
                .filter(line -> line.contains(" source: "))
                .count();
    }

    @Test
    void deviceListLoadsFewClasses() {
        assertThat(loadedBy(Listing.class) - loadedBy(Idle.class)).isBetween(LIST / 2L, (long) LIST);
    }

    @Test
    void firstCompletionLoadsFewClasses() {
        assertThat(loadedBy(Completing.class) - loadedBy(Idle.class)).isBetween(COMPLETION / 2L, (long) COMPLETION);
    }
}
