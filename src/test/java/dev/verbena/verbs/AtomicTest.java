package dev.verbena.verbs;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.Mlx5Too;
import dev.verbena.support.Twin;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Atomics that are not allowed. */
@DeviceTest
@Mlx5Too
class AtomicTest {
    private Loopback loopback;
    private Loopback.Side left;
    private Loopback.Side right;

    private void connect(QueuePairAttributes how) {
        loopback = Loopback.connected(VerbsArena.ofConfined(), how);
        left = loopback.left;
        right = loopback.right;
    }

    private void connect() {
        connect(QueuePairAttributes.none());
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    private WorkStatus statusOfAnAtomic(LocalMemory local, RemoteMemory remote) throws Exception {
        left.pair.postFetchAndAdd(1, local, remote, 1);
        WorkCompletion failed = left.next();
        assertThat(failed.operation()).isEqualTo(Operation.FETCH_AND_ADD);
        return failed.status();
    }

    @Twin("test_atomic.AtomicTest.test_atomic_invalid_qp_access")
    @Test
    void atomicFailsIfTheQueuePairForbidsIt() throws Exception {
        connect(QueuePairAttributes.none().access(List.of(LOCAL_WRITE)));
        assertThat(statusOfAnAtomic(left.buffer, right.buffer.remote()))
                .isIn(WorkStatus.REMOTE_INVALID_REQUEST_ERROR, WorkStatus.REMOTE_ACCESS_ERROR);
    }

    @Twin("test_atomic.AtomicTest.test_atomic_invalid_mr_access")
    @Test
    void atomicFailsIfTheMemoryForbidsIt() throws Exception {
        connect();
        MemoryRegion closed = loopback.domain.register(loopback.arena.allocate(64, 64), LOCAL_WRITE);
        assertThat(statusOfAnAtomic(left.buffer, closed.remote())).isEqualTo(WorkStatus.REMOTE_ACCESS_ERROR);
        assertThat(closed.segment().get(JAVA_LONG, 0)).isZero();
    }

    @Twin("test_atomic.AtomicTest.test_atomic_invalid_rkey")
    @Test
    void atomicFailsWithAWrongRemoteKey() throws Exception {
        connect();
        RemoteMemory wrong = new RemoteMemory(right.buffer.address(), right.buffer.remoteKey() + 1, 8);
        assertThat(statusOfAnAtomic(left.buffer, wrong)).isEqualTo(WorkStatus.REMOTE_ACCESS_ERROR);
    }

    @Twin("test_atomic.AtomicTest.test_atomic_invalid_lkey")
    @Test
    void atomicFailsWithReadOnlyLocalMemory() throws Exception {
        connect();
        // A wrong key can't be named; a right one of memory that the adapter may not write is what is left.
        MemoryRegion readOnly = loopback.domain.register(loopback.arena.allocate(64, 64));
        assertThat(statusOfAnAtomic(readOnly, right.buffer.remote()))
                .isIn(
                        WorkStatus.LOCAL_PROTECTION_ERROR,
                        WorkStatus.LOCAL_ACCESS_ERROR,
                        WorkStatus.LOCAL_QP_OPERATION_ERROR);
        assertThat(readOnly.segment().get(JAVA_LONG, 0)).isZero();
    }
}
