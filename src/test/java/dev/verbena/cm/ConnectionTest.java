package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.Await;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Fault;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.NotOnIwarp;
import dev.verbena.support.TestDevice;
import dev.verbena.support.Twin;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkStatus;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Servers and clients by address. */
@DeviceTest
@IwarpToo
class ConnectionTest {
    private static final Duration SHORT = Duration.ofMillis(200);

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private VerbsArena arena;
    private InetSocketAddress any;

    @BeforeEach
    void open() {
        arena = VerbsArena.ofShared();
        any = CmAddress.four(0);
    }

    @AfterEach
    void close() {
        threads.shutdownNow();
        arena.close();
    }

    private AcceptingListener.Ends connected(Listener listener) throws Exception {
        Future<Connection> accepted = threads.submit(() -> listener.accept(DEADLINE));
        Connection client = Connection.open(listener.address(), DEADLINE, arena);
        return new AcceptingListener.Ends(client, accepted.get(DEADLINE.toSeconds(), SECONDS));
    }

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

    private void serveOne(InetSocketAddress address) throws Exception {
        Listener listener = Listener.open(address, arena);
        AcceptingListener.Ends both = connected(listener);
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
        listener.close();
    }

    @Test
    @Twin("test_rdmacm.CMTestCase.test_rdmacm_async_traffic")
    void connectionExchangesMessages() throws Exception {
        serveOne(any);
    }

    private interface Exchange {
        void of(Connection client, MemoryRegion own, RemoteMemory remote) throws InterruptedException;
    }

    private void exchange(Exchange how, AccessFlag allowed, int from, int to) throws Exception {
        AcceptingListener.Ends both = connected(Listener.open(any, arena));
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
        serveOne(CmAddress.six(0));
    }

    @Test
    void listenerOnAnyAddressReportsTheActualOne() throws Exception {
        Listener listener = Listener.open(new InetSocketAddress(0), arena);
        Future<Connection> accepted = threads.submit(() -> listener.accept(DEADLINE));
        Connection.open(CmAddress.four(listener.address().getPort()), DEADLINE, arena);
        assertThat(accepted.get(DEADLINE.toSeconds(), SECONDS)
                        .id()
                        .localAddress()
                        .orElseThrow()
                        .getAddress())
                .isEqualTo(any.getAddress());
    }

    @Test
    @NotOnIwarp("there is room for more private data")
    void longPrivateDataIsRefusedLocally() throws Exception {
        Listener listener = Listener.open(any, arena);
        Connection client = Connection.to(listener.address(), DEADLINE, arena);
        assertThatThrownBy(() -> client.connect(
                        ConnectionParameters.defaults().privateData(PrivateData.of(new byte[57])), DEADLINE))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("EINVAL");
        assertThatThrownBy(() -> PrivateData.of(new byte[256])).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void acceptDataArrives() throws Exception {
        Listener listener = Listener.open(any, arena);
        Connection client = Connection.to(listener.address(), DEADLINE, arena);
        Future<PrivateData> answer = threads.submit(() -> client.connect(ConnectionParameters.defaults(), DEADLINE));
        listener.awaitConnection(DEADLINE)
                .accept(ConnectionParameters.defaults().privateData(PrivateData.of("welcome")), DEADLINE);
        assertThat(answer.get(DEADLINE.toSeconds(), SECONDS).text()).isEqualTo("welcome");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 148})
    @Fault("cm-rejected")
    @NotOnIwarp("a refusal is an errno, and its data is not padded")
    void rejectionHasReasonAndData(int size) throws Exception {
        Listener listener = Listener.open(any, arena);
        Connection client = Connection.to(listener.address(), DEADLINE, arena);
        Future<PrivateData> answer = threads.submit(() -> client.connect(ConnectionParameters.defaults(), DEADLINE));
        listener.awaitConnection(DEADLINE).reject(PrivateData.of("z".repeat(size)));
        ExecutionException thrown =
                catchThrowableOfType(ExecutionException.class, () -> answer.get(DEADLINE.toSeconds(), SECONDS));
        assertThat(thrown.getCause()).isInstanceOfSatisfying(ConnectionException.class, refused -> {
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
        Listener listener = Listener.open(any, arena);
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
        byte[] absent = any.getAddress().getAddress();
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
        Listener listener = Listener.open(any, arena);
        assertThatThrownBy(() -> Connection.open(listener.address(), SHORT, arena))
                .isInstanceOf(VerbsTimeoutException.class)
                .hasMessageContaining("rdma_connect");
        assertThat(listener.id().isOpen()).isTrue();
    }

    @Test
    void acceptWithoutClientEndsAtItsTimeout() {
        Listener listener = Listener.open(any, arena);
        assertThatThrownBy(() -> listener.accept(SHORT)).isInstanceOf(VerbsTimeoutException.class);
    }

    @Test
    void closeEndsTheWaitOfAnotherThread() throws Exception {
        Listener listener = Listener.open(any, arena);
        Future<Connection> accepted = threads.submit(() -> listener.accept(DEADLINE));
        // Whether it waits already or not, it must end.
        listener.close();
        assertThatThrownBy(() -> accepted.get(DEADLINE.toSeconds(), SECONDS))
                .hasCauseInstanceOf(IllegalStateException.class);
    }

    @Test
    void interruptEndsTheWait() throws Exception {
        Listener listener = Listener.open(any, arena);
        Future<Connection> accepted = threads.submit(() -> listener.accept(DEADLINE));
        threads.shutdownNow();
        assertThatThrownBy(() -> accepted.get(DEADLINE.toSeconds(), SECONDS))
                .hasCauseInstanceOf(InterruptedException.class);
    }

    @Test
    void acceptKeepsASecondRequest() throws Exception {
        Listener listener = Listener.open(any, arena);
        Connection one = Connection.to(listener.address(), DEADLINE, arena);
        Connection two = Connection.to(listener.address(), DEADLINE, arena);
        Future<?> firstConnects = threads.submit(() -> one.connect(ConnectionParameters.defaults(), DEADLINE));
        Future<?> secondConnects = threads.submit(() -> two.connect(ConnectionParameters.defaults(), DEADLINE));
        Connection first = listener.awaitConnection(DEADLINE);
        first.accept(DEADLINE);
        Connection second = listener.awaitConnection(DEADLINE);
        second.accept(DEADLINE);
        firstConnects.get(DEADLINE.toSeconds(), SECONDS);
        secondConnects.get(DEADLINE.toSeconds(), SECONDS);
        assertThat(List.of(first.id().peerAddress(), second.id().peerAddress()))
                .containsExactlyInAnyOrder(one.id().localAddress(), two.id().localAddress());
    }

    @Test
    void listenerServesAHundredClientsAtOnce() throws Exception {
        int count = TestDevice.connections(100);
        Listener listener = Listener.open(any, arena);
        List<Future<Connection>> servers = new ArrayList<>();
        List<Future<Connection>> clients = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            servers.add(threads.submit(() -> listener.accept(DEADLINE)));
            clients.add(threads.submit(() -> Connection.open(listener.address(), DEADLINE, arena)));
        }
        List<Object> ends = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            clients.get(i).get(DEADLINE.toSeconds(), SECONDS);
            ends.add(servers.get(i).get(DEADLINE.toSeconds(), SECONDS).id().peerAddress());
        }
        assertThat(ends).doesNotHaveDuplicates().hasSize(count);
    }

