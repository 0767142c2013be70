package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.verbs.device.QueuePairType;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Tests the table of operations. */
class OperationTest {
    private static Set<Operation> of(QueuePairType transport) {
        EnumSet<Operation> operations = EnumSet.noneOf(Operation.class);
        Arrays.stream(Operation.values())
                .filter(operation -> operation.isOf(transport))
                .forEach(operations::add);
        return operations;
    }

    @Test
    void codesLeadBackToTheirOperations() {
        for (Operation operation : Operation.values()) {
            assertThat(Operation.of(operation.code())).isEqualTo(operation);
        }
        assertThat(Operation.of(12)).isEqualTo(Operation.UNKNOWN);
        assertThat(Operation.of(Operation.CODES)).isEqualTo(Operation.UNKNOWN);
    }

    @Test
    void extendedOperationsHaveFlagBuilderAndShape() {
        Set<Integer> flags = new HashSet<>();
        for (SendOperation send : SendOperation.values()) {
            Operation operation = send.operation();
            assertThat(operation.name()).isEqualTo(send.name());
            assertThat(Integer.bitCount(send.bit())).isOne();
            assertThat(flags.add(send.bit())).as("own flag of %s", send).isTrue();
            assertThat(operation.builder()).startsWith("ibv_wr_");
            assertThat(operation.shape()).isNotEqualTo(Operation.Shape.NONE);
        }
    }

    @Test
    void otherOperationsHaveNoFlagBuilderOrShape() {
        for (Operation operation : EnumSet.of(Operation.DRIVER1, Operation.RECEIVE, Operation.UNKNOWN)) {
            assertThat(operation.flag()).isZero();
            assertThat(operation.builder()).isEmpty();
            assertThat(operation.shape()).isEqualTo(Operation.Shape.NONE);
            assertThat(operation.carriesData()).isFalse();
        }
    }

    @Test
    void transportsHaveTheirOperations() {
        Set<Operation> sends = EnumSet.of(Operation.SEND, Operation.SEND_WITH_IMMEDIATE);
        assertThat(of(QueuePairType.UD)).isEqualTo(sends);
        assertThat(of(QueuePairType.RAW_PACKET)).isEqualTo(sends);
        assertThat(of(QueuePairType.XRC_RECV)).isEmpty();
        Set<Operation> unreliable = EnumSet.copyOf(sends);
        unreliable.addAll(EnumSet.of(
                Operation.SEND_WITH_INVALIDATE,
                Operation.RDMA_WRITE,
                Operation.RDMA_WRITE_WITH_IMMEDIATE,
                Operation.BIND_MW,
                Operation.LOCAL_INVALIDATE));
        assertThat(of(QueuePairType.UC)).isEqualTo(unreliable);
        Set<Operation> reliable = EnumSet.copyOf(unreliable);
        reliable.addAll(EnumSet.of(Operation.RDMA_READ, Operation.COMPARE_AND_SWAP, Operation.FETCH_AND_ADD));
        assertThat(of(QueuePairType.RC)).isEqualTo(reliable);
        assertThat(of(QueuePairType.XRC_SEND)).isEqualTo(reliable);
        assertThat(of(QueuePairType.DRIVER)).isEqualTo(reliable);
    }

    @Test
    void sendsAndWritesTakeImmediateData() {
        assertThat(Operation.SEND.withImmediate()).isEqualTo(Operation.SEND_WITH_IMMEDIATE);
        assertThat(Operation.RDMA_WRITE.withImmediate()).isEqualTo(Operation.RDMA_WRITE_WITH_IMMEDIATE);
        assertThat(Operation.RDMA_READ.withImmediate()).isEqualTo(Operation.UNKNOWN);
        assertThat(Operation.SEND_WITH_INVALIDATE.plain()).isEqualTo(Operation.SEND);
        assertThat(Operation.RDMA_WRITE_WITH_IMMEDIATE.plain()).isEqualTo(Operation.RDMA_WRITE);
        assertThat(Operation.FLUSH.plain()).isEqualTo(Operation.FLUSH);
    }
}
