package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Mutex;
import dev.verbena.support.Await;
import dev.verbena.support.OpenFileLimit;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Peers of a node over TCP that send garbage, lie, read nothing, or say nothing: each loses its channel only. */
@Timeout(120)
class TcpPeerTest {
    private static final int WINDOW = NodePair.SMALL.window();
    private static final Duration SHORT = Duration.ofMillis(50);
    private static final long SIZE = 4096;

    private NodePair nodes;
    private MemorySegment table;

    @BeforeEach
    void open() {
        NodePair.over(Transport.TCP);
        use(NodePair.SMALL);
    }

    private void use(NodeOptions options) {
        if (nodes != null) {
            nodes.close();
        }
        nodes = new NodePair(options);
        table = nodes.arena.allocate(SIZE, 8);
    }

    @AfterEach
    void close() {
        nodes.close();
        NodePair.over(Transport.RDMA);
    }

    /** The node serves others, and no channel is left of the bad peer. */
    private void assertGoesOn() throws Exception {
        Await.until(
                "the node has forgotten the peer", () -> nodes.server.toString().matches(".*\\(0 of .*, 0 waiting\\)"));
        NodePair.Ends ends = nodes.connect();
        NodePair.send(ends.client(), 5);
        assertThat(NodePair.receive(ends.server())).isEqualTo(5);
    }

    private static ChannelException awaitEnd(Channel channel) {
        Await.until("the channel has ended", () -> channel.cause().isPresent());
        return (ChannelException) channel.cause().orElseThrow();
    }

    @Test
    void bytesOfAPeerMayComeOneByOne() throws Exception {
        try (TcpPeer peer = new TcpPeer(nodes.server.address())) {
            peer.singly = true;
            peer.write(TcpFrame.hello(false, 0).array());
            assertThat(TcpFrame.isHello(ByteBuffer.wrap(peer.read(TcpFrame.HELLO_BYTES))))
                    .isTrue();
            peer.greet(WINDOW);
            assertThat(Wire.kind(peer.await(TcpFrame.SEND).number)).isEqualTo(Wire.GREETING);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
                "VBNTxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
                "VBNA\1\0\0\0\0\0\0\0\0\0\0\0"
            })
    void connectionsOfOtherProgramsAreClosed(String first) throws Exception {
        try (TcpPeer peer = new TcpPeer(nodes.server.address())) {
            peer.write(first.getBytes(StandardCharsets.ISO_8859_1));
            ByteBuffer hello = ByteBuffer.wrap(peer.read(TcpFrame.HELLO_BYTES));
            assertThat(TcpFrame.isHello(hello)).isTrue();
            assertThat(TcpFrame.reason(hello))
                    .isEqualTo((first.startsWith("VBNT") ? EndReason.OTHER_VERSION : EndReason.PROTOCOL_ERROR).code);
            assertThat(peer.read(1)).as("end").isEmpty();
        }
        assertGoesOn();
    }

    @ParameterizedTest
    @CsvSource({"0, false", "7, false", "16, false", "16, true"})
    void peersThatSayTooLittleAreForgotten(int bytes, boolean leaves) throws Exception {
        use(NodePair.SMALL.maxWaiting(1).handshakeTimeout(leaves ? DEADLINE : SHORT));
        try (TcpPeer peer = new TcpPeer(nodes.server.address())) {
            peer.write(Arrays.copyOf(TcpFrame.hello(false, 0).array(), bytes));
            if (leaves) {
                peer.socket.shutdownOutput();
            }
            long heard = peer.awaitEndOfBytes();
            if (bytes < TcpFrame.HELLO_BYTES) {
                assertThat(heard).as("bytes for a peer that is none").isZero();
            }
        }
        assertGoesOn();
    }

    @Test
    void peersBeyondTheLimitAreRefusedWithTheReason() throws Exception {
        use(NodePair.SMALL.maxWaiting(1).handshakeTimeout(DEADLINE));
        try (TcpPeer first = TcpPeer.greeted(nodes.server.address(), WINDOW)) {
            first.await(TcpFrame.SEND); // the answer: it waits to be accepted
            assertThatExceptionOfType(ChannelException.class)
                    .isThrownBy(() -> nodes.client.connect(nodes.server.address(), DEADLINE))
                    .satisfies(told -> assertThat(told.reason()).isEqualTo(EndReason.TOO_MANY_CHANNELS));
            first.socket.close();
            Channel channel = nodes.server.accept(DEADLINE);
            awaitEnd(channel);
            channel.close();
        }
        assertGoesOn();
    }

    /** Peers that have said nothing, or half of what they have to say, keep nobody out: the oldest is dismissed. */
    @Test
    void peersThatHaveNotGreetedGiveWayToTheNextOnes() throws Exception {
        use(NodePair.SMALL.maxWaiting(1).handshakeTimeout(DEADLINE));
        List<TcpPeer> silent = new ArrayList<>();
        try {
            for (int i = 0; i < 20; i++) {
                silent.add(i % 2 == 0 ? new TcpPeer(nodes.server.address()) : TcpPeer.welcome(nodes.server.address()));
            }
            silent.getFirst().awaitEndOfBytes();
            NodePair.Ends ends = nodes.connect();
            NodePair.send(ends.client(), 5);
            assertThat(NodePair.receive(ends.server())).isEqualTo(5);
            silent.getLast().socket.setSoTimeout(1);
            assertThatExceptionOfType(SocketTimeoutException.class)
                    .as("the youngest may still greet")
                    .isThrownBy(() -> silent.getLast().read(1));
        } finally {
            for (TcpPeer peer : silent) {
                peer.close();
            }
        }
    }

