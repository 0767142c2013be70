package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.internal.link.TcpCarrier;
import dev.verbena.internal.link.TcpMemory;
import dev.verbena.internal.link.TcpStream;
import dev.verbena.internal.wire.Wire;
import dev.verbena.support.Await;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Strangers at the door of a node with a secret: they keep no honest peer out, and hold nobody up. */
class StrangersTest extends TcpTest {
    private static final byte[] SECRET = "a secret of some 32 random bytes".getBytes(US_ASCII);
    private static final NodeOptions SEALED =
            NodePair.SMALL.secret(SECRET).transport(Transport.TCP).handshakeTimeout(DEADLINE);

    private static byte[] greeting() {
        return new Introduction(SEALED, Transport.TCP, false, null, Wire.Place.ONE).first();
    }

    /** Connects, says a greeting, and stays. */
    private TcpPeer comes(byte[] greeting) throws IOException {
        return comes(greeting, "127.0.0.1");
    }

    private TcpPeer comes(byte[] greeting, String from) throws IOException {
        TcpPeer peer = leavesLater(new TcpPeer(nodes.server.address(), new InetSocketAddress(from, 0)));
        peer.message(Wire.GREETING, 0, 0, greeting);
        return peer;
    }

    private static void assertAnswered(TcpPeer peer) throws IOException {
        assertThat(peer.nextMessage().kind()).isEqualTo(Wire.GREETING);
    }

    // Keys

    @Test
    void keyThatSharesNothingIsRefusedAndCounted() throws Exception {
        use(SEALED);
        byte[] head = Arrays.copyOf(greeting(), Wire.GREETING_BYTES);
        byte[] key = SEALED.secrets().key(new byte[0]);
        for (byte order : new byte[] {0, 1}) {
            byte[] passing = new byte[32];
            passing[0] = order;
            TcpPeer insider = comes(ForgedGreeting.of(head, key, passing, new byte[1 + Wire.MAX_TOKEN]));
            assertThat(EndReason.of(insider.awaitGoodbye())).isEqualTo(EndReason.WRONG_SECRET);
        }
        assertThat(nodes.server.attacks().strangers()).isEqualTo(2);
        nodes.connect();
    }

    /** The other greetings of a forger are those of a node. */
    @Test
    void forgedGreetingWithAGoodKeyIsAnswered() throws IOException, GeneralSecurityException {
        use(SEALED);
        byte[] head = Arrays.copyOf(greeting(), Wire.GREETING_BYTES);
        byte[] passing = new byte[32];
        passing[0] = 9;
        assertAnswered(comes(
                ForgedGreeting.of(head, SEALED.secrets().key(new byte[0]), passing, new byte[1 + Wire.MAX_TOKEN])));
    }

    // Recorded greetings

    @Test
    void greetingThatWasSaidBeforeIsRefusedAndCounted() throws IOException {
        use(SEALED);
        byte[] recorded = greeting();
        assertAnswered(comes(recorded));
        for (int i = 1; i <= 3; i++) {
            assertThat(EndReason.of(comes(recorded).awaitGoodbye())).isEqualTo(EndReason.WRONG_SECRET);
            assertThat(nodes.server.attacks().strangers()).isEqualTo(i);
        }
        assertAnswered(comes(greeting()));
    }

    @Test
    void nodeRemembersTheLastGreetings() {
        Handshakes handshakes = new Handshakes("of a test");
        for (int i = 0; i <= Handshakes.REMEMBERED; i++) {
            assertThat(handshakes.isNew(new byte[] {(byte) i, (byte) (i >> 8)})).isTrue();
        }
        assertThat(handshakes.isNew(new byte[] {1, 0})).isFalse();
        assertThat(handshakes.isNew(new byte[] {0, 0})).as("the first of all").isTrue();
        handshakes.close();
    }

