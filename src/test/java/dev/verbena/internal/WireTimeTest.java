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
    void receiverNotReadyRoundsUpToTheNextCode(long nanos, int code) {
        assertThat(WireTime.receiverNotReadyCode(Duration.ofNanos(nanos))).isEqualTo(code);
    }

    @Test
    void receiverNotReadyCodesComeBackFromTheirDurations() {
        for (int code = 0; code <= 31; code++) {
            assertThat(WireTime.receiverNotReadyCode(WireTime.receiverNotReady(code)))
                    .isEqualTo(code);
        }
    }

    @Test
    void receiverNotReadyRefusesNegativeAndTooLongDurations() {
        assertThatIllegalArgumentException().isThrownBy(() -> WireTime.receiverNotReadyCode(Duration.ofNanos(-1)));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WireTime.receiverNotReadyCode(
                        WireTime.receiverNotReady(0).plus(NANO)))
                .withMessageContaining("655.36 ms");
    }

    /** The table of the InfiniBand specification, volume 1, 9.7.5.2.8, in hundredths of a millisecond. */
    @Test
    void receiverNotReadyTimersAreThoseOfTheSpecification() {
        int[] expected = {
            65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072,
            4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152
        };
        for (int code = 0; code < expected.length; code++) {
            assertThat(WireTime.receiverNotReady(code)).isEqualTo(Duration.ofNanos(expected[code] * 10_000L));
        }
    }

    @Test
    void messagesNameTheLimits() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WireTime.receiverNotReadyCode(Duration.ofSeconds(1)))
                .withMessage("minimal RNR timer must be from 0 to PT0.65536S (655.36 ms), got PT1S");
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
