package dev.verbena.verbs;

import static dev.verbena.verbs.PostedFieldsTest.done;
import static dev.verbena.verbs.PostedFieldsTest.local;
import static dev.verbena.verbs.PostedFieldsTest.receives;
import static dev.verbena.verbs.PostedFieldsTest.remote;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Memory;
import dev.verbena.support.ArenaKind;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.OtherThread;
import dev.verbena.support.PostedRequest;
import dev.verbena.support.PostedRequest.Piece;
import dev.verbena.verbs.PostedFieldsTest.Way;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The rules of batches and posts, by each way to the driver: see {@link PostedFieldsTest}. */
@FencedTest
class PostingRulesTest {
    static Stream<Way> ways() {
        return PostedFieldsTest.ways();
    }

    private static MemorySegment bytes(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i + 1);
        }
        return MemorySegment.ofArray(bytes);
    }

    /** Returns the operations of failed requests, in the order in which they were posted. */
    private static List<Operation> flushed(Loopback loopback, int count) throws InterruptedException {
        loopback.left.pair.fail();
        List<Operation> operations = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            operations.add(loopback.left.next().operation());
        }
        assertThat(loopback.left.queue.poll()).isNull();
        return operations;
    }

    @ParameterizedTest
    @MethodSource("ways")
    void operationsOfAMixedBatchAreKnownWhenTheyFail(Way way) throws InterruptedException {
        try (Loopback loopback = way.connected()) {
            SendBatch batch = loopback.left.pair.sendBatch(4);
            batch.send(1, local(loopback, 1)) // no receive: all wait
                    .send(2, local(loopback, 2))
                    .immediate(5)
                    .send(3)
                    .sendInline(4, bytes(3));
            batch.post();
            assertThat(flushed(loopback, 4))
                    .containsExactly(Operation.SEND, Operation.SEND_WITH_IMMEDIATE, Operation.SEND, Operation.SEND);
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void operationsOfTheFirstMixedBatchAreKnownWhenTheyFail(Way way) throws InterruptedException {
        try (Loopback loopback = way.connected()) {
            loopback.left
                    .pair
                    .sendBatch(2)
                    .send(1, local(loopback, 1))
                    .send(2, local(loopback, 2))
                    .immediate(3)
                    .post();
            assertThat(flushed(loopback, 2)).containsExactly(Operation.SEND, Operation.SEND_WITH_IMMEDIATE);
        }
    }

    /** The batch for single requests is a new one when others were posted before. */
    @ParameterizedTest
    @MethodSource("ways")
    void singleRequestsAfterABatchAreWhole(Way way) throws InterruptedException {
        try (Loopback loopback = way.connected()) {
            QueuePair pair = loopback.left.pair;
            receives(loopback, 3);
            pair.sendBatch(1).send(1, local(loopback, 1)).post();
            pair.sendBatch(1).send(2, local(loopback, 2)).post();
            pair.postSend(3, local(loopback, 3));
            assertThat(PostedRequest.last().operation()).isEqualTo(Operation.SEND);
            assertThat(PostedRequest.last().flags()).isEqualTo(SendBatch.SIGNALED);
            assertThat(PostedRequest.last().pieces()).containsExactly(PostedFieldsTest.piece(loopback, 3));
            done(loopback, 1, 2, 3);
            pair.receiveBatch(1).receive(1, local(loopback, 1)).post();
            pair.postReceive(4, local(loopback, 4));
            assertThat(PostedRequest.last().pieces()).containsExactly(PostedFieldsTest.piece(loopback, 4));
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void singleRequestsWithImmediateDataAreWhole(Way way) throws InterruptedException {
        for (boolean write : new boolean[] {true, false}) {
            try (Loopback loopback = way.connected()) {
                receives(loopback, 4);
                for (int i = 0; i < 4; i++) {
                    if (write) {
                        loopback.left.pair.postWriteImmediate(i, local(loopback, i), remote(loopback, i), 70 + i);
                        assertThat(PostedRequest.last().remote())
                                .containsExactly(
                                        remote(loopback, i).address(),
                                        remote(loopback, i).key());
                    } else {
                        loopback.left.pair.postSendImmediate(i, local(loopback, i), 70 + i);
                    }
                    assertThat(PostedRequest.last().immediate()).isEqualTo(70 + i);
                    assertThat(PostedRequest.last().pieces()).containsExactly(PostedFieldsTest.piece(loopback, i));
                    done(loopback, i);
                }
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
                        .isEqualTo(PostedFieldsTest.piece(loopback, i).address());
            }
            assertThat(Memory.getLong(batch.refused)).isZero();
            assertThatThrownBy(batch::post).isInstanceOf(PostException.class).hasMessageContaining("EINVAL");
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void operationsAreKnownAfterManyOfAnotherKind(Way way) throws InterruptedException {
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
            assertThat(flushed(loopback, 3))
                    .containsExactly(Operation.RDMA_WRITE, Operation.RDMA_WRITE, Operation.RDMA_WRITE);
        }
    }

    /** A batch writes its requests into the log before C sees them: those that C never saw leave it again. */
    @ParameterizedTest
    @MethodSource("ways")
    void batchThatIsNotPostedLeavesNoTrace(Way way) throws InterruptedException {
        try (Loopback loopback = way.connected()) {
            QueuePair pair = loopback.left.pair;
            pair.postSend(1, local(loopback, 1)); // waits for a receive
            pair.postWrite(2, local(loopback, 2), remote(loopback, 2));
            MemoryWindow window = loopback.domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2);
            MemoryRegion region =
                    loopback.domain.register(loopback.arena.allocate(64), AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
            SendBatch batch = pair.sendBatch(2)
                    .write(1, local(loopback, 2), remote(loopback, 2))
                    .bind(2, window, region, Set.of());
            window.close();
            assertThatThrownBy(batch::post)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("closed");
            assertThat(flushed(loopback, 2)).containsExactly(Operation.SEND, Operation.RDMA_WRITE);
        }
    }

    /** A queue pair that is made with writes with immediate data begins them as writes. */
    @ParameterizedTest
    @MethodSource("ways")
    void operationThatWasNotAskedForIsRefusedEachTime(Way way) {
        if (!way.extended()) {
            return;
        }
        try (Loopback loopback = way.connected(options -> options.operations(
                QueuePairOptions.OfferedOperation.RDMA_WRITE_WITH_IMMEDIATE,
                QueuePairOptions.OfferedOperation.SEND_WITH_IMMEDIATE))) {
            SendBatch batch = loopback.left.pair.sendBatch(1);
            for (int i = 0; i < 3; i++) {
                batch.clear().write(1, local(loopback, 1), remote(loopback, 1));
                assertThatThrownBy(batch::post)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("made without RDMA_WRITE");
            }
            for (int i = 0; i < 3; i++) {
                assertThatThrownBy(() -> loopback.left.pair.postSend(1, local(loopback, 1)))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("made without SEND");
                assertThatThrownBy(() -> batch.read(1, local(loopback, 1), remote(loopback, 1)))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("made without RDMA_READ");
            }
            assertThat(Fenced.calls("ibv_post_send")).isZero();
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void refusedBatchKeepsItsData(Way way) throws InterruptedException {
        try (Loopback loopback = way.connected(options -> options.inlineSize(67))) {
            SendBatch batch = loopback.left.pair.sendBatch(1);
            batch.writeInline(1, bytes(batchSize(loopback)), loopback.right.buffer.remote());
            for (int i = 0; i < 2; i++) {
                Fenced.fail("ibv_post_send", 1, Errno.ENOMEM);
                assertThatThrownBy(batch::post).isInstanceOf(PostException.class);
            }
            batch.post();
            done(loopback, 1);
            MemorySegment written = loopback.right.buffer.segment().asSlice(0, batchSize(loopback));
            assertThat(written.mismatch(bytes(batchSize(loopback)))).isEqualTo(-1);
        }
    }

    private static int batchSize(Loopback loopback) {
        return loopback.left.pair.capabilities().inlineSize();
    }

    /** Some drivers do not name the refused request: then it is the first, not that of an earlier post. */
    @ParameterizedTest
    @MethodSource("ways")
    void refusalWithoutAPlaceMeansTheFirstRequest(Way way) {
        try (Loopback loopback = way.connected(options -> options.sendDepth(4).receiveDepth(4))) {
            SendBatch batch = loopback.left.pair.sendBatch(6);
            ReceiveBatch receives = loopback.left.pair.receiveBatch(6);
            for (int i = 0; i < 6; i++) {
                batch.send(i, local(loopback, i));
                receives.receive(i, local(loopback, i));
            }
            assertThat(posted(receives)).isEqualTo(4);
            Fenced.fail("ibv_post_recv", 1, Errno.EINVAL);
            assertThat(posted(receives)).isZero();
            assertThat(posted(batch)).isEqualTo(way.extended() ? 0 : 4);
            Fenced.fail("ibv_post_send", 1, Errno.EINVAL);
            assertThat(posted(batch)).isZero();
        }
    }

    private static int posted(WorkBatch<?> batch) {
        return catchThrowableOfType(PostException.class, batch::post).posted();
    }

    @ParameterizedTest
    @MethodSource("ways")
    void fullBatchRefusesEachRequest(Way way) {
        try (Loopback loopback = way.connected()) {
            LocalMemory local = local(loopback, 1);
            RemoteMemory remote = remote(loopback, 1);
            SendBatch batch = loopback.left.pair.sendBatch(1).send(1, local);
            ReceiveBatch receives = loopback.left.pair.receiveBatch(1).receive(1, local);
            for (Runnable add : List.<Runnable>of(
                    () -> batch.send(2, local),
                    () -> batch.send(2),
                    () -> batch.write(2, local, remote),
                    () -> batch.read(2, local, remote),
                    () -> batch.sendInline(2, bytes(60)),
                    () -> batch.writeInline(2, bytes(60), remote),
                    () -> batch.fetchAndAdd(2, local, remote, 1),
                    () -> batch.localInvalidate(2, 3),
                    () -> receives.receive(2, local),
                    () -> receives.receive(2))) {
                assertThatThrownBy(add::run)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("The batch is full: it was made for 1 requests");
            }
            assertThat(batch.size()).isOne();
            assertThat(receives.size()).isOne();
            assertThat(batch).hasToString(batch.path.verb() + " batch of 1 (of 1) for " + loopback.left.pair);
            assertThat(loopback.left
                            .pair
                            .sendBatch(7)
                            .send(1, local)
                            .send(2, local)
                            .toString())
                    .contains("batch of 2 (of 7)");
            batch.post();
            assertThat(PostedRequest.last().id()).isEqualTo(1);
        }
    }

    @Test
    void emptyBatchNamesNoDestination() {
        try (Loopback loopback = Loopback.connected()) {
            QueuePair pair = loopback.domain.createQueuePair(QueuePair.ud(loopback.left.queue));
            AddressHandle path = loopback.domain.createAddressHandle(pair.pathTo(pair.endpoint()));
            SendBatch batch = pair.sendBatch(1);
            assertThatThrownBy(() -> batch.to(path, 1, 2))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("The batch is empty");
            QueuePair xrc = loopback.domain.createQueuePair(QueuePair.xrcSend(loopback.left.queue));
            assertThatThrownBy(() -> xrc.sendBatch(1).toShared(1))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("The batch is empty");
            assertThatThrownBy(() -> pair.receiveBatch(1).and(local(loopback, 1)))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("The batch is empty");
            assertThatThrownBy(() -> pair.receiveBatch(1).range(local(loopback, 1), 0, 1))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("The batch is empty");
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void requestsForgetTheDestinationsOfEarlierOnes(Way way) {
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
                assertThatThrownBy(batch::post)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("Request 1 is a datagram without an address");
            }
            path.close(); // no failed post keeps it
            QueuePair xrc = loopback.domain.createQueuePair(way.options(QueuePair.xrcSend(loopback.left.queue)));
            xrc.connect(loopback.right.pair.endpoint());
            SendBatch sends = xrc.sendBatch(1);
            for (Runnable add : List.<Runnable>of(() -> sends.send(2), () -> sends.send(2, local(loopback, 1)))) {
                sends.clear().send(1).toShared(77).post();
                assertThat(PostedRequest.last().sharedReceiveQueue()).isEqualTo(77);
                sends.clear();
                add.run();
                sends.post();
                assertThat(PostedRequest.last().sharedReceiveQueue()).isZero();
            }
        }
    }

    @Test
    void invalidationIsChangedInPlace() {
        try (Loopback loopback = Loopback.connected()) {
            receives(loopback, 1);
            SendBatch batch = loopback.left.pair.sendBatch(2).send(1, local(loopback, 1));
            batch.invalidate(5).invalidate(6).post();
            assertThat(PostedRequest.last().operation()).isEqualTo(Operation.SEND_WITH_INVALIDATE);
            assertThat(PostedRequest.last().invalidatedKey()).isEqualTo(6);
            batch.write(2, local(loopback, 1), remote(loopback, 1));
            assertThatThrownBy(() -> batch.invalidate(7))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("RDMA_WRITE");
        }
    }

    @Test
    void atomicsTakeEightBytesOnly() {
        try (Loopback loopback = Loopback.connected(
                VerbsArena.ofConfined(),
                QueuePairAttributes.none(),
                options -> options.sendSge(3).operations(Set.of(QueuePairOptions.OfferedOperation.values())))) {
            SendBatch batch = loopback.left.pair.sendBatch(4);
            RemoteMemory remote = loopback.right.buffer.remote();
            batch.fetchAndAdd(1, local(loopback, 1), remote, 1);
            assertThatThrownBy(() -> batch.and(loopback.left.buffer.slice(0, 1)))
                    .isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessageContaining("at most 0");
            assertThatThrownBy(() -> batch.atomicWrite(1, 2, remote.slice(8, 7)))
                    .isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> batch.atomicWrite(1, 2, remote.slice(4, 8)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("multiple of 8");
            assertThat(batch.size()).isOne();
            batch.clear().write(1, local(loopback, 1), remote.slice(0, 20));
            assertThatThrownBy(() -> batch.range(loopback.left.buffer, 0, 21))
                    .isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessageContaining("at most 20")
                    .hasMessageContaining("got 21");
            long most = loopback.context.port(1).maxMessageSize();
            batch.clear().send(1, local(loopback, 1));
            MemoryRegion tooLong = loopback.domain
                    .registerAddressSpace(AccessFlag.LOCAL_WRITE)
                    .region(MemorySegment.NULL.reinterpret(most + 1));
            assertThatThrownBy(() -> batch.range(tooLong, 0, most + 1))
                    .isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessageContaining("at most " + most);
            assertThatThrownBy(() -> batch.send(2, tooLong)).isInstanceOf(IndexOutOfBoundsException.class);
            assertThat(batch.size()).isOne();
        }
    }

    @Test
    void inlineDataBeyondTheLimitIsRefused() {
        try (Loopback loopback = Loopback.connected(
                VerbsArena.ofConfined(),
                QueuePairAttributes.none(),
                options -> options.inlineSize(64).tsoHeader(200))) {
            int most = loopback.left.pair.capabilities().inlineSize();
            SendBatch batch = loopback.left.pair.sendBatch(1);
            assertThatThrownBy(() -> batch.sendInline(1, bytes(most + 1)))
                    .isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessageContaining("at most " + most + " for this queue pair, got " + (most + 1));
            assertThat(batch.size()).isZero();
        }
    }

    @Test
    void bindingRefusesAWindowOfAnotherDomain() {
        try (Loopback loopback = Loopback.connected()) {
            ProtectionDomain other = loopback.context.allocateProtectionDomain();
            MemoryWindow window = other.allocateMemoryWindow(MemoryWindow.Type.TYPE_2);
            MemoryRegion region =
                    loopback.domain.register(loopback.arena.allocate(64), AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
            SendBatch batch = loopback.left.pair.sendBatch(1);
            assertThatThrownBy(() -> batch.bind(1, window, region, Set.of()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("another");
            assertThat(batch.size()).isZero();
        }
    }

    @Test
    void receivesOfMoreThanFourGigabytesAreRefused() {
        try (Loopback loopback = Loopback.connected()) {
            long tooLong = 1L << 32;
            MemoryRegion region = loopback.domain
                    .registerAddressSpace(AccessFlag.LOCAL_WRITE)
                    .region(MemorySegment.NULL.reinterpret(tooLong));
            ReceiveBatch batch = loopback.left.pair.receiveBatch(2);
            assertThatThrownBy(() -> batch.receive(1, region)).isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> loopback.left.pair.postReceive(1, region))
                    .isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessageContaining("4 GiB - 1")
                    .hasMessageContaining("got " + tooLong);
            assertThat(batch.size()).isZero();
            batch.receive(1, region.slice(0, tooLong - 1));
            assertThatThrownBy(() -> batch.range(region, 0, tooLong)).isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> batch.and(region)).isInstanceOf(IndexOutOfBoundsException.class);
            assertThat(batch.range(region, 1, tooLong - 1)).isSameAs(batch);
            batch.post();
            assertThat(PostedRequest.last().pieces()).containsExactly(new Piece(1, -1, region.localKey()));
        }
    }

    /** C does not notice that a region of an address space is closed. */
    @ParameterizedTest
    @MethodSource("ways")
    void closedRegionOfAnAddressSpaceIsRefused(Way way) {
        try (Loopback loopback = way.connected()) {
            AddressSpace space = loopback.domain.registerAddressSpace(AccessFlag.LOCAL_WRITE);
            LocalMemory local = local(loopback, 1);
            RemoteMemory remote = remote(loopback, 1);
            for (int kind = 0; kind < 6; kind++) {
                try (VerbsArena owner = way.arena().make()) {
                    MemoryRegion region = space.region(owner.allocate(64, 64), owner);
                    QueuePair pair = loopback.right.pair;
                    SendBatch sends = pair.sendBatch(2);
                    ReceiveBatch receives = pair.receiveBatch(2);
                    boolean isReceive = kind % 2 == 0;
                    if (isReceive) {
                        receives.receive(1, local).receive(2, local).post(); // then a shorter one
                        receives.clear();
                    } else {
                        sends.read(1, loopback.right.buffer.slice(0, 8), loopback.left.buffer.remote());
                        sends.read(1, loopback.right.buffer.slice(0, 8), loopback.left.buffer.remote());
                        sends.post();
                        sends.clear();
                    }
                    switch (kind) {
                        case 0 -> receives.receive(1, region.slice(0, 8));
                        case 1 -> sends.read(1, region.slice(0, 8), remote);
                        case 2 -> receives.receive(1, local).and(region.slice(0, 8));
                        case 3 ->
                            sends.send(1, loopback.right.buffer.slice(0, 8)).and(region.slice(0, 8));
                        case 4 -> receives.receive(1, local).range(region, 8, 8);
                        default ->
                            sends.read(1, loopback.right.buffer.slice(0, 8), loopback.left.buffer.remote())
                                    .range(region, 8, 8);
                    }
                    WorkBatch<?> batch = isReceive ? receives : sends;
                    if (isReceive) {
                        assertThat(batch.post()).isOne();
                        assertThat(batch.post()).isOne();
                    }
                    region.close(); // no post keeps it
                    long calls = Fenced.calls("ibv_post_send") + Fenced.calls("ibv_post_recv");
                    for (int i = 0; i < 2; i++) {
                        assertThatThrownBy(batch::post)
                                .isInstanceOf(IllegalStateException.class)
                                .hasMessageContaining("is closed");
                        assertThatThrownBy(
                                        isReceive
                                                ? () -> pair.postReceive(1, region)
                                                : () -> pair.postRead(1, region, remote))
                                .isInstanceOf(IllegalStateException.class)
                                .hasMessageContaining("is closed");
                    }
                    assertThat(Fenced.calls("ibv_post_send") + Fenced.calls("ibv_post_recv"))
                            .isEqualTo(calls);
                }
            }
        }
    }

    /** A second thread must not find half of a request. */
    @ParameterizedTest
    @EnumSource(ArenaKind.class)
    void eachMethodOfABatchRefusesASecondThread(ArenaKind kind) throws Throwable {
        try (Loopback loopback = new Way("post", kind, true, true).connected(options -> options.tsoHeader(8))) {
            LocalMemory local = local(loopback, 1);
            RemoteMemory remote = remote(loopback, 1);
            MemoryWindow window = loopback.domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2);
            MemoryRegion region =
                    loopback.domain.register(loopback.arena.allocate(64), AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
            SendBatch batch = loopback.left.pair.sendBatch(30).send(1, local).sendInline(2, bytes(1));
            batch.send(1, local);
            ReceiveBatch receives = loopback.left.pair.receiveBatch(30).receive(1, local);
            List<Runnable> calls = List.of(
                    () -> batch.send(2, local),
                    () -> batch.send(2),
                    () -> batch.sendInline(2, bytes(1)),
                    () -> batch.write(2, local, remote),
                    () -> batch.writeInline(2, bytes(1), remote),
                    () -> batch.read(2, local, remote),
                    () -> batch.fetchAndAdd(2, local, remote, 1),
                    () -> batch.compareAndSwap(2, local, remote, 1, 2),
                    () -> batch.bind(2, window, region, Set.of()),
                    () -> batch.localInvalidate(2, 1),
                    () -> batch.segmented(2, bytes(1), 5, local),
                    () -> batch.atomicWrite(2, 1, remote),
                    () -> batch.flush(2, remote, SendBatch.FlushLevel.RANGE, Set.of(SendBatch.FlushPlacement.GLOBAL)),
                    () -> batch.invalidate(1),
                    () -> batch.immediate(1),
                    () -> batch.and(local),
                    () -> batch.range(local, 0, 1),
                    () -> batch.unsignaled(),
                    () -> batch.fence(),
                    () -> batch.solicited(),
                    () -> batch.at(1),
                    () -> batch.id(3),
                    () -> batch.id(0, 3),
                    () -> batch.clear(),
                    () -> batch.post(),
                    () -> receives.receive(2, local),
                    () -> receives.receive(2),
                    () -> receives.and(local),
                    () -> receives.range(local, 0, 1),
                    () -> receives.clear(),
                    () -> receives.post());
            byte[] before = batch.memory.toArray(ValueLayout.JAVA_BYTE);
            for (int i = 0; i < calls.size(); i++) {
                Runnable call = calls.get(i);
                assertThatThrownBy(() -> OtherThread.run(call))
                        .as("call %d", i)
                        .isInstanceOf(WrongThreadException.class);
                assertThat(batch.size()).as("after call %d", i).isEqualTo(3);
                assertThat(receives.size()).as("after call %d", i).isOne();
            }
            assertThat(batch.memory.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(before);
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
        try (Loopback loopback = new Way("none", ArenaKind.CONFINED, true, false).connected()) {
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
            assertThat(posted).extracting(PostedRequest::id).containsExactly(1L, 2L, 3L, 4L);
            int key = here.localKey();
            assertThat(posted.getFirst().pieces())
                    .containsExactly(new Piece(here.address(), 5, key), new Piece(here.address() + 64, 6, key));
            assertThat(posted.get(1).pieces())
                    .containsExactly(
                            new Piece(here.address(), 6, key),
                            new Piece(here.address() + 64, 6, key),
                            new Piece(here.address() + 128, 5, key));
            done(loopback, 1, 2, 3, 4);
            for (int run = 1; run <= (equalPieces ? 2 : 1); run++) {
                Fenced.fail("ibv_post_send", run, Errno.ENOMEM);
                Memory.set(batch.refused, 0L);
                assertThat(sends.post(batch.address, batch.refused)).isEqualTo(Errno.ENOMEM);
                assertThat(batch.postedBefore()).isEqualTo(run == 1 ? 0 : 2);
                done(loopback, run == 1 ? new long[0] : new long[] {1, 2});
            }
        }
    }

    /** The function of a queue pair says itself which request of a run it refused. */
    @Test
    void refusedRequestWithinARunIsReported() {
        try (Loopback loopback =
                new Way("none", ArenaKind.CONFINED, true, false).connected(options -> options.sendDepth(4))) {
            QueuePair pair = loopback.left.pair;
            ExtendedSends sends = sends(loopback, pair, true);
            SendBatch batch = pair.sendBatch(6);
            for (int i = 0; i < 6; i++) { // no receive: all wait
                batch.send(i, loopback.left.buffer.slice(0, 5));
                if (i > 0) {
                    batch.and(loopback.left.buffer.slice(64, 6));
                }
            }
            assertThat(sends.post(batch.address, batch.refused)).isEqualTo(Errno.ENOMEM);
            assertThat(batch.postedBefore()).isEqualTo(4);
            assertThat(sends.post(batch.address, batch.refused)).isEqualTo(Errno.ENOMEM);
            assertThat(batch.postedBefore())
                    .as("by the function that builds the first")
                    .isZero();
        }
    }

    /** Soft-RoCE gets runs of requests by two functions: the first refused one is that of its run. */
    @ParameterizedTest
    @MethodSource("ways")
    void refusedRunLeavesTheRunsBeforeItPosted(Way way) throws InterruptedException {
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
                for (int i = 0; i < posted; i++) {
                    assertThat(loopback.left.done().id()).isEqualTo(i);
                }
                assertThat(loopback.left.queue.poll()).isNull();
            }
            assertThat(batch.post()).isEqualTo(4);
            done(loopback, 0, 1, 2, 3);
        }
    }

    @Test
    void queuePairThatIsNotExtendedHasNoFunctions() {
        try (Loopback loopback = Loopback.connected()) {
            QueuePair pair = loopback.left.pair;
            assertThatThrownBy(() -> sends(loopback, pair, false))
                    .isInstanceOf(UnsupportedVerbException.class)
                    .hasMessageContaining("ibv_qp_to_qp_ex")
                    .hasMessageContaining("no extended queue pairs");
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void postBeforeTheStateAllowsItIsRefusedForMixedBatches(Way way) {
        VerbsArena arena = way.arena().make();
        try (Loopback loopback = way.make(() -> Loopback.unconnected(arena, way::options))) {
            SendBatch mixed = loopback.left
                    .pair
                    .sendBatch(2)
                    .send(1, local(loopback, 1))
                    .write(2, local(loopback, 1), remote(loopback, 1));
            for (int i = 0; i < 2; i++) {
                assertThatThrownBy(mixed::post)
                        .isInstanceOf(IllegalStateException.class)
                        .isNotInstanceOf(PostException.class);
            }
            assertThat(Fenced.calls("ibv_post_send")).isZero();
        }
    }
}
