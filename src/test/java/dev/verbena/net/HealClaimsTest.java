package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.wire.TcpFrame;
import dev.verbena.internal.wire.Wire;
import dev.verbena.support.Await;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Peers that claim channels which are not theirs, or say that they have had what they have not. */
class HealClaimsTest extends TcpTest {
    private static final int CHANNELS = 8;
    private static final int HONEST = 4;
    private static final int MOST_WAITING = 4;
    private static final int STRANGERS = 16;
    private static final int ROUNDS = 6;
    private static final NodeOptions HEALS =
            NodePair.SMALL.heal(DEADLINE).maxChannels(CHANNELS).closeTimeout(Duration.ZERO);

    private final UUID id = UUID.randomUUID();
    /** Connects, and greets with a claim. */
    private TcpPeer greets(Wire.Claim claim, int granted, int sent, int received) throws IOException {
        TcpPeer peer = stranger();
        peer.greet(claim, granted, sent, received);
        return peer;
    }

    private TcpPeer claims(UUID which, int granted, int sent, int received) throws IOException {
        return greets(new Wire.Claim(true, which, Wire.Place.ONE), granted, sent, received);
    }

    /** Connects a peer that begins a channel which can outlive its connection. */
    private TcpPeer begins(NodeOptions options) throws Exception {
        use(options);
        TcpPeer peer = greets(new Wire.Claim(false, id, Wire.Place.ONE), 0, 0, 0);
        channel = nodes.server.accept(DEADLINE);
        assertThat(peer.awaitMessage().kind()).isEqualTo(Wire.GREETING);
        return peer;
    }

    /** Sends a number to the node, which receives it. */
    private void assertReceives(TcpPeer peer, int sent, int received) throws Exception {
        assertReceives(peer, sent, received, 0);
    }

    private void assertReceives(TcpPeer peer, int sent, int received, int granted) throws Exception {
        peer.memory().set(ValueLayout.JAVA_LONG_UNALIGNED, 0, sent);
        peer.say(Wire.DATA, granted, sent, received, Long.BYTES);
        assertThat(NodePair.receive(channel)).isEqualTo(sent);
    }

    /** Waits for the next message of the node's program, which is to have a sequence number, and that number as its bytes. */
    private static void assertGets(TcpPeer peer, int sequence) throws IOException {
        Peer.Got got = peer.awaitMessage();
        while (got.kind() == Wire.GRANT) {
            got = peer.awaitMessage();
        }
        assertThat(got.kind()).isEqualTo(Wire.DATA);
        assertThat(Wire.sequence(peer.whole().asSlice(Peer.SIZE / 2))).isEqualTo(sequence);
        assertThat(peer.received().get(ValueLayout.JAVA_LONG_UNALIGNED, 0)).isEqualTo(sequence);
    }

    private static void assertRefused(TcpPeer peer, EndReason reason) throws IOException {
        assertThat(EndReason.of(peer.awaitGoodbye())).isEqualTo(reason);
        peer.awaitEnd();
    }

    /** The node has one connection, that of the channel. */
    private void assertHasOneConnection() {
        assertHasConnections(1);
    }

    private void assertHasConnections(int count) {
        Engine engine = nodes.server.engine();
        Await.until(
                "no other connection is left, and nobody waits",
                () -> IntStream.range(0, 4 * CHANNELS).filter(engine.rails::has).count() == count
                        && engine.channels() == count
                        && engine.arrivals.count() == 0);
    }

    /** Strangers who claim channels of others, or none that there is, at the same time as those who have lost theirs. */
    @ParameterizedTest(name = "the strangers greet: {0}")
    @ValueSource(booleans = {true, false})
    void manyFalseClaimsKeepNobodyOut(boolean greet) throws Exception {
        use(HEALS.maxWaiting(MOST_WAITING));
        List<NodePair.Ends> honest = new ArrayList<>();
        for (int i = 0; i < HONEST; i++) {
            honest.add(nodes.connect());
        }
        for (int round = 1; round <= ROUNDS; round++) {
            for (int i = 0; i < STRANGERS; i++) {
                if (greet) {
                    claims(UUID.randomUUID(), 0, 0, 0);
                } else {
                    stranger();
                }
            }
            honest.forEach(each -> HealTest.cut(each.client()));
            for (NodePair.Ends each : honest) {
                int expected = round;
                Await.until(
                        "a channel is back", () -> each.client().statistics().reconnects() == expected);
                NodePair.send(each.client(), round);
                assertThat(NodePair.receive(each.server())).isEqualTo(round);
            }
        }
        if (!greet) {
            leave(); // they may wait until their time to greet is over
        }
        assertHasConnections(HONEST);
    }

    @Test
    void channelThatTheNodeDoesNotHaveIsLost() throws Exception {
        TcpPeer first = begins(HEALS);
        TcpPeer stranger = claims(UUID.randomUUID(), 0, 0, 0);
        assertThat(stranger.awaitGoodbye()).isEqualTo(EndReason.LOST.code);
        stranger.awaitEnd();
        assertReceives(first, 1, 0);
        assertHasOneConnection();
    }

