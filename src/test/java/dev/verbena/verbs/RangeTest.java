package dev.verbena.verbs;

import static dev.verbena.verbs.Refusals.assertIllegalState;
import static dev.verbena.verbs.Refusals.assertOutOfBounds;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Requests that stay in a batch, and get another range of memory for each post. */
@FencedTest
@Timeout(120)
class RangeTest {
    private Loopback loopback;
    private MemoryRegion local;
    private RemoteMemory remote;

    @BeforeEach
    void connect() {
        loopback = Loopback.connected();
        local = loopback.left.buffer;
        remote = loopback.right.buffer.slice(0, 16).remote();
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    private byte byteOf(MemoryRegion region, long offset) {
        return region.segment().get(ValueLayout.JAVA_BYTE, offset);
    }

    @Test
    void rangeChangesTheMemoryOfAStandingWriteAlone() throws InterruptedException {
        fill();
        SendBatch batch = loopback.left.pair.sendBatch(2).write(7, local.slice(0, 16), remote);
        batch.write(8, local.slice(0, 4), loopback.right.buffer.slice(32, 4).remote());
        batch.at(0).range(local, 20, 3).post();
        assertThat(loopback.left.done().orThrow().id()).isEqualTo(7);
        assertThat(loopback.left.done().orThrow().id()).isEqualTo(8);
        MemoryRegion target = loopback.right.buffer;
        assertThat(byteOf(target, 0)).isEqualTo((byte) 21);
        assertThat(byteOf(target, 2)).isEqualTo((byte) 23);
        assertThat(byteOf(target, 3)).as("behind the range").isZero();
        assertThat(byteOf(target, 32)).as("of the other request").isEqualTo((byte) 1);
    }

    @Test
    void rangeCountsFromTheStartOfASlice() throws InterruptedException {
        local.segment().set(ValueLayout.JAVA_BYTE, 37, (byte) 99);
        loopback.left
                .pair
                .sendBatch(1)
                .write(1, local, loopback.right.buffer.remote())
                .range(local.slice(32, 8), 5, 1)
                .post();
        loopback.left.done().orThrow();
        assertThat(byteOf(loopback.right.buffer, 0)).isEqualTo((byte) 99);
    }

    @Test
    void rangeOutsideTheLocalMemoryIsRefused() {
        SendBatch batch = loopback.left.pair.sendBatch(1).write(1, local.slice(0, 8), remote);
        LocalMemory slice = local.slice(0, 8);
        assertOutOfBounds(() -> batch.range(slice, 4, 5));
        assertOutOfBounds(() -> batch.range(slice, -1, 2));
        assertOutOfBounds(() -> batch.range(slice, 0, -1));
        assertOutOfBounds(() -> batch.range(slice, Long.MAX_VALUE, 2));
        ReceiveBatch receives = loopback.right.pair.receiveBatch(1).receive(1, slice);
        assertOutOfBounds(() -> receives.range(slice, 4, 5));
    }

    @Test
    void rangeLongerThanTheRemoteMemoryIsRefused() {
        SendBatch batch = loopback.left.pair.sendBatch(1).write(1, local.slice(0, 4), remote);
        batch.range(local, 0, 16);
        assertOutOfBounds(() -> batch.range(local, 0, 17));
        batch.clear().send(2).and(local.slice(0, 4)).range(local, 0, 64); // a send has no remote memory
    }

    @Test
    void rangeLeavesRoomForMoreMemoryAsTheFirstDid() {
        SendBatch batch = loopback.left.pair.sendBatch(1).write(1, local.slice(0, 4), remote);
        batch.range(local, 0, 10);
        assertOutOfBounds(() -> batch.and(local.slice(0, 7)));
    }

    private void fill() {
        for (int i = 0; i < 64; i++) {
            local.segment().set(ValueLayout.JAVA_BYTE, i, (byte) (i + 1));
        }
    }

    @Test
    void postsOfARangeMoveItsBytesAlone() throws InterruptedException {
        fill();
        MemoryRegion target = loopback.right.buffer;
        loopback.right.pair.postReceive(1, target.slice(8, 40), 2, 6);
        loopback.left.pair.postSend(2, local.slice(4, 32), 3, 5);
        assertThat(loopback.left.done().orThrow().id()).isEqualTo(2);
        assertThat(loopback.right.done().orThrow().byteLength()).isEqualTo(5);
        assertThat(byteOf(target, 9)).isZero();
        assertThat(byteOf(target, 10)).isEqualTo((byte) 8);
        assertThat(byteOf(target, 14)).isEqualTo((byte) 12);
        assertThat(byteOf(target, 15)).isZero();
        loopback.left.pair.postWrite(3, local, 40, 2, target.slice(32, 2).remote());
        assertThat(loopback.left.done().orThrow().id()).isEqualTo(3);
        assertThat(byteOf(target, 33)).isEqualTo((byte) 42);
        assertThat(byteOf(target, 34)).isZero();
        loopback.left
                .pair
                .sendBatch(1)
                .read(4, local, 0, 2, target.slice(10, 2).remote())
                .post();
        assertThat(loopback.left.done().orThrow().id()).isEqualTo(4);
        assertThat(byteOf(local, 1)).isEqualTo((byte) 9);
        assertThat(byteOf(local, 2)).isEqualTo((byte) 3);
    }

    @Test
    void postsOfARangeRefuseWhatIsNotWithinTheMemory() {
        LocalMemory slice = local.slice(0, 8);
        QueuePair pair = loopback.left.pair;
        for (long[] bad : new long[][] {{4, 5}, {-1, 2}, {0, -1}, {Long.MAX_VALUE, 2}}) {
            assertOutOfBounds(() -> pair.postSend(1, slice, bad[0], bad[1]));
            assertOutOfBounds(() -> pair.postReceive(1, slice, bad[0], bad[1]));
            assertOutOfBounds(() -> pair.postWrite(1, slice, bad[0], bad[1], remote));
        }
        assertOutOfBounds(() -> pair.postWrite(1, local, 0, 17, remote));
        assertThat(pair.sendQueue().poll()).isNull();
    }

    @Test
    void elementIsThePartOfAnArray() {
        LocalMemory third = local.slice(8, 44).element(ValueLayout.JAVA_LONG, 2);
        assertThat(third.address()).isEqualTo(local.address() + 24);
        assertThat(third.length()).isEqualTo(8);
        assertOutOfBounds(() -> local.slice(8, 44).element(ValueLayout.JAVA_LONG, 5));
        assertOutOfBounds(() -> local.element(ValueLayout.JAVA_LONG, -1));
    }

    @Test
    void unsignaledPostsMakeNoCompletionOfTheirOwn() throws InterruptedException {
        fill();
        UnsignaledPosts posts = loopback.left.pair.unsignaled();
        MemoryRegion target = loopback.right.buffer;
        for (int i = 0; i < 6; i++) {
            loopback.right.pair.postReceive(10 + i, target.slice(48, 8));
        }
        MemorySegment data = MemorySegment.ofArray(new byte[] {77});
        posts.postSend(1, local.slice(0, 1));
        posts.postSendImmediate(2, local.slice(0, 2), 52);
        posts.postSendInline(3, data);
        posts.postSendInline(4, data, 54);
        posts.postWrite(5, local.slice(0, 1), target.slice(0, 1).remote());
        posts.postWriteInline(6, data, target.slice(1, 1).remote());
        posts.postWriteImmediate(7, local.slice(1, 1), target.slice(2, 1).remote(), 57);
        loopback.left.pair.postSend(8, local.slice(0, 1));
        assertThat(loopback.left.done().orThrow().id())
                .as("the signaled one alone")
                .isEqualTo(8);
        assertThat(loopback.left.queue.poll()).isNull();
        int[] immediates = new int[6];
        for (int i = 0; i < 6; i++) {
            immediates[i] = immediateOf(loopback.right.done().orThrow());
        }
        assertThat(immediates).containsExactly(0, 52, 0, 54, 57, 0);
        assertThat(target.segment().asSlice(0, 3).toArray(ValueLayout.JAVA_BYTE))
                .containsExactly(1, 77, 2);
    }

    private static int immediateOf(WorkCompletion arrived) {
        return arrived.hasImmediate() ? arrived.immediate() : 0;
    }

    @Test
    void inlinePostsCarryImmediateData() throws InterruptedException {
        MemorySegment data = MemorySegment.ofArray(new byte[] {5});
        MemoryRegion target = loopback.right.buffer;
        loopback.right.pair.postReceive(1, target.slice(8, 8));
        loopback.right.pair.postReceive(2, target.slice(16, 8));
        loopback.left.pair.postSendInline(3, data, 33);
        loopback.left.pair.postWriteInline(4, data, target.slice(0, 1).remote(), 44);
        assertThat(loopback.left.done().orThrow().id()).isEqualTo(3);
        assertThat(loopback.left.done().orThrow().id()).isEqualTo(4);
        assertThat(loopback.right.done().orThrow().immediate()).isEqualTo(33);
        assertThat(loopback.right.done().orThrow().immediate()).isEqualTo(44);
        assertThat(byteOf(target, 0)).isEqualTo((byte) 5);
    }

    @Test
    void rangeRefusesRequestsWithoutOnePieceOfMemory() {
        SendBatch batch = loopback.left.pair.sendBatch(1);
        assertIllegalState(() -> batch.range(local, 0, 4));
        batch.sendInline(1, MemorySegment.ofArray(new byte[4]));
        assertIllegalState(() -> batch.range(local, 0, 4));
        batch.clear().send(1);
        assertIllegalState(() -> batch.range(local, 0, 4));
        batch.clear().fetchAndAdd(1, local.slice(0, 8), remote, 1);
        assertIllegalState(() -> batch.range(local, 0, 8));
        ReceiveBatch receives = loopback.right.pair.receiveBatch(1).receive(1);
        assertIllegalState(() -> receives.range(local, 0, 4));
    }
}
