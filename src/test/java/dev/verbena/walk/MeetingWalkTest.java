package dev.verbena.walk;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Walks of connections and channels on the provider for tests. {@code -Ddev.verbena.walk.meetings=N} sets the number of
 * walks, and {@code -Ddev.verbena.walk.seed=N} repeats one.
 */
@FencedTest
@Tag("walk")
class MeetingWalkTest {
    private static final int WALKS = Integer.getInteger("dev.verbena.walk.meetings", 20);
    private static final int STEPS = 500;

    @Test
    void meetingsAgreeWithTheirModelAndLeaveNothing() throws Exception {
        Long chosen = Long.getLong("dev.verbena.walk.seed");
        SplittableRandom random = new SplittableRandom(7);
        Map<String, Integer> events = new TreeMap<>();
        long began = System.nanoTime();
        for (int i = 0; i < WALKS; i++) {
            int before = Fenced.liveObjects();
            long seed = chosen == null ? random.nextLong() : chosen;
            MeetingWalk.take(seed, new InetSocketAddress("10.9.9.1", 0), STEPS)
                    .forEach((event, times) -> events.merge(event, times, Integer::sum));
            assertThat(Fenced.liveObjects())
                    .as("objects after the seed " + seed)
                    .isEqualTo(before);
        }
        System.out.printf(
                "%d meetings of %d steps in %.1f s: %s%n", WALKS, STEPS, (System.nanoTime() - began) / 1e9, events);
        assertThat(events)
                .containsKeys("connect", "reject", "unheard", "send", "receive", "ended", "close", "refused")
                .containsKeys("meet", "message", "take", "over", "hang", "unreachable", "busy", "arena");
    }
}
