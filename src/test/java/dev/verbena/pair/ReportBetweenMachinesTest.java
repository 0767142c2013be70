package dev.verbena.pair;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.tools.report.ReportChecks;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** {@code verbena report --peer} to {@code verbena report --server} on the other machine. */
@PairTest
class ReportBetweenMachinesTest {
    @RegisterExtension
    final Laboratory laboratory = new Laboratory();

    /** The machine is slow: two sizes, few messages, but all steps and operations, by turns with perftest. */
    @Test
    void reportMeasuresToTheOtherMachineBesidePerftest() throws Exception {
        Conversation peer = laboratory.start(ReportingEnd.class);
        String host = Laboratory.peer(0).getHostString();
        List<String> files = ReportChecks.to(host, peer.next(), "report-of-two", "-s", "64,4096");
        assertThat(files.getFirst()).contains("RC send, latency", "RC write, bandwidth", "devinfo -v");
        for (String program : List.of("Verbena", "perftest")) {
            for (String operation : List.of("send", "write", "read")) {
                assertThat(points(files.getLast(), program, operation))
                        .as(program + " " + operation)
                        .isEqualTo(4);
            }
        }
        assertThat(files.getLast()).doesNotContain("\"FAILED\"").doesNotContain(host);
        assertThat(peer.next()).contains("status=0");
        peer.end();
    }

    /** Counts the measurements of an operation by a program: two sizes, each for latency and for bandwidth. */
    private static long points(String json, String program, String operation) {
        return Pattern.compile("\"operation\": \"" + operation
                        + "\",\\s+\"mode\": \"\\w+\",\\s+\"bytes\": \\d+,\\s+\"program\": \"" + program + "\"")
                .matcher(json)
                .results()
                .count();
    }
}
