package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.net.NodePair.endOf;
import static dev.verbena.net.NodePair.failure;
import static dev.verbena.net.NodePair.receive;
import static dev.verbena.net.NodePair.send;
import static dev.verbena.support.Loopback.DEADLINE;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.verbena.internal.link.SpareMemory;
import dev.verbena.internal.wire.Seal;
import dev.verbena.internal.wire.TcpFrame;
import dev.verbena.internal.wire.Wire;
import dev.verbena.support.Await;
import dev.verbena.support.Recorded;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import jdk.jfr.consumer.RecordedEvent;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Nodes with a secret, and what others on the network try: strangers, men in the middle, old recordings. */
@Timeout(120)
class SecretTest {
    private static final byte[] SECRET = "a secret of some 32 random bytes".getBytes(US_ASCII);
    private static final NodeOptions SEALED = SMALL.secret(SECRET).transport(Transport.TCP);

    private NodePair nodes;

    @BeforeEach
    void open() {
        NodePair.over(Transport.TCP);
        use(SEALED, SEALED);
    }

    private void use(NodeOptions ofClient, NodeOptions ofServer) {
        if (nodes != null) {
            nodes.close();
        }
        nodes = new NodePair(ofClient, ofServer);
    }

    @AfterEach
    void close() {
        nodes.close();
        NodePair.over(Transport.RDMA);
    }

    private EndReason refusal() {
        ChannelException refused = refusal(nodes.server.address());
        assertThat(nodes.server.pollAccept()).isNull();
        return refused.reason();
    }

    private ChannelException refusal(InetSocketAddress server) {
        return assertThatExceptionOfType(ChannelException.class)
                .isThrownBy(() -> nodes.client.connect(server, DEADLINE))
                .actual();
    }

    // Who is admitted