    @Test
    void peerOfAnotherAddressStaysAmongThoseOfOneAddress() throws Exception {
        use(NodePair.SMALL.maxWaiting(1).handshakeTimeout(DEADLINE));
        List<TcpPeer> silent = new ArrayList<>();
        try (TcpPeer other = new TcpPeer(nodes.server.address(), new InetSocketAddress("127.0.0.2", 0))) {
            for (int i = 0; i < 20; i++) {
                silent.add(new TcpPeer(nodes.server.address()));
            }
            silent.getFirst().awaitEndOfBytes();
            other.write(TcpFrame.hello(false, 0).array());
            other.read(TcpFrame.HELLO_BYTES);
            other.greet(WINDOW);
            assertThat(Wire.kind(other.await(TcpFrame.SEND).number)).isEqualTo(Wire.GREETING);
        } finally {
            for (TcpPeer peer : silent) {
                peer.close();
            }
        }
    }

    /** Each stranger goes as far as a peer gets without a token. */
    @Test
    void honestPeersGetInAmongFiftyStrangersASecond() throws Exception {
        use(NodeOptions.defaults().messageSize(1 << 20).token(new byte[] {7}).admit((peer, token) -> token.length > 0));
        nodes.server.listen((channel, request) -> request.reply().length(1).send());
        Queue<TcpPeer> strangers = new ConcurrentLinkedQueue<>();
        AtomicInteger came = new AtomicInteger();
        try (var flood = Executors.newScheduledThreadPool(1)) {
            var strangersCome = flood.scheduleAtFixedRate(
                    () -> strangers.add(stranger(came.getAndIncrement())), 0, 20, TimeUnit.MILLISECONDS);
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
        } finally {
            for (TcpPeer stranger : strangers) {
                stranger.close();
            }
        }
    }

