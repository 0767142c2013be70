package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.link.Ways;
import dev.verbena.support.Await;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Channels between nodes that have several addresses. */
@FencedTest
class PathsTest {
    static final Duration STAY = Duration.ofSeconds(6);

    /** The time of the nodes to close, for which a channel waits whose peer's has ended. */
    private static final Duration BRIEF = Duration.ofSeconds(1);

    private final InetSocketAddress second = new InetSocketAddress(second(), 0);

    /** True while the server refuses peers that come from their first address. */
    private final AtomicBoolean firstIsShut = new AtomicBoolean();

    private final NodeOptions options = NodePair.SMALL
            .heal(DEADLINE)
            .alive(NodeClock.ALIVE)
            .operations(4)
            .paths(second)
            .closeTimeout(BRIEF);
    final NodePair nodes = new NodePair(
            options,
            options.admit(
                    (peer, token) -> !firstIsShut.get() || peer.getAddress().equals(second.getAddress())));
    private final NodeClock clock = new NodeClock(nodes.client);

    /** Returns the second address of both nodes. */
    String second() {
        return NodePair.transport() == Transport.RDMA ? "10.9.9.2" : "127.0.0.2";
    }

    @AfterEach
    void close() {
        nodes.close();
    }

    final InetSocketAddress address(int number) {
        return nodes.server.engine().carrier.addresses().get(number);
    }

    static InetSocketAddress target(NodePair.Ends ends) {
        return ends.client().session().rail.way().peer();
    }

    /** Connects, and has the channel lose its first path. */
    final NodePair.Ends onSecondPath() throws Exception {
        NodePair.Ends ends = nodes.connect();
        assertThat(target(ends)).isEqualTo(address(0));
        HealTest.cut(ends.client());
        HealTest.awaitPath(ends);
        Await.until("the channel takes the other path", () -> target(ends).equals(address(1)));
        return ends;
    }

    /** Has the client try its first path. */
    private void passUntilTried(NodePair.Ends ends, Duration step) {
        Healing healing = ends.client().session().healing;
        clock.passUntil("the first path is tried", step, () -> healing.next() != null || isOnFirst(ends));
    }

    private boolean isOnFirst(NodePair.Ends ends) {
        return ends.client().session().rail.way().equals(new Ways.Way(0, address(0)));
    }

    final void passUntilFirst(NodePair.Ends ends, Duration step) {
        passUntilTried(ends, step);
        Await.until("the channel takes its first path", () -> isOnFirst(ends));
        HealTest.awaitPath(ends);
    }

    static void assertMessagesTravel(NodePair.Ends ends) throws InterruptedException {
        NodePair.send(ends.client(), 1);
        assertThat(NodePair.receive(ends.server())).isEqualTo(1);
        NodePair.send(ends.server(), 2);
        assertThat(NodePair.receive(ends.client())).isEqualTo(2);
    }

    @Test
    void channelTakesAnotherPathWhenItsOwnIsLost() throws Exception {
        assertMessagesTravel(onSecondPath());
    }

    @Test
    void channelStaysOnItsFirstPath() throws Exception {
        NodePair.Ends ends = nodes.connect();
        for (int i = 0; i < 5; i++) {
            clock.pass(Duration.ofMinutes(6)); // the longest time on another path
            assertMessagesTravel(ends);
            assertThat(ends.client().session().healing.next()).isNull();
        }
        assertThat(ends.client().statistics().reconnects()).isZero();
    }

    @Test
    void exportsCanBeUsedOverEachPath() throws Exception {
        MemorySegment table = nodes.arena.allocate(Long.BYTES, Long.BYTES);
        nodes.server
                .export("table", table, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE)
                .inTheClear();
        NodePair.Ends ends = nodes.connect();
        RemoteMemory remote = ends.client().remote("table", DEADLINE);
        LocalMemory mine = nodes.client
                .register(nodes.arena.allocate(Long.BYTES, Long.BYTES), AccessFlag.LOCAL_WRITE)
                .slice(0, Long.BYTES);
        HealTest.cut(ends.client());
        Await.until("the channel takes the other path", () -> target(ends).equals(address(1)));
        ends.client().writeLong(remote, 3, DEADLINE);
        passUntilFirst(ends, STAY);
        ends.client().read(mine, remote, DEADLINE);
        assertThat(mine.segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(3);
    }

    @Test
    void firstPathIsTakenAgainWhileMessagesTravel() throws Exception {
        NodePair.Ends ends = onSecondPath();
        AtomicBoolean over = new AtomicBoolean();
        Future<Void> sending = nodes.run(() -> {
            for (long i = 0; !over.get(); i++) {
                NodePair.send(ends.client(), i);
            }
            NodePair.send(ends.client(), -1);
        });
        Future<Void> receiving = nodes.run(() -> {
            long expected = 0;
            for (long i = NodePair.receive(ends.server()); i != -1; i = NodePair.receive(ends.server())) {
                assertThat(i).isEqualTo(expected++);
            }
        });
        passUntilFirst(ends, STAY);
        over.set(true);
        NodePair.end(sending);
        NodePair.end(receiving);
        assertThat(ends.client().statistics().reconnects()).isEqualTo(2);
    }

    @Test
    void firstPathThatIsRefusedIsLeftForTheLastOne() throws Exception {
        NodePair.Ends ends = onSecondPath();
        firstIsShut.set(true);
        passUntilTried(ends, STAY);
        Await.until("the attempt has failed", () -> ends.client().statistics().reconnects() == 2);
        assertThat(target(ends)).isEqualTo(address(1));
        for (int i = 0; i < 5; i++) {
            nodes.client.engine().tick(System.nanoTime()); // too soon: in less than ten seconds
            assertMessagesTravel(ends);
        }
        assertThat(ends.client().session().healing.next()).isNull();
        assertThat(ends.client().statistics().reconnects()).isEqualTo(2);
        firstIsShut.set(false);
        passUntilFirst(ends, STAY.multipliedBy(2));
        assertMessagesTravel(ends);
    }

    @Test
    void closeWhileTheFirstPathIsTakenLosesNothing() throws Exception {
        NodePair.Ends ends = onSecondPath();
        NodePair.send(ends.client(), 5);
        passUntilTried(ends, STAY);
        Future<Void> closed = nodes.run(ends.client()::close);
        assertThat(NodePair.receive(ends.server())).isEqualTo(5);
        NodePair.endOf(ends.server(), EndReason.CLOSED_BY_PEER);
        NodePair.end(closed);
    }
}
