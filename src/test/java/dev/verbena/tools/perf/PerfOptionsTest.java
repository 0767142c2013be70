package dev.verbena.tools.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.tools.ToolRun;
import dev.verbena.tools.command.Tcp;
import dev.verbena.tools.command.Tool;
import dev.verbena.tools.page.HtmlPage;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the checks of perf before a measurement, and the failure that it reports if one of two ends fails. */
class PerfOptionsTest {
    private static final IOException GONE = new Tcp.PeerGoneException("the peer has closed the connection");

    @Test
    void selfReportsTheServersFailureIfTheClientSeesItsEndOnly() {
        CountDownLatch seen = new CountDownLatch(1);
        assertThatThrownBy(() -> Perf.withServer(
                        () -> {
                            seen.await();
                            Thread.yield();
                            throw new IllegalStateException("ENOMEM");
                        },
                        () -> {
                            seen.countDown();
                            throw GONE;
                        }))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("ENOMEM")
                .hasSuppressedException(GONE);
    }

    @Test
    void selfReportsTheClientsFailureIfTheServerSeesItsEndOnly() {
        IllegalStateException reason = new IllegalStateException("ENOMEM");
        assertThatThrownBy(() -> Perf.withServer(
                        () -> {
                            throw GONE;
                        },
                        () -> {
                            throw reason;
                        }))
                .isSameAs(reason);
    }

    @Test
    void selfEndsItsServerWhenTheClientFails() {
        IllegalStateException reason = new IllegalStateException("ENOMEM");
        assertThatThrownBy(() -> Perf.withServer(() -> new CountDownLatch(1).await(), () -> {
                    throw reason;
                }))
                .isSameAs(reason);
    }

    @Test
    void selfReportsAPortInUseAtOnce() throws IOException {
        try (ServerSocket taken = new ServerSocket(0)) {
            ToolRun run = ToolRun.of("perf", "lat", "--self", "-p", String.valueOf(taken.getLocalPort()));
            assertThat(run.status()).isEqualTo(Tool.FAILED);
            assertThat(run.err()).contains("can't listen on port " + taken.getLocalPort());
        }
    }

    @Test
    void pageOutsideTheProjectIsRefusedInAGuest(@TempDir Path folder) {
        Path page = folder.resolve("page.html");
        assertThat(HtmlPage.problemOf("--html", page, Map.of())).isEmpty();
        assertThat(HtmlPage.problemOf("--html", page, Map.of("VERBENA_GUEST_KEEPS", folder.toString())))
                .isEmpty();
        assertThat(HtmlPage.problemOf("--html", page, Map.of("VERBENA_GUEST_KEEPS", "/project")))
                .contains("this guest keeps only files below /project", page.toString());
    }

    @Test
    void pageThatCannotBeWrittenIsRefusedBeforeTheMeasurement(@TempDir Path folder) throws IOException {
        for (Path place :
                new Path[] {folder.resolve("missing/page.html"), Files.createDirectory(folder.resolve("page"))}) {
            ToolRun.of("perf", "lat", "--self", "--html", place.toString())
                    .refuses("--html needs a file in an existing folder");
        }
    }

    @Test
    void perfRefusesInvalidOptions() throws IOException {
        assertThat(ToolRun.of("perf", "lat", "-c", "UD", "--op", "read", "x").err())
                .contains("UD has no read");
        assertThat(ToolRun.of("perf", "both", "-e", "--op", "write", "x").err())
                .contains("write latency can't be measured with -e");
        assertThat(ToolRun.of("perf", "lat", "-c", "UC", "-R", "x").err()).contains("-R connects RC and UD only");
        assertThat(ToolRun.of("perf", "speed").err()).contains("server, lat, bw or both");
        assertThat(ToolRun.of("perf", "lat").err()).contains("either the server's HOST or --self");
        assertThatExceptionOfType(IOException.class)
                .isThrownBy(() -> PerfPlan.fromLine("GET / HTTP/1.1"))
                .withMessageContaining("verbena-perf-3");
    }
}
