package dev.verbena.tools.perf;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.Slow;
import dev.verbena.support.TestDevice;
import dev.verbena.tools.Listening;
import dev.verbena.tools.Peer;
import dev.verbena.verbs.Context;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests {@code perf --peer-perftest} with the C programs of perftest, as server and as client. */
@Slow
class PerftestInteropTest {
    /** More iterations than the 128 outstanding operations and the 64 places of the writes. */
    private static final String SAME = "-s 64 -n 150";

    private static Peer.Process c(String test, int port, String host) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = TestDevice.get().open(arena);
            return Peer.c("ib_" + test + " -d " + TestDevice.get().name() + " -x "
                    + context.bestGid(1).index() + " -F -p " + port + " " + SAME + host);
        }
    }

    private static Peer java(String test, int port, String... host) {
        String[] words = test.split("_");
        List<String> args = new ArrayList<>(List.of(
                "perf",
                words[1],
                "--peer-perftest",
                "--op",
                words[0],
                "-d",
                TestDevice.get().name(),
                "-p",
                String.valueOf(port)));
        args.addAll(List.of(SAME.split(" ")));
        args.addAll(List.of(host));
        return Peer.java(args.toArray(String[]::new));
    }

    @BeforeEach
    void theProgramsAreOfTheVersionThatIsSpoken() throws Exception {
        Process version = new ProcessBuilder("ib_send_lat", "--version")
                .redirectErrorStream(true)
                .start();
        String text = new String(version.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        Assumptions.assumeTrue(text.contains(PerftestPeer.VERSION), "perftest here is another: " + text.strip());
    }

    @ParameterizedTest
    @ValueSource(strings = {"send_lat", "write_lat", "read_lat", "send_bw", "write_bw", "read_bw"})
    void perftestServesJavaPerf(String test) throws Exception {
        int port = Listening.freePort();
        try (Peer.Process server = c(test, port, "")) {
            Listening.await(port, server::isAlive);
            try (Peer client = java(test, port, "127.0.0.1")) {
                client.assertSucceeds();
                assertThat(client.output().lines().toList().getLast().strip()).matches("64 +150( +[0-9.]+)+");
            }
            server.assertSucceeds();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"send_lat", "write_lat", "read_lat", "send_bw", "write_bw", "read_bw"})
    void javaPerfServesPerftest(String test) throws Exception {
        int port = Listening.freePort();
        try (Peer server = java(test, port)) {
            Listening.await(port, () -> server.output().isEmpty());
            try (Peer client = c(test, port, " 127.0.0.1")) {
                client.assertSucceeds();
                // C measures the speed of its clock itself, and divides by 0 where a busy machine spoils that.
                assertThat(client.output()).containsPattern("\\n 64 +150 +([0-9.]+|inf)");
            }
            server.assertSucceeds();
            assertThat(server.output()).startsWith("served ib_" + test + " of perftest");
        }
    }
}
