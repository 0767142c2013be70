package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.link.LinkHost;
import dev.verbena.internal.link.TcpCarrier;
import dev.verbena.internal.wire.TcpFrame;
import dev.verbena.internal.wire.Wire;
import dev.verbena.support.Await;
import dev.verbena.support.OpenFileLimit;
import dev.verbena.verbs.AccessFlag;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Peers of a node over TCP that send garbage, lie, read nothing, or say nothing: each loses its channel only. */
class TcpPeerTest extends TcpTest {
    /** The number of bytes of the first frame of a node. */
    private static final int GREETING_BYTES = TcpFrame.BYTES + Wire.HEADER_BYTES + Wire.GREETING_BYTES;

    private static final Duration TWICE_ALIVE = NodeClock.ALIVE.multipliedBy(2);

    @Test
    void greetingMayHaveTheMostBytesWhichMayComeOneByOne() throws Exception {
        TcpPeer peer = stranger();
        peer.singly = true;
        byte[] greeting = new byte[Wire.MAX_GREETING_BYTES];
        new Wire.Greeting(WINDOW, 256, 4, new byte[0], null).writeTo(MemorySegment.ofArray(greeting));
        peer.message(Wire.GREETING, 0, 0, greeting);
        assertThat(peer.nextMessage().kind()).isEqualTo(Wire.GREETING);
    }

