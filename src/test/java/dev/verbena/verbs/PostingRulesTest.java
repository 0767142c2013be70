package dev.verbena.verbs;

import static dev.verbena.verbs.PostMatrixTest.kinds;
import static dev.verbena.verbs.PostWay.done;
import static dev.verbena.verbs.PostWay.local;
import static dev.verbena.verbs.PostWay.receives;
import static dev.verbena.verbs.PostWay.remote;
import static dev.verbena.verbs.Refusals.assertIllegalState;
import static dev.verbena.verbs.Refusals.assertThrows;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Memory;
import dev.verbena.support.ArenaKind;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.verbs.PostMatrixTest.Kind;
import dev.verbena.verbs.PostMatrixTest.One;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The rules of batches and posts, by each way to the driver: see {@link PostMatrixTest}. */
@FencedTest
class PostingRulesTest {
    static Stream<PostWay> ways() {
        return PostWay.ways();
    }

    private static MemorySegment bytes(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i + 1);
        }
        return MemorySegment.ofArray(bytes);
    }

    /** Returns the failed requests, such as {@code 4 SEND}, in the order in which they were posted. */
    private static List<String> flushed(Loopback loopback, int count) throws InterruptedException {
        loopback.left.pair.fail();
        List<String> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            WorkCompletion failed = loopback.left.next();
            requests.add(failed.id() + " " + failed.operation());
        }
        assertThat(loopback.left.queue.poll()).isNull();
        return requests;
    }

    @ParameterizedTest
    @MethodSource("ways")
    void operationsOfAMixedBatchAreKnownWhenTheyFail(PostWay way) throws InterruptedException {
        for (int more : new int[] {0, 2}) {
            try (Loopback loopback = way.connected()) {
                SendBatch batch = loopback.left.pair.sendBatch(4);
                batch.send(1, local(loopback, 1)) // no receive: all wait
                        .send(2, local(loopback, 2))
                        .immediate(5);
                if (more > 0) {
                    batch.send(3).sendInline(4, bytes(3));
                }
                batch.post();
                assertThat(flushed(loopback, 2 + more))
                        .isEqualTo(List.of("1 SEND", "2 SEND_WITH_IMMEDIATE", "3 SEND", "4 SEND")
                                .subList(0, 2 + more));
            }
        }
    }

    /** A driver may grant no pieces at all: requests of a batch must not overlap nevertheless. */
    @Test
    void batchHasRoomForOnePieceOfEachRequest() {
        try (Loopback loopback = Loopback.connected(
                VerbsArena.ofConfined(),
                QueuePairAttributes.none(),
                options -> options.sendSge(0).receiveSge(0))) {
            QueuePair pair = loopback.left.pair;
            assertThat(pair.capabilities().sendSge()).isZero();
            SendBatch batch = pair.sendBatch(3);
            for (int i = 0; i < 3; i++) {
                batch.send(i, local(loopback, i));
            }
            for (int i = 0; i < 3; i++) {
                assertThat(Memory.getLong(batch.pieceOf(i)))
                        .isEqualTo(local(loopback, i).address());
            }
            assertThat(Memory.getLong(batch.refused)).isZero();
            assertThrows(PostException.class, "EINVAL", batch::post);
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void operationsAreKnownAfterManyOfAnotherKind(PostWay way) throws InterruptedException {
        try (Loopback loopback = way.connected(options -> options.sendDepth(4))) {
            SendBatch writes = loopback.left.pair.sendBatch(2);
            writes.write(1, local(loopback, 1), remote(loopback, 1));
            writes.write(2, local(loopback, 2), remote(loopback, 2));
            writes.post();
            done(loopback, 1, 2);
            loopback.left.pair.postRead(3, local(loopback, 3), remote(loopback, 3)); // from now on, all are logged
            done(loopback, 3);
            for (int i = 0; i < 10; i++) {
                writes.post();
                done(loopback, 1, 2);
                loopback.left.pair.postRead(4, local(loopback, 3), remote(loopback, 3));
                done(loopback, 4);
            }
            loopback.left.pair.postSend(5, local(loopback, 5)); // waits for a receive
            writes.at(0).id(4).at(1).id(5).post();
            assertThat(flushed(loopback, 3)).containsExactly("5 RDMA_WRITE", "4 RDMA_WRITE", "5 RDMA_WRITE");
        }
    }

    /** Returns the words of a refusal, or none if the queue pair posts such requests. */
    private static String refusal(PostWay way, QueuePairOptions.OfferedOperation only, Kind kind) {
        Operation operation = kind.operation();
        if (!way.extended()) {
            return kinds(way).contains(kind) ? "" : "RC has no " + operation;
        }
        // Requests with immediate data or a key begin as others.
        boolean begins = operation.plain() == only.operation().plain();
        return operation == only.operation()
                ? ""
                : "made without " + (begins ? operation : operation.plain())
                        + ": name it in QueuePairOptions.operations()";
    }

    /** An extended queue pair posts what it was made for, and a plain one nothing that only extended ones have. */
    @ParameterizedTest
    @MethodSource("ways")
    void operationThatAQueuePairWasNotMadeForIsRefused(PostWay way) {
        try (PostMatrixTest.Posts posts = new PostMatrixTest.Posts(way)) {
            for (QueuePairOptions.OfferedOperation only : QueuePairOptions.OfferedOperation.values()) {
                QueuePairOptions options =
                        way.options(QueuePair.rc(posts.loopback.left.queue)).inlineSize(67);
                QueuePair pair = posts.loopback.domain.createQueuePair(
                        (way.extended() ? options.operations(only) : options).sendSge(3));
                pair.connect(posts.loopback.right.pair.endpoint());
                for (Kind kind : PostMatrixTest.KINDS) {
                    if (kind.transport().equals("RC") && kind.isRepeatable() && kind.operation() != Operation.TSO) {
                        String words = refusal(way, only, kind);
                        if (words.isEmpty()) {
                            kind.batched().accept(new One(posts, 1), pair.sendBatch(1));
                        } else {
                            assertRefused(posts, pair, kind, words);
                        }
                    }
                }
                pair.fail();
            }
            assertThat(posts.loopback.left.queue.poll()).as("what was posted").isNull();
        }
    }

    private static void assertRefused(PostMatrixTest.Posts posts, QueuePair pair, Kind kind, String words) {
        SendBatch batch = pair.sendBatch(1);
        for (int i = 0; i < 2; i++) {
            assertIllegalState(words, () -> {
                kind.batched().accept(new One(posts, 1), batch.clear());
                batch.post();
            });
            BiConsumer<One, QueuePair> alone = PostMatrixTest.ALONE.get(kind.name());
            if (alone != null) {
                assertIllegalState(words, () -> alone.accept(new One(posts, 1), pair));
            }
        }
    }

    /**
     * The driver's function takes the requests that fit, those of an extended queue pair take all or none. Soft-RoCE gets runs of
     * requests with pieces of several lengths by the former: the refused one is within such a run. Some drivers do not name it:
     * then it is the first, not that of an earlier post.
     */
    @ParameterizedTest
    @MethodSource("ways")
    void partOfABatchIsReported(PostWay way) throws InterruptedException {
        for (boolean severalLengths : new boolean[] {false, true}) {
            try (Loopback loopback =
                    way.connected(options -> options.sendDepth(4).receiveDepth(4))) {
                boolean hasRuns = severalLengths && loopback.context.provider().equalPieces();
                SendBatch batch = loopback.left.pair.sendBatch(6);
                ReceiveBatch receives = loopback.right.pair.receiveBatch(6);
                for (int i = 0; i < 6; i++) {
                    batch.send(i, local(loopback, i)); // no receive: all wait
                    if (severalLengths && i > 0) {
                        batch.and(local(loopback, 7));
                    }
                    receives.receive(i, loopback.right.buffer);
                }
                int fitting = way.extended() && !hasRuns ? 0 : 4;
                assertThat(posted(batch)).isEqualTo(fitting);
                Fenced.fail("ibv_post_send", 1, Errno.EINVAL);
                assertThat(posted(batch)).isZero();
                assertThat(flushed(loopback, fitting))
                        .isEqualTo(
                                List.of("0 SEND", "1 SEND", "2 SEND", "3 SEND").subList(0, fitting));
                assertThat(posted(receives)).isEqualTo(4);
                Fenced.fail("ibv_post_recv", 1, Errno.EINVAL);
                assertThat(posted(receives)).isZero();
            }
        }
    }

    /** The place where a driver names a request that it refuses is no part of the requests or their data. */
    @ParameterizedTest
    @MethodSource("ways")
    void refusedRequestsStayAsTheyWere(PostWay way) {
        try (Loopback loopback = way.connected(options -> options.receiveSge(1))) {
            SendBatch sends = loopback.left.pair.sendBatch(1);
            sends.sendInline(1, bytes(loopback.left.pair.capabilities().inlineSize()));
            ReceiveBatch receives = loopback.right.pair.receiveBatch(1).receive(1, loopback.right.buffer);
            for (WorkBatch<?> batch : List.of(sends, receives)) {
                byte[] before = batch.memory.toArray(ValueLayout.JAVA_BYTE);
                Fenced.fail(batch == sends ? "ibv_post_send" : "ibv_post_recv", 1, Errno.EINVAL);
                assertThat(posted(batch)).isZero();
                assertThat(batch.memory.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(before);
            }
        }
    }

    /** The kind is known from an earlier batch, so the request takes the shortest way. */
    @ParameterizedTest
    @MethodSource("ways")
    void refusedRequestThatIsPostedAloneIsCounted(PostWay way) throws InterruptedException {
        try (Loopback loopback = way.connected()) {
            SendBatch batch = loopback.left.pair.sendBatch(1);
            batch.write(1, local(loopback, 1), remote(loopback, 1)).post();
            done(loopback, 1);
            Fenced.fail("ibv_post_send", 1, Errno.EINVAL);
            assertThrows(
                    PostException.class,
                    "0 of 1 posted",
                    () -> loopback.left.pair.postWrite(2, local(loopback, 2), remote(loopback, 2)));
        }
    }

    private static int posted(WorkBatch<?> batch) {
        PostException refused = catchThrowableOfType(PostException.class, batch::post);
        assertThat(refused).hasMessageContaining(refused.posted() + " of " + batch.size() + " posted");
        return refused.posted();
    }

    @ParameterizedTest
    @MethodSource("ways")
    void requestsForgetTheDestinationsOfEarlierOnes(PostWay way) {
        try (Loopback loopback = way.connected()) {
            QueuePair pair = loopback.domain.createQueuePair(QueuePair.ud(loopback.left.queue));
            pair.toReady(7);
            AddressHandle path = loopback.domain.createAddressHandle(pair.pathTo(pair.endpoint()));
            SendBatch batch = pair.sendBatch(2);
            for (Runnable add : List.<Runnable>of(
                    () -> batch.send(3),
                    () -> batch.sendInline(3, bytes(2)),
                    () -> batch.send(3, local(loopback, 1)))) {
                batch.clear().send(1, local(loopback, 1)).to(path, 1, 2);
                batch.sendInline(2, bytes(2)).to(path, 1, 2);
                batch.post();
                batch.clear().send(1, local(loopback, 1)).to(path, 1, 2);
                add.run();
                assertIllegalState("Request 1 is a datagram without an address", batch::post);
            }
            pair.postSend(4, local(loopback, 1), path, 1, 2);
            for (int i = 0; i < 2; i++) {
                assertIllegalState(
                        "Request 0 is a datagram without an address", () -> pair.postSend(5, local(loopback, 1)));
            }
            path.close(); // no failed post keeps it
        }
    }

    /** C does not notice that a region of an address space is closed. */
    @ParameterizedTest
    @MethodSource("ways")
    void closedRegionOfAnAddressSpaceIsRefused(PostWay way) {
        try (Loopback loopback = way.connected()) {
            QueuePair pair = loopback.right.pair;
            LocalMemory local = loopback.right.buffer.slice(0, 8);
            RemoteMemory remote = loopback.left.buffer.remote();
            for (BiConsumer<ReceiveBatch, MemoryRegion> receive : List.<BiConsumer<ReceiveBatch, MemoryRegion>>of(
                    (batch, region) -> batch.receive(1, region.slice(0, 8)),
                    (batch, region) -> batch.receive(1, local).and(region.slice(0, 8)),
                    (batch, region) -> batch.receive(1, local).range(region, 8, 8))) {
                ReceiveBatch batch = pair.receiveBatch(2).receive(1, local).receive(2, local);
                batch.post(); // then a shorter one
                assertClosed(way, loopback, pair::postReceive, batch, region -> {
                    receive.accept(batch.clear(), region);
                    assertThat(batch.post()).isOne();
                    assertThat(batch.post()).isOne();
                });
            }
            for (BiConsumer<SendBatch, MemoryRegion> send : List.<BiConsumer<SendBatch, MemoryRegion>>of(
                    (batch, region) -> batch.read(1, region.slice(0, 8), remote),
                    (batch, region) -> batch.send(1, local).and(region.slice(0, 8)),
                    (batch, region) -> batch.read(1, local, remote).range(region, 8, 8))) {
                SendBatch batch = pair.sendBatch(2).read(1, local, remote).read(1, local, remote);
                batch.post();
                assertClosed(
                        way,
                        loopback,
                        (id, region) -> pair.postRead(id, region, remote),
                        batch,
                        region -> send.accept(batch.clear(), region));
            }
        }
    }

    /** Checks that no post keeps a region, and that C sees none with a closed one. */
    private static void assertClosed(
            PostWay way,
            Loopback loopback,
            BiConsumer<Long, MemoryRegion> single,
            WorkBatch<?> batch,
            Consumer<MemoryRegion> add) {
        try (VerbsArena owner = way.arena().make()) {
            AddressSpace space = loopback.domain.registerAddressSpace(AccessFlag.LOCAL_WRITE);
            MemoryRegion region = space.region(owner.allocate(64, 64), owner);
            add.accept(region);
            region.close();
            long calls = Fenced.calls("ibv_post_send") + Fenced.calls("ibv_post_recv");
            for (int i = 0; i < 2; i++) {
                assertIllegalState("is closed", batch::post);
                assertIllegalState("is closed", () -> single.accept(1L, region));
            }
            assertThat(Fenced.calls("ibv_post_send") + Fenced.calls("ibv_post_recv"))
                    .isEqualTo(calls);
        }
    }

    /** Returns the functions of a queue pair, whose driver may take all pieces of a request to be as long as the first. */
    private static ExtendedSends sends(Loopback loopback, QueuePair pair, boolean equalPieces) {
        DriverFunctions functions =
                new DriverFunctions(loopback.context.address(), equalPieces ? "" : "an adapter's", "none");
        return new ExtendedSends(pair, AllowedOperations.of(pair.options, pair), functions, equalPieces);
    }

    /** Some releases of soft-RoCE take all pieces of a request to be as long as the first. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void driversGetPiecesOfAnyLength(boolean equalPieces) throws InterruptedException {
        try (Loopback loopback = new PostWay("none", ArenaKind.CONFINED, true, false).connected()) {
            QueuePair pair = loopback.left.pair;
            ExtendedSends sends = sends(loopback, pair, equalPieces);
            SendBatch batch = pair.sendBatch(4);
            MemoryRegion here = loopback.left.buffer;
            batch.write(1, here.slice(0, 5), remote(loopback, 1))
                    .and(here.slice(64, 6))
                    .write(2, here.slice(0, 6), remote(loopback, 2))
                    .and(here.slice(64, 6))
                    .and(here.slice(128, 5))
                    .write(3, here.slice(0, 7), remote(loopback, 3))
                    .write(4, here.slice(0, 7), remote(loopback, 4))
                    .and(here.slice(64, 7));
            assertThat(sends.post(batch.address, batch.refused)).isZero();
            List<PostedRequest> posted = PostedRequest.latest(4);
            assertThat(posted)
                    .extracting(PostedRequest::isExtended)
                    .containsExactly(!equalPieces, !equalPieces, true, true);
            assertThat(posted.stream().map(request -> request.text(loopback)))
                    .containsExactly(
                            "1 RDMA_WRITE signaled left+0:5 left+64:6 to right+4224",
                            "2 RDMA_WRITE signaled left+0:6 left+64:6 left+128:5 to right+4352",
                            "3 RDMA_WRITE signaled left+0:7 to right+4480",
                            "4 RDMA_WRITE signaled left+0:7 left+64:7 to right+4608");
            done(loopback, 1, 2, 3, 4);
        }
    }

    /** Soft-RoCE gets runs of requests by two functions: the first refused one is that of its run. */
    @ParameterizedTest
    @MethodSource("ways")
    void refusedRunLeavesTheRunsBeforeItPosted(PostWay way) throws InterruptedException {
        try (Loopback loopback = way.connected()) {
            MemoryRegion here = loopback.left.buffer;
            SendBatch batch = loopback.left.pair.sendBatch(4);
            for (int i = 0; i < 4; i++) {
                batch.write(i, here.slice(0, 5), remote(loopback, i));
                if (i == 1 || i == 2) {
                    batch.and(here.slice(64, 6));
                }
            }
            int calls = way.extended() && loopback.context.provider().equalPieces() ? 3 : 1;
            for (int call = 1; call <= calls; call++) {
                Fenced.fail("ibv_post_send", call, Errno.ENOMEM);
                int posted = call == 1 ? 0 : call == 2 ? 1 : 3;
                assertThat(posted(batch)).isEqualTo(posted);
                done(loopback, LongStream.range(0, posted).toArray());
            }
            assertThat(batch.post()).isEqualTo(4);
            done(loopback, 0, 1, 2, 3);
        }
    }

    @Test
    void queuePairThatIsNotExtendedHasNoFunctions() {
        try (Loopback loopback = Loopback.connected()) {
            QueuePair pair = loopback.left.pair;
            assertThrows(UnsupportedVerbException.class, "ibv_qp_to_qp_ex", () -> sends(loopback, pair, false))
                    .hasMessageContaining("no extended queue pairs");
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void postsBeforeTheStateAllowsThemAreRefused(PostWay way) {
        VerbsArena arena = way.arena().make();
        try (Loopback loopback = way.make(() -> Loopback.unconnected(arena, way::options))) {
            QueuePair pair = loopback.left.pair;
            SendBatch mixed =
                    pair.sendBatch(2).send(1, local(loopback, 1)).write(2, local(loopback, 1), remote(loopback, 1));
            SendBatch batch = pair.sendBatch(1).send(1, local(loopback, 1));
            ReceiveBatch receives = pair.receiveBatch(1).receive(1, local(loopback, 1));
            for (int i = 0; i < 2; i++) {
                for (ThrowingCallable post : List.<ThrowingCallable>of(
                        mixed::post,
                        batch::post,
                        receives::post,
                        () -> pair.postSend(1, local(loopback, 1)),
                        () -> pair.postReceive(1, local(loopback, 1)))) {
                    assertIllegalState("RESET", post).isNotInstanceOf(PostException.class);
                }
            }
            assertThat(Fenced.calls("ibv_post_send")).isZero();
        }
    }

    /** Requests are logged before C sees them, because they might complete at once: those that are refused leave the log again. */
    @ParameterizedTest
    @MethodSource("ways")
    void refusedRequestsLeaveNoTrace(PostWay way) throws InterruptedException {
        try (Loopback loopback = way.connected()) {
            QueuePair pair = loopback.left.pair;
            receives(loopback, 1);
            pair.postSend(1, local(loopback, 1));
            pair.postWrite(2, local(loopback, 2), remote(loopback, 2)); // from now on each request is logged
            pair.postWrite(3, local(loopback, 3), remote(loopback, 3));
            done(loopback, 1, 2, 3);
            pair.postSend(4, local(loopback, 4)); // waits for a receive
            pair.postRead(5, local(loopback, 5), remote(loopback, 5)); // stands behind it
            MemoryWindow window = loopback.domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2);
            MemoryRegion region =
                    loopback.domain.register(loopback.arena.allocate(64), AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
            SendBatch batch = pair.sendBatch(2)
                    .write(4, local(loopback, 2), remote(loopback, 2))
                    .bind(5, window, region, Set.of());
            window.close();
            assertIllegalState("closed", batch::post);
            for (long id = 4; id <= 5; id++) {
                Fenced.fail("ibv_post_send", 1, Errno.ENOMEM);
                long same = id;
                PostException refused = catchThrowableOfType(
                        PostException.class, () -> pair.postWrite(same, local(loopback, 2), remote(loopback, 2)));
                assertThat(refused.posted()).isZero();
                assertThat(refused.errno()).isEqualTo(Errno.ENOMEM);
                assertThat(refused).hasMessageContaining("send queue is full");
                assertThat(refused).hasMessageContaining(way.extended() ? "ibv_wr_complete" : "ibv_post_send");
            }
            assertThat(flushed(loopback, 2)).containsExactly("4 SEND", "5 RDMA_READ");
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void refusedReceivesAreReported(PostWay way) {
        try (Loopback loopback = way.connected()) {
            QueuePair pair = loopback.right.pair;
            LocalMemory local = loopback.right.buffer.slice(0, 8);
            ReceiveBatch batch = pair.receiveBatch(2).receive(1, local).receive(2, local);
            for (int i = 0; i < 3; i++) {
                pair.postReceive(i, local);
                Fenced.fail("ibv_post_recv", 1, Errno.ENOMEM);
                assertThrows(PostException.class, "ibv_post_recv", () -> pair.postReceive(9, local))
                        .hasMessageContaining("receive queue is full");
                Fenced.fail("ibv_post_recv", 1, Errno.ENOMEM);
                PostException refused = catchThrowableOfType(PostException.class, batch::post);
                assertThat(refused.posted()).isZero();
                assertThat(batch.post()).isEqualTo(2);
            }
        }
    }
}
