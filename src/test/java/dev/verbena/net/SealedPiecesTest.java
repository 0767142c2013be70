package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.Deadline;
import dev.verbena.internal.wire.Wire;
import dev.verbena.support.Await;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What both sides of a sealed transfer say about its pieces: when connections are lost, when files fail, at the end. */
class SealedPiecesTest extends TcpTest {
    private static final byte[] SECRET = "a secret of some 32 random bytes".getBytes(US_ASCII);
    private static final int PIECES = 4;
    private static final int SIZE_OF_ALL = PIECES * SealedOffer.PIECE;

    private NodePair.Ends ends;
    private Pulls pulls;

    @BeforeEach
    void connect() throws Exception {
        use(NodePair.SMALL.secret(SECRET).heal(DEADLINE).maxTransferSize(SIZE_OF_ALL));
        ends = nodes.connect();
        pulls = ends.server().messages().pulls;
    }

    /** Has the client offer what a source says. */
    private Future<Void> offer(SealedOffer.Source source) {
        Session session = ends.client().session();
        return nodes.run(() -> {
            try (SealedOffer data = new SealedOffer(session.engine, session.rail.with(), SIZE_OF_ALL, source);
                    Message request = ends.client().message(DEADLINE).length(session.engine.options.offerBytes(1))) {
                data.describe(request.segment().fill((byte) 0), session.checkCanSend());
                session.messages.calls.call(request, Wire.OFFER, data, DEADLINE).close();
            }
        });
    }

    private static byte part(long from) {
        return (byte) (from / SealedOffer.PART + 1);
    }

    /** One side asks for a piece, and the other says that it is ready, while they have no connection. */
    @Test
    void transferGoesOnOverOtherConnections() throws Exception {
        Future<Void> offered = offer((from, into, length) -> {
            if (from == 3 * SealedOffer.PIECE - SealedOffer.PART) {
                HealTest.cut(ends.client());
            }
            Arrays.fill(into, 0, length, part(from));
        });
        byte[] target = new byte[SIZE_OF_ALL];
        try (Message offer = ends.server().receive(DEADLINE);
                Transfer transfer = offer.transfer()) {
            transfer.accept(
                    MemorySegment.ofArray(target),
                    done -> {
                        if (done == SealedOffer.PIECE) {
                            HealTest.cut(ends.server());
                        }
                    },
                    DEADLINE);
        }
        NodePair.end(offered);
        for (int from = 0; from < SIZE_OF_ALL; from += SealedOffer.PART) {
            assertThat(target[from]).isEqualTo(part(from));
        }
        assertThat(ends.server().statistics().reconnects()).isEqualTo(2);
    }

    @ParameterizedTest(name = "without a connection: {0}")
    @ValueSource(booleans = {false, true})
    void peerIsToldThatAnOfferIsGivenUp(boolean cut) throws Exception {
        Future<Void> offered = offer((from, into, length) -> {
            if (from == 2 * SealedOffer.PIECE) {
                if (cut) {
                    HealTest.cut(ends.client());
                }
                throw new IOException("shorter than before");
            }
        });
        try (Message _ = ends.server().receive(DEADLINE)) {
            assertThat(pulls.tryPull(0)).isTrue();
            assertThat(NodePair.failure(offered)).isInstanceOf(UncheckedIOException.class);
            NodePair.endOf(ends.server(), EndReason.ACCESS_DENIED);
        }
    }

    @Test
    void peerThatAsksForAPieceLaterIsToldToo() throws Exception {
        Future<Void> offered = offer((from, into, length) -> {});
        try (Message _ = ends.server().receive(DEADLINE)) {
            offered.cancel(true);
            Calls.Call call = ends.client().messages().calls.at(0);
            Await.until("the offer is given up", () -> call.state == Calls.Call.State.FORGOTTEN);
            assertThat(pulls.tryPull(0)).isTrue();
            NodePair.endOf(ends.server(), EndReason.ACCESS_DENIED);
        }
    }

    /** The bytes are none of a request for a piece, or the request before is not answered. */
    @ParameterizedTest
    @CsvSource({"1, with 1 bytes out of order", "0, 'a piece of offer 0, which has none'"})
    void wrongRequestForAPieceEndsTheChannel(int bytes, String told) throws Exception {
        Future<Void> offered = offer((from, into, length) -> {});
        Session session = ends.server().session();
        try (Message _ = ends.server().receive(DEADLINE);
                Message wrong = ends.server().message(DEADLINE).length(bytes)) {
            try (var _ = ends.client().session().lock.held()) {
                ends.client().messages().calls.at(0).pulled = bytes == 0;
            }
            try (var _ = session.lock.held()) {
                session.messages.totals.write(wrong.owned().all, Wire.PULL, 0);
                session.rail.send(session.checkCanSend(), wrong.owned());
            }
            NodePair.endOf(ends.server(), EndReason.PROTOCOL_ERROR);
        }
        assertThat(NodePair.failure(offered)).hasMessageContaining(told);
    }

    @ParameterizedTest(name = "the peer closes: {0}")
    @ValueSource(booleans = {true, false})
    void threadsThatWaitForAPieceOrForRoomSeeTheEnd(boolean ofPeer) throws Exception {
        Session session = ends.server().session();
        Supplier<@Nullable Boolean> noRoom = () -> session.checkCanSend() == null ? Boolean.TRUE : null;
        List<FutureTask<@Nullable Boolean>> waits = new ArrayList<>();
        waits.add(new FutureTask<>(
                () -> session.engine.await(pulls.come(0), () -> pulls.takePiece(0), Deadline.FOREVER)));
        waits.add(new FutureTask<>(() -> session.engine.await(pulls.room, noRoom, Deadline.FOREVER)));
        for (FutureTask<?> wait : waits) {
            Thread thread = Thread.ofPlatform().daemon().start(wait);
            Await.until("it waits", () -> Await.isAsleep(thread));
        }
        (ofPeer ? ends.client() : ends.server()).close();
        for (FutureTask<?> wait : waits) {
            assertThat(NodePair.failure(wait))
                    .isInstanceOf(ofPeer ? ChannelException.class : IllegalStateException.class);
        }
    }

    @Test
    void wordThatIsAcknowledgedMakesRoom() throws Exception {
        offer((from, into, length) -> {});
        AtomicBoolean room = new AtomicBoolean();
        FutureTask<@Nullable Boolean> wait = new FutureTask<>(() -> ends.server()
                .session()
                .engine
                .await(pulls.room, () -> room.get() ? Boolean.TRUE : null, Deadline.FOREVER));
        try (Message _ = ends.server().receive(DEADLINE)) {
            Thread thread = Thread.ofPlatform().daemon().start(wait);
            Await.until("it waits", () -> Await.isAsleep(thread));
            room.set(true);
            assertThat(pulls.tryPull(0)).isTrue();
            assertThat(NodePair.end(wait)).isTrue();
        }
    }
}
