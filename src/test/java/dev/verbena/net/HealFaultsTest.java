package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsException;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A channel that has lost its connection meets another fault: at each call of C in turn, the call fails, or connections are
 * lost once more. All kinds of work are under way. The channel goes on with nothing lost, twice or out of order, or it ends
 * with a documented reason. Another channel of the same nodes lives on, and nothing is left.
 */
@FencedTest
@Tag("walk")
class HealFaultsTest {
    private final int step = Integer.getInteger("dev.verbena.walk.faultStep", step());

    private static final int NO_MEMORY = 12;

    /** More calls of C than a heal has. */
    private static final int ENOUGH = 1000;

    /** More messages than all receives. */
    private static final int MANY = 50;

    private static final int BOTH_SIDES = 3;
    private static final long LAST = 2;
    private static final List<Long> ALL = List.of(0L, 1L, LAST);
    private static final int CELLS = 4;
    private static final int CHANNELS = 4;

    /** One side may have ended, and can't tell the other one. */
    private static final Duration HEAL = Duration.ofSeconds(3);

    /** One at a time connects: one that is never noted as ended keeps all others out. */
    private static final NodeOptions HEALS = NodePair.SMALL
            .operations(4)
            .connecting(1)
            .maxChannels(CHANNELS)
            .maxTransferSize(1 << 16)
            .handshakeTimeout(DEADLINE)
            .closeTimeout(Duration.ofSeconds(2));

    /** The reasons for which a channel may end when this side or the peer lacks memory. */
    private static final Set<EndReason> DOCUMENTED =
            EnumSet.of(EndReason.FAILED, EndReason.PEER_FAILED, EndReason.LOST, EndReason.CLOSED_BY_PEER);

    /** Which sides have sent what has not travelled, and lose their connection. */
    enum Side {
        CLIENT(1),
        SERVER(2),
        BOTH(BOTH_SIDES);

        /** The number of these sides, for {@link Fenced#loseBeforeAny}. */
        private final int sides;

        Side(int sides) {
            this.sides = sides;
        }

        private List<Channel> of(NodePair.Ends ends) {
            return switch (this) {
                case CLIENT -> List.of(ends.client());
                case SERVER -> List.of(ends.server());
                case BOTH -> List.of(ends.client(), ends.server());
            };
        }
    }

    /** Returns the distance of the calls that meet a fault: each of them takes a minute, in {@code scripts/test --long}. */
    int step() {
        return 9;
    }

    private NodePair nodes;
    private MemorySegment table;
    private MemorySegment data;
    private NodePair.Ends others;

    private void open(Duration heal) throws Exception {
        nodes = new NodePair(HEALS.heal(heal));
        table = nodes.arena.allocate(CELLS * Long.BYTES, Long.BYTES);
        data = nodes.arena.allocate(1 << 14, 64);
        nodes.server
                .export("table", table, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC)
                .inTheClear();
        for (long i = 0; i < data.byteSize(); i += Long.BYTES) {
            data.set(ValueLayout.JAVA_LONG, i, i * 31);
        }
        others = nodes.connect();
    }

    @AfterEach
    void close() {
        nodes.close();
    }

    /** Does something again that fails for lack of memory: one call of C fails. */
    private static void tryTwice(NodePair.Step step) throws Exception {
        try {
            step.run();
        } catch (VerbsException shortage) {
            if (shortage.errno() != NO_MEMORY) {
                throw shortage;
            }
            step.run();
        }
    }

    /** A channel that has lost its connection, and what its program does then. */
    private abstract class Work {
        final NodePair.Ends ends;
        private final List<EndReason> ended = new ArrayList<>();

        Work() throws Exception {
            table.fill((byte) 0);
            ends = nodes.connect();
        }

        /** Waits for the end of all that is under way, and checks it. */
        abstract void end() throws Exception;

        /** Returns the reason of the end of the channel; null if it has gone on. */
        final @Nullable EndReason reason() {
            assertThat(DOCUMENTED).containsAll(ended);
            return ended.isEmpty() ? null : ended.get(0);
        }

        /** Waits for the end of a part of the work. Returns false if its outcome is unknown, or the channel has ended. */
        final boolean isDone(Future<?> part) throws Exception {
            try {
                NodePair.end(part);
                return true;
            } catch (ExecutionException e) {
                if (e.getCause() instanceof ChannelException end) {
                    ended.add(end.reason());
                } else if (!isNoEnd(e.getCause())) {
                    throw e;
                }
                return false;
            }
        }