    @ParameterizedTest
    @ValueSource(strings = {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\1\0\0\1", "VBNA\2\0\0\0\0\0\0\0\0\0\0\0"})
    void connectionsOfOtherProgramsAreClosed(String first) throws Exception {
        TcpPeer peer = stranger();
        peer.write(first.getBytes(StandardCharsets.ISO_8859_1));
        assertThat(peer.awaitGoodbye()).isEqualTo(EndReason.PROTOCOL_ERROR.code);
        assertThat(peer.read(1)).as("end").isEmpty();
        assertGoesOn();
    }

    @ParameterizedTest
    @CsvSource({"0, false", "7, false", "40, false", "119, false", "119, true"})
    void peersThatSayTooLittleAreForgotten(int bytes, boolean leaves) throws Exception {
        use(NodePair.SMALL.maxWaiting(1).handshakeTimeout(DEADLINE));
        TcpPeer peer = stranger();
        peer.atMost(bytes, all -> all.greet(WINDOW));
        if (leaves) {
            peer.leave();
            assertThat(peer.awaitEndOfBytes()).isZero();
        } else {
            Await.until("the peer has come", () -> nodes.server.toString().contains("1 waiting"));
            new NodeClock(nodes.server).passUntil("its time is over", DEADLINE, this::hasForgottenAll);
            assertThat(peer.awaitGoodbye()).isEqualTo(EndReason.HANDSHAKE_TIMEOUT.code);
            peer.awaitEnd();
        }
        assertGoesOn();
    }

    /** Peers that have said nothing, or half of what they have to say, keep nobody out: the oldest is dismissed. */
    @Test
    void peersThatHaveNotGreetedGiveWayToTheNextOnes() throws Exception {
        use(NodePair.SMALL.maxWaiting(1).handshakeTimeout(DEADLINE));
        List<TcpPeer> silent = strangers(0);
        for (int i = 0; i < 20; i++) {
            silent.addAll(strangers(1));
            silent.getLast().write(Arrays.copyOf(new byte[] {TcpFrame.SEND, 0, 0}, i % 4));
        }
        silent.get(11).awaitEndOfBytes();
        for (TcpPeer present : silent.subList(12, 20)) {
            assertIsPresent(present);
        }
        honest();
        silent.get(12).awaitEndOfBytes();
        assertIsPresent(silent.get(13));
    }

    /** The system takes as many as the node does, while the node's thread has other work. */
    @Test
    void peersMayComeAtOnce() throws Exception {
        use(NodePair.SMALL.maxWaiting(1));
        CompletableFuture<Void> otherWork = new CompletableFuture<>();
        TcpCarrier carrier = (TcpCarrier) nodes.server.engine().carrier;
        carrier.run(otherWork::join);
        try {
            strangers(8);
            otherWork.complete(null);
            Await.until("all have come", () -> nodes.server.toString().contains(", 8 waiting"));
        } finally {
            otherWork.complete(null);
        }
    }

    @Test
    void peerThatWasRefusedAndHasNotLeftTakesNoPlace() throws Exception {
        use(NodePair.SMALL.maxWaiting(1).handshakeTimeout(DEADLINE));
        TcpPeer refused = stranger();
        refused.write(new byte[TcpFrame.BYTES]);
        refused.awaitGoodbye();
        List<TcpPeer> silent = strangers(9);
        silent.getFirst().awaitEndOfBytes();
        assertIsPresent(silent.get(1));
    }

    @Test
    void peerOfAnotherAddressStaysAmongThoseOfOneAddress() throws Exception {
        use(NodePair.SMALL.maxWaiting(1).handshakeTimeout(DEADLINE));
        InetSocketAddress another = new InetSocketAddress("127.0.0.2", 0);
        TcpPeer other = leavesLater(new TcpPeer(nodes.server.address(), another));
        strangers(20).getFirst().awaitEndOfBytes();
        other.greet(WINDOW);
        assertThat(other.nextMessage().kind()).isEqualTo(Wire.GREETING);
    }

    /** What a peer has left is there to receive, although another address has as many channels as it may. */
    @Test
    void addressWithAsManyChannelsAsItMayTakesNoPlaceOfAnother() throws Exception {
        use(NodePair.SMALL.maxChannelsPerPeer(1));
        TcpPeer left = leavesLater(new TcpPeer(nodes.server.address(), new InetSocketAddress("127.0.0.2", 0)));
        left.greet(WINDOW);
        left.awaitMessage();
        left.send(Wire.DATA, 0, 0, Long.BYTES);
        left.leave();
        left.awaitEnd();
        nodes.client.connect(nodes.server.address(), DEADLINE);
        assertThat(EndReason.of(greets().awaitGoodbye())).isEqualTo(EndReason.TOO_MANY_CHANNELS);
        nodes.server.accept(DEADLINE).receive(DEADLINE).close();
    }

    /** Each stranger goes as far as a peer gets without a token. */
    @Test
    void honestPeersGetInAmongFiftyStrangersASecond() throws Exception {
        use(NodeOptions.defaults().messageSize(1 << 20).token(new byte[] {7}).admit((peer, token) -> token.length > 0));
        nodes.server.listen((channel, request) -> request.reply().length(1).send());
        AtomicInteger came = new AtomicInteger();
        Callable<TcpPeer> comes = () -> came.getAndIncrement() % 2 == 0 ? stranger() : greets();
        try (var flood = Executors.newScheduledThreadPool(1)) {
            var strangersCome = flood.scheduleAtFixedRate(
                    () -> assertThatCode(comes::call).doesNotThrowAnyException(), 0, 20, TimeUnit.MILLISECONDS);
            for (int i = 0; i < 20; i++) {
                int known = came.get();
                try (Channel channel = nodes.client.connect(nodes.server.address(), DEADLINE);
                        Message reply = channel.call(channel.message(DEADLINE).length(1), DEADLINE)) {
                    assertThat(reply.length()).isEqualTo(1);
                }
                Await.until("more strangers have come", () -> came.get() > known + 3 || strangersCome.isDone());
            }
            assertThat(strangersCome.isDone()).as("strangers fail").isFalse();
            assertThat(came).hasValueGreaterThan(60);
            strangersCome.cancel(false);
        }
    }

    /** One address keeps no other out, however many peers it has. */
    @ParameterizedTest
    @CsvSource({"1, 0", "1 2, 0", "1 2 2, 1", "1 1 2 2, 0", "2 1 1 2, 0", "3 2 1 1 2 1, 2"})
    void oldestPeerOfTheAddressWithTheMostGivesWay(String oldestFirst, int expected) throws Exception {
        record Peer(int place, InetAddress address) {}
        List<Peer> peers = new ArrayList<>();
        for (String last : oldestFirst.split(" ")) {
            peers.add(new Peer(peers.size(), InetAddress.getByName("127.0.0." + last)));
        }
        assertThat(LinkHost.oldestOfMost(peers, Peer::address)).isSameAs(peers.get(expected));
        assertThat(LinkHost.oldestOfMost(List.<Peer>of(), Peer::address)).isNull();
    }

    /** A frame that is no greeting ends the connection before there is a channel. */
    @ParameterizedTest
    @CsvSource({"2, 80, 1, 0", "1, 79, 1, 0", "1, 273, 1, 0", "1, 80, 2, 0", "1, 80, 1, 1", "200, 80, 1, 0"})
    void firstFrameMustBeAGreeting(int type, int length, int kind, int key) throws Exception {
        TcpPeer peer = stranger();
        peer.frame(type, frame -> {
            frame.length = length;
            frame.key = key;
        });
        peer.writeHeader(kind, 0, 0);
        peer.write(peer.whole().asSlice(0, length).toArray(ValueLayout.JAVA_BYTE));
        assertThat(peer.awaitGoodbye()).isEqualTo(EndReason.PROTOCOL_ERROR.code);
        peer.awaitEnd();
        assertThat(nodes.server.statistics().opened()).isZero();
        assertGoesOn();
    }

    /** A peer that is refused hears of the refusal, and not that the node has no memory for its messages. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void memoryForMessagesComesAfterAdmission(boolean admitted) throws Exception {
        assumeTrue(
                !Files.readString(Path.of("/proc/sys/vm/overcommit_memory")).startsWith("1"),
                "this system gives more memory than it has");
        NodeOptions terabytes =
                NodeOptions.defaults().messageSize(1 << 30).window(4095).sends(4095);
        use(terabytes.admit((peer, token) -> admitted));
        TcpPeer peer = greets();
        EndReason expected = admitted ? EndReason.PEER_FAILED : EndReason.REFUSED;
        assertThat(peer.awaitGoodbye()).isEqualTo(expected.code);
        peer.socket.shutdownOutput(); // else the node waits a second for it
        peer.awaitEnd();
        Await.until("nothing is left", this::hasForgottenAll);
        assertThat(nodes.server.statistics().opened()).isZero();
    }

    /** The system gives memory when it is used. So memory for large messages costs nothing until they come. */
    @Test
    void memoryOfMessagesThatNeverComeIsNotUsed() throws Exception {
        use(NodeOptions.defaults()
                .messageSize(1 << 29)
                .window(1)
                .sends(1)
                .calls(0)
                .operations(0));
        long before = residentBytes();
        honest();
        assertThat(residentBytes() - before)
                .as("of two channels with 2.5 GiB each")
                .isLessThan(1L << 30);
    }

    private static long residentBytes() throws IOException {
        String pages = Files.readString(Path.of("/proc/self/statm")).split(" ")[1];
        return Long.parseLong(pages) << 12;
    }

    /** The peer asks for much data, and takes none of it. The node's own messages are not acknowledged, which ends it. */
    @Test
    void peerThatReadsNothingLosesItsChannel() throws Exception {
        use(NodePair.SMALL.alive(NodeClock.ALIVE));
        long large = 16 << 20;
        table = nodes.arena.allocate(large);
        TcpPeer peer = finds(AccessFlag.REMOTE_READ);
        for (int i = 0; i < TcpFrame.MAX_READS; i++) {
            peer.frame(TcpFrame.READ, frame -> name(frame, memory, (int) memory.length()));
        }
        new NodeClock(nodes.server).passUntil("the channel has ended", TWICE_ALIVE, () -> !channel.isOpen());
        assertThat(awaitEnd(channel).reason()).isEqualTo(EndReason.LOST);
        assertGoesOn();
    }

    /** Its messages show that it lives, and not that it takes what this side sends. */
    @Test
    void peerThatSendsAndAcknowledgesNothingLosesItsChannel() throws Exception {
        use(NodeOptions.defaults().window(4095).alive(NodeClock.ALIVE));
        TcpPeer peer = greeted();
        NodePair.send(channel, 1);
        new NodeClock(nodes.server).passUntil("the channel has ended", TWICE_ALIVE, () -> {
            try {
                peer.message(Wire.DATA, 0, 0, (byte) 1);
            } catch (IOException left) {
                assertThat(channel.cause()).isPresent();
            }
            return channel.cause().isPresent();
        });
        assertThat(awaitEnd(channel).reason()).isEqualTo(EndReason.LOST);
    }

    /** Random frames after a good greeting, many of which are almost right: whatever they do, the node goes on. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
    void randomFramesEndOneChannelAtMost(long seed) throws Exception {
        Random random = new Random(seed);
        TcpPeer peer = finds(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC);
        try {
            for (int i = 0; i < 100; i++) {
                int length = random.nextInt(random.nextBoolean() ? 64 : 300);
                peer.frame(1 + random.nextInt(9), frame -> {
                    frame.length = random.nextInt(8) == 0 ? random.nextInt() : length;
                    frame.address = memory.address() + random.nextInt(random.nextInt(8) == 0 ? 9000 : 64);
                    frame.key = random.nextInt(16) == 0 ? random.nextInt() : memory.key();
                    frame.number = random.nextInt(8) == 0 ? random.nextInt() : random.nextInt(2);
                    frame.first = random.nextLong();
                });
                peer.writeHeader(Wire.DATA, 0, random.nextInt(4));
                peer.write(peer.whole()
                        .asSlice(0, random.nextInt(4) == 0 ? random.nextInt(64) : length)
                        .toArray(ValueLayout.JAVA_BYTE));
            }
        } catch (IOException closed) {
            // The node has ended the connection.
        }
        peer.socket.close();
        endOfMessages(channel);
        assertGoesOn();
    }

    /** A peer that does not end its side can't keep the connection for ever. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void connectionThatTheNodeHasLeftIsClosedSoon(boolean becameAChannel) throws Exception {
        TcpPeer peer = becameAChannel ? greeted() : stranger();
        if (becameAChannel) {
            peer.await(TcpFrame.ACKNOWLEDGEMENT);
            peer.frame(200, frame -> {});
            awaitEnd(channel);
            new NodeClock(nodes.server)
                    .passUntil(
                            "the goodbye is given up",
                            Duration.ofSeconds(1),
                            () -> channel.session().parted());
            channel.close();
        } else {
            peer.write(new byte[TcpFrame.BYTES]);
        }
        peer.awaitEndOfBytes();
        new NodeClock(nodes.server)
                .passUntil("the node resets the connection", Duration.ofSeconds(1), () -> isReset(peer));
    }

    @Test
    void progressTellsHowMuchHasHappened() throws Exception {
        use(NodePair.SMALL.progress(NodeOptions.Progress.CALLER));
        assertThat(nodes.server.progress()).isZero();
        greets();
        Await.until("something has happened", () -> {
            int handled = nodes.server.progress();
            assertThat(handled).isNotNegative();
            return handled > 0;
        });
    }

    // Servers that are no nodes

    private static InetSocketAddress addressOf(ServerSocket server) {
        return (InetSocketAddress) server.getLocalSocketAddress();
    }

    private static ServerSocket fakeServer() throws IOException {
        return new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"));
    }

    @ParameterizedTest
    @CsvSource({
        "HTTP/1.1 400 Bad Request, PROTOCOL_ERROR, Its first bytes are not those of a node over TCP",
        "HTTP/1.1 400 Bad Request and quite a lot more, PROTOCOL_ERROR, Frame of type 72",
        "'', LOST, The peer has closed the connection"
    })
    void connectingToAnotherProgramTellsTheReason(String answer, EndReason reason, String details) throws Exception {
        try (ServerSocket fake = fakeServer()) {
            var answered = nodes.start(() -> {
                try (Socket socket = fake.accept()) {
                    socket.getOutputStream().write(answer.getBytes(StandardCharsets.ISO_8859_1));
                    socket.shutdownOutput();
                    return socket.getInputStream().readNBytes(GREETING_BYTES).length;
                }
            });
            assertThatExceptionOfType(ChannelException.class)
                    .isThrownBy(() -> nodes.client.connect(addressOf(fake), DEADLINE))
                    .withMessageContaining(details)
                    .satisfies(told -> assertThat(told.reason()).isEqualTo(reason));
            assertThat(NodePair.end(answered)).isIn(0, GREETING_BYTES); // none if the answer came first
        }
    }

    /** The first peer does not answer, so its place is taken until the thread gives up. */
    @Test
    void fewThreadsConnectAtOnceAndOthersWait() throws Exception {
        use(NodePair.SMALL.connecting(1));
        try (ServerSocket silent = fakeServer()) {
            var first = nodes.start(() -> nodes.client.connect(addressOf(silent), DEADLINE));
            try (Socket taken = silent.accept()) {
                taken.getInputStream().readNBytes(GREETING_BYTES);
                assertThatExceptionOfType(VerbsTimeoutException.class)
                        .isThrownBy(() -> nodes.client.connect(nodes.server.address(), SHORT))
                        .withMessageContaining("NodeOptions.connecting()");
                var waits = nodes.start(() -> nodes.client.connect(nodes.server.address(), DEADLINE));
                taken.shutdownOutput();
                assertThat(first).failsWithin(DEADLINE);
                assertThat(NodePair.end(waits).isOpen()).isTrue();
            }
        }
    }

    /** A program that gives up leaves no connection behind. */
    @Test
    void connectionToAServerThatSaysNothingIsClosed() throws Exception {
        try (ServerSocket fake = fakeServer()) {
            var answered = nodes.start(() -> {
                try (Socket socket = fake.accept()) {
                    return socket.getInputStream().readAllBytes().length;
                }
            });
            assertThatExceptionOfType(VerbsTimeoutException.class)
                    .isThrownBy(() -> nodes.client.connect(addressOf(fake), SHORT));
            assertThat(NodePair.end(answered)).isIn(0, GREETING_BYTES); // none if it was slow
        }
    }

    /** The node can't accept a peer while all its descriptors are in use, and does so later. */
    @Test
    void peerThatCameWhenNoDescriptorWasFreeIsServedLater() throws Exception {
        TcpPeer before = greeted();
        before.await(TcpFrame.ACKNOWLEDGEMENT);
        TcpPeer late = leavesLater(new TcpPeer());
        late.socket.bind(null); // takes its descriptor
        try (OpenFileLimit _ = OpenFileLimit.reached()) {
            late.socket.connect(nodes.server.address());
            before.message(Wire.DATA, 0, 0, (byte) 7); // the node's thread sees both
            try (Message message = channel.receive(DEADLINE)) {
                assertThat(message.length()).isEqualTo(1);
            }
        }
        late.begin();
        late.greet(WINDOW);
        assertThat(late.nextMessage().kind()).isEqualTo(Wire.GREETING);
    }

    @Test
    void nodesTalkOverIpv6() throws Exception {
        InetAddress six = InetAddress.getByName("::1");
        assumeTrue(NetworkInterface.getByInetAddress(six) != null, "this machine has no IPv6");
        Node server = NodePair.open(NodePair.SMALL, new InetSocketAddress(six, 0), nodes.arena);
        Node client = NodePair.open(NodePair.SMALL, new InetSocketAddress(six, 0), nodes.arena);
        server.listen((channel, request) -> request.reply().length(7).send());
        try (Channel channel = client.connect(server.address(), DEADLINE)) {
            assertThat(channel.peer().getAddress()).isEqualTo(six);
            assertThat(channel.toString())
                    .startsWith(
                            "channel to [0:0:0:0:0:0:0:1]:" + server.address().getPort());
            try (Message reply = channel.call(channel.message(DEADLINE), DEADLINE)) {
                assertThat(reply.length()).isEqualTo(7);
            }
        }
    }

    @Test
    void addressInUseIsAnException() {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Set<String> open = OpenFileLimit.files();
            assertThatExceptionOfType(VerbsException.class)
                    .isThrownBy(() -> NodePair.open(NodePair.SMALL, nodes.server.address(), arena))
                    .withMessageContaining("in use");
            assertThat(OpenFileLimit.openedSince(open)).isEmpty();
        }
    }
}