    @ParameterizedTest
    @EnumSource(names = {"AUTHENTICATED", "SEALED"})
    void nodesThatKnowTheSecretExchangeMessages(Protection protection) throws Exception {
        use(SEALED.protection(protection), SEALED.protection(protection));
        NodePair.Ends ends = nodes.connect();
        for (int i = 0; i < 20; i++) {
            send(ends.client(), i);
            assertThat(receive(ends.server())).isEqualTo(i);
            send(ends.server(), -i);
            assertThat(receive(ends.client())).isEqualTo(-i);
        }
        assertThat(ends.client().protection())
                .isEqualTo(protection)
                .isEqualTo(ends.server().protection());
        ends.client().close();
        endOf(ends.server(), EndReason.CLOSED_BY_PEER);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 100, 255})
    void secretWithOneBitChangedIsRefused(int bit) {
        byte[] guess = SECRET.clone();
        guess[bit / 8] ^= (byte) (1 << bit % 8);
        use(SMALL.secret(guess), SEALED);
        assertThat(refusal()).isEqualTo(EndReason.WRONG_SECRET);
        assertThat(nodes.server.attacks().strangers()).isEqualTo(1);
        assertThat(nodes.server.statistics().strangers()).isEqualTo(1);
        assertThat(nodes.server.statistics().opened()).isZero();
    }

    @Test
    void nodesThatDemandAnotherProtectionAreRefused() {
        List<NodeOptions> all = List.of(SMALL, SEALED.protection(Protection.AUTHENTICATED), SEALED);
        for (NodeOptions client : all) {
            for (NodeOptions server : all) {
                if (client != server) {
                    use(client, server);
                    assertThat(refusal()).as(client + " to " + server).isEqualTo(EndReason.OTHER_PROTECTION);
                }
            }
        }
    }

    @Test
    void protectionNeedsASecret() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> NodePair.open(SMALL.protection(Protection.SEALED), nodes.arena))
                .withMessageContaining("needs a secret");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> NodePair.open(SEALED.protection(Protection.NONE), nodes.arena))
                .withMessageContaining("no use for a secret");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> SMALL.secret(new byte[15]))
                .withMessageContaining("at least 16 bytes, got 15");
    }

    @Test
    void textsShowTheProtectionAndNeverTheSecret() throws Exception {
        NodePair.Ends ends = nodes.connect();
        String all = SEALED + " " + nodes.server + " " + ends.client() + " " + nodes.client.options();
        assertThat(all).contains("secret", "sealed").doesNotContain("random");
        assertThat(SEALED.protection(Protection.AUTHENTICATED)).asString().contains("protection AUTHENTICATED");
        assertThat(SEALED).isEqualTo(SMALL.transport(Transport.TCP).secret(SECRET.clone()));
        assertThat(SEALED.secret(new byte[16])).isNotEqualTo(SEALED);
    }

    @Test
    void secretsAreReplacedWhileChannelsLive() throws Exception {
        byte[] fresh = "another secret, of other bytes..".getBytes(US_ASCII);
        Map<String, byte[]> known = new ConcurrentHashMap<>(Map.of("old", SECRET));
        AtomicReference<String> current = new AtomicReference<>("old");
        NodeOptions options = SMALL.secrets(current::get, name -> Optional.ofNullable(known.get(name)));
        use(options, options);
        NodePair.Ends old = nodes.connect();
        known.put("new", fresh);
        current.set("new");
        NodePair.Ends next = nodes.connect();
        known.remove("old");
        for (NodePair.Ends ends : List.of(old, next)) {
            send(ends.client(), 7);
            assertThat(receive(ends.server())).isEqualTo(7);
        }
        current.set("old");
        known.put("old", fresh); // this node has another secret of that name by now
        nodes.connect();
        current.set("none");
        assertThat(refusal()).isEqualTo(EndReason.FAILED); // of this side
    }

    @Test
    void onlySecretOfANodeHasNoName() {
        use(SMALL.secrets(() -> "another", name -> Optional.of(SECRET)), SEALED);
        assertThat(refusal()).isEqualTo(EndReason.WRONG_SECRET);
    }

    @Test
    void secretsThatCanNotBeFoundRefuseThePeer() {
        NodeOptions throwing = SMALL.secrets(() -> "", name -> {
            throw new IllegalStateException("for a test");
        });
        use(SEALED, throwing);
        assertThat(refusal()).isEqualTo(EndReason.WRONG_SECRET);
        assertThat(nodes.server.admitFailure())
                .hasValueSatisfying(thrown -> assertThat(thrown).hasMessage("for a test"));
    }

    @Test
    void tokenIsTestedAfterTheProofAndNotBefore() throws Exception {
        List<byte[]> tested = new ArrayList<>();
        NodeOptions server = SEALED.admit((peer, token) -> {
            tested.add(token);
            return token.length == 3;
        });
        use(SEALED.token(new byte[] {1, 2, 3}), server);
        nodes.connect();
        assertThat(tested).containsExactly(new byte[] {1, 2, 3});
        use(SEALED.token(new byte[] {1}), server);
        assertThat(refusal()).isEqualTo(EndReason.REFUSED);
        tested.clear();
        use(SMALL.secret(new byte[16]), server);
        assertThat(refusal()).isEqualTo(EndReason.WRONG_SECRET);
        assertThat(tested).isEmpty();
    }

    /** Greets, and returns what the node answers. */
    private EndReason stranger(byte[] greeting) throws IOException {
        EndReason told = EndReason.TOO_MANY_CHANNELS;
        while (told == EndReason.TOO_MANY_CHANNELS) { // the node is slow to free those of earlier ones
            try (TcpPeer peer = new TcpPeer(nodes.server.address())) {
                peer.message(Wire.GREETING, 0, 0, greeting);
                told = EndReason.of(peer.awaitGoodbye());
            }
        }
        return told;
    }

    // Peers that know the secret, and greet as no node does

    /** Returns the greeting with which the node answers. */
    private static byte[] answer(TcpPeer peer) throws IOException {
        int bytes = peer.nextMessage().bytes();
        return peer.received().asSlice(0, bytes).toArray(ValueLayout.JAVA_BYTE);
    }

    @Test
    void proofWithBytesEndsTheChannel() throws IOException {
        Introduction own = IntroductionTest.introduction(SEALED);
        try (TcpPeer peer = new TcpPeer(nodes.server.address())) {
            peer.message(Wire.GREETING, 0, 0, own.first());
            assertThat(IntroductionTest.isRead(own, answer(peer), false)).isTrue();
            peer.writeHeader(Wire.GREETING, 0, 0);
            own.seal().seal(peer.whole(), 8, peer.whole());
            peer.sendWhole(Wire.HEADER_BYTES + 8 + Seal.BYTES);
            assertThat(EndReason.of(peer.awaitGoodbye())).isEqualTo(EndReason.PROTOCOL_ERROR);
        }
    }

    @Test
    void strangersLeaveHonestPeersAndMemoryAsTheyWere() throws Exception {
        NodePair.Ends ends = nodes.connect();
        byte[] greeting =
                greeting(2, Protection.SEALED, Said.FIRST_GREETING.bytes - TcpFrame.BYTES - Wire.HEADER_BYTES);
        greeting[6] = (byte) Transport.TCP.code();
        int strangers = 2_000;
        List<Long> heaps = new ArrayList<>();
        for (int i = 0; i < strangers; i++) {
            greeting[80] = (byte) i; // a part of the proof
            assertThat(stranger(greeting)).isEqualTo(EndReason.WRONG_SECRET);
            if (i % 100 == 0) {
                send(ends.client(), i);
                assertThat(receive(ends.server())).isEqualTo(i);
            }
            if (i % 600 == 200) {
                heaps.add(ScaleTest.heap());
            }
        }
        assertThat(nodes.server.attacks().strangers()).isEqualTo(strangers);
        Await.until("the strangers have left", () -> nodes.server.toString().contains("(1 of 64 channels, 0 waiting)"));
        heaps.add(ScaleTest.heap());
        assertThat(IntStream.range(1, heaps.size()).mapToLong(i -> heaps.get(i) - heaps.get(i - 1)))
                .as("bytes that each 600 strangers leave behind: other threads may allocate beside some")
                .anyMatch(bytes -> bytes < 60_000);
        nodes.connect();
    }

    @Test
    void strangersAndTheProtectionOfChannelsAreEvents() throws Exception {
        List<RecordedEvent> events = Recorded.during(
                () -> {
                    nodes.connect();
                    Node stranger = NodePair.open(SMALL.secret(new byte[16]), nodes.arena);
                    assertThatExceptionOfType(ChannelException.class)
                            .isThrownBy(() -> stranger.connect(nodes.server.address(), DEADLINE));
                },
                "Stranger",
                "ChannelOpen");
        assertThat(events).anyMatch(event -> Recorded.is(event, "Stranger") && event.getString("peer") != null);
        assertThat(events)
                .filteredOn(event -> Recorded.is(event, "ChannelOpen"))
                .isNotEmpty()
                .allMatch(event -> event.getString("protection").equals("SEALED"));
    }

    // False servers

    /** Serves one connection as a node over TCP does, with a greeting of the test's own. */
    private EndReason connectToFalseServer(byte[] greeting) throws Exception {
        try (ServerSocket listener = new ServerSocket(0, 0, InetAddress.getLoopbackAddress())) {
            Future<Void> server = nodes.run(() -> {
                try (TcpPeer peer = new TcpPeer(listener.accept())) {
                    peer.nextMessage();
                    peer.message(Wire.GREETING, 0, 0, greeting);
                    peer.awaitEndOfBytes();
                }
            });
            ChannelException refused = refusal((InetSocketAddress) listener.getLocalSocketAddress());
            NodePair.end(server);
            return refused.reason();
        }
    }

    private static byte[] greeting(int version, Protection protection, int bytes) {
        byte[] greeting = new byte[bytes];
        new Wire.Greeting(4, 256, 4, new byte[0], null).writeTo(MemorySegment.ofArray(greeting));
        greeting[4] = (byte) version;
        greeting[5] = (byte) protection.code();
        return greeting;
    }

    @Test
    void serverWithoutTheSecretIsFoundOut() throws Exception {
        assertThat(connectToFalseServer(greeting(2, Protection.SEALED, 80))).isEqualTo(EndReason.WRONG_SECRET);
        assertThat(connectToFalseServer(greeting(2, Protection.AUTHENTICATED, 80)))
                .isEqualTo(EndReason.OTHER_PROTECTION);
        assertThat(connectToFalseServer(greeting(2, Protection.NONE, 64))).isEqualTo(EndReason.OTHER_PROTECTION);
        assertThat(connectToFalseServer(greeting(3, Protection.SEALED, 80))).isEqualTo(EndReason.OTHER_VERSION);
    }

    @Test
    void recordedAnswerOfTheServerIsFoundOut() throws Exception {
        AtomicReference<byte[]> answer = new AtomicReference<>();
        try (TamperingProxy proxy = new TamperingProxy(nodes.server.address(), frame -> {
            if (!frame.toServer() && frame.is(Wire.GREETING) && answer.get() == null) {
                answer.set(Arrays.copyOfRange(frame.bytes(), TcpFrame.BYTES + Wire.HEADER_BYTES, frame.bytes().length));
            }
            return List.of(frame.bytes());
        })) {
            nodes.client.connect(proxy.address(), DEADLINE);
        }
        assertThat(connectToFalseServer(answer.get())).isEqualTo(EndReason.WRONG_SECRET);
    }

    // Men in the middle

    /** A channel through a proxy, and the proxy. */
    private record Tapped(TamperingProxy proxy, Channel client, Channel server) implements AutoCloseable {
        @Override
        public void close() throws IOException {
            proxy.close();
        }
    }

    private Tapped tap(TamperingProxy.Tampering tampering) throws Exception {
        TamperingProxy proxy = new TamperingProxy(nodes.server.address(), tampering);
        Future<Channel> accepted = nodes.start(() -> nodes.server.accept(DEADLINE));
        return new Tapped(proxy, nodes.client.connect(proxy.address(), DEADLINE), NodePair.end(accepted));
    }

    private static void sendBytes(Channel on, int bytes) throws InterruptedException {
        try (Message message = on.message(DEADLINE).length(bytes)) {
            on.send(message, DEADLINE);
        } catch (ChannelException ended) {
            assertThat(ended.reason()).isIn(EndReason.TAMPERED, EndReason.LOST);
        }
    }

    /** A change of the second of three messages. */
    enum Deed {
        DROP,
        REPEAT,
        SWAP,
        EARLIER_ONE,
        OTHER_KIND,
        FORGED_GOODBYE
    }

    @ParameterizedTest
    @EnumSource
    void droppedRepeatedAndMovedMessagesEndTheChannel(Deed deed) throws Exception {
        List<byte[]> sent = new ArrayList<>();
        TamperingProxy.Tampering tampering = frame -> {
            if (!frame.is(Wire.DATA)) {
                return List.of(frame.bytes());
            }
            sent.add(frame.bytes());
            return switch (sent.size()) {
                case 2 ->
                    switch (deed) {
                        case DROP, SWAP -> List.of();
                        case REPEAT -> List.of(frame.bytes(), frame.bytes());
                        case EARLIER_ONE -> List.of(sent.get(0));
                        case OTHER_KIND -> List.of(withKind(frame.bytes(), Wire.GRANT));
                        case FORGED_GOODBYE -> List.of(goodbye(frame.bytes()));
                    };
                case 3 -> deed == Deed.SWAP ? List.of(frame.bytes(), sent.get(1)) : List.of(frame.bytes());
                default -> List.of(frame.bytes());
            };
        };
        try (Tapped tapped = tap(tampering)) {
            for (int i = 0; i < 3; i++) {
                sendBytes(tapped.client, 8);
            }
            int good = deed == Deed.REPEAT ? 2 : 1;
            for (int i = 0; i < good; i++) {
                tapped.server.receive(DEADLINE).close();
            }
            endOf(tapped.server, EndReason.TAMPERED);
            assertThat(nodes.server.statistics().received()).isEqualTo(good);
        }
    }

    private static byte[] withKind(byte[] frame, int kind) {
        byte[] copy = frame.clone();
        copy[TcpFrame.BYTES] = (byte) kind;
        return copy;
    }

    private static byte[] goodbye(byte[] frame) {
        byte[] goodbye = withKind(Arrays.copyOf(frame, TcpFrame.BYTES + Wire.HEADER_BYTES), Wire.GOODBYE);
        ByteBuffer.wrap(goodbye).putInt(4, Wire.HEADER_BYTES); // without bytes, and with reason 0
        return goodbye;
    }

    @Test
    void messagesOfAnotherChannelEndTheChannel() throws Exception {
        Map<Integer, byte[]> first = new ConcurrentHashMap<>();
        try (Tapped one = tap(TamperingProxy.NONE)) {
            one.proxy.tamper(frame -> {
                if (frame.is(Wire.DATA)) {
                    first.put(frame.connection(), frame.bytes());
                    return List.of(frame.connection() == 1 ? first.get(0) : frame.bytes());
                }
                return List.of(frame.bytes());
            });
            Future<Channel> accepted = nodes.start(() -> nodes.server.accept(DEADLINE));
            Channel other = nodes.client.connect(one.proxy.address(), DEADLINE);
            Channel there = NodePair.end(accepted); // before it ends: one that has ended is not given to the program
            send(one.client, 1);
            assertThat(receive(one.server)).isEqualTo(1);
            send(other, 1);
            endOf(there, EndReason.TAMPERED);
            send(one.client, 2);
            assertThat(receive(one.server)).isEqualTo(2);
        }
    }

    /** The frames of a dialogue, each of which has a length of its own. */
    enum Said {
        FIRST_GREETING(true, Wire.GREETING, Wire.GREETING_BYTES + 32 + 41 + 16),
        SECOND_GREETING(false, Wire.GREETING, 8 + 32 + 24 + 16),
        PROOF(true, Wire.GREETING, Seal.BYTES),
        MESSAGE(true, Wire.DATA, 8 + Seal.BYTES);

        private final boolean toServer;
        private final int kind;
        private final int bytes;

        Said(boolean toServer, int kind, int bytes) {
            this.toServer = toServer;
            this.kind = kind;
            this.bytes = TcpFrame.BYTES + Wire.HEADER_BYTES + bytes;
        }

        TamperingProxy.Tampering changed(int at) {
            return frame -> List.of(
                    frame.toServer() == toServer && frame.is(kind) && frame.bytes().length == bytes
                            ? frame.changed(at)
                            : frame.bytes());
        }
    }

    private static final List<EndReason> REFUSALS = List.of(
            EndReason.WRONG_SECRET, EndReason.OTHER_PROTECTION, EndReason.OTHER_VERSION, EndReason.PROTOCOL_ERROR);

    /** The node has opened no channel, by a check, before anything is thrown. */
    private void assertNothingIsOpened() {
        assertThat(nodes.server.pollAccept()).isNull();
        assertThat(nodes.server.statistics().opened()).isZero();
        assertThat(nodes.server.admitFailure()).isEmpty();
    }

    /** The man in the middle has a greeting of a node that knows the secret. */
    @Test
    void eachChangedByteOfTheFirstGreetingIsFound() throws Exception {
        Introduction own = IntroductionTest.introduction(SEALED);
        byte[] greeting = own.first();
        for (int i = 0; i < greeting.length; i++) {
            byte[] changed = greeting.clone();
            changed[i] ^= (byte) 0x80;
            assertThat(stranger(changed)).as("byte " + i).isIn(REFUSALS);
        }
        assertNothingIsOpened();
        try (TcpPeer peer = new TcpPeer(nodes.server.address())) {
            peer.message(Wire.GREETING, 0, 0, greeting);
            assertThat(IntroductionTest.isRead(own, answer(peer), false))
                    .as("answer to what is not changed")
                    .isTrue();
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"SECOND_GREETING", "PROOF"})
    void eachChangedByteOfTheAnswersIsFound(Said said) throws Exception {
        for (int i = TcpFrame.BYTES; i < said.bytes; i++) { // a frame that has become longer would be waited for
            try (TamperingProxy proxy = new TamperingProxy(nodes.server.address(), said.changed(i))) {
                EndReason reason = refusal(proxy.address()).reason();
                assertThat(said == Said.PROOF || REFUSALS.contains(reason))
                        .as("byte %d: %s", i, reason)
                        .isTrue();
            }
        }
        assertNothingIsOpened();
        if (said == Said.PROOF) {
            assertThat(nodes.server.attacks().strangers()).isEqualTo(Wire.HEADER_BYTES + Seal.BYTES);
        }
    }

    @Test
    void eachChangedByteOfAMessageEndsTheChannel() throws Exception {
        for (int i = 0; i < Said.MESSAGE.bytes; i++) {
            try (Tapped tapped = tap(Said.MESSAGE.changed(i))) {
                sendBytes(tapped.client, 8);
                sendBytes(tapped.client, 200); // for a frame that has become longer
                assertThat(endOf(tapped.server).reason()).as("byte " + i).isEqualTo(EndReason.TAMPERED);
                assertThat(endOf(tapped.client).reason()).as("byte " + i).isIn(EndReason.TAMPERED, EndReason.LOST);
                tapped.client.close();
                tapped.server.close();
            }
        }
        assertThat(nodes.server.attacks().tampered()).isEqualTo(Said.MESSAGE.bytes);
        assertThat(nodes.server.statistics().received()).isZero();
    }

    @Test
    void recordedConnectionOpensNothing() throws Exception {
        List<byte[]> tokens = new ArrayList<>();
        use(SEALED, SEALED.admit((peer, token) -> tokens.add(token)));
        byte[] recorded;
        try (Tapped tapped = tap(TamperingProxy.NONE)) {
            send(tapped.client, 1);
            assertThat(receive(tapped.server)).isEqualTo(1);
            recorded = tapped.proxy.recorded(0);
        }
        TamperingProxy.replay(nodes.server.address(), recorded);
        Await.until("the stranger is counted", () -> nodes.server.attacks().strangers() == 1);
        assertThat(nodes.server.statistics().opened()).isEqualTo(1);
        assertThat(tokens).hasSize(1);
    }

    /** Returns true if bytes have a run of 8 bytes of a text. */
    static boolean hasRunOf(byte[] seen, byte[] text) {
        String all = new String(seen, ISO_8859_1);
        String searched = new String(text, ISO_8859_1);
        return IntStream.rangeClosed(0, text.length - 8).anyMatch(i -> all.contains(searched.substring(i, i + 8)));
    }

    private static final byte[] TEXT =
            "message|request|reply..|fault...|token...|name....|about...|transfer of some bytes|".getBytes(US_ASCII);

    /** Says the text in each way that a channel has. */
    private byte[] sayAll(NodeOptions options) throws Exception {
        NodeOptions saying = options.token(Arrays.copyOf(TEXT, 40));
        use(saying, saying);
        nodes.server
                .export(new String(TEXT, 0, 40, US_ASCII), nodes.arena.allocate(8), AccessFlag.REMOTE_READ)
                .inTheClear();
        try (Tapped tapped = tap(TamperingProxy.NONE)) {
            MemorySegment text = MemorySegment.ofArray(TEXT);
            for (int i = 0; i < 2; i++) {
                Message message = tapped.client.message(DEADLINE).length(TEXT.length);
                message.segment().copyFrom(text);
                if (i == 0) {
                    message.send();
                    tapped.server.receive(DEADLINE).close();
                } else {
                    long ticket = tapped.client.tryCall(message);
                    try (Message request = tapped.server.receive(DEADLINE)) {
                        Message reply = request.reply().length(TEXT.length);
                        reply.segment().copyFrom(request.segment());
                        reply.send();
                    }
                    Await.until("the reply has come", () -> {
                        try (Message reply = tapped.client.pollReply(ticket)) {
                            return reply != null && reply.segment().mismatch(text) == -1;
                        }
                    });
                }
            }
            Future<Void> faulty = nodes.run(() -> tapped.client.call(tapped.client.message(DEADLINE), DEADLINE));
            try (Message request = tapped.server.receive(DEADLINE)) {
                request.refuse(new String(TEXT, US_ASCII));
            }
            assertThat(faulty).failsWithin(DEADLINE).withThrowableThat().withCauseInstanceOf(CallException.class);
            tapped.client.remote(new String(TEXT, 0, 40, US_ASCII), DEADLINE);
            Future<Void> offered = nodes.run(() -> tapped.client.offer(text, Arrays.copyOf(TEXT, 60), DEADLINE));
            byte[] target = new byte[TEXT.length];
            try (Message offer = tapped.server.receive(DEADLINE);
                    Transfer transfer = offer.transfer()) {
                transfer.accept(MemorySegment.ofArray(target), DEADLINE);
            }
            NodePair.end(offered);
            assertThat(target).isEqualTo(TEXT);
            tapped.client.close();
            return tapped.proxy.seen();
        }
    }

    @Test
    void nothingThatIsSaidTravelsInTheClear() throws Exception {
        assertThat(hasRunOf(sayAll(SEALED), TEXT)).isFalse();
        assertThat(hasRunOf(sayAll(SMALL), TEXT)).as("without a secret").isTrue();
    }

    @Test
    void changedPieceOfATransferEndsTheChannel() throws Exception {
        for (int i = 0; i < 3; i++) {
            int piece = i;
            List<byte[]> pieces = new ArrayList<>();
            try (Tapped tapped = tap(frame -> {
                if (frame.type() == TcpFrame.DATA) {
                    pieces.add(frame.bytes());
                    if (pieces.size() == piece + 1) {
                        return List.of(piece == 2 ? pieces.get(0) : frame.changed(frame.bytes().length / 2));
                    }
                }
                return List.of(frame.bytes());
            })) {
                byte[] data = new byte[3 * SealedOffer.PIECE];
                Future<Void> offered = nodes.offer(tapped.client, data);
                try (Message offer = tapped.server.receive(DEADLINE);
                        Transfer transfer = offer.transfer()) {
                    failure(EndReason.TAMPERED, () -> transfer.accept(nodes.arena.allocate(data.length), DEADLINE));
                }
                assertThat(offered).failsWithin(DEADLINE);
                assertThat(tapped.server.session().rail.with().carrier.idle)
                        .as("memory that an adapter may write into")
                        .hasNullValue();
            }
        }
        assertThat(nodes.server.attacks().tampered()).isEqualTo(3);
    }

    // Exports

    @Test
    void onlyExportsInTheClearAreFound() throws Exception {
        NodePair.Ends ends = nodes.connect();
        Export hidden = nodes.server.export("hidden", nodes.arena.allocate(8), AccessFlag.REMOTE_READ);
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> ends.client().remote("hidden", DEADLINE))
                .withMessageContaining("inTheClear");
        assertThat(hidden.isInTheClear()).isFalse();
        assertThat(hidden.inTheClear().isInTheClear()).isTrue();
        RemoteMemory found = ends.client().remote("hidden", DEADLINE);
        LocalMemory local = nodes.client
                .register(nodes.arena.allocate(16), AccessFlag.LOCAL_WRITE)
                .slice(0, 8);
        ends.client().read(local, found, DEADLINE);
    }

    @Test
    void operationsOnOtherMemoryAreRefusedBeforeAnythingIsSent() throws Exception {
        nodes.server
                .export("table", nodes.arena.allocate(64, 8), AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC)
                .inTheClear();
        NodePair.Ends ends = nodes.connect();
        NodePair.Ends others = nodes.connect();
        RemoteMemory found = ends.client().remote("table", DEADLINE);
        LocalMemory local = nodes.client
                .register(nodes.arena.allocate(64), AccessFlag.LOCAL_WRITE)
                .slice(0, 8);
        List<RemoteMemory> wrong = List.of(
                others.client().remote("table", DEADLINE),
                new RemoteMemory(found.address() - 8, found.key(), 8),
                new RemoteMemory(found.address() + 64, found.key(), 8),
                new RemoteMemory(found.address(), found.key(), 65),
                new RemoteMemory(found.address(), found.key() + 1, 8));
        for (RemoteMemory each : wrong) {
            assertThatIllegalArgumentException().isThrownBy(() -> ends.client().tryRead(local, each));
            assertThatIllegalArgumentException().isThrownBy(() -> ends.client().tryWrite(local, each));
            assertThatIllegalArgumentException().isThrownBy(() -> ends.client().tryFetchAndAdd(each, 1));
            assertThatIllegalArgumentException().isThrownBy(() -> ends.client().tryCompareAndSwap(each, 1, 2));
        }
        assertThat(ends.client().fetchAndAdd(found.slice(8, 8), 1, DEADLINE)).isZero();
        assertThat(ends.client().isOpen()).isTrue();
    }

    // Transfers

    @Test
    void filesArriveWholeAndEndOfAFileIsFoundBefore(@TempDir Path folder) throws Exception {
        NodePair.Ends ends = nodes.connect();
        byte[] data = new byte[4 * SealedOffer.PIECE + 12345];
        new Random(5).nextBytes(data);
        Path from = Files.write(folder.resolve("from"), data);
        Path to = folder.resolve("to");
        try (var source = FileChannel.open(from);
                var target = FileChannel.open(to, Set.of(CREATE, READ, WRITE))) {
            Future<Void> offered =
                    nodes.run(() -> ends.client().offer(source, 45, data.length - 45, new byte[0], DEADLINE));
            try (Message offer = ends.server().receive(DEADLINE);
                    Transfer transfer = offer.transfer()) {
                transfer.fetch(target, 7, done -> {}, DEADLINE);
                transfer.confirm();
            }
            NodePair.end(offered);
            assertThat(Arrays.copyOfRange(Files.readAllBytes(to), 7, 7 + data.length - 45))
                    .isEqualTo(Arrays.copyOfRange(data, 45, data.length));
            assertThatExceptionOfType(EOFException.class)
                    .isThrownBy(() -> ends.client().offer(source, 1, data.length, new byte[0], DEADLINE));
        }
        send(ends.client(), 3);
        assertThat(receive(ends.server())).isEqualTo(3);
    }

    @Test
    void offersNeedNoCredits() throws Exception {
        use(SEALED.window(1), SEALED.window(1));
        NodePair.Ends ends = nodes.connect();
        send(ends.server(), 1); // fills the window of the side that offers, which receives nothing
        transfer(ends, 4 * SealedOffer.PIECE);
        assertThat(receive(ends.client())).isEqualTo(1);
    }

    private static void sayAboutPiece(Channel by, int kind, int number) {
        Session session = by.session();
        try (var _ = session.lock.held()) {
            assertThat(session.rail.trySendAboutPiece(kind, number)).isTrue();
        }
    }

    /** Words about a piece of no offer, of a call, and behind the last piece of an offer, and about numbers beyond all. */
    @ParameterizedTest
    @CsvSource({
        Wire.PULL + ", 0, NOTHING",
        Wire.PIECE + ", 0, NOTHING",
        Wire.PIECE + ", 4, NOTHING",
        Wire.PIECE + ", 65535, NOTHING",
        Wire.WITHDRAWN + ", 0, NOTHING",
        Wire.PULL + ", 0, CALL",
        Wire.PIECE + ", 0, TRANSFER"
    })
    void wordAboutAPieceThatWasNotAskedForEndsTheChannel(int kind, int number, String before) throws Exception {
        NodePair.Ends ends = nodes.connect();
        if (before.equals("CALL")) {
            assertThat(ends.server().tryCall(ends.server().message(DEADLINE))).isNotZero();
        } else if (before.equals("TRANSFER")) {
            transfer(ends, SealedOffer.PIECE * (SealedOffer.SLOTS + 1));
        }
        sayAboutPiece(ends.client(), kind, number);
        endOf(ends.server(), EndReason.PROTOCOL_ERROR);
    }

    @Test
    void pullOfAnOfferInTheClearEndsTheChannel() throws Exception {
        NodeOptions clear = SMALL.transport(Transport.TCP);
        use(clear, clear);
        NodePair.Ends ends = nodes.connect();
        Future<Void> offered = nodes.offer(ends.client(), new byte[1]);
        try (Message _ = ends.server().receive(DEADLINE)) {
            sayAboutPiece(ends.server(), Wire.PULL, 0);
            assertThat(offered).failsWithin(DEADLINE);
        }
        endOf(ends.client(), EndReason.PROTOCOL_ERROR);
    }

    @Test
    void pieceBeyondTheEndOfAnOfferEndsTheChannel() throws Exception {
        NodePair.Ends ends = nodes.connect();
        Future<Void> offered = nodes.offer(ends.client(), new byte[1]);
        try (Message offer = ends.server().receive(DEADLINE);
                Transfer _ = offer.transfer()) {
            assertThat(ends.server().messages().pulls.tryPull(0)).isTrue();
            failure(EndReason.PROTOCOL_ERROR, () -> StyleTest.Style.outcome(offered));
        }
    }

    private void transfer(NodePair.Ends ends, int size) throws Exception {
        Future<Void> offered = nodes.offer(ends.client(), new byte[size]);
        try (Message offer = ends.server().receive(DEADLINE);
                Transfer transfer = offer.transfer()) {
            transfer.accept(MemorySegment.ofArray(new byte[size]), DEADLINE);
        }
        NodePair.end(offered);
    }

    @Test
    void eachOfferHasAKeyOfItsOwnWhichTheMessageForgets() throws Exception {
        NodePair.Ends ends = nodes.connect();
        List<byte[]> keys = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            Future<Void> offered = nodes.offer(ends.client(), new byte[1]);
            try (Message offer = ends.server().receive(DEADLINE)) {
                MemorySegment key = offer.owned().memory().asSlice(Wire.EXPORT_BYTES, SealedOffer.KEY_BYTES);
                keys.add(key.toArray(ValueLayout.JAVA_BYTE));
                offer.transfer().confirm();
                assertThat(key.toArray(ValueLayout.JAVA_BYTE)).containsOnly(0);
            }
            NodePair.end(offered);
        }
        assertThat(keys.get(0)).isNotEqualTo(keys.get(1));
    }

    @Test
    void memoryOfATransferServesTheNextIfItIsLargeEnough() throws Exception {
        NodePair.Ends ends = nodes.connect();
        List<AtomicReference<SpareMemory>> idle = List.of(
                ends.client().session().rail.with().carrier.idle,
                ends.server().session().rail.with().carrier.idle);
        transfer(ends, 1000);
        List<SpareMemory> small = idle.stream().map(AtomicReference::get).toList();
        transfer(ends, 1000);
        assertThat(idle).map(AtomicReference::get).isEqualTo(small);
        transfer(ends, 100_000);
        List<SpareMemory> large = idle.stream().map(AtomicReference::get).toList();
        assertThat(large).doesNotContainAnyElementsOf(small);
        assertThat(small)
                .allSatisfy(freed -> assertThat(freed.region().isOpen()).isFalse());
        transfer(ends, 1000);
        assertThat(idle).map(AtomicReference::get).isEqualTo(large);
    }
}