        /** Returns true for what may end a part of the work and not the channel. */
        private boolean isNoEnd(Throwable thrown) {
            return thrown instanceof OutcomeUnknownException
                    || thrown instanceof CallException
                    || (thrown instanceof VerbsException shortage && shortage.errno() == NO_MEMORY);
        }

        /** Checks that messages have come once and in order: all of them, or the first ones if the channel has ended. */
        final void assertAreFirst(List<Long> came) {
            assertThat(came).isEqualTo(reason() == null ? ALL : ALL.subList(0, came.size()));
        }
    }

    /** Work of all kinds in both directions. */
    private final class Busy extends Work {
        private final AtomicInteger handled = new AtomicInteger();
        private final List<Long> atServer = new ArrayList<>();
        private final List<Long> atClient = new ArrayList<>();
        private final Future<Void> server;
        private final Future<Void> client;
        private final CompletableFuture<Message> call;
        private final CompletableFuture<Long> write;
        private final CompletableFuture<Long> add;
        private final Future<Void> offer;

        Busy(Side lost) throws Exception {
            RemoteMemory remote = ends.client().remote("table", DEADLINE);
            lost.of(ends).forEach(NodePair::hold);
            Message request = ends.client().message(DEADLINE).length(0);
            call = ends.client().callAsync(request);
            for (long i = 0; i < LAST; i++) {
                NodePair.send(ends.client(), i);
                NodePair.send(ends.server(), i);
            }
            write = ends.client().future(ends.client().tryWriteLong(remote.slice(0, Long.BYTES), 5));
            add = ends.client().future(ends.client().tryFetchAndAdd(remote.slice(Long.BYTES, Long.BYTES), 1));
            offer = nodes.run(() -> ends.client().offer(data, new byte[0], DEADLINE));
            server = nodes.run(() -> receive(ends.server(), atServer));
            client = nodes.run(() -> receive(ends.client(), atClient));
        }

        /** Takes messages up to the last one, requests and offers. */
        private void receive(Channel on, List<Long> all) throws Exception {
            while (!all.contains(LAST)) {
                try (Message message = on.receive(DEADLINE)) {
                    if (message.isOffer()) {
                        take(message);
                    } else if (message.isRequest()) {
                        handled.incrementAndGet();
                        Message reply = message.reply().length(0);
                        tryTwice(reply::send);
                    } else {
                        all.add(message.segment().get(ValueLayout.JAVA_LONG, 0));
                    }
                }
            }
        }

        private void take(Message message) throws InterruptedException {
            try (Transfer transfer = message.transfer()) {
                byte[] taken = new byte[(int) transfer.length()];
                transfer.accept(MemorySegment.ofArray(taken), DEADLINE);
                assertThat(MemorySegment.ofArray(taken).mismatch(data)).isEqualTo(-1);
            } catch (VerbsException shortage) { // or the end, which the next message has
                assertThat(shortage.errno()).isIn(0, NO_MEMORY);
            }
        }

        @Override
        void end() throws Exception {
            boolean isCalled = isDone(call);
            boolean isWritten = isDone(write);
            boolean isAdded = isDone(add);
            isDone(offer);
            isDone(nodes.run(() -> tryTwice(() -> NodePair.send(ends.client(), LAST))));
            isDone(nodes.run(() -> tryTwice(() -> NodePair.send(ends.server(), LAST))));
            isDone(server);
            isDone(client);
            assertAreFirst(atServer);
            assertAreFirst(atClient);
            assertThat(handled).hasValueBetween(isCalled ? 1 : 0, 1);
            assertThat(table.get(ValueLayout.JAVA_LONG, 0)).isIn(isWritten ? List.of(5L) : List.of(0L, 5L));
            assertThat(table.get(ValueLayout.JAVA_LONG, Long.BYTES)).isBetween(isAdded ? 1L : 0L, 1L);
            if (isCalled) {
                call.join().close();
            }
        }
    }

    /** A side that closes its channel before what it has sent has travelled. */
    private final class Closing extends Work {
        private final List<Long> atServer = new ArrayList<>();
        private final Future<Void> closed;
        private final Future<Void> server;

        Closing(Side lost) throws Exception {
            lost.of(ends).forEach(NodePair::hold);
            for (long i = 0; i <= LAST; i++) {
                NodePair.send(ends.client(), i);
            }
            closed = nodes.run(ends.client()::close);
            Await.until("the close has begun", () -> ends.client().session().isClosing());
            server = nodes.run(() -> {
                while (true) {
                    atServer.add(NodePair.receive(ends.server()));
                }
            });
        }

