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
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Each operation moves its bytes and is reported at both ends: by a plain queue pair, by an extended one that was made with
 * this operation alone, and through memory that is paged on demand or written to in any order.
 */
@DeviceTest
class TrafficTest {
    private static final int ROUNDS = 20;
    private static final int MANY_ROUNDS = 40;
    private static final int SIZE = 1024;
    private static final int PAGE = 4096;

    /** The operations of a reliable connection. */
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

        OfferedOperation offered() {
            return OfferedOperation.valueOf(name());
        }

        boolean isReceived() {
            return this == SEND || hasImmediate();
        }

        boolean hasImmediate() {
            return name().endsWith("IMMEDIATE");
        }

        private void post(QueuePair pair, long id, LocalMemory here, RemoteMemory there, int i) {
            switch (this) {
                case SEND -> pair.postSend(id, here);
                case SEND_WITH_IMMEDIATE -> pair.postSendImmediate(id, here, 0xf1020300 + i);
                case RDMA_WRITE -> pair.postWrite(id, here, there);
                case RDMA_WRITE_WITH_IMMEDIATE -> pair.postWriteImmediate(id, here, there, 0xf1020300 + i);
                case RDMA_READ -> pair.postRead(id, here, there);
                case FETCH_AND_ADD -> pair.postFetchAndAdd(id, here, there, 1);
                case COMPARE_AND_SWAP -> pair.postCompareAndSwap(id, here, there, i, i + 1);
            }
        }

        /** Moves bytes between two regions in rounds; atomic operations count the rounds. */
        void move(int rounds, Loopback loopback, MemoryRegion here, MemoryRegion there) throws InterruptedException {
            there.segment().set(JAVA_LONG, 0, 0);
            for (int i = 0; i < rounds; i++) {
                byte filler = (byte) (i + 1);
                boolean isAtomic = this == FETCH_AND_ADD || this == COMPARE_AND_SWAP;
                if (!isAtomic) {
                    (this == RDMA_READ ? there : here).segment().fill(filler);
                }
                if (isReceived()) { // a write uses up a receive, and not its memory
                    loopback.right.pair.postReceive(i, there.slice(0, this == RDMA_WRITE_WITH_IMMEDIATE ? 1 : SIZE));
                }
                post(
                        loopback.left.pair,
                        1000 + i,
                        here.slice(0, SIZE),
                        there.slice(0, SIZE).remote(),
                        i);
                WorkCompletion sent = loopback.left.done();
                assertThat(sent.id()).isEqualTo(1000 + i);
                assertThat(sent.opcode()).isEqualTo(opcode);
                checkReceived(loopback, i);
                if (isAtomic) {
                    assertThat(here.segment().get(JAVA_LONG, 0)).isEqualTo(i);
                    assertThat(there.segment().get(JAVA_LONG, 0)).isEqualTo(i + 1);
                } else {
                    for (MemoryRegion each : List.of(here, there)) {
                        assertThat(each.segment().asSlice(0, SIZE).toArray(JAVA_BYTE))
                                .containsOnly(filler);
                    }
                }
            }
            if (this == COMPARE_AND_SWAP) {
                loopback.left.pair.postCompareAndSwap(99, here, there.remote(), 0, 77);
                loopback.left.done();
                assertThat(there.segment().get(JAVA_LONG, 0))
                        .as("another value was expected")
                        .isEqualTo(rounds);
            }
        }

