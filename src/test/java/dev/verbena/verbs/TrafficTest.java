package dev.verbena.verbs;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.ON_DEMAND;
import static dev.verbena.verbs.AccessFlag.RELAXED_ORDERING;
import static dev.verbena.verbs.AccessFlag.REMOTE_ATOMIC;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.DatagramPair;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.Mlx5Too;
import dev.verbena.support.Twin;
import dev.verbena.verbs.QueuePairOptions.OfferedOperation;
import dev.verbena.verbs.address.Grh;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Each operation of each transport moves its bytes, wherever they are, and is reported at both ends: by a plain queue pair, by
 * an extended one that was made with this operation alone, and through memory that is paged on demand or written to in any
 * order.
 */
@DeviceTest
class TrafficTest {
    private static final int ROUNDS = 5;
    private static final int PAGE = 4096;
    private static final int KEY = 0x5678;
    private static final MemorySegment ZEROS = MemorySegment.ofArray(new byte[Loopback.SIZE]);

    /** The memory before each round, from its number on. */
    private static final MemorySegment PATTERN = MemorySegment.ofArray(new byte[Loopback.SIZE + ROUNDS]);

    static {
        for (int i = 0; i < PATTERN.byteSize(); i++) {
            PATTERN.set(JAVA_BYTE, i, (byte) (i * 31 + i / 256));
        }
    }

    enum Transport {
        RC,
        EXTENDED_RC,
        UC,
        UD,
        EXTENDED_UD;

        private boolean isExtended() {
            return name().startsWith("EXTENDED");
        }

        boolean isDatagram() {
            return name().endsWith("UD");
        }

        boolean has(Traffic traffic) {
            return isDatagram() ? traffic.isSend() : this != UC || traffic.isSend() || traffic.isWrite();
        }

        /** Plain datagrams wake who waits for them, and an extended queue has those of extended queue pairs. */
        private QueuePairOptions options(CompletionQueue queue, Traffic only) {
            Context context = queue.context();
            CompletionQueueOptions queues = CompletionQueueOptions.of(256);
            QueuePairOptions options = switch (this) {
                case RC, EXTENDED_RC -> QueuePair.rc(queue);
                case UC -> QueuePair.uc(queue);
                case UD ->
                    QueuePair.ud(context.createCompletionQueue(queues.channel(context.createCompletionChannel())));
                case EXTENDED_UD ->
                    QueuePair.ud(context.createCompletionQueue(queues.fields(CompletionField.standard())));
            };
            return (isExtended() ? options.operations(OfferedOperation.valueOf(only.name())) : options)
                    .inlineSize(64)
                    .sendSge(3)
                    .receiveSge(3);
        }

        /** Makes two queue pairs that reach each other; extended ones can do nothing else. */
        Loopback open(Traffic only) {
            VerbsArena arena = VerbsArena.ofConfined();
            if (!isDatagram()) {
                return Loopback.connected(
                        arena, QueuePairAttributes.none(), reliable -> options(queue(reliable), only));
            }
            Loopback loopback = Loopback.unconnected(arena, reliable -> options(queue(reliable), only));
            loopback.left.pair.toReady(1);
            loopback.right.pair.toReady(KEY);
            return loopback;
        }
    }

    private static CompletionQueue queue(QueuePairOptions options) {
        return Objects.requireNonNull(QueuePairOptions.SEND_QUEUE.of(options));
    }

    /** Where the bytes of a request are: in parts of memory that do not touch, or in the request itself. */
    enum Place {
        ONE_PIECE(512),
        THREE_PIECES(1, 3, 5),
        WHOLE_MEMORY(Loopback.SIZE),
        NOWHERE(0),
        INLINE(2, 11);

        private final int[] lengths;

        Place(int... lengths) {
            this.lengths = lengths;
        }

        boolean isOf(Transport transport, Traffic traffic) {
            return switch (this) {
                case ONE_PIECE, NOWHERE -> true;
                case THREE_PIECES, INLINE -> traffic.isSend() || traffic.isWrite();
                case WHOLE_MEMORY -> !transport.isDatagram();
            };
        }

