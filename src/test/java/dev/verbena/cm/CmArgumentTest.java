package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.OtherThread;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.SharedReceiveQueue;
import java.net.InetSocketAddress;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The methods of ids, listeners and connections check their arguments before C is called or anything changes. */
@FencedTest
class CmArgumentTest {
    private static final ConnectionParameters DEFAULTS = ConnectionParameters.defaults();

    @AutoClose
    private final AcceptingListener ends = new AcceptingListener(FencedIds.OWN);

    private Listener listener;

    @BeforeEach
    void open() throws Exception {
        listener = ends.listener;
        listener.id().context(); // made once
    }

    private static void assertRefused(ThrowingCallable... calls) {
        for (ThrowingCallable call : calls) {
            assertThatNullPointerException().isThrownBy(call);
        }
    }

    private static void assertNotCalled(String... functions) {
        for (String function : functions) {
            assertThat(Fenced.calls(function)).as(function).isZero();
        }
    }

    private ConnectionId ready() throws InterruptedException {
        ConnectionId id = EventChannel.create(ends.arena).createId(PortSpace.TCP);
        id.resolveAddress(listener.address(), DEADLINE);
        id.resolveRoute(DEADLINE);
        return id;
    }

    @Test
    void connectBeginsNothingWithoutParametersOrTimeout() throws Exception {
        ConnectionId id = ready();
        QueuePair pair = id.createQueuePair(FencedIds.SIZES);
        Fenced.calm();
        assertRefused(
                () -> id.connect(null, DEADLINE),
                () -> id.connect(DEFAULTS, null),
                () -> id.beginConnect(null),
                () -> id.connect(pair, null, DEADLINE),
                () -> id.connect(pair, DEFAULTS, null),
                () -> id.connect(null, DEFAULTS, DEADLINE));
        assertNotCalled("rdma_connect", "rdma_init_qp_attr", "ibv_modify_qp");
        assertThat(listener.pollConnection()).isNull();
    }

    @Test
    void acceptBeginsNothingWithoutParametersOrTimeout() throws Exception {
        ends.requesting();
        ConnectionId id = listener.id().awaitRequest(DEADLINE).claim();
        CompletionQueue queue = id.context().createCompletionQueue(4);
        QueuePair pair = id.protectionDomain().createQueuePair(QueuePair.rc(queue));
        Fenced.calm();
        assertRefused(
                () -> id.accept(null, DEADLINE),
                () -> id.accept(DEFAULTS, null),
                () -> id.accept(pair, null, DEADLINE),
                () -> id.accept(pair, DEFAULTS, null),
                () -> id.accept(null, DEFAULTS, DEADLINE),
                () -> id.beginAccept(null));
        assertNotCalled("rdma_accept", "rdma_init_qp_attr", "ibv_modify_qp");
        assertThat(pair.state()).isEqualTo(QueuePairState.RESET);
    }

    @Test
    void rejectKeepsTheRequestWithoutData() throws Exception {
        Connection client = ends.requesting();
        ConnectRequest request = listener.id().awaitRequest(DEADLINE);
        assertRefused(() -> request.reject(null));
        assertThat(client.id().pollEvent()).isNull();
        ConnectionId id = request.claim();
        assertRefused(() -> id.reject(null));
        assertThat(client.id().pollEvent()).isNull();
        id.reject(PrivateData.of("no"));
        assertThat(client.id().awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.REJECTED);
    }

    @Test
    void connectionStaysOpenWithoutArguments() throws Exception {
        Connection client = ends.requesting();
        Connection server = listener.awaitConnection(DEADLINE);
        assertRefused(
                () -> server.reject(null), () -> server.accept(null, DEADLINE), () -> server.accept(DEFAULTS, null));
        assertThat(server.isOpen()).isTrue();
        assertThat(client.id().pollEvent()).isNull();
        Connection other = Connection.to(listener.address(), DEADLINE, ends.arena);
        assertRefused(() -> other.connect(null, DEADLINE), () -> other.connect(DEFAULTS, null));
        assertThat(listener.pollConnection()).isNull();
    }

