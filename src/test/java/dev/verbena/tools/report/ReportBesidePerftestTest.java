package dev.verbena.tools.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Slow;
import dev.verbena.tools.perf.ShortWarmUps;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests the measurements of a report on a device, with perftest where it is installed. */
@Slow
@ExtendWith(ShortWarmUps.class)
class ReportBesidePerftestTest {
    @Test
    void reportMeasuresBesidePerftest() throws Exception {
        List<String> files = ReportChecks.withPeer("report", "--quick", "-n", "10", "--op", "write");
        assertThat(files.getFirst()).contains("RC write, latency");
        assertThat(files.getLast())
                .containsAnyOf("\"program\": \"perftest\"", "is not installed")
                .doesNotContain("\"FAILED\"");
    }
}
