package dev.verbena.walk;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.FencedTest;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Random walks on the provider for tests. A build takes the same walks each time, so that a failure is of the change.
 * {@code -Ddev.verbena.walk.steps=N} sets the number of steps of all walks, and takes some with a new seed.
 * {@code -Ddev.verbena.walk.seed=N} repeats one walk, and {@code -Ddev.verbena.walk.trace=true}
 * prints each step.
 */
@FencedTest
class RandomWalkTest {
    private static final int STEPS = Integer.getInteger("dev.verbena.walk.steps", 1_000_000);
    private static final boolean LONG = Integer.getInteger("dev.verbena.walk.steps") != null;
    private static final int SEEDS = 4;
    private static final long NEW_IF_LONG = 7_628_924_632_746L;
    private static final String SEED = "dev.verbena.walk.seed";

    /** One walk is repeated at a time: the others are reported as left out. */
    @ParameterizedTest
    @ValueSource(longs = {1, 20_221, 777_777_777, NEW_IF_LONG})
    @DisabledIfSystemProperty(named = SEED, matches = ".*", disabledReason = "one walk is repeated: " + SEED)
    void walkAgreesWithItsModel(long seed) {
        walk(LONG && seed == NEW_IF_LONG ? System.nanoTime() : seed);
    }

    @Test
    @EnabledIfSystemProperty(named = SEED, matches = ".*", disabledReason = "no walk is repeated: -D" + SEED)
    void walkOfAChosenSeedAgreesWithItsModel() {
        long chosen = Long.getLong(SEED);
        System.out.println("walk of the seed " + chosen + ": " + new Walk(chosen).run());
    }

    private static void walk(long seed) {
        System.out.println("walks begin with the seed " + seed);
        SplittableRandom random = new SplittableRandom(seed);
        long began = System.nanoTime();
        long steps = 0;
        long skipped = 0;
        long refused = 0;
        Map<String, Integer> events = new TreeMap<>();
        while (steps < STEPS / SEEDS) {
            Walk.Result result = new Walk(random.nextLong()).run();
            steps += result.steps();
            skipped += result.skipped();
            refused += result.refused();
            result.events().forEach((event, times) -> events.merge(event, times, Integer::sum));
        }
        double seconds = (System.nanoTime() - began) / 1e9;
        System.out.printf(
                "%d steps in %.1f s: %d found nothing to work with, %d calls were refused%n",
                steps, seconds, skipped, refused);
        System.out.println("among them: " + events);
        assertThat(skipped).as("steps that do nothing").isLessThan(steps * 3 / 5);
        assertThat(events)
                .as("what walks come to")
                .containsKeys("accepted", "claimed", "disconnected", "established", "message", "migrated", "rejected")
                .containsKeys("buffer lent", "registered", "registration found", "registration evicted");
    }
}