        private void checkReceived(Loopback loopback, int i) throws InterruptedException {
            if (!isReceived()) {
                assertThat(loopback.right.queue.poll())
                        .as("the peer is told nothing")
                        .isNull();
                return;
            }
            WorkCompletion received = loopback.right.done();
            assertThat(received.id()).isEqualTo(i);
            assertThat(received.queuePairNumber()).isEqualTo(loopback.right.pair.number());
            assertThat(received.opcode())
                    .isEqualTo(
                            this == RDMA_WRITE_WITH_IMMEDIATE
                                    ? WorkCompletion.Opcode.RECEIVE_RDMA_WITH_IMMEDIATE
                                    : WorkCompletion.Opcode.RECEIVE);
            assertThat(received.byteLength()).isEqualTo(SIZE);
            assertThat(received.hasImmediate()).isEqualTo(hasImmediate());
            if (hasImmediate()) {
                assertThat(received.immediate()).isEqualTo(0xf1020300 + i);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    @Mlx5Too
    @Twin({"test_atomic.AtomicTest.test_atomic_cmp_and_swap", "test_atomic.AtomicTest.test_atomic_fetch_and_add"})
    void operationMovesItsBytes(Traffic traffic) throws InterruptedException {
        try (Loopback loopback = Loopback.connected()) {
            traffic.move(ROUNDS, loopback, loopback.left.buffer, loopback.right.buffer);
        }
    }

    private static Loopback extended(Traffic only) {
        return Loopback.connected(
                VerbsArena.ofConfined(),
                QueuePairAttributes.none(),
                options -> options.operations(Set.of(only.offered())));
    }

    @ParameterizedTest
    @EnumSource
    @Mlx5Too
    @Twin({
        "test_qpex.QpExTestCase.test_qp_ex_rc_send",
        "test_qpex.QpExTestCase.test_qp_ex_rc_send_imm",
        "test_qpex.QpExTestCase.test_qp_ex_rc_rdma_write",
        "test_qpex.QpExTestCase.test_qp_ex_rc_rdma_write_imm",
        "test_qpex.QpExTestCase.test_qp_ex_rc_rdma_read",
        "test_qpex.QpExTestCase.test_qp_ex_rc_atomic_cmp_swp",
        "test_qpex.QpExTestCase.test_qp_ex_rc_atomic_fetch_add"
    })
    void extendedOperationMovesItsBytes(Traffic traffic) throws InterruptedException {
        try (Loopback loopback = extended(traffic)) {
            assertThat(loopback.left.pair.isExtended()).isTrue();
            traffic.move(MANY_ROUNDS, loopback, loopback.left.buffer, loopback.right.buffer);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"RDMA_WRITE", "RDMA_READ"})
    @Twin({
        "test_qpex.QpExTestCase.test_qp_ex_rc_rdma_write_zero_length",
        "test_qpex.QpExTestCase.test_qp_ex_rc_rdma_read_zero_size"
    })
    void extendedOperationOfNoBytesChangesNothing(Traffic traffic) throws InterruptedException {
        try (Loopback loopback = extended(traffic)) {
            loopback.left.buffer.segment().fill((byte) 'l');
            loopback.right.buffer.segment().fill((byte) 'r');
            for (int i = 0; i < MANY_ROUNDS; i++) {
                LocalMemory nothing = loopback.left.buffer.slice(0, 0);
                traffic.post(loopback.left.pair, i, nothing, loopback.right.buffer.remote(), i);
                assertThat(loopback.left.done().id()).isEqualTo(i);
            }
            assertThat(loopback.left.buffer.segment().toArray(JAVA_BYTE)).containsOnly('l');
            assertThat(loopback.right.buffer.segment().toArray(JAVA_BYTE)).containsOnly('r');
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

    private static void move(Traffic traffic, AccessFlag flag) throws InterruptedException {
        try (Loopback loopback = Loopback.connected()) {
            traffic.move(ROUNDS, loopback, region(loopback.domain, flag), region(loopback.domain, flag));
        }
    }

    @ParameterizedTest
    @EnumSource
    @Twin("test_relaxed_ordering.RoTestCase.test_ro_rc_traffic")
    void operationMovesRelaxedOrderingMemory(Traffic traffic) throws InterruptedException {
        move(traffic, RELAXED_ORDERING);
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
        move(traffic, ON_DEMAND);
    }

    private static void datagrams(AccessFlag flag) throws InterruptedException {
        try (DatagramPair pair = DatagramPair.ready(VerbsArena.ofConfined())) {
            MemoryRegion from = region(pair.domain, flag);
            // No device claims that datagrams can be received into memory that is paged on demand.
            MemoryRegion to = flag == ON_DEMAND ? pair.right.buffer : region(pair.domain, flag);
            AddressHandle path = DatagramPair.path(pair.right);
            for (int round = 1; round <= ROUNDS; round++) {
                from.segment().fill((byte) round);
                pair.right.pair.postReceive(1, to.slice(0, Grh.BYTES + 512));
                pair.left.pair.postSend(2, from.slice(0, 512), path, pair.right.pair.number(), DatagramPair.RIGHT_KEY);
                pair.left.done();
                pair.right.done();
                assertThat(to.segment().asSlice(Grh.BYTES, 512).toArray(JAVA_BYTE))
                        .containsOnly(round);
            }
        }
    }

    @Test
    @Twin("test_relaxed_ordering.RoTestCase.test_ro_ud_traffic")
    void datagramsUseRelaxedOrderingMemory() throws Exception {
        datagrams(RELAXED_ORDERING);
    }

    @Test
    @Twin("test_odp.OdpTestCase.test_odp_ud_traffic")
    void datagramsUseOnDemandMemory() throws Exception {
        datagrams(ON_DEMAND);
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
                shared.postReceive(1, to.slice(0, SIZE));
                sender.postSend(2, from.slice(0, SIZE));
                loopback.left.done();
                queue.await(Loopback.DEADLINE).orThrow();
                assertThat(to.segment().asSlice(0, SIZE).toArray(JAVA_BYTE)).containsOnly(round);
            }
        }
    }
}