    @Test
    void claimWithoutANameIsLost() throws Exception {
        begins(HEALS);
        TcpPeer peer = stranger();
        new Wire.Greeting(4, 256, 4, new byte[0], new Wire.Claim(true, id, Wire.Place.ONE)).writeTo(peer.memory());
        peer.send(Wire.GREETING, 0, 0, Wire.GREETING_BYTES);
        assertRefused(peer, EndReason.LOST);
    }

    /** At a node whose channels do not come back, who says so takes the place of a new peer. */
    @ParameterizedTest
    @CsvSource({"true, LOST", "false, TOO_MANY_CHANNELS"})
    void claimsDoNotCountWhereChannelsHeal(boolean heals, EndReason reason) throws Exception {
        begins((heals ? HEALS : NodePair.SMALL).maxChannelsPerPeer(1));
        assertThat(EndReason.of(claims(UUID.randomUUID(), 0, 0, 0).awaitGoodbye()))
                .isEqualTo(reason);
    }

    /** The node has no keys for the peer's second device. */
    @Test
    void claimFromADeviceThatThePeerDidNotHaveIsRefused() throws Exception {
        TcpPeer first = begins(HEALS);
        assertRefused(
                greets(new Wire.Claim(true, id, new Wire.Place(1, 2, List.of())), 0, 0, 0), EndReason.PROTOCOL_ERROR);
        assertReceives(first, 1, 0);
        assertThat(channel.statistics().reconnects()).isZero();
        assertHasOneConnection();
    }

    @Test
    void nameOfAnotherChannelCanNotBeginOne() throws Exception {
        TcpPeer first = begins(HEALS);
        assertRefused(greets(new Wire.Claim(false, id, Wire.Place.ONE), 0, 0, 0), EndReason.PROTOCOL_ERROR);
        assertReceives(first, 1, 0);
        assertHasOneConnection();
    }

    /** The node has sent two messages, and the peer has said so; it has got one. */
    @ParameterizedTest(name = "granted {0}, sent {1}, received {2}")
    @CsvSource({"3, 1, 2", "-1, 1, 2", "0, 0, 2", "0, 1, 1", "0, 1, 3"})
    void wrongTotalsAreRefusedAndTheChannelKeepsItsConnection(int granted, int sent, int received) throws Exception {
        TcpPeer first = begins(HEALS);
        NodePair.send(channel, 1);
        NodePair.send(channel, 2);
        assertGets(first, 1);
        assertGets(first, 2);
        assertReceives(first, 1, 2);
        assertRefused(claims(id, granted, sent, received), EndReason.PROTOCOL_ERROR);
        assertReceives(first, 2, 2);
        assertThat(channel.statistics().reconnects()).isZero();
        assertHasOneConnection();
    }

    @Test
    void peerOfTheChannelGetsWhatItHasNotReceivedInOrderAndOnce() throws Exception {
        TcpPeer first = begins(HEALS);
        for (int i = 1; i <= 3; i++) {
            NodePair.send(channel, i);
            assertGets(first, i);
        }
        assertReceives(first, 1, 1);
        TcpPeer next = claims(id, 0, 1, 1);
        assertThat(next.awaitMessage().kind()).isEqualTo(Wire.GREETING);
        assertGets(next, 2);
        assertGets(next, 3);
        NodePair.send(channel, 4);
        assertGets(next, 4);
        assertReceives(next, 2, 4);
        first.awaitEnd();
        assertThat(channel.statistics().reconnects()).isEqualTo(1);
        assertHasOneConnection();
    }

    /** Messages with bytes and without, and a write between them: the peer has none of them. */
    @Test
    void requestsGoAgainInTheirOrder() throws Exception {
        begins(HEALS.operations(2));
        NodePair.send(channel, 1);
        Session session = channel.session();
        try (var _ = session.lock.held()) {
            assertThat(session.rail.trySendAboutPiece(Wire.PIECE, 3)).isTrue();
        }
        assertThat(channel.tryWriteLong(new RemoteMemory(4096, 1, Long.BYTES), 5))
                .isNotZero();
        NodePair.send(channel, 3);
        TcpPeer next = claims(id, 0, 0, 0);
        assertThat(next.nextMessage().kind()).isEqualTo(Wire.GREETING);
        assertThat(next.nextMessage().kind()).isEqualTo(Wire.DATA);
        assertThat(next.nextMessage()).isEqualTo(new Peer.Got(Wire.PIECE, 0, 3, 0));
        assertThat(next.next().type).isEqualTo(TcpFrame.WRITE);
        assertThat(next.nextMessage().kind()).isEqualTo(Wire.DATA);
    }

    /** There are places for all buffers and for as many messages about pieces, also with far more calls than buffers. */
    @ParameterizedTest
    @CsvSource({"4, 4", "4, 64", "64, 4"})
    void eachMessageThatIsKeptHasAPlace(int window, int calls) {
        NodeOptions options = HEALS.window(window).calls(calls);
        Kept kept = new Kept(options);
        assertThat(kept.isFull(2 * (options.sizes().buffers() + 2 * calls) - 1)).isFalse();
    }

