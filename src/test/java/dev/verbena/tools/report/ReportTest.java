package dev.verbena.tools.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.DeviceTest;
import dev.verbena.tools.perf.ShortWarmUps;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests a report of a device, with perftest where it is installed. */
@DeviceTest
@ExtendWith(ShortWarmUps.class)
class ReportTest {
    @Test
    void reportMeasuresBesidePerftest() throws Exception {
        List<String> files = ReportChecks.withPeer("report", "--quick", "-n", "10", "--op", "write");
        assertThat(files.getFirst()).contains("RC write, latency", "devinfo -v");
        assertThat(files.getLast())
                .containsAnyOf("\"program\": \"perftest\"", "is not installed")
                .contains("\"function\": \"RDMA read\",\n      \"outcome\": \"works\"")
                .doesNotContain("\"FAILED\"");
    }
}