    /** Greetings that nobody has said to this node before can be recorded too, at another one. */
    @Test
    void keysOfStrangersHoldUpNobodyElse() throws Exception {
        use(SEALED.maxWaiting(3));
        NodePair.Ends open = nodes.connect();
        List<byte[]> recorded = List.of(greeting(), greeting(), greeting(), greeting(), greeting());
        try (StoppedX25519 stopped = new StoppedX25519()) {
            TcpPeer first = comes(recorded.get(0));
            Await.until("the node makes the first answer", () -> stopped.count() > 0);
            TcpPeer second = comes(recorded.get(1));
            TcpPeer other = comes(recorded.get(2), "127.0.0.2");
            for (int i = 0; i < 10; i++) {
                NodePair.send(open.client(), i);
                assertThat(NodePair.receive(open.server())).isEqualTo(i);
            }
            TcpPeer third = comes(recorded.get(3));
            first.awaitEndOfBytes(); // the oldest one of the address that has the most
            TcpPeer fourth = comes(recorded.get(4));
            second.awaitEndOfBytes();
            stopped.letGo();
            for (TcpPeer answered : List.of(other, third, fourth)) {
                assertAnswered(answered);
            }
        }
        assertThat(nodes.server.attacks().strangers()).isZero();
    }

    @Test
    void nodeClosesWhileItMakesAnAnswer() throws Exception {
        use(SEALED);
        byte[] recorded = greeting();
        try (StoppedX25519 stopped = new StoppedX25519()) {
            comes(recorded);
            Await.until("the node makes the answer", () -> stopped.count() > 0);
            Future<Void> closed = nodes.start(() -> {
                nodes.server.close();
                return null;
            });
            NodePair.end(closed);
        }
    }

    /** A peer that says more before it has the answer breaks the rules. */
    @Test
    void secondGreetingBeforeTheAnswerEndsTheChannel() throws Exception {
        use(SEALED);
        byte[] recorded = greeting();
        try (StoppedX25519 stopped = new StoppedX25519()) {
            TcpPeer peer = comes(recorded);
            Await.until("the node makes the answer", () -> stopped.count() > 0);
            peer.message(Wire.GREETING, 0, 0, recorded);
            assertThat(EndReason.of(peer.awaitGoodbye())).isEqualTo(EndReason.PROTOCOL_ERROR);
        }
    }

    // Places

    private static byte[] changed(int at, int value) {
        byte[] greeting = greeting();
        greeting[at] = (byte) value;
        return greeting;
    }

    @Test
    void refusedStrangersThatStayGiveWay() throws Exception {
        use(SEALED.maxWaiting(2));
        byte[] plain = new byte[Wire.GREETING_BYTES];
        new Wire.Greeting(4, 256, 4, new byte[0], null).writeTo(MemorySegment.ofArray(plain));
        for (byte[] wrong : List.of(changed(100, 0), changed(4, 9), changed(0, 9), plain)) {
            for (int i = 0; i < 3; i++) {
                comes(wrong).awaitGoodbye(); // it acknowledges nothing
            }
            NodePair.Ends ends = nodes.connect();
            NodePair.send(ends.client(), 5);
            assertThat(NodePair.receive(ends.server())).isEqualTo(5);
        }
    }

    @Test
    void strangersThatTheProgramRefusesGiveWay() throws Exception {
        use(NodePair.SMALL.maxWaiting(2).token(new byte[] {7}).admit((peer, token) -> token.length > 0));
        byte[] plain = new byte[Wire.GREETING_BYTES];
        new Wire.Greeting(4, 256, 4, new byte[0], null).writeTo(MemorySegment.ofArray(plain));
        for (int i = 0; i < 3; i++) {
            assertThat(EndReason.of(comes(plain).awaitGoodbye())).isEqualTo(EndReason.REFUSED);
        }
        nodes.connect();
    }

    @Test
    void refusedStrangersKeepNoPlaceOfTheirAddress() throws Exception {
        use(SEALED.maxChannelsPerPeer(2));
        for (int i = 0; i < 3; i++) {
            comes(changed(100, 0)).awaitGoodbye();
        }
        nodes.connect();
    }

