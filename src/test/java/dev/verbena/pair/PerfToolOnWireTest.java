package dev.verbena.pair;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.TestDevice;
import dev.verbena.tools.ToolRun;
import dev.verbena.tools.page.Json;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The letters of {@code verbena perf} that users of perftest and iperf3 know, with a server on the other machine that stays. */
@PairTest
class PerfToolOnWireTest {
    private static final int SIZE = 4096;
    private static final int COUNT = 64;

    @RegisterExtension
    final Laboratory laboratory = new Laboratory();

    private Conversation peer;
    private String port;
    private int served;

    @BeforeEach
    void startTheServer() throws Exception {
        peer = laboratory.start(PerfEnd.class);
        port = peer.next();
    }

    @AfterEach
    void endTheServer() throws Exception {
        peer.end();
    }

    private ToolRun run(String line) {
        List<String> words = new ArrayList<>(List.of("perf"));
        words.addAll(List.of(line.split(" ")));
        words.addAll(List.of("-t", "16", "-p", port, Laboratory.peer(0).getHostString()));
        return ToolRun.of(words.toArray(String[]::new));
    }

    /** Measures, and returns what the client has printed. The server, which stays, has served the same. */
    private String perf(String line, String title) throws Exception {
        ToolRun run = run(line).succeeds();
        assertThat(peer.ask(String.valueOf(++served))).isEqualTo("server: served " + title);
        return run.out();
    }

    private static long sent(String what) throws Exception {
        return Long.parseLong(Files.readString(Path.of("/sys/class/net/e0/statistics/tx_" + what))
                .strip());
    }

    /** Measures, and returns the mean length of the packets that this machine has sent meanwhile. */
    private long bytesOfPackets(String line, String title) throws Exception {
        long bytes = sent("bytes");
        long packets = sent("packets");
        perf(line, title);
        return (sent("bytes") - bytes) / (sent("packets") - packets);
    }

    private static Map<?, ?> result(Map<?, ?> json) {
        return (Map<?, ?>) ((List<?>) json.get("results")).getFirst();
    }

    /** -m: packets carry as many bytes as it says, beside some 80 bytes of headers. */
    @Test
    void mtuIsThatOfThePackets() throws Exception {
        String line = "bw -s " + SIZE + " -n " + COUNT + " -m ";
        assertThat(bytesOfPackets(line + "1024", "RC send, MTU 1024")).isBetween(600L, 1200L);
        assertThat(bytesOfPackets(line + "256", "RC send, MTU 256")).isBetween(200L, 400L);
    }

    /** -T: the mark ECT(1) of the class is counted where packets arrive. -S: soft-RoCE takes levels, and has one. */
    @Test
    void trafficClassArrives() throws Exception {
        long before = Long.parseLong(peer.ask(PerfEnd.MARKED));
        perf("lat -n " + COUNT + " -S 3 -T 104", "RC send, service level 3, traffic class 104");
        assertThat(Long.parseLong(peer.ask(PerfEnd.MARKED))).isEqualTo(before);
        perf("lat -n " + COUNT + " --sl 3 --tos 105", "RC send, service level 3, traffic class 105");
        assertThat(Long.parseLong(peer.ask(PerfEnd.MARKED))).isGreaterThanOrEqualTo(before + COUNT);
    }

    /** -D, -b, -q and Gbit/s, with the letters of perftest and the words of iperf3. */
    @Test
    void bothMachinesSendOnSeveralQueuePairsForATime() throws Exception {
        String title = "RC send, both directions, 4 queue pairs";
        long receives = Laboratory.counter("rdma_recvs");
        Map<?, ?> json = (Map<?, ?>) Json.read(perf("bw -s 1024 -D 1 -b -q 4 -J", title));
        assertThat(Laboratory.counter("rdma_recvs")).as("messages of the peer").isGreaterThan(receives);
        assertThat(json.get("queuePairs")).isEqualTo(4L);
        assertThat(json.get("bothDirections")).isEqualTo(true);
        assertThat(((Number) result(json).get("seconds")).doubleValue()).isGreaterThanOrEqualTo(1);
        String table = perf("bw -s 1024 --time 1 --bidir --parallel 4 --report_gbits", title);
        assertThat(table).contains("RC send, both directions, 4 queue pairs bandwidth", "Gbit/s");
        receives = Laboratory.counter("rdma_recvs");
        perf("bw -s 1024 -n " + COUNT, "RC send");
        assertThat(Laboratory.counter("rdma_recvs")).as("without -b").isEqualTo(receives);
    }

    /** -x and -g: the index is that of the client's own table. A client that fails does not end a server that stays. */
    @Test
    void gidIndexIsTaken() throws Exception {
        String best;
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            best = String.valueOf(TestDevice.get().open(arena).bestGid(1).index());
        }
        for (String letter : List.of("-x", "-g", "--gid-index")) {
            perf("lat -n " + COUNT + " " + letter + " " + best, "RC send");
        }
        ToolRun refused = run("lat -n " + COUNT + " -x 200");
        assertThat(refused.status()).isOne();
        assertThat(refused.err()).contains("200").hasLineCount(1);
        assertThat(peer.ask(String.valueOf(++served))).startsWith("server: failed: ");
        perf("lat -n " + COUNT, "RC send");
    }
}