    @Test
    void disconnectEndsNothingWithoutATimeout() throws Exception {
        AcceptingListener.Ends both = ends.connected();
        assertRefused(() -> both.client().id().disconnect(null));
        assertThat(both.server().isOpen()).isTrue();
        assertThat(both.client().queuePair().state()).isEqualTo(QueuePairState.RTS);
    }

    @Test
    void failedConnectKeepsTheEndOfTheConnection() throws Exception {
        AcceptingListener.Ends both = ends.connected();
        both.server().close();
        ConnectionId id = both.client().id();
        id.awaitEvent(DEADLINE);
        assertThat(id.isDisconnected()).isTrue();
        Fenced.fail("rdma_connect", 1, 22);
        assertThatThrownBy(() -> id.beginConnect(DEFAULTS)).isInstanceOf(VerbsException.class);
        assertThat(id.isDisconnected()).isTrue();
    }

    @Test
    void listenerTakesNoRequestWithoutOptionsOrArena() throws Exception {
        Connection client = ends.requesting();
        VerbsArena closed = VerbsArena.ofShared();
        closed.close();
        assertRefused(
                () -> listener.pollConnection(null, ends.arena),
                () -> listener.pollConnection(ConnectionResources.defaults(), null),
                () -> listener.awaitConnection(DEADLINE, null, ends.arena),
                () -> listener.awaitConnection(null),
                () -> listener.accept(DEADLINE, ConnectionResources.defaults(), null));
        assertThatThrownBy(() -> listener.pollConnection(ConnectionResources.defaults(), closed))
                .isInstanceOf(IllegalStateException.class);
        assertThat(client.id().pollEvent()).isNull();
        assertThat(listener.pollConnection()).isNotNull();
    }

    @Test
    void nothingIsMadeWithoutAnAddressATimeoutOrOptions() throws Exception {
        InetSocketAddress address = listener.address();
        Fenced.calm();
        assertRefused(
                () -> Listener.open(null, ends.arena),
                () -> Connection.to(null, DEADLINE, ends.arena),
                () -> Connection.to(address, null, ends.arena),
                () -> Connection.to(address, DEADLINE, null, ends.arena),
                () -> Connection.open(address, DEADLINE, null, ends.arena));
        assertNotCalled("rdma_create_event_channel", "rdma_create_id", "rdma_resolve_addr");
    }

    @Test
    void lookupsBeginNothingWithoutATimeout() throws Exception {
        EventChannel channel = EventChannel.create(ends.arena);
        AddressInfo info =
                AddressInfo.find("10.9.9.1", "7", AddressInfo.hints(), DEADLINE).getFirst();
        Fenced.calm();
        assertRefused(
                () -> channel.createEndpoint(info, null),
                () -> channel.createEndpoint(info, DEADLINE, null),
                () -> channel.createEndpoint(null, DEADLINE),
                () -> AddressInfo.find("10.9.9.1", "7", null, DEADLINE),
                () -> AddressInfo.find("10.9.9.1", "7", AddressInfo.hints(), null));
        assertNotCalled("rdma_create_ep", "rdma_getaddrinfo");
    }

    @Test
    void joinBeginsNothingWithoutATimeout() {
        ConnectionId id = EventChannel.create(ends.arena).createId(PortSpace.UDP);
        id.bind(FencedIds.OWN);
        id.createQueuePair(FencedIds.SIZES);
        Fenced.calm();
        assertRefused(
                () -> id.join(FencedIds.GROUP, null),
                () -> id.join(null, DEADLINE),
                () -> id.join(FencedIds.GROUP, (MulticastMembership.Kind) null, DEADLINE),
                () -> id.join(FencedIds.GROUP, MulticastMembership.Kind.FULL_MEMBER, null));
        assertNotCalled("rdma_join_multicast", "rdma_join_multicast_ex");
    }

