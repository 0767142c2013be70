package dev.verbena.net;

import static dev.verbena.net.NodePair.OWN;
import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.net.NodePair.receive;
import static dev.verbena.net.NodePair.send;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.ConnectionResources;
import dev.verbena.cm.Listener;
import dev.verbena.internal.link.Link;
import dev.verbena.internal.wire.TcpFrame;
import dev.verbena.internal.wire.Wire;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Recorded;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.WorkCompletionException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.stream.Stream;
import jdk.jfr.consumer.RecordedEvent;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Peers that lie, send garbage, say nothing or leave: each loses its channel only, and the node goes on. */
@FencedTest
class HostilePeerTest extends PeersTest {
    /** Connects a peer that says nothing. */
    private Peer connected() throws Exception {
        return leavesLater(
                NodePair.transport() == Transport.TCP
                        ? new TcpPeer(nodes.server.address())
                        : new RawPeer(nodes.server.address()));
    }

    private Peer greeted() throws Exception {
        return greeted(WINDOW);
    }

    /** Connects a peer that greets, and that the server has accepted. */
    private Peer greeted(int window) throws Exception {
        Peer peer = connected();
        peer.greet(window);
        channel = nodes.server.accept(DEADLINE);
        assertThat(peer.awaitMessage()).isEqualTo(new Peer.Got(Wire.GREETING, 0, 0, Wire.GREETING_BYTES));
        return peer;
    }

    /** Something that a peer says. */
    private interface Step<P extends Peer> {
        void by(P peer) throws Exception;
    }

    private static ChannelException assertEnds(Channel channel, EndReason reason) {
        ChannelException told = endOfMessages(channel);
        assertThat(told.reason()).isEqualTo(reason);
        assertThat(channel.isOpen()).isFalse();
        assertThat(((ChannelException) channel.cause().orElseThrow()).reason()).isEqualTo(reason);
        return told;
    }