    @Test
    void disconnectOfThePeerIsReported() throws Exception {
        AcceptingListener.Ends both = connected(Listener.open(any, arena));
        Connection client = both.client();
        Connection server = both.server();
        MemoryRegion buffer = client.register(arena.allocate(64), LOCAL_WRITE);
        client.queuePair().postReceive(5, buffer);
        server.close();
        client.id().disconnect(DEADLINE);
        assertThat(client.id().isDisconnected()).isTrue();
        WorkCompletion flushed = Await.completion(client.completionQueue());
        assertThat(flushed.status()).isEqualTo(WorkStatus.WORK_REQUEST_FLUSHED);
    }

    @Test
    void confinedArenaServesBothEndsInOneThread() throws Exception {
        try (VerbsArena confined = VerbsArena.ofConfined()) {
            Listener listener = Listener.open(any, confined);
            Connection client = Connection.to(listener.address(), DEADLINE, confined);
            client.id().beginConnect(ConnectionParameters.defaults());
            Connection server = listener.awaitConnection(DEADLINE);
            server.id().beginAccept(ConnectionParameters.defaults());
            assertThat(client.id().awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.ESTABLISHED);
            assertThat(server.id().awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.ESTABLISHED);
            sendAndReceive(client, server);
        }
    }

    @Test
    void confinedListenerTakesLaterRequests() throws Exception {
        CompletableFuture<InetSocketAddress> address = new CompletableFuture<>();
        Thread[] serving = new Thread[1];
        Future<?> server = threads.submit(() -> {
            serving[0] = Thread.currentThread();
            try (VerbsArena confined = VerbsArena.ofConfined()) {
                Listener listener = Listener.open(any, confined);
                address.complete(listener.address());
                listener.accept(DEADLINE);
            }
            return null;
        });
        InetSocketAddress to = address.get(DEADLINE.toSeconds(), SECONDS);
        Await.until("a thread that waits", () -> Await.isAsleep(serving[0]));
        try (VerbsArena client = VerbsArena.ofShared()) {
            Connection.open(to, DEADLINE, client);
            server.get(DEADLINE.toSeconds(), SECONDS);
        }
    }

    @Test
    @Fault("cm-server-killed")
    void connectEndsWhenItsServerIsKilled() throws Exception {
        try (CmPeer server = CmPeer.start(any)) {
            InetSocketAddress address = new InetSocketAddress(any.getAddress(), Integer.parseInt(server.nextLine()));
            Future<Connection> opening = threads.submit(() -> Connection.open(address, DEADLINE, arena));
            assertThat(server.nextLine()).isEqualTo("requested");
            server.kill();
            assertThatThrownBy(() -> opening.get(DEADLINE.toSeconds(), SECONDS))
                    .hasCauseInstanceOf(ConnectionException.class);
        }
    }

    @Test
    @Fault("cm-client-killed")
    void acceptEndsWhenItsClientIsKilled() throws Exception {
        Listener listener = Listener.open(any, arena);
        Process client = new ProcessBuilder(
                        "rping",
                        "-c",
                        "-a",
                        any.getAddress().getHostAddress(),
                        "-p",
                        Integer.toString(listener.address().getPort()))
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try {
            Connection peer = listener.awaitConnection(DEADLINE);
            client.destroyForcibly().waitFor();
            assertThatThrownBy(() -> peer.accept(DEADLINE))
                    .isInstanceOf(VerbsException.class)
                    .isNotInstanceOf(VerbsTimeoutException.class);
            peer.close();
        } finally {
            client.destroyForcibly();
        }
        connected(listener); // the listener goes on
    }
}