    /** A greeting that is wrong makes no channel, for which another one would have to give way. */
    @Test
    void refusedStrangersPushNobodyOut() throws Exception {
        use(SEALED.maxWaiting(1));
        byte[] recorded = greeting();
        TcpPeer honest = comes(recorded);
        assertAnswered(honest);
        for (byte[] wrong : List.of(recorded, changed(100, 0), changed(4, 9), changed(5, 0), changed(0, 9))) {
            comes(wrong).awaitGoodbye();
            assertIsPresent(honest);
        }
    }

    /** Each stranger stays as long as it may, and so does its connection. */
    @Test
    void refusedStrangersTakeABoundedNumberOfDescriptors() throws Exception {
        InetSocketAddress own = new InetSocketAddress("127.0.0.1", 0);
        Engine engine = new Engine(own, NodePair.SMALL.transport(Transport.TCP)); // without its threads
        List<SocketChannel> strangers = new ArrayList<>();
        List<SocketChannel> doors = new ArrayList<>();
        try (ServerSocketChannel listener = ServerSocketChannel.open().bind(own);
                Selector selector = Selector.open();
                VerbsArena arena = VerbsArena.ofShared()) {
            TcpCarrier carrier = (TcpCarrier) engine.carrier;
            TcpMemory memory = TcpMemory.create(arena);
            for (int i = 0; i <= TcpCarrier.MOST_VISITORS; i++) {
                strangers.add(SocketChannel.open(listener.getLocalAddress()));
                SocketChannel door = listener.accept();
                door.configureBlocking(false);
                doors.add(door);
                TcpStream stream = new TcpStream(carrier, memory, new Session(engine, i, own, true).rail, false);
                stream.take(door, selector);
                stream.disconnect();
            }
            carrier.turn(TcpCarrier.NOW);
            assertThat(doors).filteredOn(door -> !door.isOpen()).containsExactly(doors.getFirst());
        } finally {
            engine.close();
            for (SocketChannel each : strangers) {
                each.close();
            }
            for (SocketChannel each : doors) {
                each.close();
            }
        }
    }

    /** One of another address stays, though it came first, and another one gets in. */
    @Test
    void oldestPeerThatHasProvedNothingGivesWay() throws Exception {
        use(SEALED.maxWaiting(4));
        TcpPeer other = comes(greeting(), "127.0.0.2");
        assertAnswered(other);
        List<TcpPeer> halfOpen = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            TcpPeer next = comes(greeting());
            assertAnswered(next);
            halfOpen.add(next);
            if (i >= 3) {
                halfOpen.get(i - 3).awaitEndOfBytes();
                for (TcpPeer younger : halfOpen.subList(i - 2, i + 1)) {
                    assertIsPresent(younger);
                }
            }
        }
        assertAnswered(comes(greeting(), "127.0.0.3"));
        halfOpen.get(3).awaitEndOfBytes();
        assertIsPresent(other);
    }

    @Test
    void refusedStrangerGivesWayBeforeAnOlderPeerThatMayProveItself() throws Exception {
        use(SEALED.maxWaiting(2));
        TcpPeer honest = comes(greeting());
        assertAnswered(honest);
        byte[] head = Arrays.copyOf(greeting(), Wire.GREETING_BYTES);
        byte[] noKey = new byte[32];
        byte[] token = new byte[1 + Wire.MAX_TOKEN];
        comes(ForgedGreeting.of(head, SEALED.secrets().key(new byte[0]), noKey, token))
                .awaitGoodbye();
        assertAnswered(comes(greeting()));
        assertIsPresent(honest);
    }

    @Test
    void peerOfAnAddressWithAsManyAsItMayPushesOutItsOwn() throws Exception {
        use(SEALED.maxChannelsPerPeer(2));
        TcpPeer other = comes(greeting(), "127.0.0.2");
        assertAnswered(other);
        nodes.connect();
        TcpPeer own = comes(greeting());
        assertAnswered(own);
        assertAnswered(comes(greeting()));
        own.awaitEndOfBytes();
        assertIsPresent(other);
    }
}
