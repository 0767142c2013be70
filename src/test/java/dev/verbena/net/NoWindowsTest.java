package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.wire.Wire;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Nodes with a secret on a device without memory windows: each channel has a protection domain of its own. */
@FencedTest
@Over(Over.Wire.WITHOUT_WINDOWS)
@Timeout(120)
class NoWindowsTest {
    private int live;
    private NodePair nodes;
    private Export export;
    private MemoryRegion local;

    @BeforeEach
    void open() {
        live = Fenced.liveObjects();
        use(Protection.AUTHENTICATED);
    }

    private void use(Protection protection) {
        if (nodes != null) {
            nodes.close();
        }
        nodes = new NodePair(SMALL.secret(new byte[16]).protection(protection));
        MemorySegment table = nodes.arena.allocate(64);
        table.set(ValueLayout.JAVA_LONG, 8, 77);
        export = nodes.server
                .export("table", table, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE)
                .inTheClear();
        local = nodes.client.register(nodes.arena.allocate(64), AccessFlag.LOCAL_WRITE);
    }

    @AfterEach
    void close() {
        nodes.close();
        assertThat(Fenced.liveObjects()).isEqualTo(live);
    }

    private long read(Channel client, RemoteMemory table) throws InterruptedException {
        LocalMemory into = local.slice(16, 8);
        into.segment().set(ValueLayout.JAVA_LONG, 0, 0);
        client.read(into, table.slice(8, 8), DEADLINE);
        return into.segment().get(ValueLayout.JAVA_LONG, 0);
    }

    private void assertDenied(Channel client, RemoteMemory guess) {
        NodePair.failure(EndReason.ACCESS_DENIED, () -> read(client, guess));
    }

    @ParameterizedTest
    @EnumSource(names = {"AUTHENTICATED", "SEALED"})
    void memoryOfNodesIsUsedOnAllOfTheirChannels(Protection protection) throws Exception {
        use(protection);
        assertThat(export.hasKeysOfChannels()).isTrue();
        for (int i = 0; i < 3; i++) {
            Channel client = nodes.connect().client();
            RemoteMemory table = client.remote("table", DEADLINE);
            assertThat(read(client, table)).isEqualTo(77 + i);
            local.segment().set(ValueLayout.JAVA_LONG, 0, 78 + i);
            client.write(local.slice(0, 8), table.slice(8, 8), DEADLINE);
        }
    }

    @Test
    void sealedTransfersOfEachChannelHaveMemoryOfItsOwn() throws Exception {
        use(Protection.SEALED);
        for (int i = 0; i < 2; i++) {
            NodePair.Ends ends = nodes.connect();
            byte[] data = {1, 2, 3};
            byte[] target = new byte[data.length];
            Future<Void> offered = nodes.offer(ends.client(), data);
            try (Message offer = ends.server().receive(DEADLINE);
                    Transfer transfer = offer.transfer()) {
                transfer.accept(MemorySegment.ofArray(target), DEADLINE);
            }
            NodePair.end(offered);
            assertThat(target).isEqualTo(data);
        }
    }

    @Test
    void keyOfAnotherChannelIsDenied() throws Exception {
        RemoteMemory others = nodes.connect().client().remote("table", DEADLINE); // which stays open
        NodePair.Ends ends = nodes.connect();
        RemoteMemory own = ends.client().remote("table", DEADLINE);
        assertThat(own.key()).isNotEqualTo(others.key());
        assertThat(read(ends.client(), own)).isEqualTo(77);
        assertDenied(ends.client(), others);
    }

    @Test
    void keyOfTheNodeIsDenied() throws Exception {
        MemoryRegion shared = export.region();
        assertDenied(nodes.connect().client(), new RemoteMemory(shared.address(), shared.remoteKey(), shared.length()));
    }

