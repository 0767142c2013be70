package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.link.Ways;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Channels between nodes that have two devices, whose keys differ. */
@FencedTest
class SeveralDevicesPathsTest extends PathsTest {
    private static final int EHOSTUNREACH = 113;

    @Override
    String second() {
        return "10.9.8.2";
    }

    private void assertTransfers(Channel from, Channel to) throws Exception {
        MemorySegment data = nodes.arena.allocate(1 << 20, 64);
        for (long i = 0; i < data.byteSize(); i += Long.BYTES) {
            data.set(ValueLayout.JAVA_LONG, i, i * 31);
        }
        MemorySegment target = nodes.arena.allocate(data.byteSize(), 64);
        Future<Void> offered = nodes.run(() -> from.offer(data, new byte[] {3}, DEADLINE));
        try (Message offer = to.receive(DEADLINE);
                Transfer transfer = offer.transfer()) {
            assertThat(transfer.about()).containsExactly(3);
            transfer.accept(target, DEADLINE);
        }
        NodePair.end(offered);
        assertThat(target.mismatch(data)).isEqualTo(-1);
    }

    @Test
    void transfersUseTheKeysOfTheDevice() throws Exception {
        NodePair.Ends ends = onSecondPath();
        assertTransfers(ends.client(), ends.server());
        assertTransfers(ends.server(), ends.client());
    }

    @Test
    void transferGoesOnOverAnotherDevice() throws Exception {
        NodePair.Ends ends = nodes.connect();
        MemorySegment data = nodes.arena.allocate(4 << 20, 64).fill((byte) 7);
        MemorySegment target = nodes.arena.allocate(data.byteSize(), 64);
        Future<Void> offered = nodes.run(() -> ends.client().offer(data, new byte[0], DEADLINE));
        try (Message offer = ends.server().receive(DEADLINE);
                Transfer transfer = offer.transfer()) {
            long[] told = {0};
            transfer.accept(
                    target,
                    done -> {
                        if (told[0]++ == 0) {
                            HealTest.cut(ends.client());
                        }
                    },
                    DEADLINE);
        }
        NodePair.end(offered);
        assertThat(target.mismatch(data)).isEqualTo(-1);
        Await.until("the channel takes the other path", () -> target(ends).equals(address(1)));
    }

    @Test
    void operationsThatAreUnderWayAreRepeatedOverTheOtherDevice() throws Exception {
        NodePair.Ends ends = nodes.connect();
        MemorySegment table = nodes.arena.allocate(4 * Long.BYTES, Long.BYTES);
        nodes.server.export("table", table, AccessFlag.REMOTE_WRITE).inTheClear();
        RemoteMemory remote = ends.client().remote("table", DEADLINE);
        MemorySegment mine = nodes.arena.allocate(Long.BYTES, Long.BYTES);
        mine.set(ValueLayout.JAVA_LONG, 0, 8);
        long number;
        long data;
        try (var _ = ends.client().session().lock.held()) { // no completion is handled meanwhile
            number = ends.client().tryWriteLong(remote.slice(0, Long.BYTES), 9);
            data = ends.client()
                    .tryWrite(nodes.client.register(mine).slice(0, Long.BYTES), remote.slice(Long.BYTES, Long.BYTES));
            assertThat(number).isNotZero();
            assertThat(data).isNotZero();
            HealTest.cut(ends.client());
        }
        Await.until("the channel takes the other path", () -> target(ends).equals(address(1)));
        ends.client().await(number, DEADLINE);
        ends.client().await(data, DEADLINE);
        assertThat(table.get(ValueLayout.JAVA_LONG, 0)).isEqualTo(9);
        assertThat(table.get(ValueLayout.JAVA_LONG, Long.BYTES)).isEqualTo(8);
    }