    @Test
    void createQueuePairKeepsEarlierQueuesWithoutSizesOrArena() throws Exception {
        ConnectionId id = ready();
        id.createQueuePair(FencedIds.SIZES).close();
        CompletionQueue earlier = id.sendCompletionQueue().orElseThrow();
        assertRefused(() -> id.createQueuePair(null), () -> id.createQueuePair(FencedIds.SIZES, null));
        assertThat(earlier.isOpen()).isTrue();
    }

    /** The connection manager opens devices itself: the program's own context is another one. */
    @Test
    void domainOfAnotherContextIsRefused() throws Exception {
        ConnectionId id = ready();
        try (Context own = TestDevice.get().open(ends.arena)) {
            ProtectionDomain domain = own.allocateProtectionDomain();
            CompletionQueue queue = own.createCompletionQueue(4);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> id.createQueuePair(domain, QueuePair.rc(queue)))
                    .withMessageContaining("use ConnectionId.context()");
            domain.close();
            queue.close();
        }
    }

    @Test
    void queuePairTakesTheSharedReceiveQueueOfItsOptions() throws Exception {
        ConnectionId id = ready();
        ProtectionDomain domain = id.protectionDomain();
        SharedReceiveQueue ofId = id.createSharedReceiveQueue(domain, SharedReceiveQueue.basic());
        SharedReceiveQueue given = domain.createSharedReceiveQueue(SharedReceiveQueue.basic());
        CompletionQueue queue = id.context().createCompletionQueue(4);
        id.createQueuePair(domain, QueuePair.rc(queue).sharedReceiveQueue(given));
        assertThatThrownBy(given::close).isInstanceOf(ResourceBusyException.class);
        ofId.close();
    }

    // Arenas

    @Test
    void idOfASharedArenaNeedsAChannelOfASharedArena() throws Exception {
        try (VerbsArena confined = VerbsArena.ofConfined()) {
            EventChannel channel = EventChannel.create(confined);
            AddressInfo info = AddressInfo.find("10.9.9.1", "7", AddressInfo.hints(), DEADLINE)
                    .getFirst();
            ConnectionId shared = EventChannel.create(ends.arena).createId(PortSpace.TCP);
            int before = Fenced.liveObjects();
            Fenced.calm();
            for (ThrowingCallable call : new ThrowingCallable[] {
                () -> channel.createId(PortSpace.TCP, ends.arena),
                () -> channel.createEndpoint(info, DEADLINE, ends.arena),
                () -> shared.migrate(channel)
            }) {
                assertThatIllegalArgumentException().isThrownBy(call).withMessageContaining("VerbsArena.ofShared()");
            }
            assertNotCalled("rdma_create_id", "rdma_create_ep", "rdma_migrate_id");
            assertThat(Fenced.liveObjects()).isEqualTo(before);
        }
    }

    @Test
    void confinedListenerKeepsARequestThatASharedArenaCannotOwn() throws Exception {
        try (VerbsArena confined = VerbsArena.ofConfined()) {
            Listener own = Listener.open(FencedIds.OWN, confined);
            Connection client = Connection.to(own.address(), DEADLINE, ends.arena);
            client.id().beginConnect(DEFAULTS);
            ConnectionResources options = ConnectionResources.defaults();
            assertThatIllegalArgumentException().isThrownBy(() -> own.accept(DEADLINE, options, ends.arena));
            ConnectRequest request = own.id().awaitRequest(DEADLINE);
            assertThatIllegalArgumentException().isThrownBy(() -> request.claim(ends.arena));
            request.claim().close();
        }
    }

    @Test
    void lookupsBeginNothingForAnArenaOfAnotherThread() throws Throwable {
        EventChannel channel = EventChannel.create(ends.arena);
        AddressInfo info =
                AddressInfo.find("10.9.9.1", "7", AddressInfo.hints(), DEADLINE).getFirst();
        Fenced.calm();
        try (VerbsArena confined = VerbsArena.ofConfined()) {
            assertThatThrownBy(() -> OtherThread.call(() -> channel.createEndpoint(info, DEADLINE, confined)))
                    .isInstanceOf(WrongThreadException.class);
        }
        assertNotCalled("rdma_create_ep");
    }
}
