package dev.verbena.tools.shell;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.VerbsArena;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.TestDevice;
import dev.verbena.tools.ToolRun;
import dev.verbena.tools.command.Tool;
import dev.verbena.tools.device.LoopbackPair;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Tests what scripts/demo shows. */
@FencedTest
class TourTest {
    private static ToolRun tour(String device) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        int status = Tour.run(
                device,
                new PrintStream(out, true, StandardCharsets.UTF_8),
                new PrintStream(err, true, StandardCharsets.UTF_8),
                Duration.ZERO,
                Duration.ZERO);
        return new ToolRun(status, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
    }

    @Test
    void tourShowsEachStepOnceInLinesThatFitATerminal() {
        Fenced.assumeNoLimit("let the peer's program change"); // the atomics
        ToolRun run = tour(TestDevice.get().name());
        assertThat(run.err()).isEmpty();
        assertThat(run.status()).isZero();
        assertThat(run.out())
                .containsOnlyOnce("\"Hello, RDMA\", 12 bytes, immediate 2026")
                .containsOnlyOnce("\"written by the other side\"")
                .containsOnlyOnce("\"read from the other side\"")
                .containsOnlyOnce("40 became 42")
                .containsOnlyOnce("REMOTE_ACCESS_ERROR")
                .containsPattern("A poll of an empty completion queue +[0-9.]+ usec\n")
                .containsPattern("A round trip of 64 bytes, Java +[0-9.]+ usec\n");
        assertThat(run.out().lines()).allMatch(line -> line.length() <= 80);
    }

    @Test
    void tourLeavesAtomicsOutWhereTheDriverHasNone() {
        Fenced.driver("mana");
        try {
            ToolRun run = tour("mana_0");
            assertThat(run.err()).isEmpty();
            assertThat(run.out())
                    .containsOnlyOnce("\"read from the other side\"")
                    .containsOnlyOnce("REMOTE_ACCESS_ERROR")
                    .doesNotContain("Atomic");
        } finally {
            Fenced.driverAsStarted();
        }
    }

    @Test
    void failedTourIsOneLine() {
        ToolRun run = tour("nosuch0");
        assertThat(run.status()).isEqualTo(Tool.FAILED);
        assertThat(run.err())
                .startsWith("The tour has stopped: ")
                .contains("nosuch0")
                .hasLineCount(1);
    }

    @Test
    void roundTripsEndAfterSilenceOnly() throws InterruptedException {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            LoopbackPair pair = LoopbackPair.connect(TestDevice.get().open(arena));
            assertThat(new RoundTrips(pair, 64, Duration.ofSeconds(60)).median(50, 3, Duration.ZERO))
                    .isPositive();
            pair.right().pair().reset();
            pair.right().pair().connect(pair.right().pair().endpoint()); // to itself: no answer comes back
            assertThatIllegalStateException()
                    .isThrownBy(() -> new RoundTrips(pair, 64, Duration.ofMillis(200)).median(50, 3, Duration.ZERO))
                    .withMessageContaining("no completion within");
        }
    }
}
