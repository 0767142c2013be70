package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.net.NodePair.end;
import static dev.verbena.net.NodePair.endOf;
import static dev.verbena.net.NodePair.failure;
import static dev.verbena.net.NodePair.hold;
import static dev.verbena.net.NodePair.letGo;
import static dev.verbena.net.NodePair.receive;
import static dev.verbena.net.NodePair.send;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.wire.Wire;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.OtherThread;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Channels whose adapter gets no acknowledgement, or whose driver refuses a request: each wait ends, and nothing is lost. */
@FencedTest
class QuietAdapterTest extends ConnectedTest {
    private static final Duration SHORT = Duration.ofMillis(50);
    private static final Duration ALIVE = NodeClock.ALIVE;
    private static final Duration TWICE_ALIVE = ALIVE.multipliedBy(2);
    private static final long LARGE = 8L << 20;
    private static final Duration VERY_LONG = Duration.ofHours(1);
    private static final NodeOptions PATIENT = SMALL.closeTimeout(VERY_LONG).alive(VERY_LONG);
    private static final int WINDOW = SMALL.window();
    private static final int NO_MEMORY = 12;

    /** The peer that {@link #greeted} has connected, and its channel. */
    private RawPeer peer;

    private Channel channel;

    /** Opens nodes, and has a peer greet the server, which has accepted it. */
    private void greeted(NodeOptions ofServer) throws Exception {
        pair(SMALL, ofServer);
        peer = RawPeer.greeted(nodes.server.address(), WINDOW);
        channel = nodes.server.accept(DEADLINE);
    }

    @AfterEach
    void leave() {
        if (peer != null) {
            peer.close();
        }
    }

    /** Has messages of the peer arrive. */
    private void exchange(int messages) throws Exception {
        for (int i = 0; i < messages; i++) {
            peer.send(Wire.DATA, 0, 0, 8);
            channel.receive(DEADLINE).close();
        }
    }

    private static void assertNoMemory(Throwable told) {
        assertThat(told)
                .rootCause()
                .isInstanceOfSatisfying(
                        VerbsException.class, cause -> assertThat(cause.errno()).isEqualTo(NO_MEMORY));
    }

    /** Starts a thread, and waits until it waits. */
    private static OtherThread<?> parked(NodePair.Step work) {
        return OtherThread.start(() -> {
                    work.run();
                    return null;
                })
                .asleep();
    }

    @Test
    void missingAcknowledgementsEndTheChannel() throws Exception {
        use(SMALL.alive(ALIVE).closeTimeout(VERY_LONG), SMALL);
        hold(ends.client());
        send(ends.client(), 1);
        new NodeClock(nodes.client)
                .passUntil("it has ended", TWICE_ALIVE, () -> !ends.client().isOpen());
        assertThat(endOf(ends.client(), EndReason.LOST)).hasMessageContaining("acknowledged nothing");
        ends.client().close(); // waits for nothing
    }

