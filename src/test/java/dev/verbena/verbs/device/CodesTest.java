package dev.verbena.verbs.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.verbena.verbs.address.Rate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What codes of C stand for, as C's own conversions have it. */
class CodesTest {
    /** The tables of {@code ibv_rate_to_mbps} and {@code ibv_rate_to_mult}. */
    @ParameterizedTest
    @CsvSource({
        "2, 2500, 1",
        "5, 5000, 2",
        "3, 10000, 4",
        "6, 20000, 8",
        "4, 30000, 12",
        "7, 40000, 16",
        "8, 60000, 24",
        "9, 80000, 32",
        "10, 120000, 48",
        "11, 14062, -1",
        "12, 56250, -1",
        "13, 112500, -1",
        "14, 168750, -1",
        "15, 25781, -1",
        "16, 103125, -1",
        "17, 206250, -1",
        "18, 309375, -1",
        "19, 28125, 11",
        "20, 53125, 20",
        "21, 425000, 160",
        "22, 637500, 240",
        "23, 850000, 320",
        "24, 1275000, 480"
    })
    void ratesHaveTheirSpeed(int code, int megabits, int multiplier) {
        Rate rate = Rate.of(code);
        assertThat(rate.megabitsPerSecond()).isEqualTo(megabits);
        assertThat(rate.multiplier()).isEqualTo(multiplier);
        assertThat(Rate.ofMegabitsPerSecond(megabits)).isEqualTo(rate);
        assertThat(Rate.ofMultiplier(multiplier)).isEqualTo(multiplier < 0 ? Rate.MAX : rate);
        assertThat(Rate.ofMegabitsPerSecond(megabits + 1)).isEqualTo(Rate.MAX);
    }

    @Test
    void unknownRatesHaveNoSpeed() {
        for (Rate rate : new Rate[] {Rate.MAX, Rate.UNKNOWN}) {
            assertThat(rate.megabitsPerSecond()).isEqualTo(-1);
            assertThat(rate.multiplier()).isEqualTo(-1);
        }
        assertThat(Rate.UNKNOWN.code()).isEqualTo(-1);
        assertThat(Rate.ofMegabitsPerSecond(-1)).isEqualTo(Rate.MAX);
        assertThat(Rate.ofMultiplier(0)).isEqualTo(Rate.MAX);
    }

    @ParameterizedTest
    @CsvSource({"1, 256", "2, 512", "3, 1024", "4, 2048", "5, 4096"})
    void mtusHaveTheirBytes(int code, int bytes) {
        assertThat(Mtu.of(code).bytes()).isEqualTo(bytes);
        assertThat(Mtu.ofBytes(bytes)).isEqualTo(Mtu.of(code));
        assertThatIllegalArgumentException().isThrownBy(() -> Mtu.ofBytes(bytes + 1));
    }

    @Test
    void unknownMtuHasNoBytes() {
        assertThat(Mtu.UNKNOWN.bytes()).isZero();
        assertThat(Mtu.UNKNOWN.code()).isZero();
        assertThatIllegalArgumentException().isThrownBy(() -> Mtu.ofBytes(0));
    }

    @Test
    void unknownQueuePairTypeIsNegative() {
        assertThat(QueuePairType.of(99).code()).isEqualTo(-1);
    }

    @Test
    void queuePairTypesAreBits() {
        for (QueuePairType type : QueuePairType.values()) {
            boolean isBit = type != QueuePairType.UNKNOWN && type != QueuePairType.DRIVER;
            assertThat(type.isIn(-1)).isEqualTo(isBit);
            assertThat(type.isIn(0)).isFalse();
            if (isBit) {
                assertThat(QueuePairType.set(1 << type.code())).containsExactly(type);
                assertThat(type.isIn(~(1 << type.code()))).isFalse();
            }
        }
    }
}