    private TcpPeer stranger(int number) {
        try {
            return switch (number % 3) {
                case 0 -> new TcpPeer(nodes.server.address());
                case 1 -> TcpPeer.welcome(nodes.server.address());
                default -> TcpPeer.greeted(nodes.server.address(), WINDOW);
            };
        } catch (IOException refused) {
            throw new UncheckedIOException(refused);
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
        assertThat(Engine.oldestOfMost(peers, Peer::address)).isSameAs(peers.get(expected));
        assertThat(Engine.oldestOfMost(List.<Peer>of(), Peer::address)).isNull();
    }

    @Test
    void peerThatDoesNotGreetInTimeHearsTheReason() throws Exception {
        use(NodePair.SMALL.handshakeTimeout(SHORT));
        try (TcpPeer peer = TcpPeer.welcome(nodes.server.address())) {
            assertThat(peer.awaitGoodbye()).isEqualTo(EndReason.HANDSHAKE_TIMEOUT.code);
            peer.awaitEnd();
        }
        assertGoesOn();
    }

    @Test
    void greetingMayHaveTheMostBytes() throws Exception {
        try (TcpPeer peer = TcpPeer.welcome(nodes.server.address())) {
            byte[] greeting = new byte[Wire.MAX_GREETING_BYTES];
            new Wire.Greeting(WINDOW, 256, 4, new byte[0]).writeTo(MemorySegment.ofArray(greeting));
            peer.message(Wire.immediate(Wire.GREETING, 0, 0), greeting);
            assertThat(Wire.kind(peer.await(TcpFrame.SEND).number)).isEqualTo(Wire.GREETING);
        }
    }

    /** A frame that is no greeting ends the connection before there is a channel. */
    @ParameterizedTest
    @CsvSource({"2, 64, 1, 0", "1, 63, 1, 0", "1, 257, 1, 0", "1, 64, 2, 0", "1, 64, 1, 1", "200, 64, 1, 0"})
    void firstFrameMustBeAGreeting(int type, int length, int kind, int key) throws Exception {
        try (TcpPeer peer = TcpPeer.welcome(nodes.server.address())) {
            peer.frame(type, frame -> {
                frame.length = length;
                frame.number = type == TcpFrame.SEND ? Wire.immediate(kind, 0, 0) : 0;
                frame.key = key;
            });
            assertThat(peer.awaitGoodbye()).isEqualTo(EndReason.PROTOCOL_ERROR.code);
            peer.awaitEnd();
        }
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
        try (TcpPeer peer = TcpPeer.greeted(nodes.server.address(), WINDOW)) {
            EndReason expected = admitted ? EndReason.PEER_FAILED : EndReason.REFUSED;
            assertThat(peer.awaitGoodbye()).isEqualTo(expected.code);
            peer.awaitEnd();
        }
        Await.until("nothing is left", () -> nodes.server.toString().matches(".*\\(0 of .*, 0 waiting\\)"));
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
        NodePair.Ends ends = nodes.connect();
        NodePair.send(ends.client(), 5);
        assertThat(NodePair.receive(ends.server())).isEqualTo(5);
        assertThat(residentBytes() - before)
                .as("of two channels with 2.5 GiB each")
                .isLessThan(1L << 30);
    }

    private static long residentBytes() throws IOException {
        String pages = Files.readString(Path.of("/proc/self/statm")).split(" ")[1];
        return Long.parseLong(pages) << 12;
    }

    enum Lie {
        NO_TYPE("Frame of type 0 with 0 bytes is malformed", peer -> peer.frame(0, frame -> {})),
        UNKNOWN_TYPE("Frame of type 200 with 0 bytes is malformed", peer -> peer.frame(200, frame -> {})),
        NEGATIVE_LENGTH(
                "Frame of type 1 with -1 bytes is malformed",
                peer -> peer.frame(TcpFrame.SEND, frame -> frame.length = -1)),
        KEY_IN_DATA("malformed", peer -> peer.frame(TcpFrame.DATA, frame -> frame.key = 1)),
        ADDRESS_IN_AN_ACKNOWLEDGEMENT(
                "malformed", peer -> peer.frame(TcpFrame.ACKNOWLEDGEMENT, frame -> frame.address = 1)),
        ADDRESS_IN_A_MESSAGE("malformed", peer -> peer.frame(TcpFrame.SEND, frame -> frame.address = 1)),
        NUMBER_IN_A_WRITE("malformed", peer -> peer.frame(TcpFrame.WRITE, frame -> frame.number = 1)),
        LENGTH_OF_AN_ATOMIC("malformed", peer -> peer.frame(TcpFrame.FETCH_AND_ADD, frame -> frame.length = 8)),
        SECOND_VALUE_OF_AN_ADDITION("malformed", peer -> peer.frame(TcpFrame.FETCH_AND_ADD, frame -> frame.second = 1)),
        TYPE_BEHIND_THE_LAST("malformed", peer -> peer.frame(TcpFrame.DENIAL + 1, frame -> {})),
        RESERVED_BYTES("Frame of type 6 with 0 bytes is malformed", peer -> {
            byte[] header = new byte[TcpFrame.BYTES];
            header[0] = TcpFrame.ACKNOWLEDGEMENT;
            header[2] = 1;
            peer.write(header);
        }),
        FIELD_OF_ANOTHER_TYPE("malformed", peer -> peer.frame(TcpFrame.SEND, frame -> frame.key = 1)),
        VALUE_IN_AN_ACKNOWLEDGEMENT(
                "malformed", peer -> peer.frame(TcpFrame.ACKNOWLEDGEMENT, frame -> frame.first = 1)),
        MESSAGE_THAT_IS_TOO_LARGE(
                "Message of 257 bytes is larger than the 256 that",
                peer -> peer.message(Wire.immediate(Wire.DATA, 0, 0), new byte[257])),
        HUGE_MESSAGE(
                "Message of 2147483647 bytes",
                peer -> peer.frame(TcpFrame.SEND, frame -> frame.length = Integer.MAX_VALUE)),
        TOO_MANY_MESSAGES("more messages than it has credits", peer -> {
            for (int i = 0; i < 100; i++) {
                peer.message(Wire.immediate(Wire.DATA, 0, 0), new byte[1]);
            }
        }),
        ACKNOWLEDGEMENT_OF_NOTHING(
                "It acknowledged 0 requests", peer -> peer.frame(TcpFrame.ACKNOWLEDGEMENT, frame -> {})),
        ACKNOWLEDGEMENT_OF_TOO_MANY(
                "It acknowledged a request that",
                peer -> peer.frame(TcpFrame.ACKNOWLEDGEMENT, frame -> frame.number = 1000)),
        NEGATIVE_ACKNOWLEDGEMENT(
                "It acknowledged -1 requests",
                peer -> peer.frame(TcpFrame.ACKNOWLEDGEMENT, frame -> frame.number = -1)),
        DATA_NOT_ASKED_FOR("It sent data that", peer -> peer.frame(TcpFrame.DATA, frame -> frame.length = 8)),
        VALUE_NOT_ASKED_FOR("It sent a value that", peer -> peer.frame(TcpFrame.VALUE, frame -> frame.first = 8)),
        TOO_MANY_READS("more than 16 reads", peer -> {
            for (int i = 0; i < 1000; i++) {
                peer.frame(TcpFrame.READ, frame -> {});
            }
        }),
        MESSAGE_WITHOUT_KIND("", peer -> peer.message(0));

        private final String told;
        private final TcpPeer.Step step;

        Lie(String told, TcpPeer.Step step) {
            this.told = told;
            this.step = step;
        }
    }

    @ParameterizedTest
    @EnumSource(Lie.class)
    void peerThatLiesLosesItsChannelOnly(Lie lie) throws Exception {
        try (TcpPeer peer = TcpPeer.greeted(nodes.server.address(), WINDOW)) {
            Channel channel = nodes.server.accept(DEADLINE);
            if (lie != Lie.TOO_MANY_READS) { // else its own writes might wait for its reads
                peer.await(TcpFrame.ACKNOWLEDGEMENT);
            }
            lie.step.with(peer);
            assertThat(awaitEnd(channel))
                    .hasMessageContaining(lie.told)
                    .satisfies(end -> assertThat(end.reason()).isEqualTo(EndReason.PROTOCOL_ERROR));
            assertThat(peer.awaitGoodbye()).isEqualTo(EndReason.PROTOCOL_ERROR.code);
            peer.awaitEnd();
            channel.close();
        }
        assertGoesOn();
    }

    @Test
    void acknowledgementsAreSentTogetherAndBehindAnswers() throws Exception {
        nodes.server.export("table", table, AccessFlag.REMOTE_READ);
        try (TcpPeer peer = TcpPeer.greeted(nodes.server.address(), WINDOW)) {
            nodes.server.accept(DEADLINE);
            RemoteMemory memory = lookUp(peer);
            peer.atOnce(all -> {
                all.frame(TcpFrame.READ, frame -> {
                    frame.address = memory.address();
                    frame.key = memory.key();
                    frame.length = 8;
                });
                all.message(Wire.immediate(Wire.DATA, 0, 0), (byte) 1);
                all.message(Wire.immediate(Wire.DATA, 0, 0), (byte) 2);
            });
            assertThat(peer.await(TcpFrame.DATA).number).isZero();
            assertThat(peer.await(TcpFrame.ACKNOWLEDGEMENT).number).isEqualTo(2);
        }
    }

    @Test
    void denialOfNothingEndsTheChannel() throws Exception {
        try (TcpPeer peer = TcpPeer.greeted(nodes.server.address(), WINDOW)) {
            Channel channel = nodes.server.accept(DEADLINE);
            peer.await(TcpFrame.SEND);
            peer.frame(TcpFrame.ACKNOWLEDGEMENT, frame -> frame.number = 1);
            peer.frame(TcpFrame.DENIAL, frame -> {});
            assertThat(awaitEnd(channel)).hasMessageContaining("It denied a request that");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "false, 7, 4, 0, It sent data that",
        "false, 8, 0, 0, It sent a value that",
        "false, 6, 0, 1, It acknowledged a request that",
        "true, 7, 8, 0, It sent data that",
        "true, 6, 0, 1, It acknowledged a request that"
    })
    void answerOfAnotherKindEndsTheChannel(boolean toAtomic, int type, int length, int number, String told)
            throws Exception {
        LocalMemory local = nodes.server.register(nodes.arena.allocate(8), AccessFlag.LOCAL_WRITE);
        RemoteMemory remote = new RemoteMemory(8, 1, 8);
        try (TcpPeer peer = TcpPeer.greeted(nodes.server.address(), WINDOW)) {
            Channel channel = nodes.server.accept(DEADLINE);
            peer.await(TcpFrame.SEND);
            peer.frame(TcpFrame.ACKNOWLEDGEMENT, frame -> frame.number = 1);
            if (toAtomic) {
                channel.tryFetchAndAdd(remote, 1);
            } else {
                channel.tryRead(local, remote);
            }
            peer.await(toAtomic ? TcpFrame.FETCH_AND_ADD : TcpFrame.READ);
            peer.frame(type, frame -> {
                frame.length = length;
                frame.number = number;
            });
            peer.write(new byte[length]);
            assertThat(awaitEnd(channel)).hasMessageContaining(told);
            channel.close();
        }
        assertGoesOn();
    }

    /** Asks for an export as a node does, and returns its memory. */
    private RemoteMemory lookUp(TcpPeer peer) throws IOException {
        peer.message(Wire.immediate(Wire.LOOKUP, 0, 1), "table".getBytes(StandardCharsets.UTF_8));
        TcpFrame reply = peer.await(TcpFrame.SEND);
        while (Wire.kind(reply.number) != Wire.REPLY) {
            reply = peer.await(TcpFrame.SEND);
        }
        return RemoteMemory.fromWide(MemorySegment.ofArray(peer.data()));
    }

    enum Theft {
        WRONG_KEY(TcpFrame.READ, frame -> frame.key++),
        NO_ADDRESS(TcpFrame.READ, frame -> frame.address = 0),
        ONE_BYTE_BEFORE(TcpFrame.READ, frame -> frame.address--),
        ONE_BYTE_MORE(TcpFrame.READ, frame -> frame.length++),
        BEYOND_THE_END(TcpFrame.READ, frame -> {
            frame.address += SIZE;
            frame.length = 1;
        }),
        ADDRESS_THAT_OVERFLOWS(TcpFrame.READ, frame -> {
            frame.address = Long.MIN_VALUE;
            frame.length = Integer.MAX_VALUE;
        }),
        WRITE_WITHOUT_RIGHT(TcpFrame.WRITE, frame -> frame.length = 8),
        ATOMIC_WITHOUT_RIGHT(TcpFrame.FETCH_AND_ADD, frame -> frame.length = 0),
        ATOMIC_AT_ODD_ADDRESS(TcpFrame.COMPARE_AND_SWAP, frame -> {
            frame.address++;
            frame.length = 0;
        });

        private final int type;
        private final Consumer<TcpFrame> change;

        Theft(int type, Consumer<TcpFrame> change) {
            this.type = type;
            this.change = change;
        }
    }

    @ParameterizedTest
    @EnumSource(Theft.class)
    void peerThatUsesMemoryWithoutTheRightLosesItsChannelOnly(Theft theft) throws Exception {
        boolean odd = theft == Theft.ATOMIC_AT_ODD_ADDRESS;
        nodes.server.export("table", table, odd ? AccessFlag.REMOTE_ATOMIC : AccessFlag.REMOTE_READ);
        try (TcpPeer peer = TcpPeer.greeted(nodes.server.address(), WINDOW)) {
            Channel channel = nodes.server.accept(DEADLINE);
            RemoteMemory memory = lookUp(peer);
            peer.frame(theft.type, frame -> {
                frame.address = memory.address();
                frame.key = memory.key();
                frame.length = (int) memory.length();
                theft.change.accept(frame);
            });
            peer.await(TcpFrame.DENIAL);
            peer.awaitEnd();
            ChannelException end = awaitEnd(channel);
            assertThat(end.reason()).isEqualTo(EndReason.LOST);
            assertThat(end).hasMessageContaining("without the right");
            channel.close();
        }
        assertThat(table.toArray(ValueLayout.JAVA_BYTE)).containsOnly(0);
        assertGoesOn();
    }

    /** Each channel gets a key of its own for an export: that of another one opens nothing. */
    @ParameterizedTest
    @ValueSource(ints = {TcpFrame.READ, TcpFrame.WRITE, TcpFrame.FETCH_AND_ADD})
    void keyOfAnotherChannelIsDenied(int type) throws Exception {
        nodes.server.export("table", table, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC);
        try (TcpPeer owner = TcpPeer.greeted(nodes.server.address(), WINDOW);
                TcpPeer thief = TcpPeer.greeted(nodes.server.address(), WINDOW)) {
            nodes.server.accept(DEADLINE);
            nodes.server.accept(DEADLINE);
            RemoteMemory stolen = lookUp(owner);
            assertThat(lookUp(thief).key()).isNotEqualTo(stolen.key());
            Consumer<TcpFrame> use = frame -> {
                frame.address = stolen.address();
                frame.key = stolen.key();
                frame.length = type == TcpFrame.FETCH_AND_ADD ? 0 : 8;
                frame.first = type == TcpFrame.FETCH_AND_ADD ? 1 : 0;
            };
            thief.frame(type, use);
            thief.write(new byte[type == TcpFrame.WRITE ? 8 : 0]);
            thief.await(TcpFrame.DENIAL);
            thief.awaitEnd();
            owner.frame(TcpFrame.READ, frame -> {
                frame.address = stolen.address();
                frame.key = stolen.key();
                frame.length = 8;
            });
            owner.await(TcpFrame.DATA);
            assertThat(owner.data()).containsOnly(0);
        }
    }

    /** A write that has begun does not go on after the memory is gone. */
    @Test
    void writeIntoAnExportThatIsClosedMeanwhileIsDenied() throws Exception {
        Export export = nodes.server.export("table", table, AccessFlag.REMOTE_WRITE);
        try (TcpPeer peer = TcpPeer.greeted(nodes.server.address(), WINDOW)) {
            Channel channel = nodes.server.accept(DEADLINE);
            RemoteMemory memory = lookUp(peer);
            peer.frame(TcpFrame.WRITE, frame -> {
                frame.address = memory.address();
                frame.key = memory.key();
                frame.length = (int) memory.length();
            });
            peer.write((byte) 1);
            Await.until("the first byte has come", () -> table.get(ValueLayout.JAVA_BYTE, 0) == 1);
            export.close();
            peer.write((byte) 2);
            peer.await(TcpFrame.DENIAL);
            assertThat(table.get(ValueLayout.JAVA_BYTE, 1)).isZero();
            assertThat(awaitEnd(channel).reason()).isEqualTo(EndReason.LOST);
        }
    }

    /** The peer has begun to take the answer, and the rest is not sent. */
    @Test
    void answerFromAnExportThatIsClosedMeanwhileIsCutOff() throws Exception {
        int large = 16 << 20;
        Export export = nodes.server.export("table", nodes.arena.allocate(large), AccessFlag.REMOTE_READ);
        try (TcpPeer peer = TcpPeer.greeted(nodes.server.address(), WINDOW)) {
            Channel channel = nodes.server.accept(DEADLINE);
            RemoteMemory memory = lookUp(peer);
            peer.frame(TcpFrame.READ, frame -> {
                frame.address = memory.address();
                frame.key = memory.key();
                frame.length = large;
            });
            peer.read(1);
            export.close();
            assertThat(peer.awaitEndOfBytes()).isLessThan(large);
            assertThat(awaitEnd(channel)).hasMessageContaining("deregistered while it was sent");
            channel.close();
        }
        assertGoesOn();
    }

    /** The data of an answer that has begun does not go on after the memory is gone. */
    @Test
    void readIntoMemoryThatIsClosedMeanwhileEndsTheChannel() throws Exception {
        MemorySegment into = nodes.arena.allocate(SIZE);
        MemoryRegion region = nodes.server.register(into, AccessFlag.LOCAL_WRITE);
        try (TcpPeer peer = TcpPeer.greeted(nodes.server.address(), WINDOW)) {
            Channel channel = nodes.server.accept(DEADLINE);
            peer.await(TcpFrame.SEND);
            peer.frame(TcpFrame.ACKNOWLEDGEMENT, frame -> frame.number = 1);
            channel.tryRead(region, new RemoteMemory(8, 1, SIZE));
            peer.await(TcpFrame.READ);
            peer.frame(TcpFrame.DATA, frame -> frame.length = (int) SIZE);
            peer.write((byte) 1);
            Await.until("the first byte has come", () -> into.get(ValueLayout.JAVA_BYTE, 0) == 1);
            region.close();
            peer.write((byte) 2);
            assertThat(awaitEnd(channel)).hasMessageContaining("LOCAL_PROTECTION_ERROR");
            assertThat(into.get(ValueLayout.JAVA_BYTE, 1)).isZero();
            channel.close();
        }
        assertGoesOn();
    }

    /** The peer asks for much data, and takes none of it. The node's own messages are not acknowledged, which ends it. */
    @Test
    void peerThatReadsNothingLosesItsChannel() throws Exception {
        use(NodePair.SMALL.alive(Duration.ofMillis(100)));
        long large = 16 << 20;
        nodes.server.export("table", nodes.arena.allocate(large), AccessFlag.REMOTE_READ);
        try (TcpPeer peer = TcpPeer.greeted(nodes.server.address(), WINDOW)) {
            Channel channel = nodes.server.accept(DEADLINE);
            RemoteMemory memory = lookUp(peer);
            for (int i = 0; i < TcpFrame.MAX_READS; i++) {
                peer.frame(TcpFrame.READ, frame -> {
                    frame.address = memory.address();
                    frame.key = memory.key();
                    frame.length = (int) memory.length();
                });
            }
            assertThat(awaitEnd(channel).reason()).isEqualTo(EndReason.LOST);
            channel.close();
        }
        assertGoesOn();
    }

    /** Its messages show that it lives, and not that it takes what this side sends. */
    @Test
    void peerThatSendsAndAcknowledgesNothingLosesItsChannel() throws Exception {
        use(NodeOptions.defaults().window(4095).alive(Duration.ofMillis(100)));
        try (TcpPeer peer = TcpPeer.greeted(nodes.server.address(), WINDOW)) {
            Channel channel = nodes.server.accept(DEADLINE);
            NodePair.send(channel, 1);
            Await.until("the channel has ended", () -> {
                try {
                    peer.message(Wire.immediate(Wire.DATA, 0, 0), (byte) 1);
                } catch (IOException left) {
                    assertThat(channel.cause()).isPresent();
                }
                return channel.cause().isPresent();
            });
            assertThat(awaitEnd(channel).reason()).isEqualTo(EndReason.LOST);
        }
    }

    /** Random frames after a good greeting, many of which are almost right: whatever they do, the node goes on. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
    void randomFramesEndOneChannelAtMost(long seed) throws Exception {
        Random random = new Random(seed);
        nodes.server.export("table", table, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC);
        try (TcpPeer peer = TcpPeer.greeted(nodes.server.address(), WINDOW)) {
            Channel channel = nodes.server.accept(DEADLINE);
            RemoteMemory memory = lookUp(peer);
            try {
                for (int i = 0; i < 100; i++) {
                    int length = random.nextInt(random.nextBoolean() ? 64 : 300);
                    peer.frame(1 + random.nextInt(9), frame -> {
                        frame.length = random.nextInt(8) == 0 ? random.nextInt() : length;
                        frame.address = memory.address() + random.nextInt(random.nextInt(8) == 0 ? 9000 : 64);
                        frame.key = random.nextInt(16) == 0 ? random.nextInt() : memory.key();
                        frame.number = random.nextInt(8) == 0
                                ? random.nextInt()
                                : Wire.immediate(Wire.DATA, 0, random.nextInt(4));
                        frame.first = random.nextLong();
                    });
                    peer.write(new byte[random.nextInt(4) == 0 ? random.nextInt(64) : length]);
                }
            } catch (IOException closed) {
                // The node has ended the connection.
            }
            peer.socket.close();
            assertThatExceptionOfType(ChannelException.class).isThrownBy(() -> {
                while (true) {
                    channel.receive(DEADLINE).close();
                }
            });
            channel.close();
        }
        assertGoesOn();
    }

    @ParameterizedTest
    @ValueSource(ints = {TcpFrame.MAX_READS, TcpFrame.MAX_READS + 1})
    void atomicsBeyondTheLimitLoseTheirChannel(int count) throws Exception {
        nodes.server.export("table", table, AccessFlag.REMOTE_ATOMIC);
        try (TcpPeer peer = TcpPeer.greeted(nodes.server.address(), WINDOW)) {
            Channel channel = nodes.server.accept(DEADLINE);
            RemoteMemory memory = lookUp(peer);
            peer.atOnce(all -> {
                for (int i = 0; i < count; i++) {
                    all.frame(TcpFrame.FETCH_AND_ADD, frame -> {
                        frame.address = memory.address();
                        frame.key = memory.key();
                        frame.first = 1;
                    });
                }
            });
            if (count == TcpFrame.MAX_READS) {
                for (int i = 0; i < count; i++) {
                    assertThat(peer.await(TcpFrame.VALUE).first).isEqualTo(i);
                }
            } else {
                assertThat(awaitEnd(channel)).hasMessageContaining("more than 16 reads and atomics");
            }
            peer.socket.close();
            awaitEnd(channel);
            channel.close();
        }
        assertGoesOn();
    }

    /** A peer that does not end its side can't keep the connection for ever. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void connectionThatTheNodeHasLeftIsClosedSoon(boolean becameAChannel) throws Exception {
        try (TcpPeer peer = becameAChannel
                ? TcpPeer.greeted(nodes.server.address(), WINDOW)
                : new TcpPeer(nodes.server.address())) {
            if (becameAChannel) {
                Channel channel = nodes.server.accept(DEADLINE);
                peer.await(TcpFrame.ACKNOWLEDGEMENT);
                peer.frame(200, frame -> {});
                awaitEnd(channel);
                channel.close();
            } else {
                peer.write(new byte[TcpFrame.HELLO_BYTES]);
            }
            peer.awaitEndOfBytes();
            Await.until("the node resets the connection", () -> {
                try {
                    peer.write((byte) 0);
                    return false;
                } catch (IOException reset) {
                    return true;
                }
            });
        }
    }

    @Test
    void progressTellsHowMuchHasHappened() throws Exception {
        use(NodePair.SMALL.progress(NodeOptions.Progress.CALLER));
        assertThat(nodes.server.progress()).isZero();
        try (TcpPeer peer = TcpPeer.greeted(nodes.server.address(), WINDOW)) {
            Await.until("something has happened", () -> {
                int handled = nodes.server.progress();
                assertThat(handled).isNotNegative();
                return handled > 0;
            });
            assertThat(peer.socket.isConnected()).isTrue();
        }
    }

    /** A thread that looked again and again would get as much time as this one, which is busy. */
    @Test
    void openConnectionTakesNoTimeOfTheProcessor() throws Exception {
        NodePair.Ends ends = nodes.connect();
        NodePair.send(ends.client(), 5);
        assertThat(NodePair.receive(ends.server())).isEqualTo(5);
        ThreadMXBean times = ManagementFactory.getThreadMXBean();
        List<Thread> threads = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().contains("sockets"))
                .toList();
        assertThat(threads).hasSizeGreaterThanOrEqualTo(2);
        List<Long> before = threads.stream()
                .map(thread -> times.getThreadCpuTime(thread.threadId()))
                .toList();
        long busy = times.getCurrentThreadCpuTime() + 200_000_000;
        while (times.getCurrentThreadCpuTime() < busy) {
            Thread.onSpinWait();
        }
        for (int i = 0; i < threads.size(); i++) {
            assertThat(times.getThreadCpuTime(threads.get(i).threadId()) - before.get(i))
                    .as("%s", threads.get(i))
                    .isLessThan(50_000_000);
        }
    }

