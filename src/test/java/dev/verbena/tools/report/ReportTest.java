package dev.verbena.tools.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.DeviceTest;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Tests a report of a device: what a real driver answers to its calls. {@code ReportOnTheFencedProviderTest} has the
 * measurements, and {@code ReportBesidePerftestTest} those of perftest.
 */
@DeviceTest
class ReportTest {
    @Test
    void reportDescribesADeviceAndItsCalls() throws Exception {
        List<String> files = ReportChecks.self("report", "--quick", "--skip", "perf");
        assertThat(files.getFirst()).contains("devinfo -v");
        assertThat(files.getLast())
                .contains("\"function\": \"RDMA read\",\n      \"outcome\": \"works\"")
                .doesNotContain("\"FAILED\"");
    }
}
