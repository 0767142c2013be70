package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.Await;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** The counters of each channel. {@link StatisticsTest} has the counters of nodes. */
@FencedTest
class ChannelCountsTest extends ConnectedTest {
    private ChannelStatistics client() {
        return ends.client().statistics();
    }

    private ChannelStatistics server() {
        return ends.server().statistics();
    }

    @Test
    void messagesAndTheirBytes() throws Exception {
        assertThat(client()).isEqualTo(ChannelStatistics.NONE);
        ends.client().send(ends.client().message(DEADLINE).length(5), DEADLINE);
        ends.client().send(ends.client().message(DEADLINE).length(8), DEADLINE);
        ends.server().receive(DEADLINE).close();
        ends.server().receive(DEADLINE).close();
        assertThat(client()).returns(2L, ChannelStatistics::sent).returns(13L, ChannelStatistics::sentBytes);
        assertThat(server()).returns(2L, ChannelStatistics::received).returns(13L, ChannelStatistics::receivedBytes);
        assertThat(server()).returns(0L, ChannelStatistics::sent).returns(0L, ChannelStatistics::sentBytes);
    }

    @Test
    void callsThatAreAnsweredRefusedAndGivenUp() throws Exception {
        Future<Void> serving = nodes.run(() -> serve(ends.server(), 1));
        assertThat(call(ends.client(), 1)).isEqualTo(2);
        NodePair.end(serving);
        Future<Message> refused = nodes.start(() -> ends.client().call(request(ends.client(), 1), DEADLINE));
        try (Message request = ends.server().receive(DEADLINE)) {
            request.refuse("no");
        }
        assertThatExceptionOfType(ExecutionException.class)
                .isThrownBy(() -> NodePair.end(refused))
                .withCauseInstanceOf(CallException.class);
        assertThatExceptionOfType(VerbsTimeoutException.class)
                .isThrownBy(() -> ends.client().call(request(ends.client(), 1), Duration.ofMillis(1)));
        assertThat(client())
                .returns(3L, ChannelStatistics::calls)
                .returns(1L, ChannelStatistics::faults)
                .returns(1L, ChannelStatistics::abandoned)
                .returns(0L, ChannelStatistics::served);
        assertThat(server()).returns(2L, ChannelStatistics::served).returns(0L, ChannelStatistics::calls);
    }

    @Test
    void failuresOfTheHandlerOfAChannel() throws Exception {
        NodePair.Ends other = nodes.connect();
        ends.server().listen((_, _) -> {
            throw new IllegalArgumentException("of the test");
        });
        assertThatExceptionOfType(CallException.class).isThrownBy(() -> call(ends.client(), 1));
        assertThat(server().handlerFailures()).isOne();
        assertThat(other.server().statistics().handlerFailures()).isZero();
        assertThat(nodes.server.statistics().handlerFailures()).isOne();
    }

    @Test
    void transfersAndTheirBytes() throws Exception {
        MemorySegment data = nodes.arena.allocate(1000);
        Future<Void> offering = nodes.run(() -> ends.client().offer(data, new byte[0], DEADLINE));
        try (Message offer = ends.server().receive(DEADLINE);
                Transfer transfer = offer.transfer()) {
            transfer.accept(nodes.arena.allocate(1000), DEADLINE);
        }
        NodePair.end(offering);
        offering = nodes.run(() -> ends.client().offer(data, new byte[0], DEADLINE));
        try (Message offer = ends.server().receive(DEADLINE)) {
            offer.refuse("no");
        }
        Future<Void> refused = offering;
        assertThatExceptionOfType(ExecutionException.class).isThrownBy(() -> NodePair.end(refused));
        assertThat(client().transfersSent()).isOne();
        assertThat(server().transfersReceived()).isOne();
        long offers = server().receivedBytes() - 1000;
        assertThat(offers).as("bytes of the two messages").isBetween(1L, 999L);
        assertThat(client().sentBytes()).isEqualTo(1000 + offers);
    }

    @Test
    void operationsAndTheirBytes() throws Exception {
        nodes.server
                .export("memory", nodes.arena.allocate(64, 8), AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE)
                .inTheClear();
        RemoteMemory remote = ends.client().remote("memory", DEADLINE);
        MemoryRegion own = nodes.client.register(nodes.arena.allocate(64, 8), AccessFlag.LOCAL_WRITE);
        ends.client().read(own.slice(0, 40), remote.slice(0, 40), DEADLINE);
        ends.client().write(own.slice(0, 2), remote.slice(0, 2), DEADLINE);
        assertThat(client()).returns(2L, ChannelStatistics::operations).returns(42L, ChannelStatistics::operationBytes);
        assertThat(server().operations()).isZero();
    }

