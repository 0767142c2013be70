package dev.verbena.tools.perf;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.tools.Listening;
import dev.verbena.tools.ToolRun;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests one measurement of each kind over a device, and all with connected datagrams. {@code ToolsOnTheFencedProviderTest} has
 * the others, and the reports.
 */
@DeviceTest
class PerfRunsTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "lat --op write -c UC",
                "lat --op read -e -I 32 -s 16",
                "lat --op atomic",
                "lat --op send -c UD -R",
                "bw --op send -c UD -R -e",
                "bw --op send -b -R",
                "bw --op write -m 512 -S 3 -T 104"
            })
    void perfMeasuresEachOperationOverEachTransport(String line) throws IOException {
        List<String> options = new ArrayList<>(List.of(("perf " + line + " -n 10 -t 4 --self").split(" ")));
        options.addAll(List.of("-p", String.valueOf(Listening.freePort())));
        ToolRun run = ToolRun.of(options.toArray(String[]::new)).succeeds();
        assertThat(run.out().lines()).hasSize(3);
        assertThat(run.out().lines().toList().getLast().strip()).matches("(8|16|64) +[12]0( +[0-9.]+)+");
    }

    @Test
    void serverServesAnotherProcessByTheConnectionManager() throws Exception {
        int port = Listening.freePort();
        FutureTask<ToolRun> server = new FutureTask<>(() -> ToolRun.of("perf", "server", "-p", String.valueOf(port)));
        Thread.ofPlatform().daemon().start(server);
        Listening.await(port, () -> !server.isDone());
        ToolRun.of(("perf bw -R -n 20 -t 8 -p " + port + " "
                                + CmAddress.four(0).getAddress().getHostAddress())
                        .split(" "))
                .succeeds();
        server.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS).succeeds();
    }
}
