package dev.verbena.walk;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.FencedTest;
import org.junit.jupiter.api.Tag;
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
@Tag("walk")
class RandomWalkTest {
    private static final int STEPS = Integer.getInteger("dev.verbena.walk.steps", 200_000);
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
        Walks walks = Walks.take(seed, STEPS / SEEDS);
        assertThat(walks.skipped()).as("steps that do nothing").isLessThan(walks.steps() * 3 / 5);
        assertThat(walks.events())
                .as("what walks come to")
                .containsKeys("accepted", "claimed", "disconnected", "established", "message", "migrated", "rejected")
                .containsKeys("unreliable connection", "asynchronous event")
                .containsKeys("work queue flushed", "table", "table with a queue pair", "XRC receiver", "XRC sender")
                .containsKeys("group attached", "group detached", "group joined", "group lost")
                .containsKeys("datagram", "datagram id migrated")
                .containsKeys("buffer lent", "registered", "registration found", "registration evicted");
    }
}
