package dev.verbena.net;

import static dev.verbena.net.NodePair.OWN;
import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.net.NodePair.end;
import static dev.verbena.net.NodePair.receive;
import static dev.verbena.net.NodePair.send;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PrivateData;
import dev.verbena.internal.link.ConnectData;
import dev.verbena.internal.wire.EndCode;
import dev.verbena.internal.wire.Wire;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import java.lang.foreign.ValueLayout;
import java.lang.ref.WeakReference;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The progress of nodes: its threads, its wake-ups, its failures and its end. */
@FencedTest
@Timeout(120)
class NodeProgressTest {
    private static final Duration SHORT = Duration.ofMillis(20);
    private static final NodeOptions CALLER =
            SMALL.progress(NodeOptions.Progress.CALLER).closeTimeout(SHORT);

    private static void assertBroken(ThrowingCallable call) {
        assertThatExceptionOfType(ChannelException.class)
                .isThrownBy(call)
                .withMessageContaining("The node can't go on")
                .satisfies(told -> assertThat(told.reason()).isEqualTo(EndReason.FAILED))
                .satisfies(told -> assertThat(told).rootCause().hasMessageContaining("ibv_poll_cq"));
    }

    /** All waits of a node end with the failure of its device, and closing frees everything. */
    @Test
    void failureOfTheDeviceEndsAllWaitsOfTheNode() throws Exception {
        int live = Fenced.liveObjects();
        try (NodePair nodes = new NodePair(CALLER, SMALL)) {
            List<Channel> channels =
                    List.of(nodes.connect().server(), nodes.connect().server());
            FutureTask<Channel> accepting = new FutureTask<>(() -> nodes.server.accept(DEADLINE));
            FutureTask<Message> receiving =
                    new FutureTask<>(() -> channels.get(0).receive(DEADLINE));
            for (FutureTask<?> wait : List.of(accepting, receiving)) { // the node's thread meets the failure
                Thread waiting = Thread.ofPlatform().daemon().start(wait);
                Await.until("it waits", () -> Await.isAsleep(waiting));
            }
            Fenced.fail("ibv_poll_cq", 1, 5);
            assertThat(NodePair.failure(accepting))
                    .isInstanceOf(ChannelException.class)
                    .hasMessageContaining("The node can't go on");
            assertThat(receiving).failsWithin(DEADLINE).withThrowableThat().withCauseInstanceOf(ChannelException.class);
            for (Channel channel : channels) {
                assertBroken(() -> channel.receive(DEADLINE));
            }
            assertBroken(() -> nodes.server.listen((channel, message) -> {}));
            assertBroken(() -> nodes.server.connect(nodes.client.address(), DEADLINE));
            assertBroken(nodes.server::pollAccept);
            nodes.server.close();
        }
        assertThat(Fenced.liveObjects()).isEqualTo(live);
    }

