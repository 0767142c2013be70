package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.VerbsArena;
import dev.verbena.internal.Errno;
import dev.verbena.support.ArenaKind;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.PostedRequest;
import dev.verbena.support.PostedRequest.Piece;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Each field of a request as the driver receives it, by each way to the driver: plain and critical calls, the function
 * of a queue pair and those of an extended one, one thread and many.
 */
@FencedTest
class PostedFieldsTest {
    private static final int FENCE = 1;
    private static final int SIGNALED = 2;
    private static final int SOLICITED = 4;
    private static final int INLINE = 8;

    /**
     * A way from a program to the driver.
     *
     * @param calls the value of the system property that chooses critical or plain calls
     * @param extended whether the functions of an extended queue pair post
     * @param apart whether sends and receives complete in different queues: then the log of requests may be short
     */
    record Way(String calls, ArenaKind arena, boolean extended, boolean apart) {
        Loopback connected() {
            return connected(options -> options);
        }

        Loopback connected(UnaryOperator<QueuePairOptions> more) {
            return make(() -> Loopback.connected(
                    arena.make(),
                    QueuePairAttributes.none(),
                    options -> more.apply(
                            options(options).inlineSize(64).sendSge(3).receiveSge(3))));
        }

        QueuePairOptions options(QueuePairOptions options) {
            QueuePairOptions queues = options;
            CompletionQueue sends = QueuePairOptions.SEND_QUEUE.of(options);
            if (apart && sends != null && sends == QueuePairOptions.RECEIVE_QUEUE.of(options)) {
                queues = QueuePair.rc(sends, sends.context().createCompletionQueue(256));
            }
            return extended ? queues.operations(EnumSet.allOf(QueuePairOptions.OfferedOperation.class)) : queues;
        }

        /** Makes objects of a context whose driver is called in this way. */
        Loopback make(Supplier<Loopback> maker) {
            String property = "dev.verbena.critical";
            System.setProperty(property, calls);
            try {
                return maker.get();
            } finally {
                System.clearProperty(property);
            }
        }
    }

    static Stream<Way> ways() {
        return Stream.of("none", "post")
                .flatMap(calls -> Stream.of(ArenaKind.values())
                        .flatMap(kind -> Stream.of(false, true)
                                .flatMap(extended -> Stream.of(false, true)
                                        .filter(apart -> apart || calls.equals("post"))
                                        .map(apart -> new Way(calls, kind, extended, apart)))));
    }

    static LocalMemory local(Loopback loopback, int i) {
        return loopback.left.buffer.slice(64L * i, 9 + i);
    }

    static Piece piece(Loopback loopback, int i) {
        return new Piece(loopback.left.buffer.address() + 64L * i, 9 + i, loopback.left.buffer.localKey());
    }

    static RemoteMemory remote(Loopback loopback, int i) {
        return loopback.right.buffer.remote().slice(4096 + 128L * i, 64 + i);
    }

    private static List<Object> place(Loopback loopback, int i) {
        MemoryRegion region = loopback.right.buffer;
        return List.of(region.address() + 4096 + 128L * i, region.remoteKey());
    }

    static void receives(Loopback loopback, int count) {
        for (int i = 0; i < count; i++) {
            loopback.right.pair.postReceive(1000 + i, loopback.right.buffer.slice(64L * i, 64));
        }
    }

    static void done(Loopback loopback, long... ids) throws InterruptedException {
        for (long id : ids) {
            assertThat(loopback.left.done().id()).isEqualTo(id);
        }
        assertThat(loopback.left.queue.poll()).isNull();
    }

    private static void check(
            PostedRequest request, Loopback loopback, long id, Operation operation, int flags, Piece... pieces) {
        assertThat(request.queue()).isEqualTo(loopback.left.pair.number());
        assertThat(request.isExtended()).isEqualTo(loopback.left.pair.isExtended());
        assertThat(request.id()).isEqualTo(id);
        assertThat(request.operation()).isEqualTo(operation);
        assertThat(request.flags()).isEqualTo(flags);
        assertThat(request.pieces()).containsExactly(pieces);
    }