    enum Lie {
        SECOND_GREETING("Message of kind 1 out of order", peer -> peer.greet(4, 256)),
        UNKNOWN_KIND("Message of unknown kind 15", peer -> peer.send(15, 0, 0)),
        KIND_0("", peer -> peer.send(0, 0, 0)),
        NO_HEADER("Message of 15 bytes out of order", peer -> peer.sendWhole(Wire.HEADER_BYTES - 1)),
        RESERVED_BYTE_OF_A_HEADER("Message of unknown kind -1", peer -> {
            peer.writeHeader(Wire.DATA, 0, 0);
            peer.whole().set(ValueLayout.JAVA_BYTE, 1, (byte) 1);
            peer.sendWhole(Wire.HEADER_BYTES);
        }),
        MESSAGE_LEFT_OUT("Message 2 came in place of 1", peer -> {
            peer.writeHeader(Wire.DATA, 0, 0);
            peer.send(Wire.DATA, 0, 0, 8);
        }),
        MESSAGE_AGAIN("Message 1 came in place of 2", peer -> {
            peer.send(Wire.DATA, 0, 0, 8);
            peer.sendWhole(Wire.HEADER_BYTES + 8);
        }),
        GRANT_WITH_A_NUMBER_OF_ITS_OWN("Message 1 came in place of 0", peer -> peer.say(Wire.GRANT, 0, 1, 0, 0)),
        FEWER_CREDITS_THAN_BEFORE("more credits than its window has", peer -> peer.say(Wire.GRANT, -1, 0, 0, 0)),
        MORE_RECEIVED_THAN_SENT("It has received 1 messages of 0", peer -> peer.say(Wire.DATA, 0, 1, 1, 0)),
        FEWER_RECEIVED_THAN_BEFORE("It has received 4294967295 messages", peer -> peer.say(Wire.DATA, 0, 1, -1, 0)),
        WITH_IMMEDIATE_DATA(RawPeer.class, "Not a message of a node", RawPeer::sendWithImmediate),
        WRITE_WITH_IMMEDIATE_DATA(RawPeer.class, "Not a message of a node", RawPeer::writeWithImmediate),
        TOO_MANY_CREDITS("more credits than its window has", peer -> peer.send(Wire.GRANT, 4095, 0)),
        CREDITS_NEVER_USED("", peer -> peer.send(Wire.GRANT, 1, 0)),
        CREDITS_WITH_A_MESSAGE("", peer -> peer.send(Wire.DATA, 1, 0, 8)),
        EMPTY_GRANT("Grant of 0 credits with 0 bytes", peer -> peer.send(Wire.GRANT, 0, 0)),
        REPLY_WITHOUT_CALL("Reply to call 0, which is not open", peer -> peer.send(Wire.REPLY, 0, 0, 8)),
        FAULT_WITHOUT_CALL("", peer -> peer.send(Wire.FAULT, 0, 3)),
        REPLY_TO_UNKNOWN_NUMBER("", peer -> peer.send(Wire.REPLY, 0, 0xffff, 8)),
        REPLY_TO_THE_FIRST_NUMBER_BEYOND_THE_LIMIT("", peer -> peer.send(Wire.REPLY, 0, SMALL.calls(), 8)),
        CALL_BEYOND_THE_LIMIT("Call 4 is beyond the limit, or open already", peer -> peer.send(Wire.CALL, 0, 4, 8)),
        NUMBER_OF_CALL_TWICE("", peer -> {
            peer.send(Wire.CALL, 0, 1, 8);
            peer.send(Wire.CALL, 0, 1, 8);
        }),
        GRANT_WITH_BYTES("", peer -> peer.send(Wire.GRANT, 1, 0, 8)),
        MALFORMED_OFFER("Offer of 8 bytes is malformed", peer -> peer.send(Wire.OFFER, 0, 3, 8)),
        MALFORMED_NOTICE("Notice of 7 bytes is malformed", peer -> peer.send(Wire.NOTICE, 0, 0, 7)),
        TOO_MANY_NOTICES("It sent more messages than it has credits", peer -> {
            for (int i = 0; i <= WINDOW; i++) {
                peer.send(Wire.NOTICE, 0, 0, Wire.NOTICE_BYTES);
            }
        }),
        TOO_MANY_MESSAGES("", peer -> {
            for (int i = 0; i <= WINDOW; i++) {
                peer.send(Wire.DATA, 0, 0, 8);
            }
        }),
        UNKNOWN_TYPE("Frame of type 200 with 0 bytes is malformed", 200, frame -> {}),
        NEGATIVE_LENGTH("Frame of type 1 with -1 bytes is malformed", TcpFrame.SEND, frame -> frame.length = -1),
        FIELD_OF_ANOTHER_TYPE("malformed", TcpFrame.SEND, frame -> frame.key = 1),
        MESSAGE_THAT_IS_TOO_LARGE(
                TcpPeer.class,
                "Message of 273 bytes is larger than the 272 that",
                peer -> peer.message(Wire.DATA, 0, 0, new byte[257])),
        HUGE_MESSAGE("Message of 2147483647 bytes", TcpFrame.SEND, frame -> frame.length = Integer.MAX_VALUE),
        TOO_MANY_MESSAGES_AT_ONCE(TcpPeer.class, "more messages than it has credits", peer -> {
            for (int i = 0; i < 100; i++) {
                peer.message(Wire.DATA, 0, 0, new byte[1]);
            }
        }),
        ACKNOWLEDGEMENT_OF_NOTHING("It acknowledged 0 requests", TcpFrame.ACKNOWLEDGEMENT, frame -> {}),
        ACKNOWLEDGEMENT_OF_TOO_MANY("acknowledged a request", TcpFrame.ACKNOWLEDGEMENT, frame -> frame.number = 1000),
        NEGATIVE_ACKNOWLEDGEMENT("It acknowledged -1 requests", TcpFrame.ACKNOWLEDGEMENT, frame -> frame.number = -1),
        DATA_NOT_ASKED_FOR("It sent data that", TcpFrame.DATA, frame -> frame.length = 8),
        VALUE_NOT_ASKED_FOR("It sent a value that", TcpFrame.VALUE, frame -> frame.first = 8),
        DENIAL_OF_NOTHING("It denied a request that", TcpFrame.DENIAL, frame -> {});