    @Test
    void exportsThatAreClosedCanNotBeUsedOverTheOtherDevice() throws Exception {
        NodePair.Ends ends = nodes.connect();
        MemorySegment table = nodes.arena.allocate(Long.BYTES, Long.BYTES);
        Export export =
                nodes.server.export("table", table, AccessFlag.REMOTE_WRITE).inTheClear();
        RemoteMemory remote = ends.client().remote("table", DEADLINE);
        export.close();
        HealTest.cut(ends.client());
        Await.until("the channel takes the other path", () -> target(ends).equals(address(1)));
        HealTest.awaitPath(ends);
        ends.client().tryWriteLong(remote, 1);
        NodePair.endOf(ends.client(), EndReason.ACCESS_DENIED);
        assertThat(table.get(ValueLayout.JAVA_LONG, 0)).isZero();
    }

    @Test
    void removedDeviceLeavesTheNodeAndTheChannelAlive() throws Exception {
        NodePair.Ends ends = nodes.connect();
        Fenced.removeDevice(0);
        Await.until("the channel takes the other path", () -> target(ends).equals(address(1)));
        HealTest.awaitPath(ends);
        assertMessagesTravel(ends);
        assertTransfers(ends.client(), ends.server());
    }

    @Test
    void memoryThatIsRegisteredAndExportedAfterTheRemovalIsThatOfAnotherDevice() throws Exception {
        NodePair.Ends ends = nodes.connect();
        LocalMemory before = register();
        Fenced.removeDevice(0);
        Await.until("the channel takes the other path", () -> target(ends).equals(address(1)));
        HealTest.awaitPath(ends);
        LocalMemory after = register();
        assertThat(after.region().domain().context())
                .isNotSameAs(before.region().domain().context());
        MemorySegment table = nodes.arena.allocate(Long.BYTES, Long.BYTES);
        Export export = nodes.server.export("table", table, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
        export.inTheClear();
        RemoteMemory remote = ends.client().remote("table", DEADLINE);
        for (LocalMemory each : List.of(before, after)) {
            each.segment().set(ValueLayout.JAVA_LONG, 0, 3);
            ends.client().write(each, remote, DEADLINE);
            assertThat(table.get(ValueLayout.JAVA_LONG, 0)).isEqualTo(3);
            table.set(ValueLayout.JAVA_LONG, 0, 4);
            ends.client().read(each, remote, DEADLINE);
            assertThat(each.segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(4);
        }
    }

    private LocalMemory register() {
        return nodes.client
                .register(nodes.arena.allocate(Long.BYTES, Long.BYTES), AccessFlag.LOCAL_WRITE)
                .slice(0, Long.BYTES);
    }

    @Test
    void connectTriesTheNextAddressIfTheFirstDoesNotReachThePeer() throws Exception {
        Fenced.fail("resolved", 1, EHOSTUNREACH);
        NodePair.Ends ends = nodes.connect();
        assertThat(ends.client().session().rail.way()).isEqualTo(new Ways.Way(1, address(0)));
        assertMessagesTravel(ends);
        passUntilFirst(ends, STAY);
    }

    /** It is asked from the second address in between, which does not lead there. */
    @Test
    void connectWaitsForAPeerThatIsSlowAtTheFirstAddress() throws Exception {
        Fenced.stop("rdma_accept");
        Fenced.fail("resolved", 2, EHOSTUNREACH);
        Future<NodePair.Ends> connecting = nodes.start(nodes::connect);
        Await.until("the first address is tried again", () -> Fenced.calls("rdma_resolve_addr") >= 3);
        Fenced.goOn("rdma_accept");
        assertMessagesTravel(NodePair.end(connecting));
    }

    @Test
    void portThatFailsHasTheChannelTakeAnotherPathAtOnce() throws Exception {
        NodePair.Ends ends = nodes.connect();
        Fenced.raise(nodes.client.context(), rdma_h.IBV_EVENT_PORT_ERR);
        Await.until("the channel takes the other path", () -> target(ends).equals(address(1)));
        HealTest.awaitPath(ends);
        assertMessagesTravel(ends);
    }

    @Test
    void removalOfAllDevicesEndsTheNode() throws Exception {
        NodePair.Ends ends = nodes.connect();
        Fenced.removeDevice(0);
        Fenced.removeDevice(1);
        NodePair.endOf(ends.client(), EndReason.DEVICE_REMOVED);
        NodePair.endOf(ends.server(), EndReason.DEVICE_REMOVED);
    }
}