    /** The first post of a kind takes another way than the later ones. */
    @ParameterizedTest
    @MethodSource("ways")
    void requestsOfOneKindHaveTheirFields(Way way) throws InterruptedException {
        try (Loopback loopback = way.connected()) {
            SendBatch batch = loopback.left.pair.sendBatch(3);
            for (int round = 0; round < 3; round++) {
                int first = 10 * round;
                batch.clear();
                for (int i = 0; i < 3 - round; i++) { // a shorter batch each time
                    batch.write((long) i << 40 | first + i, local(loopback, first + i), remote(loopback, first + i));
                }
                assertThat(batch.post()).isEqualTo(3 - round);
                List<PostedRequest> posted = PostedRequest.latest(3 - round);
                for (int i = 0; i < 3 - round; i++) {
                    long id = (long) i << 40 | first + i;
                    check(posted.get(i), loopback, id, Operation.RDMA_WRITE, SIGNALED, piece(loopback, first + i));
                    assertThat(posted.get(i).remote()).isEqualTo(place(loopback, first + i));
                    assertThat(loopback.left.done().id()).isEqualTo(id);
                }
                loopback.left.pair.postWrite(first + 7, local(loopback, first + 7), remote(loopback, first + 7));
                check(
                        PostedRequest.last(),
                        loopback,
                        first + 7,
                        Operation.RDMA_WRITE,
                        SIGNALED,
                        piece(loopback, first + 7));
                assertThat(PostedRequest.last().remote()).isEqualTo(place(loopback, first + 7));
                done(loopback, first + 7);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void singleRequestsOfManyKindsHaveTheirFields(Way way) throws InterruptedException {
        try (Loopback loopback = way.connected()) {
            QueuePair pair = loopback.left.pair;
            for (int round = 0; round < 3; round++) {
                int i = 10 * round;
                receives(loopback, 1);
                pair.postSend(0x5_0000_0000L + i, local(loopback, i));
                check(PostedRequest.last(), loopback, 0x5_0000_0000L + i, Operation.SEND, SIGNALED, piece(loopback, i));
                pair.postWrite(i + 1, local(loopback, i + 1), remote(loopback, i + 1));
                check(PostedRequest.last(), loopback, i + 1, Operation.RDMA_WRITE, SIGNALED, piece(loopback, i + 1));
                assertThat(PostedRequest.last().remote()).isEqualTo(place(loopback, i + 1));
                pair.postRead(i + 2, local(loopback, i + 2), remote(loopback, i + 2));
                check(PostedRequest.last(), loopback, i + 2, Operation.RDMA_READ, SIGNALED, piece(loopback, i + 2));
                assertThat(PostedRequest.last().remote()).isEqualTo(place(loopback, i + 2));
                done(loopback, 0x5_0000_0000L + i, i + 1, i + 2);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void batchOfManyKindsHasItsFields(Way way) throws InterruptedException {
        try (Loopback loopback = way.connected()) {
            SendBatch batch = loopback.left.pair.sendBatch(5);
            for (int round = 0; round < 3; round++) {
                int i = 10 * round;
                receives(loopback, 3);
                batch.clear()
                        .send(i, local(loopback, i))
                        .solicited()
                        .write(i + 1, local(loopback, i + 1), remote(loopback, i + 1))
                        .fence()
                        .read(i + 2, local(loopback, i + 2), remote(loopback, i + 2))
                        .send(i + 3, local(loopback, i + 3))
                        .immediate(0x01020304 + round)
                        .write(i + 4, local(loopback, i + 4), remote(loopback, i + 4))
                        .immediate(-5 - round)
                        .unsignaled();
                assertThat(batch.post()).isEqualTo(5);
                List<PostedRequest> posted = PostedRequest.latest(5);
                check(posted.get(0), loopback, i, Operation.SEND, SIGNALED | SOLICITED, piece(loopback, i));
                check(posted.get(1), loopback, i + 1, Operation.RDMA_WRITE, SIGNALED | FENCE, piece(loopback, i + 1));
                assertThat(posted.get(1).remote()).isEqualTo(place(loopback, i + 1));
                check(posted.get(2), loopback, i + 2, Operation.RDMA_READ, SIGNALED, piece(loopback, i + 2));
                assertThat(posted.get(2).remote()).isEqualTo(place(loopback, i + 2));
                check(posted.get(3), loopback, i + 3, Operation.SEND_WITH_IMMEDIATE, SIGNALED, piece(loopback, i + 3));
                assertThat(posted.get(3).immediate()).isEqualTo(0x01020304 + round);
                check(posted.get(4), loopback, i + 4, Operation.RDMA_WRITE_WITH_IMMEDIATE, 0, piece(loopback, i + 4));
                assertThat(posted.get(4).immediate()).isEqualTo(-5 - round);
                assertThat(posted.get(4).remote()).isEqualTo(place(loopback, i + 4));
                done(loopback, i, i + 1, i + 2, i + 3);
            }
        }
    }

    /** The first post of a kind is checked more than the later ones, which must write the same fields. */
    @ParameterizedTest
    @MethodSource("ways")
    void laterPostsPassTheFieldsOfTheFirst(Way way) throws InterruptedException {
        for (int kind = 0; kind < 10; kind++) {
            try (Loopback loopback = way.connected()) {
                QueuePair pair = loopback.left.pair;
                MemoryRegion here = loopback.left.buffer;
                RemoteMemory there = loopback.right.buffer.remote().slice(512, 64);
                receives(loopback, 6);
                SendBatch batch = pair.sendBatch(2);
                for (int i = 0; i < 2; i++) {
                    LocalMemory local = local(loopback, 3 + i);
                    switch (kind) {
                        case 0 -> batch.send(i, local);
                        case 1 -> batch.write(i, local, there);
                        case 2 -> batch.read(i, local, there);
                        case 3 -> batch.send(i, local).immediate(7 + i);
                        case 4 -> batch.write(i, local, there).immediate(7 + i);
                        case 5 -> batch.send(i, local).invalidate(9 + i);
                        case 6 -> batch.fetchAndAdd(i, local, there, 11 + i);
                        case 7 -> batch.compareAndSwap(i, local, there, 13 + i, 17 + i);
                        case 8 -> batch.writeInline(i, MemorySegment.ofArray(new byte[] {5, (byte) i}), there);
                        default -> batch.write(i, local, there).and(here.slice(900, 12 + i));
                    }
                }
                List<List<Object>> first = List.of();
                for (int round = 0; round < 3; round++) {
                    batch.post();
                    List<List<Object>> fields = PostedRequest.latest(2).stream()
                            .map(PostedFieldsTest::fields)
                            .toList();
                    first = round == 0 ? fields : first;
                    assertThat(fields).as("kind %d, round %d", kind, round).isEqualTo(first);
                    done(loopback, 0, 1);
                }
                Operation operation = PostedRequest.last().operation();
                boolean isOneKind = operation.plain() == operation; // others began as another operation
                assertThat(batch.log.letsThrough(operation.code()))
                        .as("only posts of one kind need no more checks, and not those of software that is extended")
                        .isEqualTo(isOneKind && way.apart && !way.extended);
            }
        }
    }

    private static List<Object> fields(PostedRequest request) {
        return List.of(
                request.id(),
                request.operation(),
                request.flags(),
                request.isExtended(),
                request.immediate(),
                request.atomic(),
                (request.flags() & INLINE) == 0 ? request.pieces() : List.of(request.data(2)[1], request.data(2)[0]));
    }

    @ParameterizedTest
    @MethodSource("ways")
    void requestsWithManyPiecesHaveAll(Way way) throws InterruptedException {
        try (Loopback loopback = way.connected()) {
            SendBatch batch = loopback.left.pair.sendBatch(4);
            MemoryRegion here = loopback.left.buffer;
            receives(loopback, 2);
            batch.write(1, here.slice(0, 8), remote(loopback, 1))
                    .and(here.slice(64, 8))
                    .and(here.slice(128, 8))
                    .send(2)
                    .write(3, here.slice(192, 5), remote(loopback, 3))
                    .and(here.slice(256, 6))
                    .send(4)
                    .and(here.slice(320, 7));
            batch.post();
            List<PostedRequest> posted = PostedRequest.latest(4);
            int key = here.localKey();
            check(
                    posted.get(0),
                    loopback,
                    1,
                    Operation.RDMA_WRITE,
                    SIGNALED,
                    new Piece(here.address(), 8, key),
                    new Piece(here.address() + 64, 8, key),
                    new Piece(here.address() + 128, 8, key));
            assertThat(posted.get(0).remote()).isEqualTo(place(loopback, 1));
            assertThat(posted.get(1).pieces()) // some drivers finish a request in the setter of its pieces
                    .isEqualTo(way.extended ? List.of(new Piece(0, 0, 0)) : List.of());
            assertThat(posted.get(1).id()).isEqualTo(2);
            // Some releases of soft-RoCE mistake pieces of several lengths in the functions of an extended queue pair.
            assertThat(posted.get(2).isExtended())
                    .isEqualTo(way.extended && !loopback.context.provider().equalPieces());
            assertThat(posted.get(2).pieces())
                    .containsExactly(new Piece(here.address() + 192, 5, key), new Piece(here.address() + 256, 6, key));
            check(posted.get(3), loopback, 4, Operation.SEND, SIGNALED, new Piece(here.address() + 320, 7, key));
            done(loopback, 1, 2, 3, 4);
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void inlineDataIsPassedByValue(Way way) throws InterruptedException {
        try (Loopback loopback = way.connected()) {
            SendBatch batch = loopback.left.pair.sendBatch(2);
            for (int round = 0; round < 2; round++) {
                receives(loopback, 2);
                batch.clear()
                        .writeInline(
                                round,
                                MemorySegment.ofArray(new byte[] {1, 2, 3}),
                                remote(loopback, 3).slice(0, 5))
                        .andInline(MemorySegment.ofArray(new byte[] {4, 5}))
                        .sendInline(round + 10, MemorySegment.ofArray(new byte[] {6, 7, 8, (byte) round}));
                batch.post();
                List<PostedRequest> posted = PostedRequest.latest(2);
                assertThat(posted.get(0).id()).isEqualTo(round);
                assertThat(posted.get(0).operation()).isEqualTo(Operation.RDMA_WRITE);
                assertThat(posted.get(0).flags()).isEqualTo(SIGNALED | INLINE);
                assertThat(posted.get(0).data(5)).containsExactly(1, 2, 3, 4, 5);
                assertThat(posted.get(0).pieces())
                        .hasSize(1)
                        .allMatch(piece -> piece.length() == 5 && piece.key() == 0);
                long at = posted.get(0).pieces().getFirst().address() - batch.memory.address();
                assertThat(at < 0 || at >= batch.memory.byteSize())
                        .as("a function of an extended queue pair copies the data")
                        .isEqualTo(way.extended);
                assertThat(posted.get(0).remote()).isEqualTo(place(loopback, 3));
                assertThat(posted.get(1).id()).isEqualTo(round + 10);
                assertThat(posted.get(1).operation()).isEqualTo(Operation.SEND);
                assertThat(posted.get(1).data(4)).containsExactly(6, 7, 8, round);
                assertThat(posted.get(1).pieces()).hasSize(1).allMatch(piece -> piece.length() == 4);
                done(loopback, round, round + 10);
                loopback.left.pair.postWriteInline(
                        77, MemorySegment.ofArray(new byte[] {9, (byte) round}), remote(loopback, 4));
                assertThat(PostedRequest.last().data(2)).containsExactly(9, round);
                assertThat(PostedRequest.last().remote()).isEqualTo(place(loopback, 4));
                done(loopback, 77);
                loopback.left.pair.postSendInline(78, MemorySegment.ofArray(new byte[] {(byte) round, 9}));
                assertThat(PostedRequest.last().data(2)).containsExactly(round, 9);
                done(loopback, 78);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void atomicsHaveTheirOperands(Way way) throws InterruptedException {
        try (Loopback loopback = way.connected()) {
            MemoryRegion here = loopback.left.buffer;
            RemoteMemory there = loopback.right.buffer.remote().slice(512, 8);
            List<Object> place = List.of(there.address(), there.key());
            loopback.right.buffer.segment().set(ValueLayout.JAVA_LONG, 512, 100);
            SendBatch batch = loopback.left.pair.sendBatch(2);
            batch.fetchAndAdd(1, here.slice(64, 20), there, 0x1_0000_0007L)
                    .compareAndSwap(2, here.slice(128, 8), there, 0x1_0000_006bL, 0x2_0000_0009L);
            batch.post();
            List<PostedRequest> posted = PostedRequest.latest(2);
            Piece added = new Piece(here.address() + 64, 8, here.localKey());
            check(posted.get(0), loopback, 1, Operation.FETCH_AND_ADD, SIGNALED, added);
            assertThat(posted.get(0).atomic().subList(0, 2)).isEqualTo(place);
            assertThat(posted.get(0).atomic().get(2)).isEqualTo(0x1_0000_0007L);
            Piece swapped = new Piece(here.address() + 128, 8, here.localKey());
            check(posted.get(1), loopback, 2, Operation.COMPARE_AND_SWAP, SIGNALED, swapped);
            assertThat(posted.get(1).atomic())
                    .containsExactly(there.address(), there.key(), 0x1_0000_006bL, 0x2_0000_0009L);
            done(loopback, 1, 2);
            assertThat(here.segment().get(ValueLayout.JAVA_LONG, 64)).isEqualTo(100);
            assertThat(loopback.right.buffer.segment().get(ValueLayout.JAVA_LONG, 512))
                    .isEqualTo(0x2_0000_0009L);
            loopback.left.pair.postFetchAndAdd(3, here.slice(192, 8), there, 5);
            assertThat(PostedRequest.last().atomic().subList(0, 3)).containsExactly(there.address(), there.key(), 5L);
            loopback.left.pair.postCompareAndSwap(4, here.slice(256, 8), there, 6, 7);
            assertThat(PostedRequest.last().atomic()).containsExactly(there.address(), there.key(), 6L, 7L);
            done(loopback, 3, 4);
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void operationsOnRequestHaveTheirFields(Way way) throws InterruptedException {
        if (!way.extended) {
            return; // only an extended queue pair is made with them
        }
        try (Loopback loopback = way.connected()) {
            RemoteMemory there = loopback.right.buffer.remote().slice(1024, 24);
            SendBatch batch = loopback.left.pair.sendBatch(4);
            assertThatThrownBy(() -> batch.flush(1, there, SendBatch.FlushLevel.RANGE, Set.of()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("none");
            batch.atomicWrite(1, 0x1122334455667788L, there)
                    .flush(2, there, SendBatch.FlushLevel.MEMORY_REGION, Set.of(SendBatch.FlushPlacement.PERSISTENT))
                    .flush(3, there, SendBatch.FlushLevel.RANGE, Set.of(SendBatch.FlushPlacement.GLOBAL))
                    .flush(4, there, SendBatch.FlushLevel.RANGE, EnumSet.allOf(SendBatch.FlushPlacement.class));
            batch.post();
            List<PostedRequest> posted = PostedRequest.latest(4);
            check(posted.get(0), loopback, 1, Operation.ATOMIC_WRITE, SIGNALED);
            assertThat(posted.get(0).atomic().subList(0, 3))
                    .containsExactly(there.address(), there.key(), 0x1122334455667788L);
            check(posted.get(1), loopback, 2, Operation.FLUSH, SIGNALED);
            assertThat(posted.get(1).atomic())
                    .containsExactly(there.address(), there.key(), 24L, flush(SendBatch.FlushLevel.MEMORY_REGION, 2));
            assertThat(posted.get(2).atomic())
                    .containsExactly(there.address(), there.key(), 24L, flush(SendBatch.FlushLevel.RANGE, 1));
            assertThat(posted.get(3).atomic())
                    .containsExactly(there.address(), there.key(), 24L, flush(SendBatch.FlushLevel.RANGE, 3));
            done(loopback, 1, 2, 3, 4);
            assertThat(loopback.right.buffer.segment().get(ValueLayout.JAVA_LONG, 1024))
                    .isEqualTo(0x1122334455667788L);
            loopback.left.pair.postAtomicWrite(5, 0x77L, there);
            assertThat(PostedRequest.last().atomic().subList(0, 3))
                    .containsExactly(there.address(), there.key(), 0x77L);
            done(loopback, 5);
        }
    }

    private static long flush(SendBatch.FlushLevel level, int placement) {
        return (long) level.code << 32 | placement;
    }

    @ParameterizedTest
    @MethodSource("ways")
    void bindingsAndInvalidationsHaveTheirFields(Way way) throws InterruptedException {
        try (Loopback loopback = way.connected()) {
            ProtectionDomain domain = loopback.domain;
            MemoryRegion region = domain.register(
                    loopback.arena.allocate(4096, 64),
                    AccessFlag.LOCAL_WRITE,
                    AccessFlag.REMOTE_READ,
                    AccessFlag.MW_BIND);
            MemoryWindow window = domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2);
            QueuePair pair = loopback.left.pair;
            SendBatch batch = pair.sendBatch(3);
            receives(loopback, 2);
            batch.send(1, local(loopback, 1))
                    .immediate(0x31323334) // stands where the key of the binding will
                    .post();
            done(loopback, 1);
            batch.clear().bind(2, window, region.slice(128, 256), Set.of(AccessFlag.REMOTE_READ));
            batch.post();
            check(PostedRequest.last(), loopback, 2, Operation.BIND_MW, SIGNALED);
            assertThat(PostedRequest.last().window()).containsExactly(window.address(), window.key());
            assertThat(PostedRequest.last().binding())
                    .containsExactly(region.structure(), region.address() + 128, 256L, AccessFlag.REMOTE_READ.bit);
            if (!way.extended) {
                assertThat(PostedRequest.last().immediate()).isZero(); // some providers refuse another value
            }
            assertThat(window.remote()).isEqualTo(new RemoteMemory(region.address() + 128, window.key(), 256));
            done(loopback, 2);
            pair.postLocalInvalidate(3, window.key());
            check(PostedRequest.last(), loopback, 3, Operation.LOCAL_INVALIDATE, SIGNALED);
            assertThat(PostedRequest.last().invalidatedKey()).isEqualTo(window.key());
            done(loopback, 3);
            pair.postSendInvalidate(4, local(loopback, 4), 0x55667788);
            check(PostedRequest.last(), loopback, 4, Operation.SEND_WITH_INVALIDATE, SIGNALED, piece(loopback, 4));
            assertThat(PostedRequest.last().invalidatedKey()).isEqualTo(0x55667788);
            done(loopback, 4);
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void datagramsNameTheirDestination(Way way) throws InterruptedException {
        try (Loopback loopback = way.connected()) {
            QueuePairOptions options = QueuePair.ud(loopback.left.queue).inlineSize(16);
            QueuePair pair = loopback.domain.createQueuePair(
                    way.extended
                            ? options.operations(
                                    QueuePairOptions.OfferedOperation.usual(QueuePairOptions.TYPE.of(options)))
                            : options);
            pair.toReady(0x1234567);
            AddressHandle path = loopback.domain.createAddressHandle(pair.pathTo(pair.endpoint()));
            List<Object> destination = List.of(path.address(), 0x123456, 0x89abcdef);
            SendBatch batch = pair.sendBatch(2);
            for (int round = 0; round < 2; round++) {
                batch.clear()
                        .send(1, local(loopback, 1))
                        .to(path, 0x123456, 0x89abcdef)
                        .sendInline(2, MemorySegment.ofArray(new byte[] {7}))
                        .to(path, 0x123457, 0x89abcdee);
                batch.post();
                List<PostedRequest> posted = PostedRequest.latest(2);
                assertThat(posted.get(0).destination()).isEqualTo(destination);
                assertThat(posted.get(0).pieces()).containsExactly(piece(loopback, 1));
                assertThat(posted.get(0).isExtended()).isEqualTo(way.extended);
                assertThat(posted.get(1).destination()).containsExactly(path.address(), 0x123457, 0x89abcdee);
                done(loopback, 1, 2);
                pair.postSend(3, local(loopback, 3), path, 0x123456, 0x89abcdef);
                assertThat(PostedRequest.last().destination()).isEqualTo(destination);
                pair.postSendImmediate(4, local(loopback, 4), 99, path, 0x123456, 0x89abcdef);
                assertThat(PostedRequest.last().destination()).isEqualTo(destination);
                assertThat(PostedRequest.last().immediate()).isEqualTo(99);
                pair.postSendInline(5, MemorySegment.ofArray(new byte[] {7, 8}), path, 0x123456, 0x89abcdef);
                assertThat(PostedRequest.last().destination()).isEqualTo(destination);
                assertThat(PostedRequest.last().data(2)).containsExactly(7, 8);
                done(loopback, 3, 4, 5);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void sendsOfXrcNameTheirSharedReceiveQueue(Way way) throws InterruptedException {
        try (Loopback loopback = way.connected()) {
            QueuePair pair = loopback.domain.createQueuePair(way.options(QueuePair.xrcSend(loopback.left.queue)));
            pair.connect(loopback.right.pair.endpoint());
            SendBatch batch = pair.sendBatch(2);
            batch.send(1, local(loopback, 1)).toShared(0x234567).send(2, local(loopback, 2));
            batch.post();
            assertThat(PostedRequest.latest(2))
                    .extracting(PostedRequest::sharedReceiveQueue)
                    .containsExactly(0x234567, 0);
            assertThat(PostedRequest.last().pieces()).containsExactly(piece(loopback, 2));
            batch.clear().send(3, local(loopback, 3)).send(4).toShared(0x234568);
            batch.post();
            assertThat(PostedRequest.latest(2))
                    .extracting(PostedRequest::sharedReceiveQueue)
                    .containsExactly(0, 0x234568);
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void segmentedSendsHaveTheirHeader(Way way) throws InterruptedException {
        try (Loopback loopback = way.connected(options -> options.tsoHeader(40).inlineSize(8))) {
            SendBatch batch = loopback.left.pair.sendBatch(2);
            MemorySegment header = MemorySegment.ofArray(new byte[] {11, 12, 13, 14, 15});
            assertThatThrownBy(() -> batch.segmented(1, MemorySegment.ofArray(new byte[41]), 9, local(loopback, 1)))
                    .isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessageContaining("at most 40")
                    .hasMessageContaining("got 41");
            assertThatThrownBy(() -> batch.segmented(1, header, 0x10000, local(loopback, 1)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("segment size");
            assertThat(batch.size()).isZero();
            batch.segmented(1, header, 1460, local(loopback, 1))
                    .segmented(2, MemorySegment.ofArray(new byte[] {21}), 0xffff, local(loopback, 2));
            batch.post();
            List<PostedRequest> posted = PostedRequest.latest(2);
            check(posted.get(0), loopback, 1, Operation.TSO, SIGNALED, piece(loopback, 1));
            assertThat(posted.get(0).segments()).containsExactly(5, 1460);
            assertThat(posted.get(0).data(5)).containsExactly(11, 12, 13, 14, 15);
            check(posted.get(1), loopback, 2, Operation.TSO, SIGNALED, piece(loopback, 2));
            assertThat(posted.get(1).segments()).containsExactly(1, -1);
            assertThat(posted.get(1).data(1)).containsExactly(21);
            done(loopback, 1, 2);
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void otherRangesReplaceTheMemory(Way way) throws InterruptedException {
        try (Loopback loopback = way.connected()) {
            MemoryRegion here = loopback.left.buffer;
            SendBatch batch = loopback.left.pair.sendBatch(2);
            batch.write(1, local(loopback, 1), remote(loopback, 1)).write(2, local(loopback, 2), remote(loopback, 2));
            batch.post();
            batch.at(0).range(here.slice(1000, 100), 7, 33).at(1).range(here, 500, 44);
            batch.post();
            List<PostedRequest> posted = PostedRequest.latest(2);
            check(
                    posted.get(0),
                    loopback,
                    1,
                    Operation.RDMA_WRITE,
                    SIGNALED,
                    new Piece(here.address() + 1007, 33, here.localKey()));
            assertThat(posted.get(1).pieces()).containsExactly(new Piece(here.address() + 500, 44, here.localKey()));
            done(loopback, 1, 2, 1, 2);
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void receivesHaveTheirFields(Way way) {
        try (Loopback loopback = way.connected()) {
            QueuePair pair = loopback.right.pair;
            MemoryRegion there = loopback.right.buffer;
            int key = there.localKey();
            ReceiveBatch batch = pair.receiveBatch(3);
            for (int round = 0; round < 3; round++) {
                long id = 0x7_0000_0000L + round;
                pair.postReceive(id, there.slice(64L * round, 10 + round));
                PostedRequest one = PostedRequest.last();
                assertThat(one.queue()).isEqualTo(pair.number());
                assertThat(one.id()).isEqualTo(id);
                assertThat(one.pieces()).containsExactly(new Piece(there.address() + 64L * round, 10 + round, key));
                batch.clear()
                        .receive(id + 10, there.slice(640, 20 + round))
                        .receive(id + 20, there.slice(704, 30))
                        .and(there.slice(768, 40))
                        .receive(id + 30);
                assertThat(batch.post()).isEqualTo(3);
                List<PostedRequest> posted = PostedRequest.latest(3);
                assertThat(posted).extracting(PostedRequest::id).containsExactly(id + 10, id + 20, id + 30);
                assertThat(posted.get(0).pieces()).containsExactly(new Piece(there.address() + 640, 20 + round, key));
                assertThat(posted.get(1).pieces())
                        .containsExactly(
                                new Piece(there.address() + 704, 30, key), new Piece(there.address() + 768, 40, key));
                assertThat(posted.get(2).pieces()).isEmpty();
                batch.at(0).range(there.slice(2000, 100), 11, 22);
                batch.post();
                assertThat(PostedRequest.latest(3).getFirst().pieces())
                        .containsExactly(new Piece(there.address() + 2011, 22, key));
            }
        }
    }

    /** The request that is refused was logged before, because it might have completed at once. */
    @ParameterizedTest
    @MethodSource("ways")
    void refusedRequestsLeaveNoTrace(Way way) throws InterruptedException {
        try (Loopback loopback = way.connected()) {
            QueuePair pair = loopback.left.pair;
            receives(loopback, 1);
            pair.postSend(1, local(loopback, 1));
            pair.postWrite(2, local(loopback, 2), remote(loopback, 2)); // from now on each request is logged
            pair.postWrite(3, local(loopback, 3), remote(loopback, 3));
            done(loopback, 1, 2, 3);
            pair.postSend(4, local(loopback, 4)); // waits for a receive
            pair.postRead(5, local(loopback, 5), remote(loopback, 5)); // stands behind it
            for (long id = 4; id <= 5; id++) {
                Fenced.fail("ibv_post_send", 1, Errno.ENOMEM);
                long same = id;
                PostException refused = catchThrowableOfType(
                        PostException.class, () -> pair.postWrite(same, local(loopback, 2), remote(loopback, 2)));
                assertThat(refused.posted()).isZero();
                assertThat(refused.errno()).isEqualTo(Errno.ENOMEM);
                assertThat(refused).hasMessageContaining("send queue is full");
                assertThat(refused).hasMessageContaining(way.extended ? "ibv_wr_complete" : "ibv_post_send");
            }
            pair.fail();
            WorkCompletion send = loopback.left.next();
            assertThat(send.id()).isEqualTo(4);
            assertThat(send.operation()).isEqualTo(Operation.SEND);
            WorkCompletion read = loopback.left.next();
            assertThat(read.id()).isEqualTo(5);
            assertThat(read.operation()).isEqualTo(Operation.RDMA_READ);
            assertThat(loopback.left.queue.poll()).isNull();
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void refusedReceivesAreReported(Way way) {
        try (Loopback loopback = way.connected()) {
            QueuePair pair = loopback.right.pair;
            LocalMemory local = loopback.right.buffer.slice(0, 8);
            ReceiveBatch batch = pair.receiveBatch(2).receive(1, local).receive(2, local);
            for (int i = 0; i < 3; i++) {
                pair.postReceive(i, local);
                Fenced.fail("ibv_post_recv", 1, Errno.ENOMEM);
                assertThatThrownBy(() -> pair.postReceive(9, local))
                        .isInstanceOf(PostException.class)
                        .hasMessageContaining("ibv_post_recv")
                        .hasMessageContaining("receive queue is full");
                Fenced.fail("ibv_post_recv", 1, Errno.ENOMEM);
                PostException refused = catchThrowableOfType(PostException.class, batch::post);
                assertThat(refused.posted()).isZero();
                assertThat(batch.post()).isEqualTo(2);
            }
        }
    }

    /** The provider takes the requests that fit; by the functions of an extended queue pair, all or none. */
    @ParameterizedTest
    @MethodSource("ways")
    void partOfABatchIsReported(Way way) throws InterruptedException {
        try (Loopback loopback = way.connected(options -> options.sendDepth(4))) {
            QueuePair pair = loopback.left.pair;
            SendBatch batch = pair.sendBatch(6);
            for (int i = 0; i < 6; i++) {
                batch.send(i, local(loopback, i)); // no receive: all wait
            }
            PostException refused = catchThrowableOfType(PostException.class, batch::post);
            assertThat(refused.posted()).isEqualTo(way.extended ? 0 : 4);
            assertThat(refused).hasMessageContaining("6");
            pair.fail();
            for (int i = 0; i < (way.extended ? 0 : 4); i++) {
                assertThat(loopback.left.next().id()).isEqualTo(i);
            }
            assertThat(loopback.left.queue.poll()).isNull();
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void postsBeforeTheStateAllowsThemAreRefused(Way way) {
        VerbsArena arena = way.arena.make();
        try (Loopback loopback = way.make(() -> Loopback.unconnected(arena, way::options))) {
            SendBatch batch = loopback.left.pair.sendBatch(1).send(1, local(loopback, 1));
            ReceiveBatch receives = loopback.left.pair.receiveBatch(1).receive(1, local(loopback, 1));
            for (int i = 0; i < 2; i++) {
                assertThatThrownBy(batch::post).isInstanceOf(IllegalStateException.class);
                assertThatThrownBy(receives::post).isInstanceOf(IllegalStateException.class);
                assertThatThrownBy(() -> loopback.left.pair.postSend(1, local(loopback, 1)))
                        .isInstanceOf(IllegalStateException.class);
                assertThatThrownBy(() -> loopback.left.pair.postReceive(1, local(loopback, 1)))
                        .isInstanceOf(IllegalStateException.class);
            }
        }
    }
}