    // Servers that are no nodes

    private static ServerSocket fakeServer() throws IOException {
        return new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"));
    }

    @ParameterizedTest
    @CsvSource({
        "HTTP/1.1 400 Bad Request, PROTOCOL_ERROR, Its first bytes are not those of a node over TCP",
        "'VBNT\2xxxxxxxxxxx', OTHER_VERSION, 'It speaks version 2 over TCP, this side version 1'",
        "'', LOST, The peer has closed the connection"
    })
    void connectingToAnotherProgramTellsTheReason(String answer, EndReason reason, String details) throws Exception {
        try (ServerSocket fake = fakeServer()) {
            var answered = nodes.start(() -> {
                try (Socket socket = fake.accept()) {
                    socket.getOutputStream().write(answer.getBytes(StandardCharsets.ISO_8859_1));
                    socket.shutdownOutput();
                    return socket.getInputStream().readNBytes(TcpFrame.HELLO_BYTES);
                }
            });
            assertThatExceptionOfType(ChannelException.class)
                    .isThrownBy(() -> nodes.client.connect((InetSocketAddress) fake.getLocalSocketAddress(), DEADLINE))
                    .withMessageContaining(details)
                    .satisfies(told -> assertThat(told.reason()).isEqualTo(reason));
            assertThat(NodePair.end(answered))
                    .isEqualTo(TcpFrame.hello(false, 0).array());
        }
    }

