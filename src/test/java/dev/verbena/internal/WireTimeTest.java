package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Durations become the next code of the wire, and codes become durations. */
class WireTimeTest {
    private static final Duration NANO = Duration.ofNanos(1);

    @ParameterizedTest
    @CsvSource({"1, 1", "4096, 1", "8192, 1", "8193, 2", "16384, 2", "67108864, 14", "67108865, 15"})
    void acknowledgementRoundsUpToTheNextCode(long nanos, int code) {
        assertThat(WireTime.acknowledgementCode(Duration.ofNanos(nanos))).isEqualTo(code);
    }

    @Test
    void acknowledgementCodesComeBackFromTheirDurations() {
        for (int code = 0; code <= 31; code++) {
            assertThat(WireTime.acknowledgementCode(WireTime.acknowledgement(code)))
                    .isEqualTo(code);
        }
    }

    @Test
    void acknowledgementWithoutLimitIsCodeZero() {
        assertThat(WireTime.acknowledgement(0)).isEqualTo(ChronoUnit.FOREVER.getDuration());
        assertThat(WireTime.acknowledgementCode(ChronoUnit.FOREVER.getDuration()))
                .isZero();
    }

    @Test
    void acknowledgementRefusesZeroNegativeAndTooLongDurations() {
        Duration longest = WireTime.acknowledgement(31);
        assertThat(longest).isEqualTo(Duration.ofNanos(8_796_093_022_208L));
        assertThat(WireTime.acknowledgementCode(longest)).isEqualTo(31);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WireTime.acknowledgementCode(longest.plus(NANO)))
                .withMessageContaining("acknowledgement timeout must be")
                .withMessageContaining(longest.toString());
        assertThatIllegalArgumentException().isThrownBy(() -> WireTime.acknowledgementCode(Duration.ZERO));
        assertThatIllegalArgumentException().isThrownBy(() -> WireTime.acknowledgementCode(Duration.ofMillis(-1)));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WireTime.acknowledgementCode(Duration.ofSeconds(Long.MAX_VALUE)));
    }

    @Test
    void exponentialDoublesForEachExponent() {
        assertThat(WireTime.exponential(0)).isEqualTo(Duration.ofNanos(4_096));
        assertThat(WireTime.exponential(15)).isEqualTo(Duration.ofNanos(134_217_728));
    }

    @Test
    void microsecondsRoundUpAndRefuseTooLongDurations() {
        assertThat(WireTime.microseconds("period", Duration.ZERO, 10)).isZero();
        assertThat(WireTime.microseconds("period", NANO, 10)).isOne();
        assertThat(WireTime.microseconds("period", Duration.ofNanos(10_000), 10))
                .isEqualTo(10);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WireTime.microseconds("period", Duration.ofNanos(10_001), 10));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WireTime.microseconds("period", Duration.ofNanos(-1), 10));
    }

    @Test
    void messageNamesTheLimits() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WireTime.microseconds("period", Duration.ofSeconds(1), 65_535))
                .withMessage("period must be from 0 to PT0.065535S, got PT1S");
    }

    @Test
    void codeHasFiveBits() {
        assertThat(WireTime.checkCode("timeout", 31)).isEqualTo(31);
        assertThat(WireTime.checkCode("timeout", 5)).isEqualTo(5);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WireTime.checkCode("timeout", 32))
                .withMessage("timeout must be from 0 to 31, got 32");
        assertThatIllegalArgumentException().isThrownBy(() -> WireTime.checkCode("timeout", -1));
    }
}
