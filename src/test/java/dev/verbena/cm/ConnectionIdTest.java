package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Errno;
import dev.verbena.internal.NativeLibraries;
import dev.verbena.ledger.Covers;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.IwarpToo.NotOnIwarp;
import dev.verbena.support.TestDevice;
import dev.verbena.support.Twin;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.AsyncEvent;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Ece;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.address.Grh;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Ids step by step, as in C, with one thread and one channel for both sides. */
@DeviceTest
@IwarpToo
class ConnectionIdTest {
    private static final QueueCapabilities SIZES = QueueCapabilities.of(4, 4);
    private static final CFunction EVENT_STR = new CFunction(NativeLibraries.CM, "rdma_event_str");

    @AutoClose
    private final VerbsArena arena = VerbsArena.ofConfined();

    private final InetSocketAddress any = CmAddress.four(0);
    private final EventChannel channel = EventChannel.create(arena);

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

    /** What comes when the peer has accepted and the queue pair is one's own. */
    private static CmEvent.Type answer() {
        return TestDevice.isIwarp() ? CmEvent.Type.ESTABLISHED : CmEvent.Type.CONNECT_RESPONSE;
    }

    @Test
    @Twin("test_rdmacm.CMTestCase.test_rdmacm_async_traffic_external_qp")
    void connectUsesTheCallersQueuePair() throws Exception {
        ConnectionId listener = listening(PortSpace.TCP);
        ConnectionId client = resolved(PortSpace.TCP, listener);
        Context context = client.context();
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(16);
        QueuePair left = domain.createQueuePair(QueuePair.rc(queue));
        QueuePair right = domain.createQueuePair(QueuePair.rc(queue));
        client.bring(left, QueuePairState.INIT);
        client.beginConnect(ConnectionParameters.defaults().queuePair(left.number(), false));
        ConnectionId server = listener.awaitRequest(DEADLINE).claim();
        for (QueuePairState state : List.of(QueuePairState.INIT, QueuePairState.RTR, QueuePairState.RTS)) {
            server.bring(right, state);
        }
        server.beginAccept(ConnectionParameters.defaults().queuePair(right.number(), false));
        assertThat(client.awaitEvent(DEADLINE).type()).isEqualTo(answer());
        if (answer() == CmEvent.Type.CONNECT_RESPONSE) {
            client.bring(left, QueuePairState.RTR);
        }
        client.bring(left, QueuePairState.RTS);
        if (answer() == CmEvent.Type.CONNECT_RESPONSE) {
            client.establish();
        }
        assertThat(server.awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.ESTABLISHED);
        MemoryRegion buffer = domain.register(arena.allocate(64), LOCAL_WRITE);
        right.postReceive(1, buffer.slice(32, 8));
        left.postSend(2, buffer.slice(0, 8));
        queue.await(DEADLINE).orThrow();
        queue.await(DEADLINE).orThrow();
    }

    @Test
    @Twin("test_rdmacm.CMTestCase.test_rdmacm_async_udp_traffic")
    @NotOnIwarp("there are no datagrams")
    void connectFindsADatagramService() throws Exception {
        ConnectionId listener = listening(PortSpace.UDP);
        ConnectionId client = resolved(PortSpace.UDP, listener);
        Context context = client.context();
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(16);
        QueuePair sender = client.createQueuePair(domain, QueuePair.ud(queue));
        client.beginConnect(ConnectionParameters.defaults().privateData(PrivateData.of("where?")));
        ConnectRequest request = listener.awaitRequest(DEADLINE);
        assertThat(request.privateData().text()).isEqualTo("where?");
        ConnectionId server = request.claim();
        QueuePair receiver = server.createQueuePair(domain, QueuePair.ud(queue));
        MemoryRegion buffer = domain.register(arena.allocate(256), LOCAL_WRITE);
        buffer.segment().setString(0, "datagram");
        receiver.postReceive(1, buffer.slice(64, Grh.BYTES + 64));
        server.accept(ConnectionParameters.defaults().privateData(PrivateData.of("here")), DEADLINE);
        CmEvent.DatagramReady found = (CmEvent.DatagramReady) client.awaitEvent(DEADLINE);
        assertThat(found.privateData().text()).isEqualTo("here");
        assertThat(found.target().queuePairNumber()).isEqualTo(receiver.number());
        AddressHandle path = domain.createAddressHandle(found.target().path());
        sender.postSendImmediate(
                2,
                buffer.slice(0, 64),
                77,
                path,
                found.target().queuePairNumber(),
                found.target().qkey());
        queue.await(DEADLINE).orThrow();
        queue.await(DEADLINE).orThrow();
        assertThat(buffer.segment().getString(64 + Grh.BYTES)).isEqualTo("datagram");
    }