    @Test
    void timeOfStallsThatGoOnAndHaveEnded() throws Exception {
        long began = System.nanoTime();
        for (int i = 0; i < NodePair.SMALL.window(); i++) {
            NodePair.send(ends.client(), i);
        }
        assertThat(client().stalledNanos()).isZero();
        Message waits = ends.client().message(DEADLINE).length(0);
        assertThat(ends.client().trySend(waits)).isFalse();
        Await.until("the clock goes on", () -> client().stalledNanos() > 0);
        long stalled = client().stalledNanos();
        assertThat(stalled).isLessThan(System.nanoTime() - began);
        for (int i = 0; i < NodePair.SMALL.window(); i++) {
            NodePair.receive(ends.server());
        }
        ends.client().send(waits, DEADLINE);
        long ended = client().stalledNanos();
        assertThat(ended).isPositive();
        ends.server().receive(DEADLINE).close();
        assertThat(client().stalledNanos()).isEqualTo(ended);
        assertThat(client().stalls()).isOne();
    }

    @Test
    void timesOfCallsAndOfTheHandler() throws Exception {
        ends.server().listen((_, request) -> answer(request));
        assertThat(ends.client().latency().count()).isZero();
        assertThat(ends.server().handlerLatency().count()).isZero();
        call(ends.client(), 1);
        Await.until(
                "the handler has returned, which may be after its reply has come",
                () -> ends.server().handlerLatency().count() == 1);
        Latency calls = ends.client().latency();
        Latency handling = ends.server().handlerLatency();
        assertThat(calls.count()).isOne();
        assertThat(calls.p50Nanos()).isPositive().isEqualTo(calls.maxNanos()).isEqualTo(calls.totalNanos());
        assertThat(ends.client().handlerLatency().count()).isZero();
        assertThat(ends.server().latency().count()).isZero();
        ends.client().close();
        assertThat(nodes.client.latency()).as("after the end of the channel").isEqualTo(calls);
        Await.until("the server has seen the end", () -> nodes.server.channels().isEmpty());
        ends.server().close();
        assertThat(nodes.server.handlerLatency()).isEqualTo(handling);
        assertThat(nodes.server.latency().count()).isZero();
    }

    /** An offer takes as long as its data, and says little of the peer. */
    @Test
    void offersHaveNoTimes() throws Exception {
        Future<Void> offering = nodes.run(() -> ends.client().offer(nodes.arena.allocate(10), new byte[0], DEADLINE));
        try (Message offer = ends.server().receive(DEADLINE);
                Transfer transfer = offer.transfer()) {
            transfer.confirm();
        }
        NodePair.end(offering);
        assertThat(ends.client().latency().count()).isZero();
    }

    @Test
    void openChannelsOfANode() throws Exception {
        NodePair.Ends other = nodes.connect();
        assertThat(nodes.client.channels()).containsExactlyInAnyOrder(ends.client(), other.client());
        other.client().close();
        assertThat(nodes.client.channels()).containsExactly(ends.client());
        Await.until("the server has seen the end", () -> nodes.server.channels().size() == 1);
        assertThat(nodes.server.channels()).containsExactly(ends.server());
        nodes.client.connect(nodes.server.address(), DEADLINE);
        assertThat(nodes.server.channels()).as("it was not accepted").containsExactly(ends.server());
        assertThat(nodes.server.accept(DEADLINE)).isIn(nodes.server.channels());
    }

    /** Memory that no device knows is not pinned. */
    @Test
    void pinnedMemoryOfANodeAndOfTheProcess() {
        int adapters = NodePair.transport() == Transport.TCP ? 0 : 1;
        long ofNode = nodes.client.statistics().pinnedBytes();
        long ofServer = nodes.server.statistics().pinnedBytes();
        long ofProcess = VerbsArena.pinnedBytes();
        assertThat(ofNode > 0).as("memory of messages").isEqualTo(adapters > 0);
        MemoryRegion more = nodes.client.register(nodes.arena.allocate(3000), AccessFlag.LOCAL_WRITE);
        assertThat(nodes.client.statistics().pinnedBytes()).isEqualTo(ofNode + 3000 * adapters);
        assertThat(nodes.server.statistics().pinnedBytes()).isEqualTo(ofServer);
        assertThat(VerbsArena.pinnedBytes()).isEqualTo(ofProcess + 3000 * adapters);
        more.close();
        assertThat(nodes.client.statistics().pinnedBytes()).isEqualTo(ofNode);
        assertThat(VerbsArena.pinnedBytes()).isEqualTo(ofProcess);
    }

    @Test
    void nothingIsPinnedAfterTheEnd() throws Exception {
        long before = VerbsArena.pinnedBytes();
        try (NodePair more = new NodePair()) {
            more.connect();
            assertThat(VerbsArena.pinnedBytes() - before)
                    .isEqualTo(more.client.statistics().pinnedBytes()
                            + more.server.statistics().pinnedBytes());
        }
        assertThat(VerbsArena.pinnedBytes()).isEqualTo(before);
    }
}