        private final Class<? extends Peer> by;
        private final String told;
        private final Step<Peer> step;

        Lie(String told, Step<Peer> step) {
            this(Peer.class, told, step);
        }

        /** Makes a lie of one frame over TCP. */
        Lie(String told, int type, Consumer<TcpFrame> change) {
            this(TcpPeer.class, told, peer -> peer.frame(type, change));
        }

        <P extends Peer> Lie(Class<P> by, String told, Step<P> step) {
            this.by = by;
            this.told = told;
            this.step = peer -> step.by(by.cast(peer));
        }
    }

    /** Returns the lies that a peer can tell on this wire. */
    static Stream<Lie> lies() {
        Class<? extends Peer> peer = NodePair.transport() == Transport.TCP ? TcpPeer.class : RawPeer.class;
        return Arrays.stream(Lie.values()).filter(lie -> lie.by.isAssignableFrom(peer));
    }

    @ParameterizedTest
    @MethodSource("lies")
    void peerThatLiesLosesItsChannelOnly(Lie lie) throws Exception {
        Peer peer = greeted();
        lie.step.by(peer);
        Await.until("the node has seen the lie", () -> !channel.isOpen()); // closes no message, which gives credits
        assertThat(assertEnds(channel, EndReason.PROTOCOL_ERROR)).hasMessageContaining(lie.told);
        assertThat(peer.awaitGoodbye()).isEqualTo(EndReason.PROTOCOL_ERROR.code);
        assertGoesOn();
    }

    /** The caller gets the first reply, before the second one or after it, for which the channel ends. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void peerThatRepliesTwiceLosesItsChannel(boolean before) throws Exception {
        Peer peer = greeted();
        long ticket = channel.tryCall(channel.message(DEADLINE).length(8));
        assertThat(ticket).isNotZero();
        peer.send(Wire.REPLY, 0, (int) ticket, 8);
        if (before) {
            Await.next("the reply", () -> channel.pollReply(ticket));
        }
        peer.send(Wire.REPLY, 0, (int) ticket, 8);
        Await.until("the node has seen the lie", () -> !channel.isOpen());
        if (!before) {
            assertThat(channel.pollReply(ticket)).isNotNull();
        }
        assertEnds(channel, EndReason.PROTOCOL_ERROR);
        assertGoesOn();
    }

    /** The limits of a greeting are those that the node keeps to. */
    @Test
    void limitsOfThePeerAreKept() throws Exception {
        Peer peer = connected();
        peer.greet(3, 64, 1);
        channel = nodes.server.accept(DEADLINE);
        assertThat(channel.maxMessageSize()).isEqualTo(64);
        assertThat(channel.toString()).contains("3 credits");
        Message request = channel.message(DEADLINE).length(8);
        assertThat(channel.tryCall(request)).isNotZero();
        Message second = channel.message(DEADLINE).length(8);
        assertThat(channel.tryCall(second)).as("one call at once").isZero();
        assertThat(channel.trySend(second)).isTrue();
        assertThat(channel.trySend(channel.message(DEADLINE))).isTrue();
        assertThat(channel.trySend(channel.message(DEADLINE)))
                .as("three messages")
                .isFalse();
    }

    @ParameterizedTest
    @CsvSource({"8, 0", "0, 0", "21, 0", "20, -1"})
    void descriptionOfAnExportThatIsMalformedIsRefused(int bytes, long length) throws Exception {
        Peer peer = greeted();
        Future<RemoteMemory> asked = nodes.start(() -> channel.remote("table", DEADLINE));
        assertThat(peer.awaitMessage()).isEqualTo(new Peer.Got(Wire.LOOKUP, 0, 0, 5));
        assertThat(peer.received().getString(0)).startsWith("table");
        peer.memory().fill((byte) 0);
        peer.memory().set(Wire.LONG, Wire.LENGTH_IN_EXPORT, length);
        peer.send(Wire.REPLY, 0, 0, bytes);
        assertThat(NodePair.failure(asked)).isInstanceOf(CallException.class).hasMessageContaining("malformed");
        assertThat(channel.isOpen()).isTrue();
    }

