package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Recorded;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import jdk.jfr.consumer.RecordedEvent;
import org.junit.jupiter.api.Test;

/**
 * Channels that lose their connection, and go on over another one. {@link HealWalkTest} has that nothing is lost, comes twice or
 * in another order, whatever is under way.
 */
@FencedTest
class HealTest extends ConnectedTest {
    private static final NodeOptions HEALS =
            NodePair.SMALL.heal(DEADLINE).operations(4).maxTransferSize(1 << 26);

    HealTest() {
        super(HEALS, HEALS);
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

    @Test
    void lostConnectionIsFreedWhileItsChannelGoesOn() throws Exception {
        int before = Fenced.liveObjects();
        cut(ends.client());
        assertIsBack(ends);
        Await.until("it is freed", () -> Fenced.liveObjects() == before);
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

    /** Keeps the client from connecting again until it is closed. */
    private final class Silence implements AutoCloseable {
        private final CountDownLatch over = new CountDownLatch(1);

        /** Ends the connection of the server if it is to be cut. */
        Silence(boolean cut) throws InterruptedException {
            CountDownLatch begun = new CountDownLatch(1);
            nodes.run(() -> {
                try (var _ = ends.client().session().lock.held()) {
                    begun.countDown();
                    over.await();
                }
            });
            begun.await();
            if (cut) {
                cut(ends.server());
            }
        }

        @Override
        public void close() {
            over.countDown();
        }
    }

    @Test
    void withoutAConnectionMessagesWaitAndRepliesGoWithTheNextOne() throws Exception {
        Future<Message> called = calls();
        try (Message asked = ends.server().receive(DEADLINE)) {
            try (Silence _ = new Silence(true)) {
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

    private Future<Message> calls() {
        return nodes.start(
                () -> ends.client().call(ends.client().message(DEADLINE).length(0), DEADLINE));
    }

    @Test
    void callThatIsOpenKeepsItsNumber() throws Exception {
        Future<Message> first = calls();
        try (Message asked = ends.server().receive(DEADLINE)) {
            cut(ends.client());
            Await.until("it is back", () -> ends.client().statistics().reconnects() == 1);
            Future<Message> second = calls();
            try (Message askedNext = ends.server().receive(DEADLINE)) {
                askedNext.reply().length(2).send();
                try (Message reply = NodePair.end(second)) {
                    assertThat(reply.length()).isEqualTo(2);
                }
            }
            asked.reply().length(1).send();
        }
        try (Message reply = NodePair.end(first)) {
            assertThat(reply.length()).isEqualTo(1);
        }
    }

    @Test
    void channelEndsWhenItsTimeIsOver() throws Exception {
        ends = connect(HEALS.heal(Duration.ofMillis(300)));
        try (Silence _ = new Silence(true)) {
            assertThat(NodePair.endOf(ends.server(), EndReason.LOST))
                    .hasMessageContaining("It had no other connection in PT0.3S. cut by a test");
        }
        assertThat(NodePair.endOf(ends.client())).hasMessageContaining("The peer does not have this channel any more");
    }

    @Test
    void closeWithoutAConnectionWaitsForTheNextOneAndLosesNothing() throws Exception {
        try (Silence _ = new Silence(true)) {
            Future<Void> closed = nodes.run(ends.server()::close);
            Await.until("the close has begun", () -> ends.server().session().isClosing());
            assertThat(closed).isNotDone();
        }
        NodePair.endOf(ends.client(), EndReason.CLOSED_BY_PEER);
    }

    /** A reply waits for the next connection, and so does the goodbye behind it. */
    @Test
    void closeOfANodeWithoutAConnectionWaitsForTheNextOneAndLosesNothing() throws Exception {
        VerbsArena arena = VerbsArena.ofShared();
        ends = connect(HEALS, arena);
        Message request = ends.client().message(DEADLINE).length(0);
        Future<Message> called = nodes.start(() -> ends.client().call(request, DEADLINE));
        Future<Void> closed;
        try (Message asked = ends.server().receive(DEADLINE);
                Silence _ = new Silence(true)) {
            asked.reply().length(0).send();
            closed = nodes.run(arena::close);
            Await.until("the close has begun", () -> ends.server().session().isClosing());
        }
        NodePair.end(called).close();
        NodePair.end(closed);
        NodePair.endOf(ends.client(), EndReason.CLOSED_BY_PEER);
    }

    /** The client's node closes last, and nobody answers it: it has as little time. */
    @Test
    void closeWithoutAConnectionEndsInItsTime() throws Exception {
        use(HEALS.closeTimeout(Duration.ofMillis(100)));
        try (Silence _ = new Silence(true)) {
            assertThatExceptionOfType(ChannelException.class)
                    .isThrownBy(ends.server()::close)
                    .withMessageContaining("has not said goodbye in 100 ms");
        }
    }

    private RemoteMemory table() throws Exception {
        MemorySegment table = nodes.arena.allocate(Long.BYTES, Long.BYTES);
        nodes.client
                .export("table", table, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC)
                .inTheClear();
        return ends.server().remote("table", DEADLINE);
    }

    @Test
    void operationsThatAreGivenUpMeanwhileGiveTheirNumbersBack() throws Exception {
        RemoteMemory number = table();
        try (Silence _ = new Silence(false)) {
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
    void atomicThatWasUnderWayEndsBeforeThereIsAnotherConnection() throws Exception {
        RemoteMemory number = table();
        try (Silence _ = new Silence(false)) {
            long ticket;
            try (var _ = ends.server().session().lock.held()) { // no completion is handled meanwhile
                ticket = ends.server().tryFetchAndAdd(number, 1);
                cut(ends.server());
            }
            assertThatExceptionOfType(OutcomeUnknownException.class)
                    .isThrownBy(() -> ends.server().await(ticket, DEADLINE));
        }
    }

    @Test
    void futuresThatBeginWithoutAConnectionEndWithTheNextOne() throws Exception {
        RemoteMemory number = table();
        LocalMemory mine = nodes.server
                .register(nodes.arena.allocate(Long.BYTES, Long.BYTES), AccessFlag.LOCAL_WRITE)
                .slice(0, Long.BYTES);
        CompletableFuture<Long> written;
        try (Silence _ = new Silence(true)) {
            written = ends.server().writeAsync(mine, number);
            assertThat(written).isNotDone();
        }
        NodePair.end(written);
    }

    @Test
    void lossAndReturnAreRecorded() throws Exception {
        String client = ends.client().session().toText();
        List<RecordedEvent> events = Recorded.during(
                () -> {
                    cut(ends.client());
                    assertIsBack(ends);
                },
                "ChannelPath");
        assertThat(events)
                .filteredOn(event -> event.getString("channel").equals(client))
                .extracting(event -> event.getString("change"))
                .containsExactlyInAnyOrder("LOST", "BACK"); // events of two threads have no order
    }

    @Test
    void interruptEndsAWaitAndNotTheChannel() throws Exception {
        try (Silence _ = new Silence(true)) {
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
        ends = connect(HEALS.closeTimeout(Duration.ZERO));
        Session peers = ends.server().session();
        peers.engine.rails.forget(peers, peers.healing); // as a node that was started again
        cut(ends.client());
        assertThat(NodePair.endOf(ends.client(), EndReason.LOST))
                .hasMessageContaining("The peer does not have this channel any more");
    }

    /** A side that ends without a connection can tell nobody. Its peer waits for another connection, and no longer. */
    @Test
    void channelThatHasEndedWithoutAConnectionEndsAtThePeerAfterHeal() throws Exception {
        ends = connect(HEALS.heal(Duration.ofMillis(300)));
        Session client = ends.client().session();
        try (var _ = client.lock.held()) {
            cut(ends.client());
            client.fail(new IllegalStateException("a fault of this side"));
        }
        NodePair.endOf(ends.client(), EndReason.FAILED);
        assertThat(NodePair.endOf(ends.server(), EndReason.LOST)).hasMessageContaining("It had no other connection in");
    }

    @Test
    void channelWhosePeerDoesNotHealEndsAsAlways() throws Exception {
        ends = connect(NodePair.SMALL);
        assertThat(ends.client().session().healing).isNull();
        cut(ends.client());
        NodePair.endOf(ends.client(), EndReason.LOST);
        NodePair.endOf(ends.server(), EndReason.LOST);
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
        ends = connect(HEALS.maxWaiting(1));
        nodes.client.connect(ends.server().node().address(), DEADLINE);
        cut(ends.client());
        assertIsBack(ends);
    }

    /** There are more of them than connect again at once, and more than may wait to be accepted. */
    @Test
    void manyChannelsThatLoseTheirConnectionsAtOnceComeBack() throws Exception {
        use(HEALS.connecting(2), HEALS.maxWaiting(1));
        List<NodePair.Ends> all = new ArrayList<>(List.of(ends));
        for (int i = 0; i < 5; i++) {
            all.add(nodes.connect());
        }
        all.forEach(each -> cut(each.client()));
        for (NodePair.Ends each : all) {
            assertIsBack(each);
        }
    }
}
