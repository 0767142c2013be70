package dev.verbena.sockets;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sockets send no inline data on a machine with a device that would send other memory. */
@FencedTest
class IgnoredInlineDataTest {
    @AfterEach
    void giveBackTheDriver() {
        Fenced.driverAsStarted();
    }

    @ParameterizedTest
    @ValueSource(strings = {"mana", "mlx5", "siw", "mana"})
    void inlineDataIsIgnoredByManaOnly(String driver) {
        Fenced.driver(driver);
        assertThat(IgnoredInlineData.isPossible()).isEqualTo(driver.equals("mana"));
    }
}