    /** Names that are no text, empty or long are answered with a fault, as are questions without end. */
    @Test
    void peerThatAsksForExportsWithoutEndGetsFaults() throws Exception {
        Peer peer = greeted(64);
        for (int i = 0; i < 40; i++) {
            peer.memory().fill((byte) i);
            peer.send(Wire.LOOKUP, 0, 0, i);
            assertThat(peer.awaitReply()).isEqualTo(Wire.FAULT);
        }
        assertThat(channel.isOpen()).isTrue();
    }

    enum BadGreeting {
        GARBAGE(EndReason.PROTOCOL_ERROR, peer -> {
            peer.memory().fill((byte) 0x5a);
            peer.send(Wire.GREETING, 0, 0, 64);
        }),
        EMPTY(EndReason.PROTOCOL_ERROR, peer -> peer.send(Wire.GREETING, 0, 0)),
        TOO_SHORT(EndReason.PROTOCOL_ERROR, peer -> {
            new Wire.Greeting(4, 256, 4, new byte[0], null).writeTo(peer.memory());
            peer.send(Wire.GREETING, 0, 0, 63);
        }),
        NEGATIVE_CALLS(EndReason.PROTOCOL_ERROR, peer -> peer.greet(4, 256, -1)),
        LONG_TOKEN(EndReason.PROTOCOL_ERROR, 22, 1), // 256 bytes
        VERSION_0(EndReason.OTHER_VERSION, 4, 0),
        OTHER_VERSION(EndReason.OTHER_VERSION, 4, 3),
        SECRET(EndReason.OTHER_PROTECTION, 5, Protection.SEALED.code()),
        NO_WINDOW(EndReason.PROTOCOL_ERROR, peer -> peer.greet(0, 256)),
        HUGE_WINDOW(EndReason.PROTOCOL_ERROR, peer -> peer.greet(4096, 256)),
        NEGATIVE_WINDOW(EndReason.PROTOCOL_ERROR, peer -> peer.greet(-1, 256)),
        NEGATIVE_SIZE(EndReason.PROTOCOL_ERROR, peer -> peer.greet(4, -1)),
        TINY_SIZE(EndReason.PROTOCOL_ERROR, peer -> peer.greet(4, 63)),
        MESSAGE_FIRST(EndReason.PROTOCOL_ERROR, peer -> peer.send(Wire.DATA, 0, 0, 8)),
        GRANT_FIRST(EndReason.PROTOCOL_ERROR, peer -> peer.send(Wire.GRANT, 1, 0));

        private final EndReason reason;
        private final Step<Peer> step;

        BadGreeting(EndReason reason, Step<Peer> step) {
            this.reason = reason;
            this.step = step;
        }

        /** Makes a good greeting of which one byte is changed. */
        BadGreeting(EndReason reason, int at, int changed) {
            this(reason, peer -> {
                new Wire.Greeting(4, 256, 4, new byte[0], null).writeTo(peer.memory());
                peer.memory().set(ValueLayout.JAVA_BYTE, at, (byte) changed);
                peer.send(Wire.GREETING, 0, 0, Wire.GREETING_BYTES);
            });
        }
    }

    @ParameterizedTest
    @EnumSource(BadGreeting.class)
    void badGreetingIsNeverAccepted(BadGreeting greeting) throws Exception {
        Peer peer = connected();
        greeting.step.by(peer);
        assertThat(peer.awaitGoodbye()).isEqualTo(greeting.reason.code);
        assertThat(nodes.server.pollAccept()).isNull();
        assertThat(nodes.server.statistics().opened()).isZero();
        assertGoesOn();
    }

    @Test
    void peerThatSaysNothingIsGivenUp() throws Exception {
        use(SMALL.handshakeTimeout(DEADLINE));
        Peer peer = connected();
        Await.until("the peer has come", () -> nodes.server.toString().contains("1 waiting"));
        new NodeClock(nodes.server).passUntil("it is given up", DEADLINE, this::hasForgottenAll);
        assertThat(peer.awaitGoodbye()).isEqualTo(EndReason.HANDSHAKE_TIMEOUT.code);
        assertGoesOn();
    }

