package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.AccessFlag;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Exports whose keys belong to channels that are closed, and whose objects another thread is freeing. */
@FencedTest
@Timeout(120)
class ClosedChannelExportTest {
    /** The key of a peer is a memory window here, and the memory can't be given back before its windows. */
    @Test
    void exportThatIsClosedWaitsForTheKeysOfAClosedChannel() throws Exception {
        Fenced.assumeWindows();
        try (NodePair nodes = new NodePair()) {
            NodePair.Ends ends = nodes.connect();
            Export export = nodes.server.export("table", nodes.arena.allocate(64), AccessFlag.REMOTE_READ);
            assertThat(export.hasKeysOfChannels()).isTrue();
            ends.client().remote("table", DEADLINE);
            Fenced.stop("ibv_dealloc_mw");
            Future<?> freeing = nodes.start(() -> {
                ends.client().close();
                ends.server().close();
                return null;
            });
            Fenced.awaitStopped("ibv_dealloc_mw", 1);
            FutureTask<Void> closing = new FutureTask<>(export::close, null);
            Thread thread = Thread.ofPlatform().daemon().start(closing);
            Await.until(
                    "the export is closed, or waits for the channel",
                    () -> closing.isDone() || Await.isIn(thread, "dev.verbena.net.Session", "revoke"));
            Fenced.goOn("ibv_dealloc_mw");
            NodePair.end(closing);
            NodePair.end(freeing);
        }
    }
}