    private static long threadsOf(InetSocketAddress address) {
        String name = "-10.9.9.1:" + address.getPort();
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("verbena-node-")
                        && thread.getName().endsWith(name))
                .count();
    }

    @ParameterizedTest
    @EnumSource(NodeOptions.Progress.class)
    void closedNodeHasNoThreads(NodeOptions.Progress progress) {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = Node.open(OWN, SMALL.progress(progress), arena);
            InetSocketAddress address = node.address();
            assertThat(threadsOf(address)).isEqualTo(progress == NodeOptions.Progress.CALLER ? 1 : 2);
            node.close();
            assertThat(threadsOf(address)).isZero();
        }
    }

    @Test
    void progressReturnsTheNumberOfCompletionsAndEvents() throws Exception {
        NodeOptions wide = SMALL.window(200).sends(200);
        try (NodePair nodes = new NodePair(
                wide.closeTimeout(SHORT),
                wide.progress(NodeOptions.Progress.CALLER).closeTimeout(SHORT))) {
            AtomicInteger handled = new AtomicInteger();
            Future<Channel> connecting = nodes.start(() -> nodes.client.connect(nodes.server.address(), DEADLINE));
            Await.until("an event and two greetings", () -> handled.addAndGet(nodes.server.progress()) >= 3);
            Channel client = end(connecting);
            assertThat(nodes.server.progress()).isZero();
            assertThat(handled).hasValue(3);
            Channel server = nodes.server.pollAccept();
            assertThat(server).isNotNull();
            assertThat(nodes.server.toString()).contains(" 0 waiting");
            for (int i = 0; i < 150; i++) { // more than are taken from the queue at once
                send(client, i);
            }
            assertThat(nodes.server.progress()).isEqualTo(150);
            assertThat(nodes.server.progress()).isZero();
            for (int i = 0; i < 150; i++) {
                assertThat(receive(server)).isEqualTo(i);
            }
        }
    }

    /** Threads that wait for nothing look at the queue when the clock ticks, and not all the time. */
    @ParameterizedTest
    @EnumSource(NodeOptions.Progress.class)
    void idleNodesSleep(NodeOptions.Progress progress) throws Exception {
        try (NodePair nodes = new NodePair(SMALL.progress(progress).closeTimeout(SHORT))) {
            if (progress
                    == NodeOptions.Progress.BACKGROUND) { // the server has buried a channel that nobody has accepted
                nodes.client.connect(nodes.server.address(), DEADLINE).close();
                Await.until("it is forgotten", () -> nodes.server.engine().channels() == 0);
            }
            NodePair.Ends ends = nodes.connect();
            if (progress == NodeOptions.Progress.BACKGROUND) { // a handler has had its message
                CountDownLatch handled = new CountDownLatch(1);
                ends.server().listen((channel, message) -> handled.countDown());
                send(ends.client(), 1);
                assertThat(handled.await(DEADLINE.toSeconds(), TimeUnit.SECONDS))
                        .isTrue();
            }
            long before = Fenced.calls("ibv_poll_cq");
            assertThatExceptionOfType(VerbsTimeoutException.class)
                    .isThrownBy(() -> ends.client().receive(Duration.ofMillis(250)));
            assertThat(Fenced.calls("ibv_poll_cq") - before).isLessThan(100);
        }
    }

    /** A thread that waits does not look again and again for the handlers that another thread calls. */
    @Test
    void threadsSleepWhileAnotherCallsHandlers() throws Exception {
        try (NodePair nodes = new NodePair(SMALL.closeTimeout(SHORT), CALLER)) {
            NodePair.Ends first = nodes.connect();
            NodePair.Ends second = nodes.connect();
            CountDownLatch called = new CountDownLatch(1);
            CountDownLatch goOn = new CountDownLatch(1);
            first.server().listen((channel, message) -> {
                called.countDown();
                goOn.await(DEADLINE.toSeconds(), TimeUnit.SECONDS);
            });
            send(first.client(), 1);
            send(first.client(), 2);
            Future<Integer> serving = nodes.start(nodes.server::progress);
            assertThat(called.await(DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            send(first.client(), 3);
            long before = Fenced.calls("ibv_poll_cq");
            assertThatExceptionOfType(VerbsTimeoutException.class)
                    .isThrownBy(() -> second.server().receive(Duration.ofMillis(250)));
            assertThat(Fenced.calls("ibv_poll_cq") - before).isLessThan(100);
            goOn.countDown();
            end(serving);
        }
    }

    /** A wait that is only ended by the tick of the clock takes a tenth of a second. */
    @Test
    void eachMessageWakesTheThreadThatWaits() throws Exception {
        int rounds = 100;
        try (NodePair nodes = new NodePair(CALLER, CALLER)) {
            NodePair.Ends ends = nodes.connect();
            Future<?> echo = nodes.start(() -> {
                for (int i = 0; i < rounds; i++) {
                    send(ends.server(), receive(ends.server()));
                }
                return null;
            });
            for (int i = 0; i < rounds; i++) {
                send(ends.client(), i);
                assertThat(receive(ends.client())).isEqualTo(i);
            }
            end(echo);
        }
    }

    /** A thread waits at the queue for something that another thread of its node changes. */
    @Test
    void threadsOfOneNodeWakeEachOther() throws Exception {
        try (NodePair nodes = new NodePair(CALLER.sends(1), CALLER)) {
            NodePair.Ends ends = nodes.connect();
            for (int i = 0; i < 60; i++) {
                Message only = ends.client().message(DEADLINE);
                Thread waiting = Thread.ofPlatform().daemon().start(() -> take(ends.client()));
                Await.until("the thread waits", () -> Await.isAsleep(waiting));
                only.close();
                Await.end(waiting);
            }
        }
    }

    private static void take(Channel channel) {
        try {
            channel.message(DEADLINE).close();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** The program's thread finds the message, and the node's thread calls the handler. */
    @Test
    void handlersOfTheNodesThreadAreWokenByOtherThreads() throws Exception {
        try (NodePair nodes = new NodePair()) {
            NodePair.Ends ends = nodes.connect();
            NodePair.Ends others = nodes.connect();
            ends.server().listen((channel, request) -> {
                Message reply = request.reply().length(Long.BYTES);
                reply.segment().copyFrom(request.segment());
                reply.send();
            });
            for (int i = 0; i < 100; i++) {
                Message request = ends.client().message(DEADLINE).length(Long.BYTES);
                request.segment().set(ValueLayout.JAVA_LONG, 0, i);
                long ticket = ends.client().tryCall(request);
                nodes.server.progress(); // may take the request before the node's thread does
                assertThatExceptionOfType(VerbsTimeoutException.class)
                        .isThrownBy(() -> others.server().receive(Duration.ZERO));
                Message[] reply = new Message[1];
                Await.until("reply", () -> (reply[0] = ends.client().pollReply(ticket)) != null);
                assertThat(reply[0].segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(i);
                reply[0].close();
            }
        }
    }

    /** A program that polls serves 64 channels in one call, and goes on with the others in the next one. */
    @Test
    void moreChannelsThanOneTurnServesAreAllServed() throws Exception {
        int count = 70;
        NodeOptions tiny = NodeOptions.defaults()
                .window(1)
                .sends(1)
                .calls(0)
                .operations(0)
                .maxChannels(count)
                .maxChannelsPerPeer(count)
                .maxWaiting(count)
                .closeTimeout(SHORT);
        try (NodePair nodes = new NodePair(tiny, tiny.progress(NodeOptions.Progress.CALLER))) {
            for (int i = 0; i < count; i++) {
                Future<Channel> connecting = nodes.start(() -> nodes.client.connect(nodes.server.address(), DEADLINE));
                while (!connecting.isDone()) {
                    nodes.server.progress();
                }
                end(connecting);
            }
            AtomicInteger opened = new AtomicInteger();
            nodes.server.listen(new Handler() {
                @Override
                public void opened(Channel channel) {
                    opened.incrementAndGet();
                }

                @Override
                public void received(Channel channel, Message message) {}
            });
            nodes.server.progress();
            assertThat(opened.get()).isBetween(1, count - 1);
            nodes.server.progress();
            assertThat(opened).hasValue(count);
        }
    }

    @Test
    void acceptedPeersDoNotCountAsWaiting() throws Exception {
        try (NodePair nodes = new NodePair(SMALL.maxWaiting(1))) {
            for (int i = 0; i < 3; i++) {
                nodes.connect();
                assertThat(nodes.server.toString()).contains("(" + (i + 1) + " of 64 channels, 0 waiting)");
            }
        }
    }

    @Test
    void connectEndsWhenItsNodeCloses() throws Exception {
        int live = Fenced.liveObjects();
        try (NodePair nodes = new NodePair()) {
            try (VerbsArena others = VerbsArena.ofShared()) {
                Listener silent = Listener.open(OWN, others);
                Future<Channel> connecting = nodes.start(() -> nodes.client.connect(silent.address(), DEADLINE));
                Await.until("connecting", () -> nodes.client.toString().contains("(1 of"));
                nodes.client.close();
                assertThat(connecting)
                        .failsWithin(DEADLINE)
                        .withThrowableThat()
                        .withCauseInstanceOf(IllegalStateException.class);
                assertThat(nodes.client.toString()).contains("(0 of");
            }
        }
        assertThat(Fenced.liveObjects()).isEqualTo(live);
    }

    /** A server that is no node of this release says why it ends the channel before it has greeted. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 0xffff})
    void goodbyeInPlaceOfAGreetingTellsItsReason(int code) throws Exception {
        EndReason reason = code < 11 ? EndReason.of(code) : EndReason.PEER_FAILED;
        try (NodePair nodes = new NodePair();
                VerbsArena others = VerbsArena.ofShared()) {
            Listener listener = Listener.open(OWN, others);
            Future<RawPeer> accepted = nodes.start(() -> {
                RawPeer peer = new RawPeer(listener);
                peer.awaitMessage();
                peer.send(Wire.GOODBYE, 0, code);
                return peer;
            });
            assertThatExceptionOfType(ChannelException.class)
                    .isThrownBy(() -> nodes.client.connect(listener.address(), DEADLINE))
                    .satisfies(told -> assertThat(told.reason()).isEqualTo(reason))
                    .withMessageContaining("It ended the channel");
            assertThat(nodes.client.toString()).contains("(0 of");
            end(accepted).close();
        }
    }

    /** The private data of a refusal, as nodes of all releases send it. */
    @Test
    void refusalsOfNodesAreKnownByTheirFirstBytes() {
        assertThat(ConnectData.refusal(PrivateData.of(new byte[] {'V', 'B', 'N', 'A', 9, 3})))
                .isEqualTo(EndCode.TOO_MANY_CHANNELS);
        assertThat(ConnectData.refusal(PrivateData.of(new byte[] {'V', 'B', 'N', 'A', 1, 1, 77})))
                .isEqualTo(EndCode.OTHER_VERSION);
        assertThat(ConnectData.refusal(PrivateData.of(new byte[] {'V', 'B', 'N', 'A', 1, (byte) 200})))
                .isEqualTo(200);
        assertThat(ConnectData.refusal(PrivateData.of(new byte[] {'V', 'B', 'N', 'A', 1})))
                .isNull();
        for (int i = 0; i < 4; i++) {
            byte[] other = {'V', 'B', 'N', 'A', 1, 3};
            other[i]++;
            assertThat(ConnectData.refusal(PrivateData.of(other))).isNull();
        }
        assertThat(ConnectData.refusal(PrivateData.of(new byte[0]))).isNull();
    }

    /** Requests of a closed channel may complete when another channel has its place. */
    @Test
    void lateCompletionsBelongToNoOtherChannel() throws Exception {
        try (NodePair nodes = new NodePair(CALLER.maxChannels(1), SMALL.maxChannels(4))) {
            Engine engine = nodes.client.engine();
            long before = 0;
            for (int i = 0; i < 5; i++) {
                NodePair.Ends ends = nodes.connect();
                assertThat(engine.find(before | 1)).isNull();
                before = ends.client().session().key;
                assertThat(engine.find(before | 1)).isSameAs(ends.client().session().rail);
                send(ends.server(), i);
                send(ends.client(), i);
                assertThat(receive(ends.client())).isEqualTo(i);
                ends.client().session().end(EndReason.LOST, "on purpose", null); // flushes all receives
                ends.client().close();
                Await.until("the server knows", () -> !ends.server().isOpen());
                ends.server().close();
            }
        }
    }

    /** A program that posts to the queue pair of a channel breaks that channel only. */
    @ParameterizedTest
    @ValueSource(longs = {-1, 4 << 16})
    void requestOfTheProgramsOwnBelongsToNoChannel(long id) throws Exception {
        try (NodePair nodes = new NodePair(SMALL.maxChannels(4))) {
            NodePair.Ends broken = nodes.connect();
            NodePair.Ends other = nodes.connect();
            LocalMemory bytes = nodes.client
                    .register(nodes.arena.allocate(8), AccessFlag.LOCAL_WRITE)
                    .slice(0, 8);
            broken.client().queuePair().postSend(id, bytes);
            NodePair.endOf(broken.server(), EndReason.PROTOCOL_ERROR);
            NodePair.endOf(broken.client(), EndReason.PROTOCOL_ERROR); // the request has completed before
            send(other.client(), 1);
            assertThat(receive(other.server())).isEqualTo(1);
        }
    }

    @Test
    void closedNodeRefusesAllCalls() throws Exception {
        try (NodePair nodes = new NodePair()) {
            Node node = nodes.client;
            assertThat(node.options()).isEqualTo(SMALL);
            assertThat(node.context().device().name()).isNotEmpty();
            assertThat(node.toString()).contains("on " + node.context().device().name() + " (0 of 64 channels");
            InetSocketAddress address = nodes.server.address();
            node.close();
            List<ThrowingCallable> calls = new ArrayList<>(List.of(
                    node::options,
                    node::context,
                    node::address,
                    node::statistics,
                    node::progress,
                    node::pollAccept,
                    () -> node.accept(DEADLINE),
                    () -> node.connect(address, DEADLINE),
                    () -> node.listen((channel, message) -> {}),
                    () -> node.register(nodes.arena.allocate(8)),
                    () -> node.export("t", nodes.arena.allocate(8), AccessFlag.REMOTE_READ)));
            for (ThrowingCallable call : calls) {
                assertThatIllegalStateException().isThrownBy(call).withMessageContaining("closed");
            }
        }
    }

    /** Nothing is sent, taken or received when the time is null. */
    @Test
    void waitsRefuseNullBeforeTheyTakeAnything() throws Exception {
        try (NodePair nodes = new NodePair(SMALL.sends(1).calls(1))) {
            NodePair.Ends ends = nodes.connect();
            Channel client = ends.client();
            send(ends.server(), 5);
            Await.until("it has come", () -> client.toString().contains("1 arrived"));
            Message message = client.message(DEADLINE).length(8);
            List<ThrowingCallable> calls = List.of(
                    () -> client.receive(null),
                    () -> client.send(message, null),
                    () -> client.call(message, null),
                    () -> client.remote("t", null),
                    () -> client.await(1, null),
                    () -> nodes.server.accept(null),
                    () -> nodes.client.connect(nodes.server.address(), null),
                    () -> client.listen(null),
                    () -> nodes.server.listen(null),
                    () -> client.receiveEach(null));
            for (ThrowingCallable call : calls) {
                assertThatExceptionOfType(NullPointerException.class).isThrownBy(call);
            }
            message.close();
            assertThatExceptionOfType(NullPointerException.class).isThrownBy(() -> client.message(null));
            assertThat(receive(client)).isEqualTo(5);
            send(client, 6);
            assertThat(receive(ends.server())).isEqualTo(6);
        }
    }

    @Test
    void channelsThatWaitAllGoToAHandler() throws Exception {
        try (NodePair nodes = new NodePair()) {
            List<Channel> clients = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                clients.add(nodes.client.connect(nodes.server.address(), DEADLINE));
                send(clients.get(i), i);
            }
            Await.until("waiting", () -> nodes.server.toString().contains("3 waiting"));
            CountDownLatch served = new CountDownLatch(3);
            nodes.server.listen((channel, message) -> served.countDown());
            assertThat(served.await(DEADLINE.toSeconds(), TimeUnit.SECONDS)).isTrue();
            assertThat(nodes.server.toString()).contains("(3 of 64 channels, 0 waiting)");
        }
    }

    @Test
    void failureOfTheEventsEndsTheNode() throws Exception {
        int live = Fenced.liveObjects();
        try (NodePair nodes = new NodePair(CALLER, SMALL)) {
            Fenced.fail("rdma_get_cm_event", 1, 5); // the first event is that of the client's address
            assertThatExceptionOfType(ChannelException.class)
                    .isThrownBy(() -> nodes.client.connect(nodes.server.address(), DEADLINE))
                    .withMessageContaining("The node can't go on")
                    .satisfies(told -> assertThat(told.reason()).isEqualTo(EndReason.FAILED));
            nodes.client.close();
        }
        assertThat(Fenced.liveObjects()).isEqualTo(live);
    }

    @Test
    void closeKeepsTheInterruptOfItsThread() {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Node node = Node.open(OWN, SMALL, arena);
            InetSocketAddress address = node.address();
            Thread.currentThread().interrupt();
            node.close();
            assertThat(Thread.interrupted()).isTrue();
            assertThat(threadsOf(address)).isZero();
        }
    }

    @Test
    void channelsHavePortsOfTheirOwn() throws Exception {
        try (NodePair nodes = new NodePair()) {
            int first = nodes.connect().server().peer().getPort();
            int second = nodes.connect().server().peer().getPort();
            assertThat(first).isGreaterThan(1).isNotEqualTo(second);
        }
    }

    @Test
    void connectRefusesAddressesOfNoNode() {
        try (NodePair nodes = new NodePair()) {
            for (InetSocketAddress bad : List.of(
                    new InetSocketAddress("0.0.0.0", 7),
                    new InetSocketAddress("10.9.9.1", 0),
                    InetSocketAddress.createUnresolved("host.invalid", 1))) {
                assertThatExceptionOfType(IllegalArgumentException.class)
                        .isThrownBy(() -> nodes.client.connect(bad, DEADLINE));
            }
            assertThat(nodes.client.toString()).contains("(0 of");
        }
    }

    /** A node of a long life keeps nothing of channels that were closed. */
    @Test
    void closedChannelsAreUnreachable() throws Exception {
        try (NodePair nodes = new NodePair()) {
            List<WeakReference<Channel>> closed = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                NodePair.Ends ends = nodes.connect();
                send(ends.client(), i);
                receive(ends.server());
                ends.client().close();
                ends.server().close();
                closed.add(new WeakReference<>(ends.client()));
                closed.add(new WeakReference<>(ends.server()));
            }
            nodes.connect(); // the threads of the nodes have other channels in hand
            Await.until("no channel is left", () -> {
                System.gc();
                return closed.stream().allMatch(each -> each.refersTo(null));
            });
        }
    }

    @Test
    void nodeOfAConfinedArenaBelongsToItsThread() throws Exception {
        try (VerbsArena confined = VerbsArena.ofConfined();
                NodePair nodes = new NodePair()) {
            Node node = Node.open(OWN, SMALL, confined);
            InetSocketAddress address = nodes.server.address();
            List<ThrowingCallable> calls = List.of(
                    node::options,
                    node::context,
                    node::address,
                    node::statistics,
                    node::progress,
                    node::pollAccept,
                    () -> node.accept(DEADLINE),
                    () -> node.connect(address, DEADLINE),
                    () -> node.listen((channel, message) -> {}),
                    () -> node.register(nodes.arena.allocate(8)),
                    () -> node.export("t", nodes.arena.allocate(8), AccessFlag.REMOTE_READ));
            end(nodes.start(() -> {
                for (ThrowingCallable call : calls) {
                    assertThatExceptionOfType(WrongThreadException.class).isThrownBy(call);
                }
                return null;
            }));
            assertThat(node.statistics().opened()).isZero();
        }
    }

    /** Nobody of the library interrupts its threads while they are needed. So an interrupt is of the program, or late. */
    @ParameterizedTest
    @EnumSource(names = {"RDMA", "TCP"})
    void threadsGoOnAfterInterrupts(Transport transport) throws Exception {
        NodePair.over(transport);
        try (NodePair nodes = new NodePair();
                Recording recording = new Recording()) {
            recording.enable("dev.verbena.StrayInterrupt");
            recording.start();
            nodes.server.listen((channel, request) -> request.reply().length(0).send());
            Channel channel = nodes.client.connect(nodes.server.address(), DEADLINE);
            AtomicBoolean enough = new AtomicBoolean();
            AtomicInteger calls = new AtomicInteger();
            Future<?> traffic = nodes.start(() -> {
                while (!enough.get()) {
                    channel.call(channel.message(DEADLINE).length(0), DEADLINE).close();
                    calls.incrementAndGet();
                }
                return null;
            });
            List<Thread> ours = Thread.getAllStackTraces().keySet().stream()
                    .filter(thread -> thread.getName().startsWith("verbena-node-"))
                    .toList();
            List<Thread> lasting = ours.stream() // the others end when they have had nothing to do
                    .filter(thread -> !thread.getName().startsWith("verbena-node-memory-"))
                    .toList();
            assertThat(lasting).hasSize(4);
            for (int i = 0; i < 1000; i++) {
                ours.forEach(Thread::interrupt);
                Thread.yield();
            }
            int before = calls.get();
            Await.until("more calls", () -> calls.get() > before + 10);
            enough.set(true);
            end(traffic);
            lasting.forEach(thread -> Await.until("the interrupt is over", () -> !thread.isInterrupted()));
            assertThat(lasting).allMatch(Thread::isAlive);
            assertThat(channel.isOpen()).isTrue();
            assertThat(channel.call(channel.message(DEADLINE).length(0), DEADLINE)
                            .length())
                    .isZero();
            recording.stop();
            Path file = Files.createTempFile("verbena", ".jfr");
            recording.dump(file);
            assertThat(RecordingFile.readAllEvents(file)).isNotEmpty();
            Files.delete(file);
        } finally {
            NodePair.over(Transport.RDMA);
        }
    }
}
