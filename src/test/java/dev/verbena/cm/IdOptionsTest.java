package dev.verbena.cm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The codes of an id's options. */
class IdOptionsTest {
    @Test
    void ackTimeoutIsRoundedUpToTheNextCode() {
        assertThat(IdOptions.ackTimeoutCodeOf(Duration.ofNanos(1))).isEqualTo(1);
        assertThat(IdOptions.ackTimeoutCodeOf(Duration.ofNanos(8_192))).isEqualTo(1);
        assertThat(IdOptions.ackTimeoutCodeOf(Duration.ofNanos(8_193))).isEqualTo(2);
        assertThat(IdOptions.ackTimeoutCodeOf(Duration.ofMillis(67))).isEqualTo(14);
        assertThat(IdOptions.ackTimeoutCodeOf(Duration.ofNanos(4_096L << 31))).isEqualTo(31);
    }

    @Test
    void ackTimeoutRefusesTimesWithoutACode() {
        for (Duration timeout : new Duration[] {
            Duration.ZERO, Duration.ofNanos(-1), Duration.ofHours(3), Duration.ofSeconds(Long.MAX_VALUE)
        }) {
            assertThatThrownBy(() -> IdOptions.ackTimeoutCodeOf(timeout))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("acknowledgement timeout must be")
                    .hasMessageContaining("got " + timeout);
        }
    }
}
