package dev.verbena.pair;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.tools.ToolRun;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** {@code verbena cp} to {@code verbena serve} on the other machine. */
@PairTest
class CopyToMachineTest {
    @RegisterExtension
    final Laboratory laboratory = new Laboratory();

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    @TempDir
    private Path folder;

    @AfterEach
    void endThreads() {
        threads.shutdownNow();
    }

    private Path file(int size) throws Exception {
        byte[] bytes = new byte[size];
        new Random(size).nextBytes(bytes);
        return Files.write(folder.resolve("name"), bytes);
    }

    private static ToolRun copy(Path file, String port) {
        return ToolRun.of("cp", "-p", port, file.toString(), Laboratory.peer(0).getHostString() + ":");
    }

    @Test
    void fileArrivesWhole() throws Exception {
        Conversation peer = laboratory.start(ServingEnd.class);
        Path file = file((20 << 20) + 3);
        ToolRun run = copy(file, peer.next()).succeeds();
        System.out.print(run.out());
        assertThat(peer.ask("name")).isEqualTo(ServingEnd.sum(file));
        peer.end();
    }

    /** The wire is slow, so that the copy is not over when it is cut. */
    @Test
    void copyWhoseWireIsCutGoesOnLater() throws Exception {
        Conversation peer = laboratory.start(ServingEnd.class);
        String port = peer.next();
        Path file = file(56 << 20);
        laboratory.request("wire netem limit 100000 rate 80mbit");
        Future<ToolRun> cut = threads.submit(() -> copy(file, port));
        assertThat(peer.ask(ServingEnd.AWAIT_PART)).isEqualTo("arrived");
        laboratory.request("wire netem limit 100000 loss 100%");
        ToolRun failed = cut.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
        assertThat(failed.status()).as(failed.toString()).isNotZero();
        assertThat(failed.err()).startsWith("verbena cp: ").hasLineCount(1);
        assertThat(peer.ask(ServingEnd.AWAIT_LEFT)).isEqualTo("left");
        laboratory.request("wire clear");
        ToolRun run = copy(file, port).succeeds();
        System.out.print(run.out());
        assertThat(run.out()).startsWith("name goes on at ");
        assertThat(peer.ask("name")).isEqualTo(ServingEnd.sum(file));
        peer.end();
    }
}