        private static MemorySegment bytes(int round, int part, int length) {
            return PATTERN.asSlice(round + 64L * part, length);
        }

        /** Returns what the parts are together. */
        MemorySegment message(int round) {
            ByteBuffer all = ByteBuffer.allocate(IntStream.of(lengths).sum());
            for (int part = 0; part < lengths.length; part++) {
                all.put(bytes(round, part, lengths[part]).asByteBuffer());
            }
            return MemorySegment.ofArray(all.array());
        }

        SendBatch add(SendBatch batch, Traffic traffic, MemoryRegion here, RemoteMemory there, int round) {
            MemorySegment first = bytes(round, 0, lengths[0]);
            LocalMemory piece = here.slice(0, lengths[0]);
            if (this == INLINE && traffic.isSend()) {
                batch.sendInline(1000 + round, first);
            } else if (this == INLINE) {
                batch.writeInline(1000 + round, first, there);
            } else if (traffic.isWrite()) {
                batch.write(1000 + round, piece, there);
            } else if (traffic == Traffic.RDMA_READ) {
                batch.read(1000 + round, piece, there);
            } else if (this == NOWHERE) {
                batch.send(1000 + round);
            } else {
                batch.send(1000 + round, piece);
            }
            for (int part = 1; part < lengths.length; part++) {
                if (this == INLINE) {
                    batch.andInline(bytes(round, part, lengths[part]));
                } else {
                    batch.and(here.slice(64L * part, lengths[part]));
                }
            }
            return traffic.hasImmediate() ? batch.immediate(0xf1020300 + round) : batch;
        }
    }

    enum Traffic {
        SEND(WorkCompletion.Opcode.SEND),
        SEND_WITH_IMMEDIATE(WorkCompletion.Opcode.SEND),
        RDMA_WRITE(WorkCompletion.Opcode.RDMA_WRITE),
        RDMA_WRITE_WITH_IMMEDIATE(WorkCompletion.Opcode.RDMA_WRITE),
        RDMA_READ(WorkCompletion.Opcode.RDMA_READ),
        FETCH_AND_ADD(WorkCompletion.Opcode.FETCH_AND_ADD),
        COMPARE_AND_SWAP(WorkCompletion.Opcode.COMPARE_AND_SWAP);

        private final WorkCompletion.Opcode opcode;

        Traffic(WorkCompletion.Opcode opcode) {
            this.opcode = opcode;
        }

        boolean isSend() {
            return opcode == WorkCompletion.Opcode.SEND;
        }

        boolean isWrite() {
            return opcode == WorkCompletion.Opcode.RDMA_WRITE;
        }

        boolean isAtomic() {
            return this == FETCH_AND_ADD || this == COMPARE_AND_SWAP;
        }

        boolean hasImmediate() {
            return name().endsWith("IMMEDIATE");
        }

        boolean isReceived() {
            return isSend() || hasImmediate();
        }

        private void post(QueuePair pair, LocalMemory here, RemoteMemory there, int i) {
            switch (this) {
                case SEND -> pair.postSend(1000 + i, here);
                case SEND_WITH_IMMEDIATE -> pair.postSendImmediate(1000 + i, here, 0xf1020300 + i);
                case RDMA_WRITE -> pair.postWrite(1000 + i, here, there);
                case RDMA_WRITE_WITH_IMMEDIATE -> pair.postWriteImmediate(1000 + i, here, there, 0xf1020300 + i);
                case RDMA_READ -> pair.postRead(1000 + i, here, there);
                case FETCH_AND_ADD -> pair.postFetchAndAdd(1000 + i, here, there, 1);
                case COMPARE_AND_SWAP -> pair.postCompareAndSwap(1000 + i, here, there, i, i + 1);
            }
        }
    }

    /** An operation between two queue pairs, from memory to memory. */
    private record Move(Transport transport, Traffic traffic, Loopback ends, MemoryRegion here, MemoryRegion there) {
        void run() throws InterruptedException {
            if (traffic.isAtomic()) {
                count();
                return;
            }
            for (Place place : Place.values()) {
                if (place.isOf(transport, traffic)) {
                    move(place);
                }
            }
        }