        @Override
        void end() throws Exception {
            boolean isClosed = isDone(closed);
            assertThat(isDone(server)).isFalse();
            assertThat(atServer).isEqualTo(isClosed ? ALL : ALL.subList(0, atServer.size()));
        }
    }

    private static void close(Channel channel) {
        try {
            channel.close();
        } catch (VerbsException lost) { // of a channel whose peer has ended
            assertThat(lost).isInstanceOf(ChannelException.class);
        }
    }

    /** The nodes have the other channel alone, which works, and nothing of the one that has met the fault. */
    private void assertNothingIsLeft(String after, int objects) throws Exception {
        for (Node node : List.of(nodes.client, nodes.server)) {
            Engine engine = node.engine();
            Await.until(
                    "one connection is left, and nobody waits",
                    () -> IntStream.range(0, 4 * CHANNELS)
                                            .filter(engine.rails::has)
                                            .count()
                                    == 1
                            && engine.arrivals.count() == 0);
        }
        try {
            Await.until("the objects of one channel are left", () -> Fenced.liveObjects() == objects);
        } catch (AssertionError more) {
            throw new AssertionError("after a fault at " + after + ": " + Fenced.left(), more);
        }
        NodePair.send(others.client(), 1);
        assertThat(NodePair.receive(others.server())).isEqualTo(1);
    }

    private interface Beginning {
        Work begin(Side lost) throws Exception;
    }

    /** Has a fault come at each call of C in turn, until a heal has fewer calls. Returns what has ended the channel how often. */
    private Map<String, Integer> meetAtEachCall(Beginning beginning, Side lost, LongConsumer fault) throws Exception {
        Map<String, Integer> endedBy = new TreeMap<>();
        int objects = Fenced.liveObjects();
        long n = 1;
        for (boolean came = true; came; n += step) {
            assertThat(n).isLessThan(ENOUGH);
            Work work = beginning.begin(lost);
            fault.accept(n);
            lost.of(work.ends).forEach(HealTest::cut);
            try {
                work.end();
            } catch (Exception | AssertionError failed) {
                throw new AssertionError("after a fault at call " + n + " of C, " + Fenced.hit(), failed);
            }
            String function = Fenced.hit();
            came = !function.isEmpty();
            Fenced.calm();
            if (work.reason() != null) {
                endedBy.merge(function + " " + work.reason(), 1, Integer::sum);
            }
            close(work.ends.client());
            close(work.ends.server());
            assertNothingIsLeft(function, objects);
        }
        System.out.println(
                lost + ": faults up to call " + (n - 1 - step) + " of C, in steps of " + step + ", ended " + endedBy);
        return endedBy;
    }

    @ParameterizedTest
    @EnumSource
    void failureOfACallWhileAChannelHealsEndsItWithAReasonOrNotAtAll(Side lost) throws Exception {
        open(HEAL);
        meetAtEachCall(Busy::new, lost, nth -> Fenced.failAny(nth, NO_MEMORY));
    }

    @ParameterizedTest
    @EnumSource
    void lossAtACallWhileAChannelHealsEndsNothing(Side lost) throws Exception {
        open(DEADLINE);
        assertThat(meetAtEachCall(Busy::new, lost, nth -> Fenced.loseBeforeAny(nth, BOTH_SIDES)))
                .isEmpty();
    }

    @Test
    void failureOfACallWhileAClosedChannelHealsLosesNothingWithoutAnException() throws Exception {
        open(HEAL);
        meetAtEachCall(Closing::new, Side.CLIENT, nth -> Fenced.failAny(nth, NO_MEMORY));
    }

    @Test
    void lossAtACallWhileAClosedChannelHealsLosesNothingWithoutAnException() throws Exception {
        open(DEADLINE);
        meetAtEachCall(Closing::new, Side.CLIENT, nth -> Fenced.loseBeforeAny(nth, BOTH_SIDES));
    }

