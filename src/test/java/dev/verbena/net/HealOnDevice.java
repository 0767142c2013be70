package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.net.CutWire.Packet;
import dev.verbena.support.Await;
import dev.verbena.support.CmAddress;
import dev.verbena.support.VethWire;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Channels between two adapters whose wire loses packets for a while. {@link HealOnDeviceTest} runs these tests. */
class HealOnDevice {
    private static final int READ = 0x0c; // the opcode of the request

    static final NodeOptions HEALS = NodePair.SMALL
            .operations(4)
            .heal(Duration.ofSeconds(30))
            .alive(Duration.ofMillis(200))
            .closeTimeout(Duration.ZERO)
            .handshakeTimeout(DEADLINE);

    private static CutWire wire;

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final VerbsArena arena = VerbsArena.ofShared();

    /** The packets that the wire loses. */
    enum Cut {
        BOTH_WAYS(packet -> true),
        TO_SERVER(Packet::toServer),
        TO_CLIENT(packet -> !packet.toServer());

        private final Predicate<Packet> lost;

        Cut(Predicate<Packet> lost) {
            this.lost = lost;
        }
    }

    @BeforeAll
    static void begin() throws Exception {
        wire = new CutWire();
    }

    @AfterAll
    static void end() {
        wire.close();
    }

    @AfterEach
    void close() {
        wire.lose(packet -> false);
        threads.shutdownNow();
        arena.close();
    }

    private Node openClient() {
        return NodePair.open(HEALS, new InetSocketAddress(VethWire.FIRST, 0), arena);
    }

    private NodePair.Ends connect(Node client, Node server) throws Exception {
        Future<Channel> accepted = threads.submit(() -> server.accept(DEADLINE));
        Channel made = client.connect(server.address(), DEADLINE);
        return new NodePair.Ends(made, NodePair.end(accepted));
    }

    private static void awaitLoss(NodePair.Ends ends) {
        Await.until(
                "one side has no connection",
                () -> ends.client().session().isHealing()
                        || ends.server().session().isHealing());
    }

    @ParameterizedTest
    @EnumSource
    void nothingIsLostAndNothingComesTwice(Cut cut) throws Exception {
        Node server = NodePair.open(HEALS, new InetSocketAddress(VethWire.SECOND, 0), arena);
        MemorySegment table = arena.allocate(2 * Long.BYTES, Long.BYTES);
        table.set(ValueLayout.JAVA_LONG, 0, 7);
        server.export("table", table, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE)
                .inTheClear();
        Node client = openClient();
        NodePair.Ends ends = connect(client, server);
        RemoteMemory remote = ends.client().remote("table", DEADLINE);
        LocalMemory mine = client.register(arena.allocate(Long.BYTES, Long.BYTES), AccessFlag.LOCAL_WRITE)
                .slice(0, Long.BYTES);
        NumberedTraffic traffic = new NumberedTraffic(ends, threads);
        AtomicBoolean isCut = new AtomicBoolean();
        wire.lose(
                packet -> { // from the first request to read or write
                    if (packet.isReliable() && (packet.opcode() == READ || packet.opcode() == CutWire.WRITE)) {
                        isCut.set(true);
                    }
                    return isCut.get() && cut.lost.test(packet);
                });
        Future<?> read = threads.submit(() -> {
            ends.client().read(mine, remote.slice(0, Long.BYTES), DEADLINE);
            return null;
        });
        Future<?> write = threads.submit(() -> {
            ends.client().writeLong(remote.slice(Long.BYTES, Long.BYTES), 9, DEADLINE);
            return null;
        });
        Await.until("the wire is cut", isCut::get); // a slow machine may look like a loss before
        awaitLoss(ends);
        wire.lose(packet -> false);
        NodePair.end(read);
        NodePair.end(write);
        assertThat(mine.segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(7);
        assertThat(table.get(ValueLayout.JAVA_LONG, Long.BYTES)).isEqualTo(9);
        traffic.end();
        assertThat(ends.client().statistics().reconnects()).isPositive();
    }

    /** Both nodes have the guest's own device too. */
    @Test
    void channelTakesAnotherDeviceWhileTheWireIsCutAndComesBack() throws Exception {
        NodeOptions both = HEALS.paths(CmAddress.four(0));
        Node server = NodePair.open(both, new InetSocketAddress(VethWire.SECOND, 0), arena);
        Node client = NodePair.open(both, new InetSocketAddress(VethWire.FIRST, 0), arena);
        MemorySegment table = arena.allocate(Long.BYTES, Long.BYTES);
        server.export("table", table, AccessFlag.REMOTE_WRITE).inTheClear();
        NodePair.Ends ends = connect(client, server);
        RemoteMemory remote = ends.client().remote("table", DEADLINE);
        AtomicBoolean over = new AtomicBoolean();
        Future<Integer> atServer = threads.submit(() -> NumberedTraffic.receive(ends.server()));
        Future<Void> toServer = threads.submit(() -> NumberedTraffic.sendUntil(over, ends.client()));
        wire.lose(packet -> true);
        Await.until("the channel takes the other device", () -> isOver(ends, 1));
        ends.client().writeLong(remote, 9, DEADLINE);
        assertThat(table.get(ValueLayout.JAVA_LONG, 0)).isEqualTo(9);
        wire.lose(packet -> false);
        Await.until("the channel comes back", () -> isOver(ends, 0));
        ends.client().writeLong(remote, 10, DEADLINE);
        assertThat(table.get(ValueLayout.JAVA_LONG, 0)).isEqualTo(10);
        over.set(true);
        NodePair.end(toServer);
        NodePair.end(atServer);
    }

    private static boolean isOver(NodePair.Ends ends, int address) {
        Session session = ends.client().session();
        return session.state() == SessionState.OPEN && session.rail.way().own() == address;
    }

    @Test
    void peerThatWasStartedAgainMeanwhileIsAnother() throws Exception {
        VerbsArena first = VerbsArena.ofShared();
        Node server = NodePair.open(HEALS, new InetSocketAddress(VethWire.SECOND, 0), first);
        InetSocketAddress address = server.address();
        Channel channel = connect(openClient(), server).client();
        wire.lose(packet -> true);
        first.close();
        Await.until("the client has no connection", () -> channel.session().isHealing());
        NodePair.open(HEALS, address, arena);
        wire.lose(packet -> false);
        assertThat(NodePair.endOf(channel))
                .hasMessageContaining("The peer does not have this channel any more")
                .extracting(ChannelException::reason)
                .isEqualTo(EndReason.LOST);
    }
}
