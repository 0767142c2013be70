package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.Await;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Channels that lose their connection, and go on over another one. */
@FencedTest
class HealTest {
    private static final int LEAST = 100;
    private static final NodeOptions HEALS =
            NodePair.SMALL.heal(DEADLINE).operations(4).maxTransferSize(1 << 26);

    private final NodePair nodes = new NodePair(HEALS);

    @AfterEach
    void close() {
        nodes.close();
    }

    /** Ends the connection of one side, as if its adapter had given up. */
    static void cut(Channel channel) {
        channel.session().rail.disconnected("cut by a test");
    }

    static boolean isHealing(Channel channel) {
        return channel.session().isHealing();
    }

    static void awaitPath(NodePair.Ends ends) {
        Await.until(
                "both sides have a connection",
                () -> ends.client().session().state() == SessionState.OPEN
                        && ends.server().session().state() == SessionState.OPEN);
    }

    /** Ends connections of both sides at random until it is closed. */
    private final class Cuts implements AutoCloseable {
        private static final int MOST = 12;

        private final AtomicBoolean over = new AtomicBoolean();
        private final Future<Void> cutting;

        Cuts(NodePair.Ends ends) {
            cutting = nodes.run(() -> {
                Random random = new Random(7);
                for (int i = 0; i < MOST && !over.get(); i++) {
                    awaitPath(ends);
                    for (int spins = random.nextInt(1 << 18); spins > 0; spins--) {
                        Thread.onSpinWait();
                    }
                    int whose = random.nextInt(4);
                    if (whose != 0) {
                        cut(ends.client());
                    }
                    if (whose != 1) {
                        cut(ends.server());
                    }
                }
            });
        }

        /** Returns true once all connections were ended that are to be ended. */
        boolean areOver() {
            return cutting.isDone();
        }

        void end() throws Exception {
            NodePair.end(cutting);
        }

        @Override
        public void close() {
            over.set(true);
        }
    }

    /** Sends numbers, at last -1. */
    private static void sendAll(Channel channel, Cuts cuts) throws InterruptedException {
        for (long i = 0; i < LEAST || !cuts.areOver(); i++) {
            NodePair.send(channel, i);
        }
        NodePair.send(channel, -1);
    }

    private static void receiveAll(Channel channel) throws InterruptedException {
        long number = NodePair.receive(channel);
        for (long i = 0; number != -1; i++) {
            assertThat(number).isEqualTo(i);
            number = NodePair.receive(channel);
        }
    }

    @Test
    void messagesArriveOnceAndInOrderWhateverIsLost() throws Exception {
        NodePair.Ends ends = nodes.connect();
        try (Cuts cuts = new Cuts(ends)) {
            Future<Void> toServer = nodes.run(() -> sendAll(ends.client(), cuts));
            Future<Void> toClient = nodes.run(() -> sendAll(ends.server(), cuts));
            Future<Void> atServer = nodes.run(() -> receiveAll(ends.server()));
            receiveAll(ends.client());
            NodePair.end(atServer);
            NodePair.end(toServer);
            NodePair.end(toClient);
            cuts.end();
        }
        awaitPath(ends);
        ends.client().close();
        ends.server().close();
    }

    @Test
    void requestsAreHandledOnceAndGetTheirReplies() throws Exception {
        NodePair.Ends ends = nodes.connect();
        AtomicLong handled = new AtomicLong();
        ends.server().listen((channel, request) -> {
            handled.incrementAndGet();
            Message reply = request.reply();
            reply.length(Long.BYTES).segment().copyFrom(request.segment());
            reply.send();
        });
        long calls = 0;
        try (Cuts cuts = new Cuts(ends)) {
            List<CompletableFuture<Message>> pending = new ArrayList<>();
            for (; calls < LEAST || !cuts.areOver(); calls++) {
                Message request = ends.client().message(DEADLINE).length(Long.BYTES);
                request.segment().set(ValueLayout.JAVA_LONG, 0, calls);
                pending.add(ends.client().callAsync(request));
                if (pending.size() == 4) {
                    long first = calls - 3;
                    for (CompletableFuture<Message> each : pending) {
                        try (Message reply = NodePair.end(each)) {
                            assertThat(reply.segment().get(ValueLayout.JAVA_LONG, 0))
                                    .isEqualTo(first++);
                        }
                    }
                    pending.clear();
                }
            }
            for (CompletableFuture<Message> each : pending) {
                NodePair.end(each).close();
            }
            cuts.end();
        }
        assertThat(handled).hasValue(calls);
    }

