package dev.verbena.verbs;

import static dev.verbena.verbs.Refusals.assertIllegalArgument;
import static dev.verbena.verbs.Refusals.assertIllegalState;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests of regions within a registered address space, which C does not know: closing one must end its use. */
@FencedTest
class AddressSpaceTest {
    private Loopback loopback;
    private AddressSpace space;
    private VerbsArena owner;
    private MemoryRegion region;

    @BeforeEach
    void register() {
        loopback = Loopback.connected();
        space = loopback.domain.registerAddressSpace(AccessFlag.LOCAL_WRITE);
        owner = VerbsArena.ofConfined();
        region = space.region(owner.allocate(64, 64), owner);
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    @ParameterizedTest
    @EnumSource(
            names = {"REMOTE_.*", "FLUSH_.*", "MW_BIND"},
            mode = EnumSource.Mode.MATCH_ANY)
    void addressSpaceGivesPeersNoRights(AccessFlag access) {
        owner.close();
        assertIllegalArgument(
                        "peers can't get rights over the whole address space",
                        () -> loopback.domain.registerAddressSpace(access))
                .hasMessageContaining(access.name());
    }

    @Test
    void regionOfAnAddressSpaceReadsAndWrites() throws InterruptedException {
        region.segment().setString(0, "sent");
        loopback.left.pair.postWrite(1, region.slice(0, 8), loopback.right.buffer.remote());
        loopback.left.done();
        assertThat(loopback.right.buffer.segment().getString(0)).isEqualTo("sent");
        loopback.right.buffer.segment().setString(8, "read");
        loopback.left.pair.postRead(
                2, region.slice(8, 8), loopback.right.buffer.remote().slice(8, 8));
        loopback.left.done();
        assertThat(region.segment().getString(8)).isEqualTo("read");
        owner.close();
    }

    @Test
    void sendBatchRefusesARequestWhoseRegionClosed() {
        SendBatch batch = loopback.left.pair.sendBatch(4);
        batch.write(1, loopback.left.buffer, loopback.right.buffer.remote());
        batch.read(2, region, loopback.right.buffer.remote());
        owner.close();
        refuses(batch);
    }

    @Test
    void sendBatchRefusesAnAtomicWhoseRegionClosed() {
        SendBatch batch = loopback.left.pair.sendBatch(1).fetchAndAdd(1, region, loopback.right.buffer.remote(), 1);
        owner.close();
        refuses(batch);
    }

    @Test
    void clearedBatchForgetsItsRegions() throws InterruptedException {
        SendBatch batch = loopback.left.pair.sendBatch(1).read(1, region, loopback.right.buffer.remote());
        batch.post();
        loopback.left.done();
        owner.close();
        batch.clear();
        batch.write(2, loopback.left.buffer, loopback.right.buffer.remote());
        batch.post();
        assertThat(loopback.left.done().id()).isEqualTo(2);
    }

    /** The second request of a thread takes another way than the first. */
    @Test
    void requestsPostedAloneForgetTheRegionsOfEarlierOnes() throws InterruptedException {
        QueuePair pair = loopback.left.pair;
        RemoteMemory remote = loopback.right.buffer.remote();
        for (int i = 0; i < 2; i++) {
            pair.postReceive(i, region);
            pair.postRead(i, region, remote);
            loopback.left.done();
        }
        owner.close();
        pair.postReceive(2, loopback.left.buffer);
        pair.postRead(2, loopback.left.buffer, remote);
        assertThat(loopback.left.done().id()).isEqualTo(2);
    }

    @Test
    void batchOfManyRegionsKeepsAll() throws InterruptedException {
        List<MemoryRegion> regions =
                List.of(region, space.region(owner.allocate(8), owner), space.region(owner.allocate(8), owner));
        SendBatch batch = loopback.left.pair.sendBatch(3);
        regions.forEach(each -> batch.read(1, each, loopback.right.buffer.remote()));
        batch.post();
        for (int i = 0; i < regions.size(); i++) {
            loopback.left.done();
        }
        regions.getLast().close();
        refuses(batch);
        owner.close();
    }

    private void refuses(WorkBatch<?> batch) {
        assertIllegalState("is closed", batch::post);
        assertThat(loopback.left.queue.poll()).isNull();
    }
}
