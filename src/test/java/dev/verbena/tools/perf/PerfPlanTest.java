package dev.verbena.tools.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.tools.perf.PerfPlan.Mode;
import dev.verbena.tools.perf.PerfPlan.Operation;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.device.QueuePairType;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the plan that a client sends to a server, and the figures and rights that follow from it. */
class PerfPlanTest {
    private static final PerfPlan PLAN = new PerfPlan(
            List.of(Mode.LAT, Mode.BW),
            Operation.SEND,
            QueuePairType.RC,
            false,
            List.of(64, 4096),
            1000,
            128,
            0,
            false);

    @Test
    void fromLineReadsWhatToLineWrites() throws IOException {
        assertThat(PLAN.toLine()).isEqualTo("verbena-perf-2 LAT,BW SEND RC tcp 64,4096 1000 128 0 polling\n");
        assertThat(PerfPlan.fromLine(PLAN.toLine())).isEqualTo(PLAN);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "64,4096 1000 128 0 | 0 1000 128 0 | message size must be from 1 byte to 1 GiB, got 0",
                "64,4096 1000 128 0 | -5 1000 128 0 | message size must be",
                "64,4096 1000 128 0 | 2147483647 1000 128 0 | got 2147483647",
                "64,4096 1000 128 0 | 64 0 128 0 | number of messages must be from 1",
                "64,4096 1000 128 0 | 64 1000 0 0 | number of outstanding operations must be from 1 to 16384, got 0",
                "64,4096 1000 128 0 | 64 1000 1000000000 0 | got 1000000000",
                "64,4096 1000 128 0 | 64 1000 128 -1 | send inline must be from 0",
                "64,4096 1000 128 0 | 64 1000 128 x | \"x\"",
                "SEND RC | READ UD | UD has no read",
                "SEND RC | SEND XRC_SEND | -c must be RC, UC or UD",
                "SEND RC | ATOMIC RC | an atomic has 8 bytes, got [64, 4096]",
                "RC tcp | UC cm | -R connects RC and UD only",
                "tcp | udp | 'udp' is neither cm nor tcp",
                "polling | sleeping | 'sleeping' is neither events nor polling",
                "LAT,BW | LAT,LAT | LAT, BW or both are needed",
                "LAT,BW | SPEED | SPEED"
            })
    void fromLineRefusesInvalidValues(String right, String wrong, String reason) {
        String line = PLAN.toLine();
        assertThat(line).contains(right);
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> PerfPlan.fromLine(line.replace(right, wrong)))
                .withMessageContaining("the client sent an invalid plan")
                .withMessageContaining(reason);
    }

    @Test
    void fromLineRefusesTooManySizes() {
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> PerfPlan.fromLine(PLAN.toLine().replace("4096", "1,".repeat(200) + "1")))
                .withMessageContaining("there must be 1 to 64 message sizes, got 202");
    }

    @Test
    void setupOpensMemoryForTheOperationOnly() {
        assertThat(PerfSetup.access(Operation.SEND, false)).containsExactly(AccessFlag.LOCAL_WRITE);
        assertThat(PerfSetup.access(Operation.WRITE, false))
                .containsExactlyInAnyOrder(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        assertThat(PerfSetup.access(Operation.READ, false))
                .containsExactlyInAnyOrder(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
        assertThat(PerfSetup.access(Operation.ATOMIC, false))
                .containsExactlyInAnyOrder(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_ATOMIC);
        assertThat(PerfSetup.access(Operation.READ, true))
                .as("over iWARP, the reader's memory is written to")
                .containsExactlyInAnyOrder(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
    }

    @Test
    void reportsCountMegabytesOfAMillionBytes() {
        Result result = new Result(Mode.BW, 1 << 20, 3_000, PerfRun.histogram(), 2);
        PerfReport report = new PerfReport(PLAN, List.of(result));
        assertThat(report.table()).contains("MB/s").containsPattern("1048576 +3000 +1572.86 +1500\n");
        assertThat(report.json())
                .contains(
                        "\"megabytesPerSecond\": 1572.864", "\"messagesPerSecond\": 1500.000", "\"seconds\": 2.000000");
        assertThat(new PerfPage(PerfRecord.of(PLAN, java.util.Map.of(), List.of(result)), null).html())
                .contains("1,573", "MB/s")
                .doesNotContain("1,500 MB/s");
    }
}
