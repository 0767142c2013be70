package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Errno;
import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.Future;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Steps of an id that fail half done: everything is undone. */
@FencedTest
class FailedStepsTest {
    private static final int LOST = -1;

    @AutoClose
    private final FencedIds ids = new FencedIds();

    @Test
    void joinThatFailsLeavesTheGroup() {
        ConnectionId id = ids.datagrams();
        Fenced.fail("joined", 1, Errno.EINVAL);
        assertThatThrownBy(() -> id.join(FencedIds.GROUP, DEADLINE))
                .isInstanceOf(ConnectionException.class)
                .hasMessageContaining("MULTICAST_ERROR");
        assertThat(Fenced.calls("rdma_leave_multicast")).isEqualTo(1);
    }

    @Test
    void joinThatIsLateLeavesTheGroup() {
        ConnectionId id = ids.datagrams();
        Fenced.fail("joined", 1, LOST);
        assertThatThrownBy(() -> id.join(FencedIds.GROUP, MulticastMembership.Kind.FULL_MEMBER, Duration.ofMillis(1)))
                .isInstanceOf(VerbsTimeoutException.class);
        assertThat(Fenced.calls("rdma_leave_multicast")).isEqualTo(1);
    }

    @Test
    void joinThatIsInterruptedLeavesTheGroup() {
        ConnectionId id = ids.datagrams();
        Fenced.fail("joined", 1, LOST);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> id.join(FencedIds.GROUP, DEADLINE)).isInstanceOf(InterruptedException.class);
        assertThat(Fenced.calls("rdma_leave_multicast")).isEqualTo(1);
    }

    @Test
    void joinThatCannotLeaveReportsWhyItFailed() {
        ConnectionId id = ids.datagrams();
        Fenced.fail("joined", 1, LOST);
        Fenced.fail("rdma_leave_multicast", 1, Errno.EIO);
        assertThatThrownBy(() -> id.join(FencedIds.GROUP, Duration.ofMillis(1)))
                .isInstanceOf(VerbsTimeoutException.class)
                .satisfies(late -> assertThat(late.getSuppressed())
                        .singleElement()
                        .asInstanceOf(InstanceOfAssertFactories.THROWABLE)
                        .hasMessageContaining("rdma_leave_multicast"));
    }

    @ParameterizedTest
    @CsvSource({
        "ibv_create_comp_channel, 1",
        "ibv_create_cq, 1",
        "ibv_create_cq, 2",
        "rdma_create_qp, 1",
        "ibv_create_qp, 1"
    })
    void createQueuePairThatFailsLeavesNoQueues(String function, int nth) {
        ConnectionId id = ids.channel.createId(PortSpace.TCP);
        id.bind(FencedIds.OWN);
        id.protectionDomain();
        int before = Fenced.liveObjects();
        List<VerbsObject> owned = ArenaLifetime.of(ids.arena).objects();
        Fenced.fail(function, nth, Errno.ENOMEM);
        assertThatThrownBy(() -> id.createQueuePair(FencedIds.SIZES))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("ENOMEM");
        assertThat(Fenced.liveObjects()).isEqualTo(before);
        assertThat(ArenaLifetime.of(ids.arena).objects()).isEqualTo(owned);
        assertThat(id.createQueuePair(FencedIds.SIZES).isOpen()).isTrue();
        assertThat(id.sendCompletionQueue()).isPresent();
    }

    @ParameterizedTest
    @CsvSource({
        "6e6f20726f6f6d, '7 bytes, \"no room\"'",
        "6e6f00000000, '6 bytes, \"no\"'",
        "00000400, '4 bytes, 00000400'",
        "0100000000000000, '8 bytes, 01000000 and zeros'",
        "6e6f00ff, '4 bytes, 6e6f00ff'",
        "6e0a, '2 bytes, 6e0a'",
        "61e280ae, '4 bytes, 61e280ae'" // turns round the direction of what follows
    })
    void rejectedConnectShowsThePrivateDataOfThePeer(String hex, String shown) throws Exception {
        ConnectionId listener = ids.listener(1);
        ConnectionId client = ids.client(ids.channel, listener);
        Future<CmEvent> connecting = ids.start(() -> client.connect(ConnectionParameters.defaults(), DEADLINE));
        listener.awaitRequest(DEADLINE).reject(PrivateData.of(HexFormat.of().parseHex(hex)));
        assertThatThrownBy(() -> FencedIds.end(connecting))
                .cause()
                .isInstanceOf(ConnectionException.class)
                .hasMessageContaining("The peer's private data: " + shown);
    }

    @Test
    void openHasOneDeadlineForAllSteps() throws Exception {
        InetSocketAddress unanswered = ids.listener(1).localAddress().orElseThrow();
        assertThatThrownBy(() ->
                        Connection.open(unanswered, Duration.ofMillis(300), ConnectionResources.defaults(), ids.arena))
                .isInstanceOf(VerbsTimeoutException.class)
                .hasMessageNotContaining("Waited 300 ms");
    }

    @Test
    void endpointThatCannotMoveIsDestroyed() throws Exception {
        List<AddressInfo> found = AddressInfo.find("10.9.9.1", "7471", AddressInfo.hints(), DEADLINE);
        int before = Fenced.liveObjects();
        Fenced.fail("rdma_migrate_id", 1, Errno.EINVAL);
        assertThatThrownBy(() -> ids.channel.createEndpoint(found.getFirst(), DEADLINE))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("rdma_migrate_id");
        assertThat(Fenced.liveObjects()).isEqualTo(before);
        assertThat(ids.channel.isUnused()).isTrue();
    }
}