    @Test
    void keyOfAnOfferIsDeniedToOtherChannels() throws Exception {
        NodePair.Ends ends = nodes.connect();
        NodePair.Ends others = nodes.connect();
        MemorySegment data = nodes.arena.allocate(64);
        data.set(ValueLayout.JAVA_LONG, 8, 5);
        Future<Void> offered = nodes.run(() -> ends.server().offer(data, new byte[0], DEADLINE));
        try (Message offer = ends.client().receive(DEADLINE);
                Transfer transfer = offer.transfer()) {
            RemoteMemory key = RemoteMemory.fromWide(offer.segment()
                    .reinterpret(offer.length() + Wire.EXPORT_BYTES)
                    .asSlice(offer.length()));
            assertDenied(others.client(), key);
            assertThat(read(ends.client(), key)).isEqualTo(5);
            transfer.confirm();
        }
        NodePair.end(offered);
    }

    @Test
    void closedExportIsDenied() throws Exception {
        Channel client = nodes.connect().client();
        RemoteMemory table = client.remote("table", DEADLINE);
        export.close();
        assertDenied(client, table);
    }

    @Test
    void memoryIsFreedWhileTheChannelStays() throws Exception {
        NodePair.Ends ends = nodes.connect();
        RemoteMemory table = ends.client().remote("table", DEADLINE);
        int before = Fenced.liveObjects();
        for (int i = 0; i < 3; i++) {
            try (VerbsArena shorter = VerbsArena.ofShared()) {
                MemoryRegion region =
                        nodes.client.register(shorter.allocate(8), List.of(AccessFlag.LOCAL_WRITE), shorter);
                ends.client().read(region, table.slice(8, 8), DEADLINE);
                assertThat(region.segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(77);
                region.close();
                assertThatIllegalStateException()
                        .isThrownBy(() -> ends.client().read(region, table.slice(8, 8), DEADLINE));
            }
        }
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }

    @Test
    void channelsLeaveNothing() throws Exception {
        NodePair.Ends first = nodes.connect();
        read(first.client(), first.client().remote("table", DEADLINE));
        int before = Fenced.liveObjects();
        for (int i = 0; i < 3; i++) {
            NodePair.Ends ends = nodes.connect();
            read(ends.client(), ends.client().remote("table", DEADLINE));
            ends.client().close();
            ends.server().close();
        }
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }

    @Test
    void regionStaysOpenUntilItsCopiesAreGone() throws Exception {
        Channel client = nodes.connect().client();
        RemoteMemory table = client.remote("table", DEADLINE);
        read(client, table);
        Fenced.fail("ibv_dereg_mr", 1, 16);
        assertThatExceptionOfType(VerbsException.class).isThrownBy(local::close);
        assertThat(read(client, table)).as("with the same memory").isEqualTo(77);
    }

    @Test
    void memoryThatCanNotBeRegisteredAgainIsRefusedOnly() throws Exception {
        Channel client = nodes.connect().client();
        Fenced.fail("ibv_reg_mr_iova2", 1, 12);
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> client.remote("table", DEADLINE))
                .withMessageContaining("could not be opened");
        RemoteMemory table = client.remote("table", DEADLINE);
        Fenced.fail("ibv_reg_mr_iova2", 1, 12);
        assertThatExceptionOfType(VerbsException.class).isThrownBy(() -> read(client, table));
        assertThat(read(client, table)).isEqualTo(77);
    }

    /** The domain of a channel ends after the transfers that use it. */
    @Test
    void channelIsClosedWhileATransferIsUnderWay() throws Exception {
        int before = Fenced.liveObjects();
        NodePair.Ends ends = nodes.connect();
        Future<Void> offered = nodes.run(() -> ends.server().offer(nodes.arena.allocate(64), new byte[0], DEADLINE));
        ends.client().receive(DEADLINE); // the peer's memory is registered
        ends.server().close();
        assertThatExceptionOfType(java.util.concurrent.ExecutionException.class)
                .isThrownBy(() -> NodePair.end(offered))
                .withCauseInstanceOf(IllegalStateException.class);
        ends.client().close();
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }
}
