package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.verbena.internal.Deadline;
import dev.verbena.internal.link.Link;
import dev.verbena.internal.wire.Wire;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The ring of registered memory that the pieces of sealed transfers go through, one transfer after the other. */
class SealedRingTest extends TcpTest {
    private static final byte[] SECRET = "a secret of some 32 random bytes".getBytes(US_ASCII);

    /** The receiver of a transfer, between the steps of {@link Transfer#accept}. */
    private record Receiver(Message offer, RemoteMemory source, SealedFetch fetch) {
        static Receiver of(Channel channel, Engine engine, Message offer) {
            Buffer buffer = offer.owned();
            MemorySegment described = buffer.memory().asSlice(offer.length());
            RemoteMemory source = RemoteMemory.fromWide(described.asSlice(0, Wire.EXPORT_BYTES));
            byte[] key =
                    described.asSlice(Wire.EXPORT_BYTES, SealedOffer.KEY_BYTES).toArray(ValueLayout.JAVA_BYTE);
            return new Receiver(
                    offer, source, new SealedFetch(channel, engine, new Link.Shown(source), key, buffer.call));
        }

        byte read() throws InterruptedException {
            byte[] target = new byte[(int) source.length()];
            assertThat(fetch.read(
                            (from, data) -> MemorySegment.ofArray(target).copyFrom(data),
                            done -> {},
                            Deadline.after(DEADLINE),
                            DEADLINE))
                    .isNull();
            return target[0];
        }
    }

    private Future<Void> offer(Channel by, int value) {
        return nodes.start(() -> {
            by.offer(MemorySegment.ofArray(new byte[] {(byte) value}), new byte[0], DEADLINE);
            return null;
        });
    }

    /** A thread that has confirmed a transfer may lose its processor before it gives back what the transfer has used. */
    @Test
    void nextOfferMayHaveTheRingOfOneThatWasConfirmedJustNow() throws Exception {
        use(NodePair.SMALL.secret(SECRET));
        NodePair.Ends ends = nodes.connect();
        Engine engine = ends.server().session().engine;
        Future<Void> first = offer(ends.client(), 1);
        try (Message one = ends.server().receive(DEADLINE)) {
            Receiver slow = Receiver.of(ends.server(), engine, one);
            assertThat(slow.read()).isEqualTo((byte) 1);
            LocalMemory local = nodes.server
                    .register(nodes.arena.allocate(1), AccessFlag.LOCAL_WRITE)
                    .slice(0, 1);
            assertThatIllegalArgumentException()
                    .as("the ring is left")
                    .isThrownBy(() -> ends.server().tryRead(local, slow.source));
            one.transfer().confirm();
            NodePair.end(first);
            Future<Void> second = offer(ends.client(), 2);
            try (Message two = ends.server().receive(DEADLINE)) {
                Receiver next = Receiver.of(ends.server(), engine, two);
                assertThat(next.source).isEqualTo(slow.source);
                slow.fetch.close();
                assertThat(next.read()).isEqualTo((byte) 2);
                two.transfer().confirm();
                NodePair.end(second);
                next.fetch.close();
            }
        }
    }

    @Test
    void endOfAnOfferForgetsItsKeyAndItsData() throws Exception {
        use(NodePair.SMALL.secret(SECRET));
        Session session = nodes.connect().client().session();
        List<byte[]> read = new ArrayList<>();
        MemorySegment message = MemorySegment.ofArray(new byte[session.engine.options.offerBytes(1)]);
        SealedOffer offer = new SealedOffer(session.engine, session.rail.with(), 10, (_, into, _) -> {
            Arrays.fill(into, (byte) 7);
            read.add(into);
        });
        offer.taken(); // its ring stays
        offer.close();
        offer.describe(message, session.checkCanSend());
        assertThat(message.toArray(ValueLayout.JAVA_BYTE)).endsWith(new byte[SealedOffer.KEY_BYTES]);
        assertThat(read.getFirst()).containsOnly(0);
    }

    /** The ring of data of any size has two pieces. */
    @ParameterizedTest
    @ValueSource(longs = {SealedOffer.PIECE + 1, 3L * SealedOffer.PIECE, 1L << 40})
    void ringHasTwoPieces(long size) {
        assertThat(SealedOffer.ringBytes(size)).isEqualTo(2 * SealedOffer.sealedBytes(SealedOffer.PIECE));
    }

    /** A full disk is no reason to end a channel, whether the next piece was asked for already or not. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void fileThatCanNotBeWrittenLeavesTheTransferToBeRefused(int piece) throws Exception {
        use(NodePair.SMALL.secret(SECRET));
        NodePair.Ends ends = nodes.connect();
        byte[] secret = new byte[4 * SealedOffer.PIECE];
        Arrays.fill(secret, (byte) 7);
        Future<Void> offered = nodes.offer(ends.client(), secret);
        List<MemorySegment> opened = new ArrayList<>();
        IOException full = new IOException("No space left");
        try (Message offer = ends.server().receive(DEADLINE)) {
            Receiver receiver = Receiver.of(ends.server(), ends.server().session().engine, offer);
            TransferMemory.Sink file = (from, data) -> {
                opened.add(data);
                if (from == piece * SealedOffer.PIECE) {
                    throw full;
                }
            };
            assertThat(receiver.fetch.read(file, done -> {}, Deadline.after(DEADLINE), DEADLINE))
                    .isSameAs(full);
            receiver.fetch.close();
            assertThat(opened.getFirst().toArray(ValueLayout.JAVA_BYTE)).containsOnly(0);
            offer.transfer().refuse("the disk is full");
        }
        assertThat(NodePair.failure(offered))
                .isInstanceOf(CallException.class)
                .hasMessageContaining("the disk is full");
        NodePair.send(ends.client(), 4);
        assertThat(NodePair.receive(ends.server())).isEqualTo(4);
    }
}
