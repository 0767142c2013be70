package dev.verbena.walk;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.LongTest;
import dev.verbena.support.Resources;
import org.junit.jupiter.api.Test;

/** New random walks on the device. {@code -Ddev.verbena.walk.device.steps=N} sets the number of steps of all walks. */
@LongTest
class LongDeviceWalkTest {
    private static final int STEPS = Integer.getInteger("dev.verbena.walk.device.steps", 100_000);

    @Test
    void longWalkOnTheDeviceAgreesWithItsModel() throws Exception {
        Walks walks = Walks.take(System.nanoTime(), STEPS);
        assertThat(walks.skipped()).as("steps that do nothing").isLessThan(walks.steps() * 4 / 5);
        assertThat(walks.events())
                .as("what walks come to")
                .containsKeys("SEND", "SEND_WITH_IMMEDIATE", "RDMA_WRITE", "RDMA_WRITE_WITH_IMMEDIATE", "RDMA_READ")
                .containsKeys("FETCH_AND_ADD", "COMPARE_AND_SWAP", "buffer lent", "registered");
        assertThat(Resources.ofThisProcess()).isEmpty();
    }
}
