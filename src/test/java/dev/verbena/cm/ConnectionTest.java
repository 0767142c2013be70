package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Fault;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.IwarpToo.NotOnIwarp;
import dev.verbena.support.Resources;
import dev.verbena.support.Twin;
import dev.verbena.tools.Peer;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.RemoteMemory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Servers and clients by address. */
@DeviceTest
@IwarpToo
class ConnectionTest {
    private static final Duration SHORT = Duration.ofMillis(200);

    @AutoClose
    private final AcceptingListener ends = new AcceptingListener(CmAddress.four(0));

    private final VerbsArena arena = ends.arena;
    private final Listener listener = ends.listener;

    private static void sendAndReceive(Connection from, Connection to) throws InterruptedException {
        try (MemoryRegion source = from.register(from.id().arena().allocate(64), LOCAL_WRITE);
                MemoryRegion sink = to.register(to.id().arena().allocate(64), LOCAL_WRITE)) {
            source.segment().setString(0, "hello");
            to.queuePair().postReceive(1, sink);
            from.queuePair().postSend(2, source);
            from.completionQueue().await(DEADLINE).orThrow();
            to.completionQueue().await(DEADLINE).orThrow();
            assertThat(sink.segment().getString(0)).isEqualTo("hello");
        }
    }

    private static void serveOne(AcceptingListener ends) throws Exception {
        AcceptingListener.Ends both = ends.connected();
        Connection client = both.client();
        Connection server = both.server();
        assertThat(client.queuePair().state()).isEqualTo(QueuePairState.RTS);
        assertThat(server.queuePair().state()).isEqualTo(QueuePairState.RTS);
        assertThat(server.id().peerAddress()).isEqualTo(client.id().localAddress());
        sendAndReceive(client, server);
        sendAndReceive(server, client);
        client.close();
        assertThat(server.id().awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.DISCONNECTED);
        server.close();
        ends.listener.close();
    }

    @Test
    @Twin("test_rdmacm.CMTestCase.test_rdmacm_async_traffic")
    void connectionExchangesMessages() throws Exception {
        serveOne(ends);
    }

    private interface Exchange {
        void of(Connection client, MemoryRegion own, RemoteMemory remote) throws InterruptedException;
    }

    private void exchange(Exchange how, AccessFlag allowed, int from, int to) throws Exception {
        AcceptingListener.Ends both = ends.connected();
        Connection client = both.client();
        Connection server = both.server();
        MemoryRegion[] buffers = {
            client.register(arena.allocate(64), LOCAL_WRITE), server.register(arena.allocate(64), LOCAL_WRITE, allowed)
        };
        buffers[from].segment().setString(0, "across");
        how.of(client, buffers[0], buffers[1].remote());
        client.completionQueue().await(DEADLINE).orThrow();
        assertThat(buffers[to].segment().getString(0)).isEqualTo("across");
    }

    @Test
    @Twin("test_rdmacm.CMTestCase.test_rdmacm_async_read")
    void connectionReadsRemoteMemory() throws Exception {
        exchange((client, own, remote) -> client.queuePair().postRead(1, own, remote), REMOTE_READ, 1, 0);
    }

    @Test
    @Twin("test_rdmacm.CMTestCase.test_rdmacm_async_write")
    void connectionWritesRemoteMemory() throws Exception {
        exchange((client, own, remote) -> client.queuePair().postWrite(1, own, remote), REMOTE_WRITE, 0, 1);
    }

    @Test
    void connectionWorksOverIpv6() throws Exception {
        try (AcceptingListener six = new AcceptingListener(CmAddress.six(0))) {
            serveOne(six);
        }
    }

