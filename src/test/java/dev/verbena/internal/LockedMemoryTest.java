package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests the limit on locked memory and its hint. */
class LockedMemoryTest {
    private static List<String> limits(String soft) {
        return List.of(
                "Limit                     Soft Limit           Hard Limit           Units     ",
                "Max processes             7823                 7823                 processes ",
                "Max locked memory         " + soft + "                unlimited            bytes     ",
                "Max address space         unlimited            unlimited            bytes     ");
    }

    @Test
    void limitIsTheSoftLimit() {
        assertThat(LockedMemory.limit(limits("65536"))).contains(65536L);
    }

    @Test
    void limitOfZeroIsALimit() {
        assertThat(LockedMemory.limit(limits("0"))).contains(0L);
    }

    @Test
    void limitIsAbsentForUnlimited() {
        assertThat(LockedMemory.limit(limits("unlimited"))).isEmpty();
    }

    @Test
    void limitIsAbsentWithoutItsLine() {
        assertThat(LockedMemory.limit(List.of("Max processes  1  1  processes")))
                .isEmpty();
    }

    @Test
    void hintUsesTheLargerUnitForWholeMultiples() {
        assertThat(LockedMemory.inWords(0)).isEqualTo("0 bytes");
        assertThat(LockedMemory.inWords(1000)).isEqualTo("1000 bytes");
        assertThat(LockedMemory.inWords(65536)).isEqualTo("64 KiB");
        assertThat(LockedMemory.inWords(64L << 20)).isEqualTo("64 MiB");
        assertThat(LockedMemory.inWords(3L << 30)).isEqualTo("3 GiB");
        assertThat(LockedMemory.inWords((1L << 20) + 1)).isEqualTo("1048577 bytes");
        assertThat(LockedMemory.inWords(2048L << 40)).isEqualTo("2048 TiB");
    }

    @Test
    void hintExplainsHowToRaiseTheLimit() {
        if (LockedMemory.limit().isPresent()) {
            assertThat(LockedMemory.hint())
                    .contains("ulimit -l unlimited", "limits.conf", "LimitMEMLOCK=")
                    .contains(LockedMemory.inWords(LockedMemory.limit().get()));
        } else {
            assertThat(LockedMemory.hint()).contains("not limited").doesNotContain("ulimit");
        }
    }
}
