package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Minimal RNR timers become the next code of the wire, and codes become timers. */
class RnrTimerTest {
    private static final Duration NANO = Duration.ofNanos(1);

    @ParameterizedTest
    @CsvSource({
        "0, 1",
        "1, 1",
        "10000, 1",
        "10001, 2",
        "40001, 5",
        "60000, 5",
        "60001, 6",
        "640000, 12",
        "640001, 13",
        "491520000, 31",
        "491520001, 0",
        "655360000, 0"
    })
    void timerRoundsUpToTheNextCode(long nanos, int code) {
        assertThat(RnrTimer.code(Duration.ofNanos(nanos))).isEqualTo(code);
    }

    @Test
    void codesComeBackFromTheirDurations() {
        for (int code = 0; code <= 31; code++) {
            assertThat(RnrTimer.code(RnrTimer.of(code))).isEqualTo(code);
        }
    }

    @Test
    void timerRefusesNegativeAndTooLongDurations() {
        assertThatIllegalArgumentException().isThrownBy(() -> RnrTimer.code(NANO.negated()));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RnrTimer.code(RnrTimer.of(0).plus(NANO)))
                .withMessageContaining("655.36 ms");
    }

    /** The table of the InfiniBand specification, volume 1, 9.7.5.2.8, in hundredths of a millisecond. */
    @Test
    void timersAreThoseOfTheSpecification() {
        int[] expected = {
            65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072,
            4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152
        };
        for (int code = 0; code < expected.length; code++) {
            assertThat(RnrTimer.of(code)).isEqualTo(Duration.ofNanos(expected[code] * 10_000L));
        }
    }

    @Test
    void messageNamesTheLimit() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RnrTimer.code(Duration.ofSeconds(1)))
                .withMessage("minimal RNR timer must be from 0 to PT0.65536S (655.36 ms), got PT1S");
    }
}
