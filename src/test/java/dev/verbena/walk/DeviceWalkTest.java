package dev.verbena.walk;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.DeviceTest;
import dev.verbena.support.Resources;
import org.junit.jupiter.api.Test;

/** A few random walks on the device, the same ones each time. {@code -Ddev.verbena.walk.seed=N} repeats another one. */
@DeviceTest
class DeviceWalkTest {
    private static final int STEPS = 800;

    @Test
    void walkOnTheDeviceAgreesWithItsModel() throws Exception {
        Long chosen = Long.getLong("dev.verbena.walk.seed");
        if (chosen == null) {
            Walks.take(3, STEPS);
        } else {
            System.out.println("walk of the seed " + chosen + ": " + new Walk(chosen).run());
        }
        assertThat(Resources.ofThisProcess()).isEmpty();
    }
}