        /** Moves bytes in rounds, and looks at all memory of both ends. */
        void move(Place place) throws InterruptedException {
            int size = place == Place.WHOLE_MEMORY ? Loopback.SIZE : PAGE;
            MemorySegment from =
                    (traffic == Traffic.RDMA_READ ? there : here).segment().asSlice(0, size);
            MemorySegment to =
                    (traffic == Traffic.RDMA_READ ? here : there).segment().asSlice(0, size);
            AddressHandle path = transport.isDatagram() ? DatagramPair.path(ends.right) : null;
            SendBatch batch = ends.left.pair.sendBatch(1);
            for (int i = 0; i < ROUNDS; i++) {
                MemorySegment before = PATTERN.asSlice(i, size);
                from.copyFrom(before);
                to.fill((byte) 0);
                if (traffic.isReceived()) { // a write uses up a receive, and not its memory
                    ends.right.pair.postReceive(i, there.slice(0, traffic.isWrite() ? 1 : size));
                }
                if (place == Place.ONE_PIECE && path == null) {
                    traffic.post(
                            ends.left.pair,
                            here.slice(0, 512),
                            there.slice(0, 512).remote(),
                            i);
                } else {
                    place.add(batch.clear(), traffic, here, there.remote(), i);
                    (path == null ? batch : batch.to(path, ends.right.pair.number(), KEY)).post();
                }
                MemorySegment message = place.message(i);
                completes(i, (int) message.byteSize());
                MemorySegment found = to.asSlice(transport.isDatagram() ? Grh.BYTES : 0);
                assertThat(found.asSlice(0, message.byteSize()).mismatch(message))
                        .isEqualTo(-1);
                MemorySegment behind = found.asSlice(message.byteSize());
                assertThat(behind.mismatch(ZEROS.asSlice(0, behind.byteSize())))
                        .as("behind it")
                        .isEqualTo(-1);
                assertThat(from.mismatch(before)).as("what it was moved from").isEqualTo(-1);
            }
        }

        /** Counts rounds at the peer. */
        private void count() throws InterruptedException {
            there.segment().set(JAVA_LONG, 0, 0);
            for (int i = 0; i < ROUNDS; i++) {
                traffic.post(ends.left.pair, here, there.remote(), i);
                completes(i, 8);
                assertThat(here.segment().get(JAVA_LONG, 0)).isEqualTo(i);
                assertThat(there.segment().get(JAVA_LONG, 0)).isEqualTo(i + 1);
            }
            if (traffic == Traffic.COMPARE_AND_SWAP) {
                ends.left.pair.postCompareAndSwap(99, here, there.remote(), 0, 77);
                ends.left.done();
                assertThat(there.segment().get(JAVA_LONG, 0))
                        .as("another value was expected")
                        .isEqualTo(ROUNDS);
            }
        }

        private void completes(int i, int length) throws InterruptedException {
            WorkCompletion sent = done(ends.left.pair);
            assertThat(sent.id()).isEqualTo(1000 + i);
            assertThat(sent.opcode()).isEqualTo(traffic.opcode);
            assertThat(sent.hasRoutingHeader()).isFalse();
            if (!traffic.isReceived()) {
                assertThat(ends.right.queue.poll())
                        .as("the peer is told nothing")
                        .isNull();
                return;
            }
            WorkCompletion received = done(ends.right.pair);
            assertThat(received.id()).isEqualTo(i);
            assertThat(received.queuePairNumber()).isEqualTo(ends.right.pair.number());
            assertThat(received.opcode())
                    .isEqualTo(
                            traffic.isWrite()
                                    ? WorkCompletion.Opcode.RECEIVE_RDMA_WITH_IMMEDIATE
                                    : WorkCompletion.Opcode.RECEIVE);
            assertThat(received.hasImmediate()).isEqualTo(traffic.hasImmediate());
            if (traffic.hasImmediate()) {
                assertThat(received.immediate()).isEqualTo(0xf1020300 + i);
            }
            if (transport.isDatagram()) { // soft-RoCE also says so of others
                assertThat(received.hasRoutingHeader()).isTrue();
                assertThat(received.byteLength()).as("the header counts").isEqualTo(Grh.BYTES + length);
                assertThat(received.sourceQueuePair()).isEqualTo(ends.left.pair.number());
                assertThat(received.pkeyIndex()).isZero();
            } else {
                assertThat(received.byteLength()).isEqualTo(length);
            }
        }

