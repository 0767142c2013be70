package dev.verbena.load;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.LongTest;
import dev.verbena.support.OpenFileLimit;
import dev.verbena.support.Resources;
import dev.verbena.verbs.Context;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Traffic of all kinds over a wire that loses one packet of a hundred. {@code -Ddev.verbena.load.lossy.seconds=N} sets its
 * duration, an hour.
 */
@LongTest
class LossyTrafficTest {
    private static final Duration DURATION =
            Duration.ofSeconds(Integer.getInteger("dev.verbena.load.lossy.seconds", 3600));
    private static final Duration REPORT = Duration.ofMinutes(1);
    private static final int PERCENT = 1;
    /** The growth of resident memory in KiB that the JVM itself needs: code, metadata, its own tables. */
    private static final long SLACK_KIB = 8 << 10;

    private static final int WARM_UP_REPORTS = 3;

    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

    @Test
    void lossyWireLosesNothingThatWasAcknowledged() throws Exception {
        try (LossyWire wire = LossyWire.losing(PERCENT)) {
            List<Long> memory = new ArrayList<>();
            List<Long> files = new ArrayList<>();
            try (VerbsArena arena = VerbsArena.ofShared()) {
                Context left = wire.left().open(arena);
                Context right = wire.right().open(arena);
                List<Flow> flows = List.of(
                        new Flow.Messages(left, right, arena),
                        new Flow.WritesAndReads(right, left, arena),
                        new Flow.Atomics(left, right, arena),
                        new Flow.Datagrams(right, left, arena));
                long end = System.nanoTime() + DURATION.toNanos();
                List<Thread> threads = new ArrayList<>();
                for (Flow flow : flows) {
                    threads.add(
                            Thread.ofPlatform().daemon().name(flow.toString()).start(() -> run(flow, end)));
                }
                while (threads.stream().anyMatch(Thread::isAlive)) {
                    threads.getFirst()
                            .join(Math.min(
                                    REPORT.toMillis(),
                                    Math.max(1, TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime()))));
                    memory.add(Resources.residentKib());
                    files.add(OpenFileLimit.count());
                    System.out.printf(
                            "%s, %d packets lost, %d KiB resident, %d files%n",
                            flows, wire.lost(), memory.getLast(), files.getLast());
                }
                Throwable thrown = failure.get();
                if (thrown != null) {
                    throw new AssertionError(thrown.getMessage() + " after " + flows, thrown);
                }
            }
            assertThat(wire.lost()).as("packets that the wire lost").isPositive();
            if (memory.size() > 2 * WARM_UP_REPORTS) {
                assertThat(memory.getLast() - memory.get(WARM_UP_REPORTS))
                        .as("growth in KiB")
                        .isLessThan(SLACK_KIB);
                assertThat(files.getLast()).as("open files").isEqualTo(files.get(WARM_UP_REPORTS));
            }
            assertThat(Resources.ofThisProcess()).isEmpty();
        }
    }

    private void run(Flow flow, long end) {
        try {
            while (failure.get() == null && end - System.nanoTime() > 0) {
                flow.advance();
            }
            flow.finish();
        } catch (Throwable t) {
            failure.compareAndSet(null, t);
        }
    }
}