    @Test
    void connectingWhereNobodyListensIsUnreachable() throws Exception {
        InetSocketAddress nobody;
        try (ServerSocket fake = fakeServer()) {
            nobody = (InetSocketAddress) fake.getLocalSocketAddress();
        }
        assertThatExceptionOfType(ChannelException.class)
                .isThrownBy(() -> nodes.client.connect(nobody, DEADLINE))
                .withMessageContaining("refused")
                .satisfies(told -> assertThat(told.reason()).isEqualTo(EndReason.UNREACHABLE));
    }

    /** A program that gives up leaves no connection behind. */
    @Test
    void connectionToAServerThatSaysNothingIsClosed() throws Exception {
        try (ServerSocket fake = fakeServer()) {
            var answered = nodes.start(() -> {
                try (Socket socket = fake.accept()) {
                    return socket.getInputStream().readAllBytes();
                }
            });
            assertThatExceptionOfType(VerbsTimeoutException.class)
                    .isThrownBy(() -> nodes.client.connect((InetSocketAddress) fake.getLocalSocketAddress(), SHORT));
            assertThat(NodePair.end(answered))
                    .isEqualTo(TcpFrame.hello(false, 0).array());
        }
    }

    @Test
    void peerThatLeavesWithoutGoodbyeIsLost() throws Exception {
        try (TcpPeer peer = TcpPeer.greeted(nodes.server.address(), WINDOW)) {
            Channel channel = nodes.server.accept(DEADLINE);
            peer.await(TcpFrame.ACKNOWLEDGEMENT);
            peer.socket.shutdownOutput();
            ChannelException end = awaitEnd(channel);
            assertThat(end.reason()).isEqualTo(EndReason.LOST);
            assertThat(end).hasMessageContaining("The peer has closed the connection");
            channel.close();
        }
        assertGoesOn();
    }