        private static WorkCompletion done(QueuePair pair) throws InterruptedException {
            CompletionQueue queue = queue(pair.options);
            if (!queue.isExtended()) {
                return queue.await(Loopback.DEADLINE).orThrow();
            }
            ExtendedCompletions cursor = queue.extendedCompletions(1);
            assertThat(cursor.await(Loopback.DEADLINE)).isOne();
            assertThat(cursor.next()).isTrue();
            WorkCompletion done = cursor.completion().orThrow();
            assertThat(cursor.hasRoutingHeader()).isEqualTo(done.hasRoutingHeader());
            return done;
        }
    }

    private static Stream<Arguments> rows(boolean datagrams) {
        return Stream.of(Transport.values())
                .filter(transport -> transport.isDatagram() == datagrams)
                .flatMap(transport -> Stream.of(Traffic.values())
                        .filter(transport::has)
                        .map(traffic -> Arguments.of(transport, traffic)));
    }

    static Stream<Arguments> connected() {
        return rows(false);
    }

    static Stream<Arguments> datagrams() {
        return rows(true);
    }

    private static void move(Transport transport, Traffic traffic) throws InterruptedException {
        try (Loopback ends = transport.open(traffic)) {
            assertThat(ends.left.pair.isExtended()).isEqualTo(transport.isExtended());
            new Move(transport, traffic, ends, ends.left.buffer, ends.right.buffer).run();
        }
    }

    @ParameterizedTest
    @MethodSource("connected")
    @Mlx5Too
    @Twin({
        "test_atomic.AtomicTest.test_atomic_cmp_and_swap",
        "test_atomic.AtomicTest.test_atomic_fetch_and_add",
        "test_qpex.QpExTestCase.test_qp_ex_rc_send",
        "test_qpex.QpExTestCase.test_qp_ex_rc_send_imm",
        "test_qpex.QpExTestCase.test_qp_ex_rc_rdma_write",
        "test_qpex.QpExTestCase.test_qp_ex_rc_rdma_write_imm",
        "test_qpex.QpExTestCase.test_qp_ex_rc_rdma_write_zero_length",
        "test_qpex.QpExTestCase.test_qp_ex_rc_rdma_read",
        "test_qpex.QpExTestCase.test_qp_ex_rc_rdma_read_zero_size",
        "test_qpex.QpExTestCase.test_qp_ex_rc_atomic_cmp_swp",
        "test_qpex.QpExTestCase.test_qp_ex_rc_atomic_fetch_add"
    })
    void operationMovesItsBytes(Transport transport, Traffic traffic) throws InterruptedException {
        move(transport, traffic);
    }

    @ParameterizedTest
    @MethodSource("datagrams")
    @Twin({
        "test_cq_events.CqEventsTestCase.test_cq_events_ud",
        "test_cqex.CqExTestCase.test_ud_traffic_cq_ex",
        "test_qpex.QpExTestCase.test_qp_ex_ud_send",
        "test_qpex.QpExTestCase.test_qp_ex_ud_send_imm",
        "test_qpex.QpExTestCase.test_qp_ex_ud_zero_size"
    })
    void datagramMovesItsBytes(Transport transport, Traffic traffic) throws InterruptedException {
        move(transport, traffic);
    }

    @Test
    @Mlx5Too
    void unreliableSendWithoutReceiveIsLost() throws InterruptedException {
        try (Loopback ends = Transport.UC.open(Traffic.SEND)) {
            ends.left.pair.postSend(1, ends.left.buffer.slice(0, 8));
            assertThat(ends.left.done().id()).as("the sender never knows").isEqualTo(1);
            ends.right.pair.postReceive(2, ends.right.buffer);
            ends.left.pair.postSend(3, ends.left.buffer.slice(0, 16));
            ends.left.done();
            assertThat(ends.right.done().byteLength()).isEqualTo(16);
            assertThat(ends.right.pair.query().state()).isEqualTo(QueuePairState.RTS);
        }
    }