    /** Their memory is posted once over the next connection, with all others. */
    @Test
    void messagesThatAreClosedWhileTheNextConnectionIsMadeArePostedOnce() throws Exception {
        open(DEADLINE);
        NodePair.Ends ends = nodes.connect();
        List<Message> all = new ArrayList<>();
        for (long i = 0; i < HEALS.window(); i++) {
            NodePair.send(ends.server(), i);
            all.add(ends.client().receive(DEADLINE));
        }
        Fenced.stop("rdma_connect");
        HealTest.cut(ends.client());
        Fenced.awaitStopped("rdma_connect", 1);
        all.removeFirst().close();
        all.removeFirst().close();
        Fenced.goOn("rdma_connect");
        Await.until(
                "there is another connection", () -> ends.client().statistics().reconnects() == 1);
        all.forEach(Message::close);
        for (long i = 0; i < MANY; i++) {
            NodePair.send(ends.server(), i);
            assertThat(NodePair.receive(ends.client())).isEqualTo(i);
        }
    }

    // From the connect to the close

    /** What has come to the server over one channel. */
    private static final class Came {
        final List<Long> messages = new CopyOnWriteArrayList<>();
        final List<Long> requests = new CopyOnWriteArrayList<>();
    }

    /** Accepts channels, and takes what comes until they end: also over one that the client does not know to be made. */
    private Void serve(List<Came> all) throws InterruptedException {
        while (true) {
            Channel accepted = nodes.server.accept(DEADLINE);
            Came came = new Came();
            all.add(came);
            nodes.run(() -> take(accepted, came));
        }
    }

    private static void take(Channel accepted, Came came) throws InterruptedException {
        try (accepted) {
            while (true) {
                try (Message message = accepted.receive(DEADLINE)) {
                    long number = message.segment().get(ValueLayout.JAVA_LONG, 0);
                    (message.isRequest() ? came.requests : came.messages).add(number);
                    if (message.isRequest()) {
                        message.reply().length(0).send();
                    }
                }
            }
        } catch (ChannelException end) {
            assertThat(DOCUMENTED).contains(end.reason());
        }
    }

    /** Connects, sends, calls and closes. Returns the reason if the channel was not made, or has ended at the close; else null. */
    private @Nullable EndReason live(long number) throws Exception {
        Channel channel;
        try {
            channel = nodes.client.connect(nodes.server.address(), DEADLINE);
        } catch (ChannelException refused) {
            return refused.reason();
        }
        RemoteMemory remote = channel.remote("table", DEADLINE);
        for (long i : ALL) {
            NodePair.send(channel, number + i);
        }
        Message request = channel.message(DEADLINE).length(Long.BYTES);
        request.segment().set(ValueLayout.JAVA_LONG, 0, number);
        channel.call(request, DEADLINE).close();
        channel.writeLong(remote.slice(0, Long.BYTES), number, DEADLINE);
        try {
            channel.close();
            return null;
        } catch (ChannelException lost) {
            return lost.reason();
        }
    }

    /** The channel may end only while it is made, or while both sides say goodbye. Messages are lost only with an exception. */
    @ParameterizedTest
    @EnumSource
    void lossAtACallWhileAChannelIsMadeAndUsedAndClosedLosesNothingWithoutAnException(Side lost) throws Exception {
        open(HEAL);
        int objects = Fenced.liveObjects();
        List<Came> all = new CopyOnWriteArrayList<>();
        Future<?> serving = nodes.run(() -> serve(all));
        Map<String, Integer> endedBy = new TreeMap<>();
        long n = 1;
        for (boolean came = true; came; n += step) {
            assertThat(n).isLessThan(ENOUGH);
            long number = 10 * n;
            Fenced.loseBeforeAny(n, lost.sides);
            EndReason reason;
            try {
                reason = live(number);
            } catch (Exception | AssertionError failed) {
                throw new AssertionError("after a loss at call " + n + " of C, " + Fenced.hit(), failed);
            }
            String function = Fenced.hit();
            came = !function.isEmpty();
            Fenced.calm();
            assertNothingIsLeft(function, objects);
            List<Came> own =
                    all.stream().filter(each -> each.messages.contains(number)).toList();
            if (reason == null) {
                assertThat(own)
                        .as("after a loss at call %s of C, %s", n, function)
                        .hasSize(1);
                assertThat(own.getFirst().messages).containsExactly(number, number + 1, number + LAST);
                assertThat(own.getFirst().requests).containsExactly(number);
                assertThat(table.get(ValueLayout.JAVA_LONG, 0)).isEqualTo(number);
            } else {
                assertThat(DOCUMENTED).contains(reason);
                assertThat(own).hasSizeLessThan(2);
                endedBy.merge(function + " " + reason, 1, Integer::sum);
            }
        }
        System.out.println(
                lost + ": losses up to call " + (n - 1 - step) + " of C, in steps of " + step + ", ended " + endedBy);
        assertThat(serving.isDone()).isFalse();
    }
}