    @Test
    @NotOnIwarp("there are no datagrams")
    void connectReportsAMissingDatagramService() throws Exception {
        ConnectionId listener = listening(PortSpace.UDP);
        ConnectionId client = resolved(PortSpace.UDP, listener);
        listener.close();
        client.createQueuePair(SIZES);
        client.beginConnect(ConnectionParameters.defaults());
        assertThat(client.awaitEvent(DEADLINE)).isInstanceOfSatisfying(CmEvent.Failure.class, event -> {
            assertThat(event.type()).isEqualTo(CmEvent.Type.UNREACHABLE);
            assertThat(event.status()).isEqualTo(1);
            assertThat(event.reason()).isEqualTo("no program listens for datagrams there");
        });
    }

    @Test
    @Twin({
        "test_rdmacm.CMTestCase.test_rdmacm_async_ex_multicast_traffic",
        "test_rdmacm.CMTestCase.test_rdmacm_async_ex_leave_multicast_traffic"
    })
    @NotOnIwarp("there are no datagrams")
    void joinAndLeaveAMulticastGroup() throws Exception {
        exchangesDatagrams((id, group) -> id.join(group, MulticastMembership.Kind.FULL_MEMBER, DEADLINE));
    }

    @Test
    @Twin("test_rdmacm.CMTestCase.test_rdmacm_async_multicast_traffic")
    @NotOnIwarp("there are no datagrams")
    void joinWorksWithoutFlags() throws Exception {
        exchangesDatagrams((id, group) -> id.join(group, DEADLINE));
    }

    private interface Join {
        MulticastMembership of(ConnectionId id, InetSocketAddress group) throws InterruptedException;
    }

    private void exchangesDatagrams(Join join) throws InterruptedException {
        InetSocketAddress group = new InetSocketAddress("239.1.1.1", 0);
        ConnectionId id = channel.createId(PortSpace.UDP);
        id.resolveAddress(any, group, DEADLINE);
        ProtectionDomain domain = id.context().allocateProtectionDomain();
        CompletionQueue queue = id.context().createCompletionQueue(16);
        QueuePair pair = id.createQueuePair(domain, QueuePair.ud(queue));
        MemoryRegion buffer = domain.register(arena.allocate(256), LOCAL_WRITE);
        pair.postReceive(1, buffer.slice(64, Grh.BYTES + 64));
        MulticastMembership membership = join.of(id, group);
        assertThat(membership.target().queuePairNumber()).isEqualTo(QueuePair.MULTICAST);
        assertThatThrownBy(pair::close).isInstanceOf(ResourceBusyException.class);
        AddressHandle path = domain.createAddressHandle(membership.target().path());
        pair.postSend(
                2,
                buffer.slice(0, 64),
                path,
                QueuePair.MULTICAST,
                membership.target().qkey());
        queue.await(DEADLINE).orThrow();
        queue.await(DEADLINE).orThrow();
        membership.close();
        pair.close();
    }

    @Test
    @Twin("test_rdmacm.CMTestCase.test_rdmacm_async_reject_traffic")
    void rejectLeavesTheNextRequestAcceptable() throws Exception {
        ConnectionId listener = listening(PortSpace.TCP);
        ConnectionId refused = resolved(PortSpace.TCP, listener);
        ProtectionDomain domain = refused.context().allocateProtectionDomain();
        CompletionQueue queue = refused.context().createCompletionQueue(16);
        refused.createQueuePair(domain, QueuePair.rc(queue));
        refused.beginConnect(ConnectionParameters.defaults());
        listener.awaitRequest(DEADLINE).reject(PrivateData.of("busy"));
        assertThat(refused.awaitEvent(DEADLINE))
                .isInstanceOfSatisfying(
                        CmEvent.Rejected.class,
                        event -> assertThat(event.privateData().text()).isEqualTo("busy"));
        ConnectionId second = resolved(PortSpace.TCP, listener);
        second.createQueuePair(domain, QueuePair.rc(queue));
        second.beginConnect(ConnectionParameters.defaults());
        ConnectionId server = listener.awaitRequest(DEADLINE).claim();
        server.createQueuePair(domain, QueuePair.rc(queue));
        server.beginAccept(ConnectionParameters.defaults());
        assertThat(second.awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.ESTABLISHED);
    }