    /** The peer says that it has a message before its adapter acknowledges it. */
    @Test
    void messageThatIsSentAgainGetsItsMemoryBackOnce() throws Exception {
        TcpPeer first = begins(HEALS);
        NodePair.send(channel, 1);
        assertGets(first, 1);
        TcpPeer next = claims(id, 0, 0, 0);
        assertThat(next.awaitMessage().kind()).isEqualTo(Wire.GREETING);
        assertThat(next.nextMessage().kind()).isEqualTo(Wire.DATA);
        assertReceives(next, 1, 1);
        next.frame(TcpFrame.ACKNOWLEDGEMENT, frame -> frame.number = 1);
        assertReceives(next, 2, 1); // the acknowledgement was handled
        assertHasMemoryOfAllMessages();
    }

    @Test
    void messageThatThePeerHasGetsItsMemoryBackThoughItsAcknowledgementIsLost() throws Exception {
        TcpPeer first = begins(HEALS);
        NodePair.send(channel, 1);
        assertThat(first.awaitMessage().kind()).isEqualTo(Wire.DATA);
        NodePair.send(channel, 2);
        assertThat(first.nextMessage().kind()).isEqualTo(Wire.DATA);
        assertReceives(first, 1, 2);
        TcpPeer next = claims(id, 0, 1, 2);
        assertThat(next.awaitMessage().kind()).isEqualTo(Wire.GREETING);
        assertReceives(next, 2, 2);
        assertHasMemoryOfAllMessages();
    }

    private void assertHasMemoryOfAllMessages() {
        Set<Long> places = new HashSet<>();
        Message free = channel.pollMessage();
        while (free != null) {
            assertThat(places.add(free.segment().address())).isTrue();
            free = channel.pollMessage();
        }
        assertThat(places).hasSize(HEALS.sends() + HEALS.window());
    }

    @Test
    void claimThatWasRightOnceIsRefusedLater() throws Exception {
        begins(HEALS);
        TcpPeer next = claims(id, 0, 0, 0);
        assertThat(next.awaitMessage().kind()).isEqualTo(Wire.GREETING);
        assertReceives(next, 1, 0);
        assertRefused(claims(id, 0, 0, 0), EndReason.PROTOCOL_ERROR);
        assertReceives(next, 2, 0);
        assertHasOneConnection();
    }

    @Test
    void recordedClaimUnderASecretIsThatOfAStranger() throws Exception {
        use(HEALS.secret("of the claims, of both nodes".getBytes(StandardCharsets.UTF_8)));
        try (TamperingProxy proxy = new TamperingProxy(nodes.server.address(), TamperingProxy.NONE)) {
            Channel client = nodes.client.connect(proxy.address(), DEADLINE);
            channel = nodes.server.accept(DEADLINE);
            HealTest.cut(client);
            HealTest.awaitPath(new NodePair.Ends(client, channel));
            Await.until("the client is back", () -> client.statistics().reconnects() == 1);
            byte[] recorded = proxy.recorded(1);
            TcpFrame header = new TcpFrame();
            assertThat(header.readFrom(ByteBuffer.wrap(recorded))).isTrue();
            byte[] claim = Arrays.copyOf(recorded, TcpFrame.BYTES + header.length);
            assertThat(Wire.resumes(MemorySegment.ofArray(claim).asSlice(TcpFrame.BYTES + Wire.HEADER_BYTES)))
                    .isTrue();
            TcpPeer thief = stranger();
            thief.write(claim);
            assertRefused(thief, EndReason.WRONG_SECRET);
            NodePair.send(client, 7);
            assertThat(NodePair.receive(channel)).isEqualTo(7);
            assertThat(channel.statistics().reconnects()).isEqualTo(1);
            assertThat(nodes.server.attacks().strangers()).isEqualTo(1);
        }
    }

    /** Sends numbers while there is memory. The peer grants credits, and says no more than before. Returns the last number. */
    private int fill(TcpPeer peer, int from, int sentByPeer) throws Exception {
        AtomicInteger sent = new AtomicInteger(from);
        assertThatExceptionOfType(VerbsTimeoutException.class).isThrownBy(() -> {
            while (sent.get() < from + 200) {
                Message next = channel.message(SHORT).length(Long.BYTES);
                next.segment().set(ValueLayout.JAVA_LONG, 0, sent.incrementAndGet());
                channel.send(next, DEADLINE);
                assertGets(peer, sent.get());
                peer.say(Wire.GRANT, sent.get(), sentByPeer, from, 0);
            }
        });
        return sent.get();
    }

    /** Only the memory of messages bounds what the node keeps for such a peer, and all of it comes back. */
    @ParameterizedTest
    @ValueSource(ints = {4, 64})
    void peerThatNeverSaysWhatItHasReceivedEndsWhatIsSentToIt(int sends) throws Exception {
        TcpPeer peer = begins(HEALS.sends(sends));
        int most = fill(peer, 0, 0);
        assertReceives(peer, 1, most, most);
        assertThat(fill(peer, most, 1)).isEqualTo(2 * most);
    }
}