    /** The node can't accept a peer while all its descriptors are in use, and does so later. */
    @Test
    void peerThatCameWhenNoDescriptorWasFreeIsServedLater() throws Exception {
        try (TcpPeer before = TcpPeer.greeted(nodes.server.address(), WINDOW);
                Socket socket = new Socket()) {
            Channel channel = nodes.server.accept(DEADLINE);
            before.await(TcpFrame.ACKNOWLEDGEMENT);
            socket.bind(null); // takes its descriptor
            try (OpenFileLimit _ = OpenFileLimit.reached()) {
                socket.connect(nodes.server.address());
                before.message(Wire.immediate(Wire.DATA, 0, 0), (byte) 7); // the node's thread sees both
                try (Message message = channel.receive(DEADLINE)) {
                    assertThat(message.length()).isEqualTo(1);
                }
            }
            socket.setSoTimeout((int) DEADLINE.toMillis());
            socket.getOutputStream().write(TcpFrame.hello(false, 0).array());
            assertThat(socket.getInputStream().readNBytes(TcpFrame.HELLO_BYTES))
                    .isEqualTo(TcpFrame.hello(false, 0).array());
        }
    }

    // Memory

    @Test
    void memoryOfAnotherNodeIsRefused() throws Exception {
        nodes.server.export("table", table, AccessFlag.REMOTE_READ);
        NodePair.Ends ends = nodes.connect();
        RemoteMemory memory = ends.client().remote("table", DEADLINE);
        LocalMemory other = nodes.server.register(nodes.arena.allocate(SIZE), AccessFlag.LOCAL_WRITE);
        LocalMemory readOnly = nodes.client.register(nodes.arena.allocate(SIZE));
        LocalMemory small = nodes.client.register(nodes.arena.allocate(8), AccessFlag.LOCAL_WRITE);
        for (LocalMemory wrong : List.of(other, readOnly)) {
            assertThatIllegalArgumentException().isThrownBy(() -> ends.client().tryRead(wrong, memory));
        }
        assertThatExceptionOfType(IndexOutOfBoundsException.class)
                .isThrownBy(() -> ends.client().tryRead(small, memory.slice(0, 4)));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ends.client().tryFetchAndAdd(memory.slice(1, 8), 1))
                .withMessageContaining("multiple of 8");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ends.client().tryFetchAndAdd(memory.slice(0, 4), 1))
                .withMessageContaining("8 bytes");
        ends.client().read(small, memory.slice(0, 8), DEADLINE);
        assertThat(ends.client().isOpen()).isTrue();
    }

    /** The node's thread uses memory meanwhile, for example to receive into it. */
    @Test
    void memoryIsNotFreedWhileItIsUsed() throws Exception {
        TcpMemory memory = TcpMemory.create(nodes.arena);
        MemoryRegion region = memory.register(table, List.of(), nodes.arena);
        int key = region.localKey();
        MemoryRegion other = memory.register(table, List.of(), nodes.arena);
        Thread closing = Thread.ofPlatform().daemon().unstarted(region::close);
        try (var _ = memory.use()) {
            closing.start();
            Await.until("the other thread waits", () -> !closing.isAlive() || waitsForMutex(closing));
            assertThat(memory.find(null, key, table.address(), SIZE, null)).isNotNull();
        }
        Await.end(closing);
        assertThat(memory.find(null, key, table.address(), SIZE, null)).isNull();
        assertThat(memory.find(null, other.localKey(), table.address(), SIZE, null))
                .as("the other region")
                .isNotNull();
    }

    private static boolean waitsForMutex(Thread thread) {
        return Set.of(Thread.State.WAITING, Thread.State.TIMED_WAITING).contains(thread.getState())
                && Arrays.stream(thread.getStackTrace())
                        .anyMatch(frame -> frame.getClassName().equals(Mutex.class.getName()));
    }

    @Test
    void memoryHasNoDevice() {
        MemoryRegion region = nodes.client.register(nodes.arena.allocate(SIZE));
        assertThat(region.toString()).contains("4 KiB");
        for (Consumer<MemoryRegion> use : List.<Consumer<MemoryRegion>>of(MemoryRegion::domain, MemoryRegion::handle)) {
            assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> use.accept(region));
        }
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> nodes.client.context());
    }

    /** Data is read into small and large memory in different ways, and sent in pieces. */
    @Test
    void dataOfAllSizesArrivesWholeAndItsMemoryCanBeFreed() throws Exception {
        int most = 3 << 20;
        MemorySegment far = nodes.arena.allocate(most, 8);
        Export export = nodes.server.export(
                "table", far, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC);
        Channel client = nodes.connect().client();
        RemoteMemory memory = client.remote("table", DEADLINE);
        MemoryRegion region = nodes.client.register(nodes.arena.allocate(most, 8), AccessFlag.LOCAL_WRITE);
        MemorySegment near = region.segment();
        for (int size : new int[] {1, 8191, 8192, 8193, 1 << 16, (1 << 18) - 1, (1 << 18) + 1, (1 << 20) + 1, most}) {
            for (int i = 0; i < size; i++) {
                near.set(ValueLayout.JAVA_BYTE, i, (byte) (31 * i + size));
            }
            client.write(region.slice(0, size), memory.slice(most - size, size), DEADLINE);
            assertThat(near.asSlice(0, size).mismatch(far.asSlice(most - size)))
                    .as("written: %d", size)
                    .isEqualTo(-1);
            near.fill((byte) 0);
            client.read(region.slice(0, size), memory.slice(most - size, size), DEADLINE);
            assertThat(near.asSlice(0, size).mismatch(far.asSlice(most - size)))
                    .as("read: %d", size)
                    .isEqualTo(-1);
        }
        RemoteMemory last = memory.slice(most - Long.BYTES, Long.BYTES);
        far.set(ValueLayout.JAVA_LONG, most - Long.BYTES, 40);
        assertThat(client.fetchAndAdd(last, 2, DEADLINE)).isEqualTo(40);
        assertThat(client.compareAndSwap(last, 42, 43, DEADLINE)).isEqualTo(42);
        assertThat(far.get(ValueLayout.JAVA_LONG, most - Long.BYTES)).isEqualTo(43);
        region.close();
        export.close();
        assertThatExceptionOfType(ChannelException.class)
                .isThrownBy(() ->
                        client.write(nodes.client.register(nodes.arena.allocate(8)), memory.slice(0, 8), DEADLINE))
                .satisfies(told -> assertThat(told.reason()).isEqualTo(EndReason.ACCESS_DENIED));
    }

    /** The node carries the reads out one after the other, and the peer has no more than it may under way. */
    @Test
    void moreReadsThanMayBeUnderWayWait() throws Exception {
        use(NodeOptions.defaults().operations(200));
        for (int i = 0; i < SIZE / 8; i++) {
            table.setAtIndex(ValueLayout.JAVA_LONG, i, i);
        }
        nodes.server.export("table", table, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC);
        Channel client = nodes.connect().client();
        RemoteMemory memory = client.remote("table", DEADLINE);
        LocalMemory into = nodes.client.register(nodes.arena.allocate(SIZE, 8), AccessFlag.LOCAL_WRITE);
        List<Long> tickets = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            tickets.add(
                    i % 2 == 0
                            ? client.tryRead(into.slice(i * 8, 8), memory.slice(i * 8, 8))
                            : client.tryFetchAndAdd(memory.slice(i * 8, 8), 1));
        }
        for (int i = 0; i < 200; i++) {
            assertThat(client.await(tickets.get(i), DEADLINE)).isEqualTo(i % 2 == 0 ? 0 : i);
            assertThat(into.segment().getAtIndex(ValueLayout.JAVA_LONG, i)).isEqualTo(i % 2 == 0 ? i : 0);
        }
    }

    @Test
    void requestHasLessThanTwoGigabytes() throws Exception {
        long most = 1L << 31;
        Channel client = nodes.connect().client();
        LocalMemory huge = nodes.client.register(table.reinterpret(most), AccessFlag.LOCAL_WRITE); // it is not used
        assertThatExceptionOfType(IndexOutOfBoundsException.class)
                .isThrownBy(() -> client.tryWrite(huge, new RemoteMemory(8, 1, most)))
                .withMessageContaining("at most 2147483647, ");
    }

    /** Other requests don't count. */
    @Test
    void readBeyondTheLimitIsSentAfterAnAnswer() throws Exception {
        use(NodePair.SMALL.operations(3 * TcpFrame.MAX_READS));
        LocalMemory local = nodes.server.register(nodes.arena.allocate(8), AccessFlag.LOCAL_WRITE);
        RemoteMemory remote = new RemoteMemory(8, 1, 8);
        try (TcpPeer peer = TcpPeer.greeted(nodes.server.address(), WINDOW)) {
            Channel channel = nodes.server.accept(DEADLINE);
            peer.await(TcpFrame.SEND);
            peer.frame(TcpFrame.ACKNOWLEDGEMENT, frame -> frame.number = 1);
            for (int i = 0; i < TcpFrame.MAX_READS; i++) {
                channel.tryWrite(local, remote);
            }
            for (int i = 0; i < TcpFrame.MAX_READS + 1; i++) {
                channel.tryRead(local, remote);
            }
            for (int i = 0; i < TcpFrame.MAX_READS; i++) {
                peer.await(TcpFrame.READ);
            }
            for (int i = 0; i < 2; i++) { // what waited to be sent at the first is sent before the second
                peer.message(Wire.immediate(Wire.DATA, 0, 0), (byte) 1);
                assertThat(peer.next().type).isEqualTo(TcpFrame.ACKNOWLEDGEMENT);
            }
            peer.frame(TcpFrame.ACKNOWLEDGEMENT, frame -> frame.number = TcpFrame.MAX_READS);
            peer.frame(TcpFrame.DATA, frame -> frame.length = 8);
            peer.write(new byte[8]);
            assertThat(peer.next().type).isEqualTo(TcpFrame.READ);
        }
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
            long open = OpenFileLimit.count();
            assertThatExceptionOfType(VerbsException.class)
                    .isThrownBy(() -> NodePair.open(NodePair.SMALL, nodes.server.address(), arena))
                    .withMessageContaining("in use");
            assertThat(OpenFileLimit.count()).as("open files").isEqualTo(open);
        }
    }
}
