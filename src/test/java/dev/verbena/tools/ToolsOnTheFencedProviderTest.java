package dev.verbena.tools;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the tools that need no connection manager, without a device. The provider checks each access to memory. */
@FencedTest
class ToolsOnTheFencedProviderTest {
    private static ToolRun run(List<String> line, String... more) {
        List<String> words = new ArrayList<>(line);
        words.addAll(List.of(more));
        return ToolRun.of(words.toArray(String[]::new));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "both --op send",
                "both --op write",
                "both --op read",
                "both --op atomic",
                "both --op send -c UC",
                "both --op write -c UC",
                "both --op send -c UD",
                "bw --op write -e"
            })
    void perfNeedsNoMoreRightsThanItsOperationDoes(String line) throws IOException {
        ToolRun run = run(
                List.of(("perf " + line).split(" ")),
                "-n",
                "20",
                "-t",
                "4",
                "--self",
                "-p",
                String.valueOf(Listening.freePort()));
        assertThat(run.status()).as(run.toString()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"rc-pingpong -c", "rc-pingpong -o -c", "rc-pingpong -o -P -c", "ud-pingpong -s 64 -c"})
    void pingPongPlaysWithItself(String line) throws Exception {
        List<String> words = List.of((line + " -n 20 -p " + Listening.freePort()).split(" "));
        FutureTask<ToolRun> server = new FutureTask<>(() -> run(words));
        Thread.ofPlatform().daemon().start(server);
        Listening.await(Integer.parseInt(words.getLast()), () -> !server.isDone());
        ToolRun client = run(words, "127.0.0.1");
        assertThat(client.status()).as(client.toString()).isZero();
        ToolRun served = server.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS);
        assertThat(served.status()).as(served.toString()).isZero();
    }
}