    /** An adapter tells nothing of a read before its last byte, so a large read on a slow wire is no sign of death. */
    @Test
    void largeReadHasTimeForItsBytes() throws Exception {
        use(SMALL.alive(Duration.ofSeconds(10)), SMALL);
        nodes.server.export("large", nodes.arena.allocate(LARGE), AccessFlag.REMOTE_READ);
        RemoteMemory large = ends.client().remote("large", DEADLINE);
        LocalMemory target = nodes.client.register(nodes.arena.allocate(LARGE), AccessFlag.LOCAL_WRITE);
        Await.until("all is quiet", () -> ends.client().toString().contains(" 0 under way"));
        NodeClock clock = new NodeClock(nodes.client);
        clock.pass(Duration.ZERO); // takes the last sign of life
        hold(ends.client());
        List<Long> tickets = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            tickets.add(ends.client().tryRead(target, large));
        }
        clock.pass(Duration.ofSeconds(30));
        assertThat(ends.client().isOpen()).isTrue();
        letGo(ends.client());
        for (long ticket : tickets) {
            ends.client().await(ticket, DEADLINE);
        }
    }

    @ParameterizedTest(name = "the peer has lied: {0}")
    @ValueSource(booleans = {false, true})
    void closeAfterTheEndWaitsForNoAcknowledgementForLong(boolean lied) throws Exception {
        greeted(lied ? PATIENT : SMALL.alive(ALIVE).closeTimeout(VERY_LONG));
        hold(channel);
        peer.send(lied ? 15 : Wire.GOODBYE, 0, 0);
        endOf(channel, lied ? EndReason.PROTOCOL_ERROR : EndReason.CLOSED_BY_PEER);
        OtherThread<?> closing = parked(channel::close);
        Duration longest = lied ? Duration.ofSeconds(1) : TWICE_ALIVE;
        new NodeClock(nodes.server).passUntil("it is closed", longest, closing::isDone);
        closing.join();
    }

    /** The send queue has room for all messages under way, three grants and the goodbye, and no more. */
    @Test
    void goodbyeHasRoomInAFullSendQueue() throws Exception {
        NodeOptions tight = SMALL.sends(1).calls(0).operations(0).closeTimeout(SHORT);
        greeted(tight);
        assertThat(peer.awaitMessage()).isEqualTo(new RawPeer.Got(Wire.GREETING, 0, 0, Wire.GREETING_BYTES));
        hold(channel);
        send(channel, 1);
        exchange(2 * WINDOW + 2);
        assertThat(channel.toString()).contains("4 under way");
        assertThatExceptionOfType(ChannelException.class)
                .isThrownBy(channel::close)
                .withMessageContaining("has not said goodbye");
    }

    @Test
    void grantsThatWereHeldBackAreMadeUpFor() throws Exception {
        greeted(SMALL);
        peer.awaitMessage();
        hold(channel);
        exchange(2 * WINDOW + 2);
        letGo(channel);
        for (int granted : new int[] {2, 2, 2, 4}) {
            assertThat(peer.awaitMessage()).isEqualTo(new RawPeer.Got(Wire.GRANT, granted, 0, 0));
        }
        send(channel, 1);
        assertThat(peer.awaitMessage()).isEqualTo(new RawPeer.Got(Wire.DATA, 0, 0, Long.BYTES));
        exchange(1);
        send(channel, 2);
        assertThat(peer.awaitMessage()).as("with a credit").isEqualTo(new RawPeer.Got(Wire.DATA, 1, 0, Long.BYTES));
    }

    @Test
    void closeThatCanNotPostItsGoodbyeSaysWhy() throws Exception {
        use(SMALL.closeTimeout(VERY_LONG), SMALL);
        Fenced.fail("ibv_post_send", 1, NO_MEMORY);
        assertThat(failure(EndReason.FAILED, ends.client()::close))
                .hasMessageContaining("The goodbye could not be posted")
                .satisfies(QuietAdapterTest::assertNoMemory);
        endOf(ends.server(), EndReason.LOST);
    }

    @Test
    void signOfLifeThatDriverRefusesEndsTheChannel() throws Exception {
        use(SMALL.alive(ALIVE), SMALL);
        Await.until("all is quiet", () -> ends.client().toString().contains(" 0 under way"));
        Fenced.fail("ibv_post_send", 1, NO_MEMORY);
        new NodeClock(nodes.client)
                .passUntil("it has ended", TWICE_ALIVE, () -> !ends.client().isOpen());
        assertThat(endOf(ends.client(), EndReason.FAILED)).hasMessageContaining("sign of life");
        endOf(ends.server(), EndReason.LOST);
    }

    /** The program's threads and the node's thread post in turns. */
    @Test
    void signsOfLifeGoBetweenMessages() throws Exception {
        use(SMALL.alive(ALIVE), SMALL);
        NodeClock clock = new NodeClock(nodes.client);
        for (int i = 0; i < 2; i++) {
            send(ends.client(), i);
            assertThat(receive(ends.server())).isEqualTo(i);
            Await.until("all is quiet", () -> ends.client().toString().contains(" 0 under way"));
            long posted = Fenced.calls("ibv_post_send");
            clock.idle(ends.client());
            assertThat(Fenced.calls("ibv_post_send")).as("two signs of life").isGreaterThanOrEqualTo(posted + 2);
        }
        assertThat(ends.client().isOpen()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(ints = {Wire.DATA, Wire.GRANT})
    void receiveThatCanNotBePostedAgainEndsTheChannelOnly(int kind) throws Exception {
        greeted(SMALL);
        send(channel, 1);
        peer.send(Wire.DATA, 0, 0, 8);
        Message received = channel.receive(DEADLINE);
        Fenced.fail("ibv_post_recv", 1, NO_MEMORY);
        if (kind == Wire.DATA) {
            received.close();
        } else {
            peer.send(kind, 1, 0);
        }
        assertNoMemory(endOf(channel, EndReason.FAILED));
        assertThat(peer.awaitGoodbye()).isEqualTo(EndReason.PEER_FAILED.code);
        NodePair.Ends next = nodes.connect();
        send(next.client(), 2);
        assertThat(receive(next.server())).isEqualTo(2);
    }

    /** The number of the grant is used. A goodbye with the next number would look like an attack. */
    @Test
    void sealedGrantThatCanNotBePostedLooksLikeNoAttack() throws Exception {
        NodePair.protect(Protection.SEALED);
        try {
            use(SMALL.window(2));
        } finally {
            NodePair.protect(Protection.NONE);
        }
        send(ends.client(), 1);
        Message received = ends.server().receive(DEADLINE);
        Await.until("all is quiet", () -> ends.client().toString().contains(" 0 under way"));
        Fenced.fail("ibv_post_send", 1, NO_MEMORY);
        received.close();
        endOf(ends.server(), EndReason.FAILED);
        endOf(ends.client(), EndReason.LOST);
        assertThat(nodes.client.attacks().tampered()).isZero();
    }

    @Test
    void interruptedCloseSaysSo() throws Exception {
        greeted(SMALL.closeTimeout(VERY_LONG));
        Thread.currentThread().interrupt();
        assertThatExceptionOfType(ChannelException.class)
                .isThrownBy(channel::close)
                .withMessageContaining("was interrupted before the peer's goodbye");
        assertThat(Thread.interrupted()).isTrue();
        assertThat(peer.awaitGoodbye()).isZero();
    }

    /** A request waits until a buffer for its reply is free, and the thread that receives is woken then. */
    @Test
    void requestWaitsUntilAnEarlierReplyIsAcknowledged() throws Exception {
        greeted(SMALL.calls(1));
        hold(channel);
        peer.send(Wire.CALL, 0, 0, 8);
        try (Message request = channel.receive(DEADLINE)) {
            request.reply().length(0).send();
        }
        peer.send(Wire.CALL, 0, 0, 8);
        OtherThread<Message> second =
                OtherThread.start(() -> channel.receive(DEADLINE)).asleep();
        assertThat(channel.pollReceive()).isNull();
        assertThat(second.isDone()).isFalse();
        letGo(channel);
        assertThat(second.join().isRequest()).isTrue();
    }

    @Test
    void operationThatIsGivenUpKeepsItsNumberUntilTheAdapterIsDone() throws Exception {
        use(SMALL.operations(1), SMALL);
        MemorySegment table = nodes.arena.allocate(64, 8);
        nodes.server.export("table", table, AccessFlag.REMOTE_ATOMIC);
        Channel client = ends.client();
        RemoteMemory at = client.remote("table", DEADLINE).slice(0, 8);
        hold(client);
        long ticket = client.tryCompareAndSwap(at, 0, 5);
        assertThat(ticket).isNotZero();
        assertThat(client.isDone(ticket)).isFalse();
        assertThatExceptionOfType(VerbsTimeoutException.class)
                .isThrownBy(() -> client.await(ticket, SHORT))
                .withMessageContaining("The peer's adapter has not answered");
        assertThatIllegalArgumentException().isThrownBy(() -> client.isDone(ticket));
        assertThat(client.tryFetchAndAdd(at, 1)).as("no number is free").isZero();
        assertThat(client.tryCompareAndSwap(at, 1, 2)).isZero();
        assertThatExceptionOfType(VerbsTimeoutException.class)
                .isThrownBy(() -> client.fetchAndAdd(at, 1, SHORT))
                .withMessageContaining("NodeOptions.operations()");
        letGo(client);
        assertThat(client.fetchAndAdd(at, 1, DEADLINE)).isEqualTo(5);
    }

    @Test
    void closeEndsWaitsForOperations() throws Exception {
        use(SMALL.operations(2).closeTimeout(SHORT), SMALL);
        nodes.server.export("table", nodes.arena.allocate(64, 8), AccessFlag.REMOTE_ATOMIC);
        Channel client = ends.client();
        RemoteMemory at = client.remote("table", DEADLINE).slice(0, 8);
        hold(client);
        long first = client.tryFetchAndAdd(at, 1);
        client.tryFetchAndAdd(at, 1);
        List<Future<Long>> waits = List.of(
                nodes.start(() -> client.await(first, DEADLINE)),
                nodes.start(() -> client.fetchAndAdd(at, 1, DEADLINE)));
        assertThatExceptionOfType(ChannelException.class).isThrownBy(client::close);
        for (Future<Long> wait : waits) {
            assertThat(wait).failsWithin(DEADLINE).withThrowableThat().withCauseInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void endOfTheChannelIsThatOfItsOperations() throws Exception {
        nodes.server.export("table", nodes.arena.allocate(64, 8), AccessFlag.REMOTE_ATOMIC);
        Channel client = ends.client();
        RemoteMemory at = client.remote("table", DEADLINE).slice(0, 8);
        hold(client);
        long ticket = client.tryFetchAndAdd(at, 1);
        client.session().end(EndReason.LOST, "on purpose", null);
        assertThat(failure(EndReason.LOST, () -> client.isDone(ticket))).hasMessageContaining("on purpose");
    }

    @Test
    void exportClosesWhenItsBindingsHaveCompleted() throws Exception {
        Fenced.assumeWindows();
        use(SMALL, SMALL.alive(VERY_LONG));
        Export export = nodes.server.export("table", nodes.arena.allocate(64, 8), AccessFlag.REMOTE_READ);
        Await.until("greeted", () -> ends.server().toString().contains(" 0 under way"));
        hold(ends.server());
        Future<RemoteMemory> asked = nodes.start(() -> ends.client().remote("table", DEADLINE));
        Await.until("binding and reply", () -> ends.server().toString().contains(" 2 under way"));
        OtherThread<?> closer = parked(export::close);
        assertThat(closer.isDone()).isFalse();
        letGo(ends.server());
        closer.join();
        end(asked);
        Await.until("all is quiet", () -> ends.server().toString().contains(" 0 under way"));
        send(ends.client(), 3);
        assertThat(receive(ends.server())).isEqualTo(3);
    }

    /** Several pieces are under way at once, and one if the data has no more. */
    @Test
    void transferReadsAsManyPiecesAtOnceAsItHasMemoryFor() throws Exception {
        for (int size : new int[] {1, 10 << 20}) {
            use(SMALL);
            byte[] data = new byte[size];
            data[size - 1] = 7;
            Future<Void> offered = nodes.offer(ends.client(), data);
            Transfer transfer = offeredTo(ends.server());
            Await.until("all is quiet", () -> ends.server().toString().contains(" 0 under way"));
            hold(ends.server());
            byte[] target = new byte[size];
            OtherThread<?> accepting = parked(() -> transfer.accept(MemorySegment.ofArray(target), DEADLINE));
            assertThat(ends.server().toString())
                    .contains((size == 1 ? " 1" : " " + TransferMemory.PIECES) + " under way");
            letGo(ends.server());
            accepting.join();
            end(offered);
            assertThat(target[size - 1]).isEqualTo((byte) 7);
        }
    }

    private static Transfer offeredTo(Channel receiver) throws InterruptedException {
        try (Message message = receiver.receive(DEADLINE)) {
            return message.transfer();
        }
    }

    @Test
    void transferThatIsGivenUpEndsTheChannel() throws Exception {
        Future<Void> offered = nodes.offer(ends.client(), new byte[100]);
        Transfer transfer = offeredTo(ends.server());
        hold(ends.server());
        assertThatExceptionOfType(VerbsTimeoutException.class)
                .isThrownBy(() -> transfer.accept(MemorySegment.ofArray(new byte[100]), SHORT));
        assertThat(endOf(ends.server(), EndReason.FAILED)).hasMessageContaining("A transfer was given up");
        letGo(ends.server());
        assertThat(offered).failsWithin(DEADLINE).withThrowableThat().withCauseInstanceOf(ChannelException.class);
    }

    /** Two threads close at once: the node waits for the one that closes a channel. */
    @Test
    void nodeWaitsForThreadsThatCloseItsChannels() throws Exception {
        greeted(SMALL.closeTimeout(Duration.ofMillis(300)));
        OtherThread<?> closer =
                parked(() -> assertThatExceptionOfType(ChannelException.class).isThrownBy(channel::close));
        nodes.server.close();
        assertThat(channel.isOpen()).isFalse();
        closer.join();
        assertThat(peer.awaitGoodbye()).isZero();
    }

    @Test
    void memoryOfATransferThatCanNotBeFreedIsFreedLater() throws Exception {
        int live = Fenced.liveObjects();
        Future<Void> offered = nodes.offer(ends.client(), new byte[1 << 16]);
        try (Message message = ends.server().receive(DEADLINE);
                Transfer transfer = message.transfer()) {
            Fenced.fail("ibv_dereg_mr", 1, 16);
            assertThatExceptionOfType(VerbsException.class)
                    .isThrownBy(() -> transfer.fetch(MemorySegment.ofArray(new byte[1 << 16]), done -> {}, DEADLINE))
                    .withMessageContaining("ibv_dereg_mr");
            transfer.confirm();
        }
        end(offered);
        Await.until("the memory is freed", () -> Fenced.liveObjects() == live);
    }

    /** The program has all operations for itself: a transfer waits for one, and reads piece by piece. */
    @Test
    void transferWaitsForOperationsOfTheProgram() throws Exception {
        int size = (3 << 20) + 5;
        use(SMALL, SMALL.operations(1));
        nodes.client.export("table", nodes.arena.allocate(64, 8), AccessFlag.REMOTE_ATOMIC);
        Channel server = ends.server();
        RemoteMemory at = server.remote("table", DEADLINE).slice(0, 8);
        byte[] data = new byte[size];
        new Random(7).nextBytes(data);
        Future<Void> offered = nodes.offer(ends.client(), data);
        Transfer transfer = offeredTo(server);
        long ticket = server.tryFetchAndAdd(at, 4);
        Await.until("it is done", () -> server.isDone(ticket));
        byte[] target = new byte[size];
        OtherThread<?> accepting = parked(() -> transfer.accept(MemorySegment.ofArray(target), DEADLINE));
        assertThat(accepting.isDone()).isFalse();
        assertThat(server.await(ticket, DEADLINE)).isZero();
        accepting.join();
        end(offered);
        assertThat(target).isEqualTo(data);
    }

    @Test
    void questionsForExportsWaitUntilAnEarlierReplyIsAcknowledged() throws Exception {
        greeted(SMALL.calls(1));
        hold(channel);
        peer.send(Wire.LOOKUP, 0, 0, 3);
        Await.until("the reply", () -> channel.toString().contains(" 1 under way"));
        peer.send(Wire.LOOKUP, 0, 0, 3);
        Await.until("both have come", () -> nodes.server.statistics().received() == 2);
        assertThat(channel.toString()).contains(" 1 under way");
        letGo(channel);
        assertThat(peer.awaitReply()).isEqualTo(Wire.FAULT);
        assertThat(peer.awaitReply()).isEqualTo(Wire.FAULT);
    }

    /** Its goodbye is not acknowledged: if the peer has said goodbye, nothing is lost. */
    @ParameterizedTest(name = "says goodbye: {0}, disconnects: {1}")
    @CsvSource({"true, true", "true, false", "false, true", "false, false"})
    void closeIsOrderlyIfThePeerLeavesAfterItsGoodbye(boolean saysGoodbye, boolean disconnects) throws Exception {
        greeted(PATIENT);
        QueuePair pair = channel.queuePair();
        hold(channel);
        OtherThread<?> closing = parked(channel::close);
        if (saysGoodbye) {
            peer.send(Wire.GOODBYE, 0, 0);
        }
        if (disconnects) {
            peer.close();
        } else {
            pair.fail();
        }
        if (saysGoodbye) {
            closing.join();
        } else {
            assertThat(closing.failure())
                    .isInstanceOf(ChannelException.class)
                    .hasMessageContaining(disconnects ? "reports its end" : "were flushed");
        }
    }

    /** The failure to free the channel is told, and the end of the connection with it. Its node frees it later. */
    @Test
    void closeTellsBothFailures() throws Exception {
        greeted(SMALL.closeTimeout(SHORT));
        Fenced.fail("ibv_dereg_mr", 1, 16);
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(channel::close)
                .withMessageContaining("ibv_dereg_mr")
                .satisfies(told -> assertThat(told.getSuppressed())
                        .singleElement()
                        .isInstanceOfSatisfying(
                                ChannelException.class,
                                lost -> assertThat(lost.reason()).isEqualTo(EndReason.LOST)));
        assertThat(peer.awaitGoodbye()).isZero();
        assertThat(nodes.server.toString()).contains("(0 of");
        assertThat(channel.toString()).endsWith("(closed)");
        assertThatIllegalStateException().isThrownBy(channel::pollMessage);
    }

    /**
     * A channel has as many receives as its options say: one for each message that the peer may send at once. With a window of
     * 32, there are three more, and as many can wait to be posted together with the next one.
     */
    @ParameterizedTest(name = "window of {0}, {1} closed, {2} grants")
    @CsvSource({"4, 0, 0", "4, 0, 1", "32, 3, 0", "32, 4, 0", "32, 2, 1", "32, 3, 1"})
    void receivesArePostedAgainBeforeThePeerCanMissThem(int window, int closed, int grants) throws Exception {
        NodeOptions sizes = SMALL.window(window).calls(2); // so that none of the first receives waits
        NodeOptions caller = sizes.progress(NodeOptions.Progress.CALLER).closeTimeout(SHORT);
        int spare = window == 32 ? 3 : 0;
        int waiting = (closed + grants) % (spare + 1);
        int receives = window + sizes.calls() + 3 + spare - waiting; // that of the greeting is used once
        try (NodePair nodes = new NodePair(SMALL, caller);
                RawPeer greeter = new RawPeer(nodes.server.address())) {
            peer = greeter;
            peer.greet(WINDOW, 256);
            channel = nodes.server.accept(DEADLINE);
            long posted = Fenced.calls("ibv_post_recv");
            exchange(closed);
            for (int i = 0; i < grants; i++) {
                send(channel, 1);
                peer.send(Wire.GRANT, 1, 0);
                while (!channel.toString().contains(WINDOW + " credits")) {
                    nodes.server.progress();
                }
            }
            assertThat(Fenced.calls("ibv_post_recv") - posted).as("posts").isEqualTo((closed + grants) / (spare + 1));
            long before = Fenced.receiverNotReady();
            for (int i = 0; i < receives; i++) { // more than it may, which the node does not see yet
                peer.send(Wire.DATA, 0, 0, 8);
            }
            assertThat(Fenced.receiverNotReady()).isEqualTo(before);
            peer.send(Wire.DATA, 0, 0, 8);
            assertThat(Fenced.receiverNotReady()).isGreaterThan(before);
        }
    }

    /** A program that keeps most messages for long would starve its peer, if the others' credits waited for a post. */
    @Test
    void creditOfAReceiveThatWaitsToBePostedIsGranted() throws Exception {
        greeted(SMALL.window(32).calls(2));
        peer.awaitMessage();
        long posted = Fenced.calls("ibv_post_recv");
        exchange(2);
        assertThat(Fenced.calls("ibv_post_recv")).isEqualTo(posted);
        send(channel, 1);
        assertThat(peer.awaitMessage()).isEqualTo(new RawPeer.Got(Wire.DATA, 2, 0, Long.BYTES));
    }
}
