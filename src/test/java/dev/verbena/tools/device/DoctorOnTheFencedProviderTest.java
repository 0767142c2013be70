package dev.verbena.tools.device;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.tools.ToolRun;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests what the doctor says of drivers of adapters. */
@FencedTest
class DoctorOnTheFencedProviderTest {
    private static final Path INLINE_DEFAULT = Path.of("/etc/rdma/rsocket/inline_default");

    @AfterEach
    void giveBackTheDriver() {
        Fenced.driverAsStarted();
    }

    private static String doctor(String driver) {
        Fenced.driver(driver);
        return ToolRun.of("doctor").out();
    }

    @ParameterizedTest
    @CsvSource({
        "mlx5, 'send, RDMA write and RDMA read'",
        "bnxt_re, 'send, RDMA write and RDMA read'",
        "irdma, 'send, RDMA write and RDMA read'",
        "mana, 'send, RDMA write and RDMA read'",
        "rxe, 'send, RDMA write and RDMA read'",
        "erdma, 'send, RDMA write and RDMA read by the connection manager'",
        "siw, 'send, RDMA write and RDMA read by the connection manager'",
        "efa, 'send of a datagram'"
    })
    void selfTestMovesBytesInAWayThatTheDriverHas(String driver, String way) {
        assertThat(doctor(driver)).contains("ok    self-test      " + way + " succeeded");
    }

    @Test
    void selfTestFailsWhereNoLimitOfTheDriverIsTheReason() {
        Fenced.driver("mlx5");
        Fenced.fail("ibv_create_qp", 1, 22);
        assertThat(ToolRun.of("doctor").out()).contains("BAD   self-test      connect failed: ibv_create_qp");
    }

    @Test
    void driverIsNamedWithItsLimits() {
        assertThat(doctor("irdma"))
                .contains("ok    driver         ice, without some of verbs:")
                .contains(
                        "note  limit          irdma has no extended queue pairs: make a queue pair without operations()");
        assertThat(doctor("mlx5")).contains("ok    driver         mlx5_core, no limits of verbs are known");
        assertThat(doctor("siw")).contains("ok    driver         in software, without some of verbs:");
    }

    @Test
    void defaultOfRsocketsIsWrongOverMana() throws IOException {
        boolean wrong = Doctor.asksForInlineData(INLINE_DEFAULT);
        assertThat(doctor("mana").contains("BAD   rsockets")).isEqualTo(wrong);
        assertThat(doctor("mana").contains("echo 0 > " + INLINE_DEFAULT)).isEqualTo(wrong);
        assertThat(doctor("mlx5")).doesNotContain("rsockets");
    }
}
