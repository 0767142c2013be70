package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.internal.wire.Seal;
import dev.verbena.internal.wire.Wire;
import dev.verbena.net.CutWire.Packet;
import dev.verbena.support.Await;
import dev.verbena.support.VethWire;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What a man in the middle of two adapters does to nodes with a secret, and to nodes without one: there the same packets reach
 * the program. The kernel's driver takes a packet with the right numbers and checksum. {@link ForgedPacketsTest} runs these
 * tests.
 */
class ForgedPackets {
    private static final NodeOptions CLEAR = NodeOptions.defaults()
            .window(4)
            .sends(4)
            .messageSize(256)
            .alive(DEADLINE)
            .handshakeTimeout(DEADLINE);

    private static final byte[] SECRET = "a secret of some 32 random bytes".getBytes(US_ASCII);
    private static final byte[] TEXT = "a text that is longer than eight bytes".getBytes(US_ASCII);

    private static CutWire wire;

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final VerbsArena arena = VerbsArena.ofShared();
    private Node server;
    private Node client;

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
        wire.tamper(CutWire.NONE);
        threads.shutdownNow();
        arena.close();
    }

    private static NodeOptions options(Protection protection) {
        return protection == Protection.NONE ? CLEAR : CLEAR.secret(SECRET).protection(protection);
    }

    private record Ends(Channel client, Channel server) {}

    private void open(NodeOptions ofClient, NodeOptions ofServer) {
        server = Node.open(new InetSocketAddress(VethWire.SECOND, 0), ofServer, arena);
        client = Node.open(new InetSocketAddress(VethWire.FIRST, 0), ofClient, arena);
    }

    private Ends connect() throws Exception {
        Future<Channel> accepted = threads.submit(() -> server.accept(DEADLINE));
        Channel made = client.connect(server.address(), DEADLINE);
        return new Ends(made, accepted.get(DEADLINE.toSeconds(), SECONDS));
    }

    private Ends connect(Protection protection) throws Exception {
        open(options(protection), options(protection));
        return connect();
    }

    private static void send(Channel on, String text) throws InterruptedException {
        byte[] bytes = text.getBytes(US_ASCII);
        try (Message message = on.message(DEADLINE).length(bytes.length)) {
            message.segment().copyFrom(MemorySegment.ofArray(bytes));
            on.send(message, DEADLINE);
        } catch (ChannelException ended) {
            assertThat(ended.reason()).isIn(EndReason.TAMPERED, EndReason.CLOSED_BY_PEER);
        }
    }

    /** Returns the next text that arrives, or the reason of the end. */
    private static String next(Channel channel) throws InterruptedException {
        try (Message message = channel.receive(DEADLINE)) {
            return new String(message.segment().toArray(ValueLayout.JAVA_BYTE), US_ASCII);
        } catch (ChannelException ended) {
            return ended.reason().name();
        }
    }

    /** Replaces the packets of the second message of the program, again if it is repeated. */
    private static CutWire.Tampering secondMessage(Forgery forgery) {
        List<Packet> messages = new ArrayList<>(); // each once
        return packet -> {
            if (!packet.toServer() || !packet.is(Wire.DATA)) {
                return List.of(packet);
            }
            if (messages.stream().noneMatch(known -> known.psn() == packet.psn())) {
                messages.add(packet);
            }
            boolean isSecond = messages.size() > 1 && messages.get(1).psn() == packet.psn();
            return List.of(isSecond ? forgery.of(messages.getFirst(), packet) : packet);
        };
    }

    private interface Forgery {
        Packet of(Packet first, Packet second);
    }

    /** Says three texts, and returns what arrives in place of the second one. */
    private String second(Protection protection, Forgery forgery) throws Exception {
        Ends ends = connect(protection);
        wire.tamper(secondMessage(forgery));
        send(ends.client, "pay 10");
        assertThat(next(ends.server)).isEqualTo("pay 10");
        send(ends.client, "pay 20");
        send(ends.client, "pay 30");
        String told = next(ends.server);
        assertThat(server.attacks().tampered()).isEqualTo(told.equals("TAMPERED") ? 1 : 0);
        return told;
    }

    @Test
    void checksumsAreThoseOfTheKernel() throws Exception {
        List<Packet> packets = new CopyOnWriteArrayList<>();
        wire.tamper(packet -> {
            packets.add(packet);
            return List.of(packet);
        });
        Ends ends = connect(Protection.NONE);
        send(ends.client, "12345"); // three bytes follow up to the next word
        assertThat(next(ends.server)).isEqualTo("12345");
        assertThat(packets).isNotEmpty().allSatisfy(packet -> {
            assertThat(packet.hasRightChecksum()).isTrue();
            assertThat(packet.with(packet.opcode(), packet.psn(), packet.rest()).frame())
                    .isEqualTo(packet.frame());
        });
    }

    /** Who knows what is said can change bits of what was encrypted, if nothing authenticates it. */
    @ParameterizedTest
    @CsvSource({"NONE, pay 90", "AUTHENTICATED, pay 90", "SEALED, TAMPERED"})
    void changedMessage(Protection protection, String told) throws Exception {
        assertThat(second(protection, (first, message) -> message.changed(Wire.HEADER_BYTES + 4, '2' ^ '9')))
                .isEqualTo(told);
    }

    @ParameterizedTest
    @CsvSource({"NONE, PROTOCOL_ERROR", "SEALED, TAMPERED"})
    void repeatedMessage(Protection protection, String told) throws Exception {
        assertThat(second(protection, (first, message) -> message.with(CutWire.SEND, message.psn(), first.rest())))
                .isEqualTo(told);
    }

    /** The adapter takes a write of no bytes, so that the numbers of packets go on. */
    @ParameterizedTest
    @CsvSource({"NONE, PROTOCOL_ERROR", "SEALED, TAMPERED"})
    void droppedMessage(Protection protection, String told) throws Exception {
        assertThat(second(protection, (first, message) -> message.with(CutWire.WRITE, message.psn(), new byte[16])))
                .isEqualTo(told);
    }

    @ParameterizedTest
    @CsvSource({"AUTHENTICATED, forged with room for a tag", "SEALED, TAMPERED"})
    void forgedMessage(Protection protection, String told) throws Exception {
        byte[] text = "forged with room for a tag".getBytes(US_ASCII);
        assertThat(second(protection, (first, message) -> forged(message, Wire.DATA, text)))
                .isEqualTo(told);
    }

    @ParameterizedTest
    @CsvSource({"NONE, CLOSED_BY_PEER", "SEALED, TAMPERED"})
    void forgedGoodbye(Protection protection, String told) throws Exception {
        assertThat(second(protection, (first, message) -> forged(message, Wire.GOODBYE, new byte[Seal.BYTES])))
                .isEqualTo(told);
    }

    /** Returns a message in place of another one, whose header anybody can read. */
    private static Packet forged(Packet in, int kind, byte[] text) {
        byte[] rest = Arrays.copyOf(in.rest(), Wire.HEADER_BYTES + text.length);
        MemorySegment message = MemorySegment.ofArray(rest);
        int sequence = Wire.sequence(message) - (Wire.isCounted(kind) ? 0 : 1);
        Wire.writeHeader(message, kind, 0, Wire.granted(message), sequence, Wire.received(message));
        System.arraycopy(text, 0, rest, Wire.HEADER_BYTES, text.length);
        return in.with(CutWire.SEND, in.psn(), rest);
    }

    /** Who sees no packets has to guess the number of the next one. */
    @Test
    void forgedPacketsWithGuessedNumbersReachNobody() throws Exception {
        byte[] text = "forged".getBytes(US_ASCII);
        Ends ends = connect(Protection.NONE);
        AtomicBoolean done = new AtomicBoolean();
        wire.tamper(packet -> {
            if (!packet.toServer() || !packet.is(Wire.DATA) || done.getAndSet(true)) {
                return List.of(packet);
            }
            List<Packet> all = new ArrayList<>();
            for (int guess : new int[] {-1000, -1, 2, 1000, 1 << 22}) {
                Packet made = forged(packet, Wire.DATA, text);
                all.add(made.with(CutWire.SEND, packet.psn() + guess, made.rest()));
            }
            all.add(packet);
            return all;
        });
        for (int i = 0; i < 3; i++) {
            send(ends.client, "pay " + i);
            assertThat(next(ends.server)).isEqualTo("pay " + i);
        }
        assertThat(done).isTrue();
    }

    // Memory

    private MemorySegment table;

    private Ends withTable(Protection protection) throws Exception {
        open(options(protection), options(protection));
        table = arena.allocate(64, 8).fill((byte) 1);
        server.export("table", table, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE)
                .inTheClear();
        return connect();
    }

    private LocalMemory local() {
        LocalMemory made = client.register(arena.allocate(64, 8), AccessFlag.LOCAL_WRITE);
        made.segment().fill((byte) 2);
        return made;
    }

    /** No software at the far end seals what an adapter does by itself: what the Javadoc of inTheClear says. */
    @ParameterizedTest
    @CsvSource({"AUTHENTICATED", "SEALED"})
    void writesToExportsCanBeChanged(Protection protection) throws Exception {
        Ends ends = withTable(protection);
        RemoteMemory remote = ends.client.remote("table", DEADLINE);
        wire.tamper(packet -> List.of(isWrite(packet) ? packet.changed(packet.rest().length - 1, 2 ^ 9) : packet));
        ends.client.write(local(), remote, DEADLINE);
        assertThat(table.get(ValueLayout.JAVA_BYTE, 62)).isEqualTo((byte) 2);
        assertThat(table.get(ValueLayout.JAVA_BYTE, 63)).isEqualTo((byte) 9);
    }

    private static boolean isWrite(Packet packet) {
        return packet.toServer() && packet.isReliable() && packet.opcode() == CutWire.WRITE;
    }

    private static Packet withKey(Packet write, int key) {
        byte[] rest = write.rest();
        ByteBuffer.wrap(rest).putInt(8, key);
        return write.with(CutWire.WRITE, write.psn(), rest);
    }

    /** The key is right, and belongs to the queue pair of the other channel; or it is guessed. */
    @ParameterizedTest
    @CsvSource({"AUTHENTICATED, true", "SEALED, true", "SEALED, false"})
    void writesWithOtherKeysChangeNothing(Protection protection, boolean ofAnotherChannel) throws Exception {
        Ends ends = withTable(protection);
        Ends others = connect();
        int key = ofAnotherChannel
                ? others.client.remote("table", DEADLINE).key()
                : ends.client.remote("table", DEADLINE).key() + 1;
        RemoteMemory remote = ends.client.remote("table", DEADLINE);
        wire.tamper(packet -> List.of(isWrite(packet) ? withKey(packet, key) : packet));
        NodePair.failure(EndReason.ACCESS_DENIED, () -> ends.client.write(local(), remote, DEADLINE));
        assertThat(table.mismatch(arena.allocate(64).fill((byte) 1))).isEqualTo(-1);
        if (ofAnotherChannel) {
            others.client.write(local(), others.client.remote("table", DEADLINE), DEADLINE);
            assertThat(table.get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) 2);
        }
    }

    /** A write in place of a message changes an export in the clear, and the message is missed. */
    @Test
    void forgedWriteInPlaceOfASealedMessageIsFoundOut() throws Exception {
        Ends ends = withTable(Protection.SEALED);
        RemoteMemory remote = ends.client.remote("table", DEADLINE);
        byte[] write = ByteBuffer.allocate(16 + 8)
                .putLong(remote.address())
                .putInt(remote.key())
                .putInt(8)
                .putLong(9)
                .array();
        wire.tamper(secondMessage((first, message) -> message.with(CutWire.WRITE, message.psn(), write)));
        send(ends.client, "one");
        assertThat(next(ends.server)).isEqualTo("one");
        send(ends.client, "two");
        send(ends.client, "three");
        assertThat(next(ends.server)).isEqualTo("TAMPERED");
        assertThat(table.get(ValueLayout.JAVA_BYTE, 7)).isEqualTo((byte) 9);
    }

    // Transfers

    /** Returns what arrives of a transfer whose bytes are changed on their way, or the reason of the end. */
    @ParameterizedTest
    @CsvSource({"NONE, A text", "AUTHENTICATED, A text", "SEALED, TAMPERED"})
    void changedTransfer(Protection protection, String told) throws Exception {
        Ends ends = connect(protection);
        wire.tamper(packet -> List.of(
                packet.toServer() && packet.isReliable() && packet.opcode() == CutWire.READ_ANSWER
                        ? packet.changed(4, 'a' ^ 'A')
                        : packet));
        assertThat(transfer(ends)).startsWith(told);
    }

    private String transfer(Ends ends) throws Exception {
        Future<Void> offered = threads.submit(() -> {
            ends.client.offer(MemorySegment.ofArray(TEXT), new byte[0], DEADLINE);
            return null;
        });
        byte[] target = new byte[TEXT.length];
        try (Message offer = ends.server.receive(DEADLINE);
                Transfer transfer = offer.transfer()) {
            transfer.accept(MemorySegment.ofArray(target), DEADLINE);
        } catch (ChannelException ended) {
            return ended.reason().name();
        }
        offered.get(DEADLINE.toSeconds(), SECONDS);
        return new String(target, US_ASCII);
    }

    // What is seen

    @ParameterizedTest
    @CsvSource({"NONE, true", "AUTHENTICATED, true", "SEALED, false"})
    void textIsSeenOnTheWire(Protection protection, boolean seen) throws Exception {
        String text = new String(TEXT, US_ASCII);
        wire.takeSeen();
        NodeOptions options = options(protection).token(Arrays.copyOf(TEXT, 16));
        open(options, options);
        Ends ends = connect();
        byte[] greetings = wire.takeSeen();
        send(ends.client, text);
        assertThat(next(ends.server)).isEqualTo(text);
        byte[] message = wire.takeSeen();
        assertThat(transfer(ends)).isEqualTo(text);
        assertThat(List.of(
                        SecretTest.hasRunOf(greetings, TEXT),
                        SecretTest.hasRunOf(message, TEXT),
                        SecretTest.hasRunOf(wire.takeSeen(), TEXT)))
                .containsExactly(protection == Protection.NONE, seen, seen);
    }

    // Greetings

    /** Another client's greeting, with its token, in place of the client's own. */
    @ParameterizedTest
    @CsvSource({"NONE, true", "AUTHENTICATED, false", "SEALED, false"})
    void repeatedGreeting(Protection protection, boolean admitted) throws Exception {
        ConcurrentLinkedQueue<String> tokens = new ConcurrentLinkedQueue<>();
        AtomicReference<Packet> recorded = new AtomicReference<>();
        NodeOptions options = options(protection);
        open(
                options.token("known".getBytes(US_ASCII)),
                options.admit((peer, token) -> tokens.add(new String(token, US_ASCII))));
        Node stranger = Node.open(
                new InetSocketAddress(VethWire.FIRST, 0),
                protection == Protection.NONE
                        ? options
                        : options.secret(new byte[16]).protection(protection),
                arena);
        wire.tamper(packet -> {
            if (packet.toServer() && packet.is(Wire.GREETING)) {
                recorded.compareAndSet(null, packet);
            }
            return List.of(packet);
        });
        connect();
        wire.tamper(packet -> List.of(
                packet.toServer() && packet.is(Wire.GREETING)
                        ? packet.with(CutWire.SEND, packet.psn(), recorded.get().rest())
                        : packet));
        if (admitted) {
            stranger.connect(server.address(), DEADLINE);
            assertThat(tokens).containsExactly("known", "known");
        } else {
            NodePair.failure(EndReason.WRONG_SECRET, () -> stranger.connect(server.address(), DEADLINE));
            Await.until("the server has given up", () -> server.toString().contains("(1 of"));
            assertThat(tokens).containsExactly("known");
        }
        assertThat(server.statistics().opened()).isEqualTo(admitted ? 2 : 1);
    }
}
