package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.internal.Errno;
import dev.verbena.support.ArenaKind;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The posts of an extended queue pair of an adapter, which has a driver, as software has not. */
@FencedTest
class AdapterPathTest {
    @TempDir
    private Path folder;

    @BeforeEach
    void haveDriver() throws IOException {
        Files.createDirectory(folder.resolve("device"));
        Files.createSymbolicLink(folder.resolve("device").resolve("driver"), Path.of("an_adapter"));
        Fenced.adapterPath(folder.toString());
    }

    @AfterEach
    void haveNone() {
        Fenced.adapterPath("");
    }

    private static void checkLatest(Loopback loopback, long id, Operation operation, boolean extended) {
        PostedRequest latest = PostedRequest.latest(1).getFirst();
        assertThat(latest.text(loopback)).startsWith(id + " " + operation + " signaled left+64:10");
        assertThat(latest.isExtended()).isEqualTo(extended);
        assertThat(Objects.requireNonNull(loopback.left.queue.poll()).orThrow().id())
                .isEqualTo(id);
    }

    private void postAll(PostWay way, boolean plain) {
        try (Loopback loopback = way.connected()) {
            QueuePair pair = loopback.left.pair;
            LocalMemory local = PostWay.local(loopback, 1);
            RemoteMemory remote = PostWay.remote(loopback, 1);
            PostWay.receives(loopback, 20);
            for (int i = 0; i < 3; i++) { // the first post of a kind takes the way of those that are not plain
                pair.postWrite(i, local, remote);
                checkLatest(loopback, i, Operation.RDMA_WRITE, !plain || i == 0);
            }
            SendBatch batch = pair.sendBatch(1);
            for (int i = 0; i < 3; i++) {
                batch.clear().write(i, local, remote).post();
                checkLatest(loopback, i, Operation.RDMA_WRITE, !plain);
            }
            for (int i = 0; i < 3; i++) {
                pair.postWriteImmediate(i, local, remote, 5);
                checkLatest(loopback, i, Operation.RDMA_WRITE_WITH_IMMEDIATE, true);
            }
            for (int i = 0; i < 3; i++) { // each request is logged now
                pair.postSend(i, local);
                checkLatest(loopback, i, Operation.SEND, !plain);
            }
            pair.postWrite(9, local, remote);
            checkLatest(loopback, 9, Operation.RDMA_WRITE, !plain);
        }
    }

    @Test
    void usualOperationsArePostedByOneCall() {
        postAll(new PostWay("post", ArenaKind.CONFINED, true, true), true);
        postAll(new PostWay("post", ArenaKind.SHARED, true, true), true);
    }

    @Test
    void othersArePostedByTheFunctionsOfTheQueuePair() {
        for (PostWay way : List.of(
                new PostWay("none", ArenaKind.CONFINED, true, true),
                new PostWay("poll", ArenaKind.CONFINED, true, true))) {
            postAll(way, false);
        }
    }

    @Test
    void refusedPostNamesTheFunction() {
        try (Loopback loopback = new PostWay("post", ArenaKind.CONFINED, true, true).connected()) {
            QueuePair pair = loopback.left.pair;
            LocalMemory local = PostWay.local(loopback, 1);
            PostWay.receives(loopback, 2);
            pair.postSend(0, local);
            Fenced.fail("ibv_post_send", 1, Errno.ENOMEM);
            PostException refused = catchThrowableOfType(PostException.class, () -> pair.postSend(1, local));
            assertThat(refused).hasMessageContaining("ibv_post_send").hasMessageContaining("ENOMEM");
            assertThat(refused.posted()).isZero();
            pair.postSend(2, local);
            for (long id : new long[] {0, 2}) {
                assertThat(Objects.requireNonNull(loopback.left.queue.poll()).id())
                        .isEqualTo(id);
            }
        }
    }
}
