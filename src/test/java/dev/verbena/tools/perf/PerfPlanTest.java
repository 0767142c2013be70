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
            false,
            PerfTraffic.PLAIN);

    @Test
    void fromLineReadsWhatToLineWrites() throws IOException {
        assertThat(PLAN.toLine())
                .isEqualTo("verbena-perf-3 LAT,BW SEND RC tcp 64,4096 1000 128 0 polling 0 one 1 0 -1 -1\n");
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
                "LAT,BW | SPEED | SPEED",
                "one 1 | both 1 | -q and -b measure the bandwidth only",
                "one 1 | one 2 | -q and -b measure the bandwidth only",
                "one 1 | one 0 | number of queue pairs must be from 1 to 1024, got 0",
                "one | sideways | 'sideways' is neither both nor one",
                "1 0 -1 -1 | 1 300 -1 -1 | MTU must be 256, 512, 1024, 2048 or 4096 bytes, got 300",
                "1 0 -1 -1 | 1 8192 -1 -1 | MTU must be",
                "polling 0 | polling 86401 | time in seconds must be from 0 to 86400, got 86401",
                "-1 -1 | 16 -1 | service level must be from -1 to 15, got 16",
                "-1 -1 | -1 256 | traffic class must be from -1 to 255, got 256"
            })
    void fromLineRefusesInvalidValues(String right, String wrong, String reason) {
        String line = PLAN.toLine();
        assertThat(line).contains(right);
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> PerfPlan.fromLine(line.replace(right, wrong)))
                .withMessageContaining("the client sent an invalid plan")
                .withMessageContaining(reason);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "RC cm | one 2 0 -1 -1 | -R takes -T, but not -q, -m and -S",
                "RC cm | one 1 1024 -1 -1 | -R takes -T, but not -q, -m and -S",
                "RC cm | one 1 0 3 -1 | -R takes -T, but not -q, -m and -S",
                "UD cm | both 1 0 -1 -1 | -b with -R needs RC",
                "UD tcp | one 1 1024 -1 -1 | -m is for RC and UC"
            })
    void fromLineRefusesTrafficThatTheConnectionCanNotHave(String connection, String traffic, String reason) {
        String line = PLAN.toLine()
                .replace("LAT,BW", "BW")
                .replace("RC tcp", connection)
                .replace("one 1 0 -1 -1", traffic);
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> PerfPlan.fromLine(line))
                .withMessageContaining(reason);
    }

    @Test
    void fromLineReadsTraffic() throws IOException {
        String line = PLAN.toLine().replace("LAT,BW", "BW").replace("0 one 1 0 -1 -1", "7 both 4 2048 3 104");
        PerfPlan plan = PerfPlan.fromLine(line);
        assertThat(plan.traffic()).isEqualTo(new PerfTraffic(7, true, 4, 2048, 3, 104));
        assertThat(plan.toLine()).isEqualTo(line);
        assertThat(plan.title())
                .isEqualTo("RC send, both directions, 4 queue pairs, MTU 2048, service level 3, traffic class 104");
        assertThat(PerfRecord.of(plan, java.util.Map.of(), List.of()).method()).startsWith("7 s for each size, ");
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
        PerfReport report = new PerfReport(PLAN, false, List.of(result));
        assertThat(report.table()).contains("MB/s").containsPattern("1048576 +3000 +1572.86 +1500\n");
        assertThat(new PerfReport(PLAN, true, List.of(result)).table())
                .contains("Gbit/s")
                .containsPattern("1048576 +3000 +12.58 +1500\n");
        assertThat(report.json())
                .contains(
                        "\"megabytesPerSecond\": 1572.864",
                        "\"gigabitsPerSecond\": 12.583",
                        "\"messagesPerSecond\": 1500.000",
                        "\"seconds\": 2.000000");
        assertThat(new PerfPage(PerfRecord.of(PLAN, java.util.Map.of(), List.of(result)), null).html())
                .contains("1,573", "MB/s")
                .doesNotContain("1,500 MB/s");
    }
}