    @Test
    void listenerOnAnyAddressReportsTheActualOne() throws Exception {
        Listener everywhere = Listener.open(new InetSocketAddress(0), arena);
        Future<Connection> accepted = ends.start(() -> everywhere.accept(DEADLINE));
        Connection.open(CmAddress.four(everywhere.address().getPort()), DEADLINE, arena);
        assertThat(AcceptingListener.end(accepted)
                        .id()
                        .localAddress()
                        .orElseThrow()
                        .getAddress())
                .isEqualTo(listener.address().getAddress());
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 148})
    @Fault("cm-rejected")
    @NotOnIwarp("a refusal is an errno, and its data is not padded")
    void rejectionHasReasonAndData(int size) throws Exception {
        Connection client = Connection.to(listener.address(), DEADLINE, arena);
        Future<PrivateData> answer = ends.start(() -> client.connect(ConnectionParameters.defaults(), DEADLINE));
        listener.awaitConnection(DEADLINE).reject(PrivateData.of("z".repeat(size)));
        assertThatThrownBy(() -> AcceptingListener.end(answer))
                .cause()
                .isInstanceOfSatisfying(ConnectionException.class, refused -> {
                    assertThat(refused.event()).isEqualTo(CmEvent.Type.REJECTED);
                    assertThat(refused.status()).isEqualTo(28);
                    assertThat(refused.reason()).isEqualTo("the peer's program has rejected the connection");
                    assertThat(refused.peer()).contains(listener.address());
                    assertThat(refused.privateData().text()).isEqualTo("z".repeat(size));
                    assertThat(refused.privateData().size()).isEqualTo(148);
                    if (size > 0) {
                        assertThat(refused).hasMessageContaining("The peer's private data: 148 bytes, \"z");
                    } else {
                        assertThat(refused).hasMessageNotContaining("private data");
                    }
                });
    }

    @Test
    @Fault("cm-no-listener")
    @NotOnIwarp("a refusal is an errno")
    void connectWithoutListenerIsRejected() throws Exception {
        InetSocketAddress address = listener.address();
        listener.close();
        ConnectionException refused =
                catchThrowableOfType(ConnectionException.class, () -> Connection.open(address, DEADLINE, arena));
        assertThat(refused.event()).isEqualTo(CmEvent.Type.REJECTED);
        assertThat(refused.status()).isEqualTo(8);
        assertThat(refused.reason()).isEqualTo("no program listens on this port");
        assertThat(refused)
                .hasMessageContaining("rdma_connect")
                .hasMessageContaining("no program listens on this port");
    }

    /** The address may be found not to exist, or only not to answer: a network without ARP does not know. */
    @Test
    @Fault("cm-no-address")
    void connectToAnUnusedAddressEndsAtItsTimeout() throws Exception {
        byte[] absent = listener.address().getAddress().getAddress();
        absent[3] = (byte) 177;
        InetSocketAddress nobody = new InetSocketAddress(InetAddress.getByAddress(absent), 7471);
        assertThatThrownBy(() -> Connection.open(nobody, Duration.ofMillis(500), arena))
                .isInstanceOfSatisfying(
                        VerbsException.class, e -> assertThat(e.errnoName()).isEqualTo("ETIMEDOUT"))
                .hasMessageContaining(nobody.getAddress().getHostAddress());
    }

    @Test
    void connectFromAnAddressWithoutDeviceIsRefused() {
        assertThatThrownBy(() -> Connection.open(new InetSocketAddress("127.0.0.1", 7471), DEADLINE, arena))
                .isInstanceOf(VerbsException.class);
    }

    @Test
    @Fault("cm-never-accepted")
    void connectWithoutAcceptEndsAtItsTimeout() throws Exception {
        assertThatThrownBy(() -> Connection.open(listener.address(), SHORT, arena))
                .isInstanceOf(VerbsTimeoutException.class)
                .hasMessageContaining("rdma_connect");
        assertThat(listener.id().isOpen()).isTrue();
    }

    @Test
    void listenerServesClientsAtOnce() throws Exception {
        assertThat(ends.connectedAtOnce(4)).hasSize(4); // ListenerTest has a hundred
    }

    /** The server is stopped, so that the request waits in the kernel until the server is killed. */
    @Test
    @Fault("cm-server-killed")
    void connectEndsWhenItsServerIsKilled() throws Exception {
        InetSocketAddress address = CmAddress.four(17_673);
        int port = address.getPort();
        try (Peer.Process server = Peer.c("rping -s -a " + address.getAddress().getHostAddress() + " -p " + port)) {
            server.awaitListener(port);
            server.stop();
            Future<Connection> opening = ends.start(() -> Connection.open(address, DEADLINE, arena));
            Resources.awaitRequest(port);
            server.kill();
            assertThatThrownBy(() -> AcceptingListener.end(opening)).hasCauseInstanceOf(ConnectionException.class);
        }
    }

    @Test
    @Fault("cm-client-killed")
    void acceptEndsWhenItsClientIsKilled() throws Exception {
        try (Peer.Process client = Peer.c("rping -c -a "
                + listener.address().getAddress().getHostAddress() + " -p "
                + listener.address().getPort())) {
            Connection peer = listener.awaitConnection(DEADLINE);
            client.kill();
            client.status();
            assertThatThrownBy(() -> peer.accept(DEADLINE))
                    .isInstanceOf(VerbsException.class)
                    .isNotInstanceOf(VerbsTimeoutException.class);
            peer.close();
        }
        ends.connected(); // the listener goes on
    }
}
