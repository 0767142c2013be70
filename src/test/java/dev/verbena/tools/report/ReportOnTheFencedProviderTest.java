package dev.verbena.tools.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.Errno;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.tools.perf.ShortWarmUps;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests the whole flow of a report without a device. */
@FencedTest
@ExtendWith(ShortWarmUps.class)
class ReportOnTheFencedProviderTest {
    private static final String[] SHORT = {"--no-perftest", "-s", "64,256,1024"};

    @Test
    void reportHasAllSteps() throws Exception {
        int before = Fenced.liveObjects();
        List<String> files = ReportChecks.self("fenced", SHORT);
        assertThat(files.getFirst())
                .contains("RC send, latency", "RC write, bandwidth", "RC read, latency", "devinfo -v", "doctor")
                .contains("<polyline", "--no-perftest");
        assertThat(files.getLast()).contains("\"function\": \"ibv_create_comp_cntr\",\n      \"outcome\": \"works\"");
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }

    @Test
    void quickReportMeasuresOneSizeWithoutWarmUp() throws Exception {
        List<String> files = ReportChecks.self("fenced-quick", "--no-perftest", "--quick", "--skip", "doctor,devinfo");
        assertThat(files.getFirst()).contains("RC send, latency", "1 round by turns, without warm-up");
        assertThat(files.getLast())
                .contains("\"bytes\": 64", "\"bench\": \"--quick\"", "\"tests\": \"--quick\"")
                .doesNotContain("\"bytes\": 1024");
    }

    @Test
    void reportMeasuresWithAPeer() throws Exception {
        List<String> files = ReportChecks.withPeer("fenced-peer", "--no-perftest", "-s", "64", "--op", "write");
        assertThat(files.getLast()).contains("two machines", "\"operation\": \"write\"", "\"mode\": \"bw\"");
    }

    @Test
    void failedCallIsReported() throws Exception {
        Fenced.fail("ibv_alloc_mw", 1, Errno.EINVAL);
        List<String> files = ReportChecks.self("fenced-failed", "--skip", "bench,tests,perf,devinfo,doctor");
        assertThat(files.getLast())
                .contains("\"function\": \"ibv_alloc_mw of type 1\",\n      \"outcome\": \"FAILED\"")
                .contains("ibv_alloc_mw(");
        assertThat(files.getFirst()).contains("FAILED: ibv_alloc_mw(");
    }

    @Test
    void reportEndsAtItsLimit() throws Exception {
        Fenced.delay("ibv_post_send", 100_000);
        List<String> files = ReportChecks.self(
                "fenced-limit",
                "--no-perftest",
                "-n",
                "5000",
                "-l",
                "0.02",
                "--skip",
                "bench,tests,devinfo,doctor,calls");
        assertThat(files.getLast()).contains("the time limit was reached");
    }
}
