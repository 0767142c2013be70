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
    /** The distance of the calls that meet a fault: each of them takes a minute, in {@code scripts/test --long}. */
    private static final int STEP = Integer.getInteger("dev.verbena.walk.faultStep", 9);

    private static final int NO_MEMORY = 12;

    /** More calls of C than a heal has. */
    private static final int ENOUGH = 1000;

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
        CLIENT,
        SERVER,
        BOTH;

        private List<Channel> of(NodePair.Ends ends) {
            return switch (this) {
                case CLIENT -> List.of(ends.client());
                case SERVER -> List.of(ends.server());
                case BOTH -> List.of(ends.client(), ends.server());
            };
        }
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
        for (boolean came = true; came; n += STEP) {
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
                lost + ": faults up to call " + (n - 1 - STEP) + " of C, in steps of " + STEP + ", ended " + endedBy);
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
}
