package dev.verbena.walk;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Walks of several threads at once on shared arenas. {@code -Ddev.verbena.walk.storms=N} sets the number of storms, and
 * {@code -Ddev.verbena.walk.seed=N} their seed.
 */
@FencedTest
@Tag("walk")
class StormTest {
    private static final int STORMS = Integer.getInteger("dev.verbena.walk.storms", 20);
    private static final int STEPS = 2_000;

    @Test
    void threadsThatCloseUnderEachOtherLeaveNothing() throws InterruptedException {
        long seed = Long.getLong("dev.verbena.walk.seed", System.nanoTime());
        System.out.println("storms begin with the seed " + seed);
        SplittableRandom random = new SplittableRandom(seed);
        long began = System.nanoTime();
        long done = 0;
        for (int i = 0; i < STORMS; i++) {
            int before = Fenced.liveObjects();
            done += new Storm(random.nextLong(), STEPS).run();
            assertThat(Fenced.liveObjects()).isEqualTo(before);
        }
        System.out.printf("%d calls were not refused, in %.1f s%n", done, (System.nanoTime() - began) / 1e9);
        assertThat(done).isGreaterThan((long) STORMS * STEPS / 10);
    }
}