    @Test
    void peerThatLeavesDuringTheHandshakeLeavesNothing() throws Exception {
        connected().close();
        assertGoesOn();
    }

    @Test
    void peersThatSayNothingDoNotFillTheNode() throws Exception {
        use(SMALL.maxWaiting(2));
        connected();
        connected();
        NodePair.Ends ends = honest();
        ends.client().close();
        ends.server().close();
        assertGoesOn();
    }

    /** A receive for the greeting is all that a peer gets before it is admitted. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    @NotOver("TCP")
    void memoryForMessagesComesAfterAdmission(boolean admitted) throws Exception {
        use(SMALL.admit((peer, token) -> admitted));
        List<RecordedEvent> registrations = Recorded.during(
                () -> {
                    try (RawPeer stranger = new RawPeer(nodes.server.address());
                            RawPeer peer = RawPeer.greeted(nodes.server.address(), WINDOW)) {
                        if (admitted) {
                            nodes.server.accept(DEADLINE);
                        } else {
                            assertThat(peer.awaitGoodbye()).isEqualTo(EndReason.REFUSED.code);
                        }
                        assertThat(stranger.memory().byteSize()).isPositive();
                    }
                },
                "Registration");
        assertThat(registrations)
                .extracting(event -> event.getLong("size"))
                .filteredOn(size -> size != RawPeer.REGISTERED)
                .hasSize(admitted ? 3 : 2)
                .filteredOn(size -> size != Link.greetings(SMALL.sizes()))
                .hasSize(admitted ? 1 : 0);
    }

    /** A thread that serves nobody else registers the memory for a peer's messages, also of a peer that leaves meanwhile. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    @NotOver("TCP")
    void registeringForOnePeerHoldsUpNoOther(boolean leaves) throws Exception {
        use(SMALL.maxWaiting(1));
        NodePair.Ends ends = nodes.connect();
        RawPeer slow = leavesLater(new RawPeer(nodes.server.address()));
        Connection next = Connection.to(
                nodes.server.address(), DEADLINE, ConnectionResources.of(QueueCapabilities.of(1, 1)), nodes.arena);
        Fenced.stop("ibv_reg_mr_iova2");
        slow.greet(WINDOW, 256);
        Fenced.awaitStopped("ibv_reg_mr_iova2", 1);
        if (leaves) {
            slow.arena.close();
        }
        for (int i = 0; i < 50; i++) { // so long that the node looks at the clock
            send(ends.client(), i);
            assertThat(receive(ends.server())).isEqualTo(i);
        }
        if (!leaves) { // a peer that is admitted does not give way
            assertThatExceptionOfType(ConnectionException.class).isThrownBy(() -> next.connect(DEADLINE));
        }
        Fenced.goOn("ibv_reg_mr_iova2");
        if (!leaves) {
            assertThat(nodes.server.accept(DEADLINE).isOpen()).isTrue();
        }
        ends.client().close();
        ends.server().close();
        if (leaves) {
            assertGoesOn();
        }
    }

    /** The proof of credits holds for honest peers; a liar with fewer receives than it says fails this side's send. */
    @Test
    @NotOver("TCP")
    void peerWithFewerReceivesThanItSaysLosesItsChannel() throws Exception {
        RawPeer peer = leavesLater(new RawPeer(nodes.server.address(), 2));
        peer.greet(100, 256);
        channel = nodes.server.accept(DEADLINE);
        for (int i = 0; i < 2; i++) {
            send(channel, i);
        }
        ChannelException told = assertEnds(channel, EndReason.LOST);
        assertThat(told).hasRootCauseInstanceOf(WorkCompletionException.class);
        assertGoesOn();
    }

    @Test
    void peerThatLeavesWithoutGoodbyeEndsTheChannel() throws Exception {
        Peer peer = greeted();
        peer.send(Wire.DATA, 0, 0, 8);
        peer.close();
        channel.receive(DEADLINE).close(); // what came before the end
        assertEnds(channel, EndReason.LOST);
        assertGoesOn();
    }

