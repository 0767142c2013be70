package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.OtherThread;
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
        for (int i = 0; i < 64; i++) {
            local.segment().set(ValueLayout.JAVA_BYTE, i, (byte) (i + 1));
        }
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
        assertThatThrownBy(() -> batch.range(slice, 4, 5)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> batch.range(slice, -1, 2)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> batch.range(slice, 0, -1)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> batch.range(slice, Long.MAX_VALUE, 2)).isInstanceOf(IndexOutOfBoundsException.class);
        ReceiveBatch receives = loopback.right.pair.receiveBatch(1).receive(1, slice);
        assertThatThrownBy(() -> receives.range(slice, 4, 5)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void rangeLongerThanTheRemoteMemoryIsRefused() {
        SendBatch batch = loopback.left.pair.sendBatch(1).write(1, local.slice(0, 4), remote);
        batch.range(local, 0, 16);
        assertThatThrownBy(() -> batch.range(local, 0, 17)).isInstanceOf(IndexOutOfBoundsException.class);
        batch.clear().send(2).and(local.slice(0, 4)).range(local, 0, 64); // a send has no remote memory
    }

    @Test
    void rangeLeavesRoomForMoreMemoryAsTheFirstDid() {
        SendBatch batch = loopback.left.pair.sendBatch(1).write(1, local.slice(0, 4), remote);
        batch.range(local, 0, 10);
        assertThatThrownBy(() -> batch.and(local.slice(0, 7))).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void rangeOfAClosedRegionIsRefused() {
        SendBatch batch = loopback.left.pair.sendBatch(1).write(1, local.slice(0, 4), remote);
        ReceiveBatch receives = loopback.right.pair.receiveBatch(1).receive(1, local);
        MemoryRegion closed = loopback.domain.register(loopback.arena.allocate(64), AccessFlag.LOCAL_WRITE);
        LocalMemory slice = closed.slice(0, 8);
        closed.close();
        assertThatIllegalStateException().isThrownBy(() -> batch.range(slice, 0, 4));
        assertThatIllegalStateException().isThrownBy(() -> batch.range(closed, 0, 4));
        assertThatIllegalStateException().isThrownBy(() -> receives.range(slice, 0, 4));
    }

    @Test
    void rangeRefusesAnotherThread() {
        SendBatch batch = loopback.left.pair.sendBatch(1).write(1, local.slice(0, 4), remote);
        ReceiveBatch receives = loopback.right.pair.receiveBatch(1).receive(1, local);
        assertThatThrownBy(() -> OtherThread.run(() -> batch.range(local, 0, 4)))
                .isInstanceOf(WrongThreadException.class);
        assertThatThrownBy(() -> OtherThread.run(() -> receives.range(local, 0, 4)))
                .isInstanceOf(WrongThreadException.class);
    }

    @Test
    void rangeRefusesRequestsWithoutOnePieceOfMemory() {
        SendBatch batch = loopback.left.pair.sendBatch(1);
        assertThatIllegalStateException().isThrownBy(() -> batch.range(local, 0, 4));
        batch.sendInline(1, MemorySegment.ofArray(new byte[4]));
        assertThatIllegalStateException().isThrownBy(() -> batch.range(local, 0, 4));
        batch.clear().send(1);
        assertThatIllegalStateException().isThrownBy(() -> batch.range(local, 0, 4));
        batch.clear().fetchAndAdd(1, local.slice(0, 8), remote, 1);
        assertThatIllegalStateException().isThrownBy(() -> batch.range(local, 0, 8));
        ReceiveBatch receives = loopback.right.pair.receiveBatch(1).receive(1);
        assertThatIllegalStateException().isThrownBy(() -> receives.range(local, 0, 4));
    }
}
