package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Twin;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Grh;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairState;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Ids step by step, as in C, with one thread and one channel for both sides. */
@DeviceTest
class ConnectionIdTest {
    private VerbsArena arena;
    private EventChannel channel;
    private InetSocketAddress any;

    @BeforeEach
    void open() {
        any = CmAddress.four(0);
        arena = VerbsArena.ofConfined();
        channel = EventChannel.create(arena);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    private ConnectionId listening(PortSpace space) {
        ConnectionId id = channel.createId(space);
        id.bind(any);
        id.listen(10);
        return id;
    }

    private ConnectionId resolved(PortSpace space, ConnectionId listener) throws InterruptedException {
        ConnectionId id = channel.createId(space);
        id.resolveAddress(listener.localAddress().orElseThrow(), DEADLINE);
        id.resolveRoute(DEADLINE);
        return id;
    }

    @Test
    @Twin("test_rdmacm.CMTestCase.test_rdmacm_async_traffic_external_qp")
    void queuePairsOfOnesOwnAreConnected() throws Exception {
        ConnectionId listener = listening(PortSpace.TCP);
        ConnectionId client = resolved(PortSpace.TCP, listener);
        Context context = client.context();
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(16);
        QueuePair left = domain.createQueuePair(QueuePair.rc(queue));
        QueuePair right = domain.createQueuePair(QueuePair.rc(queue));
        client.bring(left, QueuePairState.INIT);
        client.beginConnect(ConnectionParameters.defaults().queuePair(left.number(), false));
        ConnectionId server = listener.nextRequest(DEADLINE).claim();
        for (QueuePairState state : List.of(QueuePairState.INIT, QueuePairState.RTR, QueuePairState.RTS)) {
            server.bring(right, state);
        }
        server.beginAccept(ConnectionParameters.defaults().queuePair(right.number(), false));
        assertThat(client.nextEvent(DEADLINE).type()).isEqualTo(CmEventType.CONNECT_RESPONSE);
        client.bring(left, QueuePairState.RTR);
        client.bring(left, QueuePairState.RTS);
        client.establish();
        assertThat(server.nextEvent(DEADLINE).type()).isEqualTo(CmEventType.ESTABLISHED);
        MemoryRegion buffer = domain.register(arena.allocate(64), LOCAL_WRITE);
        right.postReceive(1, buffer.slice(32, 8));
        left.postSend(2, buffer.slice(0, 8));
        queue.await(DEADLINE).orThrow();
        queue.await(DEADLINE).orThrow();
    }

    @Test
    @Twin("test_rdmacm.CMTestCase.test_rdmacm_async_udp_traffic")
    void aServiceForDatagramsIsFoundByItsAddress() throws Exception {
        ConnectionId listener = listening(PortSpace.UDP);
        ConnectionId client = resolved(PortSpace.UDP, listener);
        Context context = client.context();
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(16);
        QueuePair sender = client.createQueuePair(domain, QueuePair.ud(queue));
        client.beginConnect(ConnectionParameters.defaults().privateData(PrivateData.of("where?")));
        ConnectRequest request = listener.nextRequest(DEADLINE);
        assertThat(request.privateData().text()).isEqualTo("where?");
        ConnectionId server = request.claim();
        QueuePair receiver = server.createQueuePair(domain, QueuePair.ud(queue));
        MemoryRegion buffer = domain.register(arena.allocate(256), LOCAL_WRITE);
        buffer.segment().setString(0, "datagram");
        receiver.postReceive(1, buffer.slice(64, Grh.BYTES + 64));
        server.accept(ConnectionParameters.defaults().privateData(PrivateData.of("here")), DEADLINE);
        CmEvent.DatagramReady found = (CmEvent.DatagramReady) client.nextEvent(DEADLINE);
        assertThat(found.privateData().text()).isEqualTo("here");
        assertThat(found.target().queuePairNumber()).isEqualTo(receiver.number());
        AddressHandle path = domain.createAddressHandle(found.target().path());
        sender.postSendImmediate(2, buffer.slice(0, 64), 77, path, found.target().queuePairNumber(),
                found.target().qkey());
        queue.await(DEADLINE).orThrow();
        queue.await(DEADLINE).orThrow();
        assertThat(buffer.segment().getString(64 + Grh.BYTES)).isEqualTo("datagram");
    }

    @Test
    @Twin({"test_rdmacm.CMTestCase.test_rdmacm_async_ex_multicast_traffic",
        "test_rdmacm.CMTestCase.test_rdmacm_async_ex_leave_multicast_traffic"})
    void aMulticastGroupIsJoinedAndLeft() throws Exception {
        InetSocketAddress group = new InetSocketAddress("239.1.1.1", 0);
        ConnectionId id = channel.createId(PortSpace.UDP);
        id.resolveAddress(any, group, DEADLINE);
        ProtectionDomain domain = id.context().allocateProtectionDomain();
        CompletionQueue queue = id.context().createCompletionQueue(16);
        QueuePair pair = id.createQueuePair(domain, QueuePair.ud(queue));
        MemoryRegion buffer = domain.register(arena.allocate(256), LOCAL_WRITE);
        pair.postReceive(1, buffer.slice(64, Grh.BYTES + 64));
        MulticastMembership membership = id.join(group, JoinFlag.FULL_MEMBER, DEADLINE);
        assertThat(membership.target().queuePairNumber()).isEqualTo(QueuePair.MULTICAST);
        assertThatThrownBy(pair::close).isInstanceOf(ResourceBusyException.class);
        AddressHandle path = domain.createAddressHandle(membership.target().path());
        pair.postSend(2, buffer.slice(0, 64), path, QueuePair.MULTICAST, membership.target().qkey());
        queue.await(DEADLINE).orThrow();
        queue.await(DEADLINE).orThrow();
        membership.close();
        pair.close();
    }

    @Test
    @Twin("test_rdmacm.CMTestCase.test_rdmacm_async_reject_traffic")
    void aRequestIsRefusedAndTheNextOneAccepted() throws Exception {
        ConnectionId listener = listening(PortSpace.TCP);
        ConnectionId refused = resolved(PortSpace.TCP, listener);
        ProtectionDomain domain = refused.context().allocateProtectionDomain();
        CompletionQueue queue = refused.context().createCompletionQueue(16);
        refused.createQueuePair(domain, QueuePair.rc(queue));
        refused.beginConnect(ConnectionParameters.defaults());
        listener.nextRequest(DEADLINE).reject(PrivateData.of("busy"));
        assertThat(refused.nextEvent(DEADLINE)).isInstanceOfSatisfying(CmEvent.Rejected.class,
                event -> assertThat(event.privateData().text()).isEqualTo("busy"));
        ConnectionId second = resolved(PortSpace.TCP, listener);
        second.createQueuePair(domain, QueuePair.rc(queue));
        second.beginConnect(ConnectionParameters.defaults());
        ConnectionId server = listener.nextRequest(DEADLINE).claim();
        server.createQueuePair(domain, QueuePair.rc(queue));
        server.beginAccept(ConnectionParameters.defaults());
        assertThat(second.nextEvent(DEADLINE).type()).isEqualTo(CmEventType.ESTABLISHED);
    }

    @Test
    void aRequestThatNobodyClaimsIsRefusedWhenItsListenerCloses() throws Exception {
        ConnectionId listener = listening(PortSpace.TCP);
        ConnectionId client = resolved(PortSpace.TCP, listener);
        client.createQueuePair(client.context().allocateProtectionDomain(),
                QueuePair.rc(client.context().createCompletionQueue(4)));
        client.beginConnect(ConnectionParameters.defaults());
        ConnectRequest request = listener.nextRequest(DEADLINE);
        listener.close();
        assertThat(client.nextEvent(DEADLINE).type()).isEqualTo(CmEventType.REJECTED);
        assertThatThrownBy(request::claim).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void optionsAreTaken() {
        ConnectionId id = channel.createId(PortSpace.TCP);
        id.reuseAddress(true);
        id.addressFamilyOnly(true);
        id.ackTimeout(14);
        id.typeOfService(8);
        id.bind(any);
        assertThat(id.localAddress().orElseThrow().getPort()).isPositive();
        assertThatThrownBy(() -> id.typeOfService(256)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void anIdWithoutADeviceSaysSo() {
        assertThatThrownBy(() -> channel.createId(PortSpace.TCP).context())
                .isInstanceOf(IllegalStateException.class).hasMessageContaining("no device yet");
    }

    @Test
    void theContextsOfTheConnectionManagerAreListed() {
        ConnectionId id = channel.createId(PortSpace.TCP);
        id.bind(any);
        assertThat(channel.contexts()).contains(id.context());
    }
}