    @Test
    void readsAndWritesAreRepeatedAndAtomicsEndUnknown() throws Exception {
        NodePair.Ends ends = nodes.connect();
        MemorySegment table = nodes.arena.allocate(2 * Long.BYTES, Long.BYTES);
        nodes.server
                .export("table", table, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC)
                .inTheClear();
        RemoteMemory remote = ends.client().remote("table", DEADLINE);
        RemoteMemory number = remote.slice(0, Long.BYTES);
        RemoteMemory counter = remote.slice(Long.BYTES, Long.BYTES);
        LocalMemory mine = nodes.client
                .register(nodes.arena.allocate(Long.BYTES, Long.BYTES), AccessFlag.LOCAL_WRITE)
                .slice(0, Long.BYTES);
        long sure = 0;
        long unknown = 0;
        try (Cuts cuts = new Cuts(ends)) {
            for (long i = 1; i <= LEAST || !cuts.areOver(); i++) {
                ends.client().writeLong(number, i, DEADLINE);
                ends.client().read(mine, number, DEADLINE);
                assertThat(mine.segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(i);
                try {
                    ends.client().fetchAndAdd(counter, 1, DEADLINE);
                    sure++;
                } catch (OutcomeUnknownException lost) {
                    unknown++;
                }
            }
            cuts.end();
        }
        awaitPath(ends);
        ends.client().read(mine, counter, DEADLINE);
        assertThat(mine.segment().get(ValueLayout.JAVA_LONG, 0)).isBetween(sure, sure + unknown);
    }

    @Test
    void transfersGoOn() throws Exception {
        NodePair.Ends ends = nodes.connect();
        MemorySegment data = nodes.arena.allocate(2 << 20, 64);
        for (long i = 0; i < data.byteSize(); i += Long.BYTES) {
            data.set(ValueLayout.JAVA_LONG, i, i * 31);
        }
        MemorySegment target = nodes.arena.allocate(data.byteSize(), 64);
        try (Cuts cuts = new Cuts(ends)) {
            for (int i = 0; i < 3 || !cuts.areOver(); i++) {
                target.fill((byte) 0);
                Future<Void> offered = nodes.run(() -> ends.client().offer(data, new byte[0], DEADLINE));
                try (Message offer = ends.server().receive(DEADLINE);
                        Transfer transfer = offer.transfer()) {
                    transfer.accept(target, DEADLINE);
                }
                NodePair.end(offered);
                assertThat(target.mismatch(data)).isEqualTo(-1);
            }
            cuts.end();
        }
    }

    /** Connects to a node with other options. */
    private NodePair.Ends connect(NodeOptions ofServer) throws Exception {
        return connect(ofServer, nodes.arena);
    }

    private NodePair.Ends connect(NodeOptions ofServer, VerbsArena arena) throws Exception {
        Node server = NodePair.open(ofServer, arena);
        Future<Channel> accepted = nodes.start(() -> server.accept(DEADLINE));
        Channel made = nodes.client.connect(server.address(), DEADLINE);
        return new NodePair.Ends(made, NodePair.end(accepted));
    }

    /** Keeps a side from connecting again until it is closed. */
    private final class Silence implements AutoCloseable {
        private final CountDownLatch over = new CountDownLatch(1);

        Silence(Channel client) throws InterruptedException {
            CountDownLatch begun = new CountDownLatch(1);
            nodes.run(() -> {
                try (var _ = client.session().lock.held()) {
                    begun.countDown();
                    over.await();
                }
            });
            begun.await();
        }

        @Override
        public void close() {
            over.countDown();
        }
    }

    @Test
    void withoutAConnectionMessagesWaitAndRepliesGoWithTheNextOne() throws Exception {
        NodePair.Ends ends = nodes.connect();
        Message request = ends.client().message(DEADLINE).length(0);
        Future<Message> called = nodes.start(() -> ends.client().call(request, DEADLINE));
        try (Message asked = ends.server().receive(DEADLINE)) {
            try (Silence _ = new Silence(ends.client())) {
                cut(ends.server());
                assertThat(ends.server().isOpen()).isTrue();
                Message waiting = ends.server().message(DEADLINE);
                assertThat(ends.server().trySend(waiting)).isFalse();
                assertThatExceptionOfType(VerbsTimeoutException.class)
                        .isThrownBy(() -> ends.server().send(waiting, Duration.ofMillis(1)));
                waiting.close();
                asked.reply().length(0).send();
            }
        }
        NodePair.end(called).close();
    }

    @Test
    void channelEndsWhenItsTimeIsOver() throws Exception {
        NodePair.Ends ends = connect(HEALS.heal(Duration.ofMillis(300)));
        try (Silence _ = new Silence(ends.client())) {
            cut(ends.server());
            assertThat(NodePair.endOf(ends.server()))
                    .hasMessageContaining("It had no other connection in PT0.3S. cut by a test")
                    .extracting(ChannelException::reason)
                    .isEqualTo(EndReason.LOST);
        }
        assertThat(NodePair.endOf(ends.client())).hasMessageContaining("The peer does not have this channel any more");
    }

    @Test
    void closeWithoutAConnectionWaitsForTheNextOneAndLosesNothing() throws Exception {
        NodePair.Ends ends = nodes.connect();
        try (Silence _ = new Silence(ends.client())) {
            cut(ends.server());
            Future<Void> closed = nodes.run(ends.server()::close);
            Await.until("the close has begun", () -> ends.server().session().isClosing());
            assertThat(closed).isNotDone();
        }
        assertThat(NodePair.endOf(ends.client()).reason()).isEqualTo(EndReason.CLOSED_BY_PEER);
    }

    /** A reply waits for the next connection, and so does the goodbye behind it. */
    @Test
    void closeOfANodeWithoutAConnectionWaitsForTheNextOneAndLosesNothing() throws Exception {
        VerbsArena arena = VerbsArena.ofShared();
        NodePair.Ends ends = connect(HEALS, arena);
        Message request = ends.client().message(DEADLINE).length(0);
        Future<Message> called = nodes.start(() -> ends.client().call(request, DEADLINE));
        Future<Void> closed;
        try (Message asked = ends.server().receive(DEADLINE);
                Silence _ = new Silence(ends.client())) {
            cut(ends.server());
            asked.reply().length(0).send();
            closed = nodes.run(arena::close);
            Await.until("the close has begun", () -> ends.server().session().isClosing());
        }
        NodePair.end(called).close();
        NodePair.end(closed);
        assertThat(NodePair.endOf(ends.client()).reason()).isEqualTo(EndReason.CLOSED_BY_PEER);
    }

    /** The client's node closes last, and nobody answers it: it has as little time. */
    @Test
    void closeWithoutAConnectionEndsInItsTime() throws Exception {
        try (NodePair brief = new NodePair(HEALS.closeTimeout(Duration.ofMillis(100)))) {
            NodePair.Ends ends = brief.connect();
            try (Silence _ = new Silence(ends.client())) {
                cut(ends.server());
                assertThatExceptionOfType(ChannelException.class)
                        .isThrownBy(ends.server()::close)
                        .withMessageContaining("has not said goodbye in 100 ms");
            }
        }
    }

    @Test
    void operationsThatAreGivenUpMeanwhileGiveTheirNumbersBack() throws Exception {
        NodePair.Ends ends = nodes.connect();
        MemorySegment table = nodes.arena.allocate(Long.BYTES, Long.BYTES);
        nodes.client.export("table", table, AccessFlag.REMOTE_WRITE).inTheClear();
        RemoteMemory number = ends.server().remote("table", DEADLINE);
        try (Silence _ = new Silence(ends.client())) {
            List<Long> tickets = new ArrayList<>();
            try (var _ = ends.server().session().lock.held()) { // no completion is handled meanwhile
                for (int i = 0; i < 4; i++) {
                    tickets.add(ends.server().tryWriteLong(number, i));
                }
                cut(ends.server());
            }
            assertThat(tickets).doesNotContain(0L);
            for (long ticket : tickets) {
                assertThatExceptionOfType(VerbsTimeoutException.class)
                        .isThrownBy(() -> ends.server().await(ticket, Duration.ZERO));
            }
        }
        for (int i = 0; i < 4; i++) {
            ends.server().writeLong(number, i, DEADLINE);
        }
    }

    @Test
    void interruptEndsAWaitAndNotTheChannel() throws Exception {
        NodePair.Ends ends = nodes.connect();
        try (Silence _ = new Silence(ends.client())) {
            cut(ends.server());
            Thread.currentThread().interrupt();
            assertThatExceptionOfType(InterruptedException.class).isThrownBy(() -> NodePair.send(ends.server(), 1));
        }
        NodePair.send(ends.server(), 2);
        assertThat(NodePair.receive(ends.client())).isEqualTo(2);
    }

    @Test
    void handlersAreToldLossAndReturn() throws Exception {
        AtomicLong lost = new AtomicLong();
        AtomicLong back = new AtomicLong();
        NodePair.Ends ends = nodes.connect();
        ends.client().listen(new Handler() {
            @Override
            public void received(Channel channel, Message message) {}

            @Override
            public void pathLost(Channel channel) {
                lost.incrementAndGet();
            }

            @Override
            public void pathBack(Channel channel) {
                back.incrementAndGet();
            }
        });
        cut(ends.client());
        Await.until("the handler was told both", () -> lost.get() == 1 && back.get() == 1);
        assertThat(ends.client().statistics().reconnects()).isEqualTo(1);
    }

    @Test
    void peerThatWasStartedAgainIsAnother() throws Exception {
        NodePair.Ends ends = connect(HEALS.closeTimeout(Duration.ZERO));
        Session peers = ends.server().session();
        peers.engine.rails.forget(peers, peers.healing); // as a node that was started again
        cut(ends.client());
        assertThat(NodePair.endOf(ends.client()))
                .hasMessageContaining("The peer does not have this channel any more")
                .extracting(ChannelException::reason)
                .isEqualTo(EndReason.LOST);
    }

    /** A side that ends without a connection can tell nobody. Its peer waits for another connection, and no longer. */
    @Test
    void channelThatHasEndedWithoutAConnectionEndsAtThePeerAfterHeal() throws Exception {
        NodePair.Ends ends = connect(HEALS.heal(Duration.ofMillis(300)));
        Session client = ends.client().session();
        try (var _ = client.lock.held()) {
            cut(ends.client());
            client.fail(new IllegalStateException("a fault of this side"));
        }
        assertThat(NodePair.endOf(ends.client()).reason()).isEqualTo(EndReason.FAILED);
        assertThat(NodePair.endOf(ends.server()))
                .hasMessageContaining("It had no other connection in")
                .extracting(ChannelException::reason)
                .isEqualTo(EndReason.LOST);
    }

    @Test
    void channelWhosePeerDoesNotHealEndsAsAlways() throws Exception {
        NodePair.Ends ends = connect(NodePair.SMALL);
        cut(ends.client());
        assertThat(NodePair.endOf(ends.client()).reason()).isEqualTo(EndReason.LOST);
        assertThat(NodePair.endOf(ends.server()).reason()).isEqualTo(EndReason.LOST);
    }

    private static void assertIsBack(NodePair.Ends ends) throws Exception {
        awaitPath(ends);
        assertThat(ends.client().statistics().reconnects()).isEqualTo(1);
        NodePair.send(ends.client(), 5);
        assertThat(NodePair.receive(ends.server())).isEqualTo(5);
    }

    /** The node lets one peer wait, and has one that its program does not accept. */
    @Test
    void peersThatWaitToBeAcceptedKeepNoChannelFromComingBack() throws Exception {
        NodePair.Ends ends = connect(HEALS.maxWaiting(1));
        nodes.client.connect(ends.server().node().address(), DEADLINE);
        cut(ends.client());
        assertIsBack(ends);
    }

    /** There are more of them than connect again at once, and more than may wait to be accepted. */
    @Test
    void manyChannelsThatLoseTheirConnectionsAtOnceComeBack() throws Exception {
        try (NodePair many = new NodePair(HEALS.connecting(2), HEALS.maxWaiting(1))) {
            List<NodePair.Ends> all = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                all.add(many.connect());
            }
            all.forEach(each -> cut(each.client()));
            for (NodePair.Ends each : all) {
                assertIsBack(each);
            }
        }
    }
}
