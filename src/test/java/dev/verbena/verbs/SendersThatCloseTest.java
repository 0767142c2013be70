package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.Await;
import dev.verbena.support.DatagramPair;
import dev.verbena.support.DeviceTest;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/**
 * C follows the pointers of a work request while it posts. What they point to is closed by another thread here, and a
 * post either goes through or is refused: the virtual machine goes on.
 */
@DeviceTest
class SendersThatCloseTest {
    private static final int TIMES = 30;

    /** Posts until what it posts with is gone; answers why it ended. */
    private static RuntimeException postUntilRefused(Runnable post, Runnable makeRoom) {
        for (; ; ) {
            try {
                post.run();
            } catch (PostException full) {
                makeRoom.run();
            } catch (RuntimeException refused) {
                return refused;
            }
        }
    }

    private static void race(Runnable post, Runnable makeRoom, Runnable close) throws InterruptedException {
        AtomicReference<RuntimeException> end = new AtomicReference<>();
        Thread sender = new Thread(() -> end.set(postUntilRefused(post, makeRoom)));
        sender.start();
        close.run();
        Await.end(sender);
        assertThat(end.get()).isExactlyInstanceOf(IllegalStateException.class).hasMessageContaining("closed");
    }

    @Test
    void addressHandleCloseIsSafeDuringPosts() throws Exception {
        try (DatagramPair peers = DatagramPair.ready(VerbsArena.ofShared())) {
            QueuePair pair = peers.left.pair;
            SendBatch batch = pair.sendBatch(2); // of the thread that closes: it posts too
            MemorySegment data = MemorySegment.ofArray(new byte[8]);
            for (int i = 0; i < TIMES; i++) {
                AddressHandle path = DatagramPair.path(peers.right);
                AddressHandle own = DatagramPair.path(peers.left);
                batch.clear();
                batch.sendInline(1, data).to(own, pair.number(), 0);
                race(
                        () -> pair.postSendInline(2, data, path, peers.right.pair.number(), 0),
                        () -> peers.left.queue.poll(),
                        path::close);
                own.close();
                assertThat(refused(batch)).isTrue();
            }
        }
    }

    private static boolean refused(SendBatch batch) {
        try {
            batch.post();
            return false;
        } catch (IllegalStateException closed) {
            return true;
        }
    }

    @Test
    void windowCloseIsSafeDuringBinds() throws Exception {
        try (DatagramPair peers = DatagramPair.ready(VerbsArena.ofShared())) {
            MemoryRegion region =
                    peers.domain.register(peers.arena.allocate(64), AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
            CompletionQueue queue = peers.context.createCompletionQueue(256);
            QueuePair pair = peers.domain.createQueuePair(QueuePair.rc(queue));
            pair.connect(pair.endpoint());
            for (int i = 0; i < TIMES; i++) {
                MemoryWindow window = peers.domain.allocateMemoryWindow(
                        i % 2 == 0 ? MemoryWindow.Type.TYPE_1 : MemoryWindow.Type.TYPE_2);
                race(
                        () -> pair.postBind(1, window, region, Set.of(AccessFlag.REMOTE_WRITE)),
                        queue::poll,
                        window::close);
            }
        }
    }

    @Test
    void sharedReceiveQueueCloseIsSafeDuringPosts() throws Exception {
        try (DatagramPair peers = DatagramPair.ready(VerbsArena.ofShared())) {
            LocalMemory place = peers.left.buffer.slice(0, 8);
            for (int i = 0; i < TIMES; i++) {
                SharedReceiveQueue shared = peers.domain.createSharedReceiveQueue(SharedReceiveQueue.basic());
                race(() -> shared.postReceive(1, place), Thread::onSpinWait, shared::close);
            }
        }
    }
}