    @Test
    void optionsAreAccepted() {
        ConnectionId id = channel.createId(PortSpace.TCP);
        id.reuseAddress(true);
        id.addressFamilyOnly(true);
        id.ackTimeout(Duration.ofMillis(67));
        id.ackTimeoutCode(14);
        id.typeOfService(8);
        id.bind(any);
        assertThat(id.localAddress().orElseThrow().getPort()).isPositive();
        assertThatThrownBy(() -> id.typeOfService(256)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> id.ackTimeout(Duration.ZERO)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> id.ackTimeoutCode(32)).isInstanceOf(IllegalArgumentException.class);
    }

    /** Whichever routes the machine has. */
    @Test
    @NotOnIwarp("there are no datagrams")
    void resolveOfAGroupWithoutBindNamesTheRemedyOrFindsARoute() throws Exception {
        ConnectionId id = channel.createId(PortSpace.UDP);
        try {
            id.resolveAddress(new InetSocketAddress("239.1.1.1", 0), DEADLINE);
            assertThat(id.localAddress()).isPresent();
        } catch (VerbsException noRoute) {
            assertThat(noRoute.errno()).isIn(Errno.ENETUNREACH, Errno.ENODEV);
            assertThat(noRoute)
                    .hasMessageContaining(
                            noRoute.errno() == Errno.ENETUNREACH
                                    ? "bind the id to an address of a device"
                                    : "No RDMA device has this address");
        }
    }

    @Test
    void unboundIdRefusesItsDevice() {
        assertThatThrownBy(() -> channel.createId(PortSpace.TCP).context())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("no device yet");
    }

    @Test
    void contextsListsThoseOfTheConnectionManager() {
        ConnectionId id = channel.createId(PortSpace.TCP);
        id.bind(any);
        assertThat(channel.contexts()).contains(id.context());
    }