    /** Fresh memory with a flag; where the device has no such memory the test is left out, and says why. */
    private static MemoryRegion region(ProtectionDomain domain, AccessFlag flag) {
        try {
            return domain.register(
                    domain.arena().allocate(PAGE, PAGE),
                    List.of(LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC, flag),
                    domain.arena());
        } catch (VerbsException e) {
            assertThat(e.getMessage()).contains(flag.toString());
            return abort("this device has no " + flag + ": " + e.getMessage());
        }
    }

    private static void move(Transport transport, Traffic traffic, AccessFlag flag) throws InterruptedException {
        try (Loopback ends = transport.open(traffic)) {
            MemoryRegion here = region(ends.domain, flag);
            // No device claims that datagrams can be received into memory that is paged on demand.
            boolean isPlain = flag == ON_DEMAND && transport.isDatagram();
            MemoryRegion there = isPlain ? ends.right.buffer : region(ends.domain, flag);
            Move move = new Move(transport, traffic, ends, here, there);
            if (traffic.isAtomic()) {
                move.count();
            } else {
                move.move(Place.ONE_PIECE);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    @Twin("test_relaxed_ordering.RoTestCase.test_ro_rc_traffic")
    void operationMovesRelaxedOrderingMemory(Traffic traffic) throws InterruptedException {
        move(Transport.RC, traffic, RELAXED_ORDERING);
    }

    @ParameterizedTest
    @EnumSource
    @Twin({
        "test_odp.OdpTestCase.test_odp_rc_traffic",
        "test_odp.OdpTestCase.test_odp_rc_rdma_write",
        "test_odp.OdpTestCase.test_odp_rc_rdma_read",
        "test_odp.OdpTestCase.test_odp_rc_atomic_fetch_and_add",
        "test_odp.OdpTestCase.test_odp_rc_atomic_cmp_and_swp"
    })
    void operationMovesOnDemandMemory(Traffic traffic) throws InterruptedException {
        move(Transport.RC, traffic, ON_DEMAND);
    }

    @Test
    @Twin("test_relaxed_ordering.RoTestCase.test_ro_ud_traffic")
    void datagramsUseRelaxedOrderingMemory() throws Exception {
        move(Transport.UD, Traffic.SEND, RELAXED_ORDERING);
    }

    @Test
    @Twin("test_odp.OdpTestCase.test_odp_ud_traffic")
    void datagramsUseOnDemandMemory() throws Exception {
        move(Transport.UD, Traffic.SEND, ON_DEMAND);
    }

    @Test
    @Twin("test_odp.OdpTestCase.test_odp_rc_srq_traffic")
    void sharedReceivesUseOnDemandMemory() throws Exception {
        try (Loopback loopback = Loopback.connected()) {
            MemoryRegion from = region(loopback.domain, ON_DEMAND);
            MemoryRegion to = region(loopback.domain, ON_DEMAND);
            SharedReceiveQueue shared = loopback.domain.createSharedReceiveQueue(
                    SharedReceiveQueue.basic().depth(4));
            CompletionQueue queue = loopback.context.createCompletionQueue(16);
            QueuePair receiver =
                    loopback.domain.createQueuePair(QueuePair.rc(queue).sharedReceiveQueue(shared));
            QueuePair sender = loopback.domain.createQueuePair(QueuePair.rc(loopback.left.queue));
            sender.connect(receiver.endpoint());
            receiver.connect(sender.endpoint());
            for (int round = 1; round <= ROUNDS; round++) {
                from.segment().fill((byte) round);
                shared.postReceive(1, to.slice(0, 1024));
                sender.postSend(2, from.slice(0, 1024));
                loopback.left.done();
                queue.await(Loopback.DEADLINE).orThrow();
                assertThat(to.segment().asSlice(0, 1024).toArray(JAVA_BYTE)).containsOnly(round);
            }
        }
    }
}
