package dev.verbena.sockets;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.internal.Errno;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Sockets send no inline data on a machine with a device that would send other memory, and name the limits of drivers. */
@FencedTest
class InlineDataLimitsTest {
    @AfterEach
    void giveBackTheDriver() {
        Fenced.driverAsStarted();
    }

    @ParameterizedTest
    @ValueSource(strings = {"mana", "mlx5", "siw", "mana"})
    void inlineDataIsIgnoredByManaOnly(String driver) {
        Fenced.driver(driver);
        assertThat(InlineDataLimits.isIgnored()).isEqualTo(driver.equals("mana"));
    }

    @Test
    void inlineDataIsRefusedWhereItIsIgnored() {
        Fenced.driver("mana");
        InlineDataLimits.check(0);
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(() -> InlineDataLimits.check(64))
                .withMessage(
                        "RDMA_INLINE must be 0 on this machine, got 64: mana ignores the flag for inline data and would"
                                + " read memory that is not registered: send registered memory");
        Fenced.driver("mlx5");
        InlineDataLimits.check(64);
    }

    @ParameterizedTest
    @CsvSource({"irdma, 101", "erdma, 96", "siw, 80", "bnxt_re, 96"})
    void connectThatIsRefusedNamesTheRoomOfTheDriver(String driver, int most) {
        Fenced.driver(driver);
        InetSocketAddress peer = new InetSocketAddress("10.9.9.1", 7471);
        assertThat(SocketFailures.connect(peer, Errno.EINVAL))
                .hasMessageContaining("EINVAL")
                .hasMessageContaining("RDMA_INLINE may be too large: " + driver + " has room for " + most + " bytes");
        Fenced.driver("mlx5");
        assertThat(SocketFailures.connect(peer, Errno.EINVAL).getMessage()).doesNotContain("RDMA_INLINE");
    }
}