    @Test
    void sharedReceiveQueueServesTheIdsQueuePair() throws Exception {
        ConnectionId listener = listening(PortSpace.TCP);
        ConnectionId client = resolved(PortSpace.TCP, listener);
        client.createQueuePair(SIZES);
        client.beginConnect(ConnectionParameters.defaults());
        ConnectionId server = listener.awaitRequest(DEADLINE).claim();
        ProtectionDomain domain = server.protectionDomain();
        SharedReceiveQueue shared = server.createSharedReceiveQueue(
                domain, SharedReceiveQueue.basic().depth(4));
        assertThat(server.sharedReceiveQueue()).contains(shared);
        assertThatThrownBy(() -> server.createSharedReceiveQueue(domain, SharedReceiveQueue.basic()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("already");
        MemoryRegion buffer = server.register(arena.allocate(64), LOCAL_WRITE);
        shared.postReceive(9, buffer.slice(0, 32));
        QueuePair pair = server.createQueuePair(SIZES);
        assertThatThrownBy(shared::close).isInstanceOf(ResourceBusyException.class);
        server.beginAccept(ConnectionParameters.defaults());
        assertThat(client.awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.ESTABLISHED);
        client.queuePair().orElseThrow().postSend(1, buffer.slice(32, 32));
        assertThat(server.receiveCompletionQueue()
                        .orElseThrow()
                        .await(DEADLINE)
                        .orThrow()
                        .id())
                .isEqualTo(9);
        pair.close();
        shared.close();
        assertThat(server.sharedReceiveQueue()).isEmpty();
    }

    @Test
    void tagMatchingSharedReceiveQueueIsCreated() throws Exception {
        ConnectionId id = resolved(PortSpace.TCP, listening(PortSpace.TCP));
        CompletionQueue queue = id.context().createCompletionQueue(4);
        try {
            id.createSharedReceiveQueue(id.protectionDomain(), SharedReceiveQueue.tagMatching(queue, 4, 4))
                    .close();
        } catch (VerbsException refused) {
            assertThat(refused).hasMessageContaining("rdma_create_srq_ex");
            abort("the device lacks it: " + refused.getMessage());
        }
    }

    @Test
    @NotOnIwarp("vendor options belong to the messages of InfiniBand's connection manager")
    void remoteEceIsRead() throws Exception {
        ConnectionId listener = listening(PortSpace.TCP);
        ConnectionId client = resolved(PortSpace.TCP, listener);
        client.offerEce(new Ece(7, 3));
        QueuePair own = client.context()
                .allocateProtectionDomain()
                .createQueuePair(QueuePair.rc(client.context().createCompletionQueue(4)));
        client.bring(own, QueuePairState.INIT);
        client.beginConnect(ConnectionParameters.defaults().queuePair(own.number(), false));
        ConnectionId server = listener.awaitRequest(DEADLINE).claim();
        assertThat(server.peerEce()).isEqualTo(new Ece(7, 3));
        server.rejectEce(PrivateData.NONE);
        assertThat(client.awaitEvent(DEADLINE))
                .isInstanceOfSatisfying(
                        CmEvent.Rejected.class,
                        event -> assertThat(event.reason()).isEqualTo("the peer does not support the vendor's option"));
    }

    @Test
    void notifyReportsAMessageBeforeEstablished() throws Exception {
        ConnectionId listener = listening(PortSpace.TCP);
        ConnectionId client = resolved(PortSpace.TCP, listener);
        Context context = client.context();
        ProtectionDomain domain = context.allocateProtectionDomain();
        QueuePair left = domain.createQueuePair(QueuePair.rc(context.createCompletionQueue(4)));
        client.bring(left, QueuePairState.INIT);
        client.beginConnect(ConnectionParameters.defaults().queuePair(left.number(), false));
        ConnectionId server = listener.awaitRequest(DEADLINE).claim();
        server.createQueuePair(domain, QueuePair.rc(context.createCompletionQueue(4)));
        server.beginAccept(ConnectionParameters.defaults());
        assertThat(client.awaitEvent(DEADLINE).type()).isEqualTo(answer());
        server.report(AsyncEvent.Type.COMM_EST); // the client has not said that it is ready, but has sent
        assertThat(server.awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.ESTABLISHED);
    }

    @Test
    @Covers({"rdma_get_local_addr", "rdma_get_peer_addr", "rdma_event_str"})
    void eventTypesHaveTheNamesOfC() {
        for (CmEvent.Type type : CmEvent.Type.values()) {
            String name = MemorySegment.ofAddress(EVENT_STR.call(type.code()))
                    .reinterpret(256)
                    .getString(0);
            assertThat(name).isIn(type.cName(), "UNKNOWN EVENT"); // those newer than the installed library
        }
        ConnectionId id = channel.createId(PortSpace.TCP);
        assertThat(id.localAddress()).isEmpty();
        assertThat(id.peerAddress()).isEmpty();
        assertThat(id.localIbAddress()).isEmpty();
        assertThat(id.peerIbAddress()).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "UNKNOWN")
    void createIdWorksInEachPortSpace(PortSpace space) {
        ConnectionId id = channel.createId(space);
        assertThat(id.portSpace()).isEqualTo(space);
        if (space != PortSpace.IPOIB) { // for networks of InfiniBand only
            id.bind(any);
            assertThat(id.hasDevice()).isTrue();
            assertThat(id.devicePort()).isEqualTo(1);
        }
    }

    /** Only ports of InfiniBand have such addresses: elsewhere the kernel finds none. */
    @Test
    void bindAcceptsAnIbAddress() {
        ConnectionId id = channel.createId(PortSpace.IB);
        id.bind(any);
        IbAddress address = IbAddress.of(id.context().gids().getFirst().gid(), PortSpace.IB, 7471);
        assertThat(address.port()).isEqualTo(7471);
        ConnectionId other = channel.createId(PortSpace.IB);
        try {
            other.bind(address);
            assertThat(other.localIbAddress()).isPresent();
        } catch (VerbsException refused) {
            assertThat(refused).hasMessageContaining("rdma_bind_addr").hasMessageContaining("service 0x13f1d2f");
            abort("no port of InfiniBand: " + refused.getMessage());
        }
    }
}