    /** The connection manager reports nothing: only a sign of life that fails tells that the machine is gone. */
    @Test
    @NotOver("TCP")
    void idleChannelNoticesThatThePeersAdapterIsGone() throws Exception {
        use(SMALL.alive(NodeClock.ALIVE));
        Peer peer = greeted();
        ((RawPeer) peer).connection.queuePair().fail();
        new NodeClock(nodes.server).passUntil("it has ended", NodeClock.ALIVE.multipliedBy(2), () -> !channel.isOpen());
        assertEnds(channel, EndReason.LOST);
        assertGoesOn();
    }

    @Test
    void closingDoesNotWaitForEverForAPeerThatDoesNotAnswer() throws Exception {
        use(SMALL.closeTimeout(SHORT));
        Peer peer = greeted();
        send(channel, 1);
        assertThatExceptionOfType(ChannelException.class)
                .isThrownBy(channel::close)
                .withMessageContaining("has not said goodbye in 50 ms")
                .satisfies(lost -> assertThat(lost.reason()).isEqualTo(EndReason.LOST));
        assertThat(peer.awaitGoodbye()).isZero();
        assertGoesOn();
    }

    @Test
    @NotOver("TCP") // TcpPeerTest: connectionToAServerThatSaysNothingIsClosed
    void serverThatIsNoNodeIsGivenUp() throws Exception {
        try (VerbsArena others = VerbsArena.ofShared()) {
            Listener listener = Listener.open(OWN, others);
            Future<?> accepted = nodes.start(() -> {
                Connection made = listener.awaitConnection(DEADLINE);
                MemoryRegion memory = made.register(others.allocate(4096), AccessFlag.LOCAL_WRITE);
                made.queuePair().postReceive(1, memory);
                made.queuePair().postReceive(2, memory);
                try {
                    made.accept(DEADLINE);
                } catch (ConnectionException late) {
                    return null; // the node has given up already
                }
                return null;
            });
            assertThatExceptionOfType(VerbsTimeoutException.class)
                    .isThrownBy(() -> nodes.client.connect(listener.address(), Duration.ofMillis(300)));
            NodePair.end(accepted);
        }
        assertThat(nodes.client.toString()).contains("(0 of");
        assertGoesOn();
    }

    /** Random messages after a good greeting: whatever happens to the channel, the node goes on. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void randomMessagesEndOneChannelAtMost(long seed) throws Exception {
        Random random = new Random(seed);
        Peer peer = greeted();
        peer.memory().fill((byte) random.nextInt());
        for (int i = 0; i < 3; i++) {
            int kind = random.nextInt(4) == 0 ? random.nextInt(16) : Wire.DATA;
            int credits = random.nextInt(4) == 0 ? random.nextInt(4096) : 0;
            peer.send(kind, credits, random.nextInt(1 << 16), random.nextInt(257));
        }
        peer.leave();
        endOfMessages(channel);
        assertGoesOn();
    }

    /** An offer of nothing names no memory, and its confirmation has no bytes. */
    @Test
    void emptyOffersAndConfirmationsCarryNothing() throws Exception {
        Peer peer = greeted();
        peer.memory().fill((byte) 0);
        peer.send(Wire.OFFER, 0, 2, Wire.EXPORT_BYTES);
        try (Message message = channel.receive(DEADLINE)) {
            message.transfer().accept(MemorySegment.ofArray(new byte[0]), DEADLINE);
        }
        assertThat(peer.awaitMessage()).isEqualTo(new Peer.Got(Wire.REPLY, 0, 2, 0));
        peer.received().fill((byte) -1);
        Future<?> offered = nodes.run(() -> {
            channel.offer(MemorySegment.ofArray(new byte[0]), new byte[] {7}, DEADLINE);
        });
        Peer.Got offer = peer.awaitMessage();
        assertThat(offer.kind()).isEqualTo(Wire.OFFER);
        assertThat(offer.bytes()).isEqualTo(21);
        assertThat(peer.received().asSlice(0, 22).toArray(ValueLayout.JAVA_BYTE))
                .startsWith(7, 0)
                .endsWith(0, -1)
                .containsOnly(7, 0, -1);
        peer.send(Wire.REPLY, 0, offer.code());
        NodePair.end(offered);
    }
}
