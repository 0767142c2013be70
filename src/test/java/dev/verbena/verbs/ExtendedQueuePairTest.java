package dev.verbena.verbs;

import static dev.verbena.verbs.QueuePairOptions.OfferedOperation.ATOMIC_WRITE;
import static dev.verbena.verbs.QueuePairOptions.OfferedOperation.RDMA_WRITE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.internal.RdmaCoreVersion;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.TestDevice;
import dev.verbena.support.Twin;
import dev.verbena.support.Unsupported;
import dev.verbena.verbs.device.DeviceCapability;
import dev.verbena.verbs.device.QueuePairType;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What only queue pairs that post through {@code ibv_wr_*} can do, windows by them, and flags of queue pairs. */
@DeviceTest
class ExtendedQueuePairTest {
    private static final int ROUNDS = 100;

    private Loopback loopback;
    private Loopback.Side left;
    private Loopback.Side right;

    private void connect(QueuePairOptions.OfferedOperation first, QueuePairOptions.OfferedOperation... more) {
        loopback = Loopback.connected(
                VerbsArena.ofConfined(), QueuePairAttributes.none(), options -> options.operations(first, more));
        left = loopback.left;
        right = loopback.right;
    }

    @AfterEach
    void close() {
        if (loopback != null) {
            loopback.close();
        }
    }

    @Twin("test_qpex.QpExTestCase.test_qp_ex_rc_atomic_write")
    @Test
    void atomicWriteArrives() throws Exception {
        connect(ATOMIC_WRITE);
        left.pair.postAtomicWrite(
                1, 0x1122334455667788L, right.buffer.slice(8, 8).remote());
        WorkCompletion written = left.next();
        if (!written.isSuccess()) { // Linux 6.1: the provider takes the request, and the kernel does not know it
            assertThat(written.status()).isEqualTo(WorkStatus.LOCAL_QP_OPERATION_ERROR);
            assertThat(written.operation()).isEqualTo(Operation.ATOMIC_WRITE);
            assertThat(right.buffer.segment().get(JAVA_LONG, 8)).isZero();
            abort("the kernel has no atomic writes");
        }
        assertThat(written.opcode()).isEqualTo(WorkCompletion.Opcode.ATOMIC_WRITE);
        assertThat(right.buffer.segment().get(JAVA_LONG, 8)).isEqualTo(0x1122334455667788L);
        for (int i = 0; i < ROUNDS; i++) {
            left.pair.postAtomicWrite(i, i, right.buffer.remote());
            left.done();
            assertThat(right.buffer.segment().get(JAVA_LONG, 0)).isEqualTo(i);
        }
    }

    private MemoryRegion flushable() {
        return loopback.domain.register(
                loopback.arena.allocate(4096, 4096),
                AccessFlag.LOCAL_WRITE,
                AccessFlag.REMOTE_WRITE,
                AccessFlag.FLUSH_GLOBAL);
    }

    private boolean deviceFlushes() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            return TestDevice.get().open(arena).attributes().capabilities().contains(DeviceCapability.FLUSH_GLOBAL);
        }
    }

    @Test
    void flushableMemoryIsRegisteredOrUnsupported() throws Exception {
        connect(RDMA_WRITE);
        if (deviceFlushes()) {
            assertThat(flushable().access()).contains(AccessFlag.FLUSH_GLOBAL);
        } else {
            assertThatThrownBy(this::flushable)
                    .isInstanceOf(UnsupportedVerbException.class)
                    .hasMessageContaining("does not support FLUSH_GLOBAL");
        }
    }

    /** The queue pairs have the default rights. */
    @Test
    void flushCompletes() throws Exception {
        MemoryRegion flushable;
        try {
            connect(RDMA_WRITE, QueuePairOptions.OfferedOperation.FLUSH);
            flushable = flushable();
        } catch (UnsupportedVerbException refused) {
            assertThat(refused).hasMessageMatching(".*(ibv_wr_flush|ibv_create_qp_ex|ibv_reg_mr).*FLUSH.*");
            assertThat(deviceFlushes() && RdmaCoreVersion.V49.isInstalled()).isFalse();
            abort("the device lacks it: " + refused.getMessage());
            return;
        }
        SendBatch batch = left.pair.sendBatch(2);
        batch.write(1, left.buffer.slice(0, 8), flushable.remote()).unsignaled();
        batch.flush(
                2, flushable.slice(0, 8).remote(), SendBatch.FlushLevel.RANGE, Set.of(SendBatch.FlushPlacement.GLOBAL));
        batch.post();
        assertThat(left.done().opcode()).isEqualTo(WorkCompletion.Opcode.FLUSH);
    }

    /** A window is bound again only after its key has ended. */
    @Twin("test_qpex.QpExTestCase.test_qp_ex_rc_bind_mw")
    @Test
    void windowIsBoundAndInvalidated() throws Exception {
        connect(
                QueuePairOptions.OfferedOperation.BIND_MW,
                QueuePairOptions.OfferedOperation.LOCAL_INVALIDATE,
                QueuePairOptions.OfferedOperation.SEND_WITH_INVALIDATE,
                RDMA_WRITE);
        MemoryRegion target = loopback.domain.register(
                loopback.arena.allocate(4096, 4096),
                AccessFlag.LOCAL_WRITE,
                AccessFlag.REMOTE_WRITE,
                AccessFlag.MW_BIND);
        MemoryWindow window = loopback.domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2);
        bind(window, target, AccessFlag.REMOTE_WRITE);
        left.pair.postWrite(2, left.buffer.slice(0, 8), window.remote().slice(0, 8));
        left.done();
        right.pair.postReceive(3, right.buffer);
        left.pair.postSendInvalidate(4, left.buffer.slice(0, 8), window.remoteKey());
        left.done();
        assertThat(right.done().invalidatedKey()).isEqualTo(window.remoteKey());

        bind(window, target, AccessFlag.REMOTE_WRITE);
        right.pair.postLocalInvalidate(6, window.remoteKey());
        assertThat(right.done().opcode()).isEqualTo(WorkCompletion.Opcode.LOCAL_INVALIDATE);

        bind(window, target, AccessFlag.LOCAL_WRITE);
        left.pair.postWrite(7, left.buffer.slice(0, 8), target.remote());
        left.done();
        left.pair.postWrite(8, left.buffer.slice(0, 8), window.remote().slice(0, 8));
        assertThat(left.next().status()).isEqualTo(WorkStatus.REMOTE_ACCESS_ERROR);
    }

    private void bind(MemoryWindow window, MemoryRegion target, AccessFlag access) throws Exception {
        right.pair.postBind(1, window, target, Set.of(access));
        assertThat(right.done().opcode()).isEqualTo(WorkCompletion.Opcode.BIND_MW);
    }

    @ParameterizedTest
    @EnumSource
    void creationFlagIsGranted(QueuePairOptions.Flag flag) {
        loopback = Loopback.connected();
        CompletionQueue queue = loopback.context.createCompletionQueue(16);
        QueuePairOptions options = QueuePair.ud(queue).flags(flag);
        QueuePair pair =
                Unsupported.orAborts("ibv_create_qp_ex", () -> loopback.domain.createQueuePair(options), flag.name());
        assertThat(pair.type()).isEqualTo(QueuePairType.UD);
        pair.close();
    }
}
