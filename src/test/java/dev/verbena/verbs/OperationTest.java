package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.raw.ibv_qp_ex;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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
        for (QueuePairOptions.OfferedOperation send : QueuePairOptions.OfferedOperation.values()) {
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

    @ParameterizedTest
    @CsvSource({
        "RDMA_WRITE, ibv_wr_rdma_write, REMOTE, true",
        "RDMA_WRITE_WITH_IMMEDIATE, ibv_wr_rdma_write_imm, REMOTE_IMMEDIATE, true",
        "SEND, ibv_wr_send, SEND, true",
        "SEND_WITH_IMMEDIATE, ibv_wr_send_imm, IMMEDIATE_OR_KEY, true",
        "RDMA_READ, ibv_wr_rdma_read, REMOTE, true",
        "COMPARE_AND_SWAP, ibv_wr_atomic_cmp_swp, ATOMIC, true",
        "FETCH_AND_ADD, ibv_wr_atomic_fetch_add, ATOMIC, true",
        "LOCAL_INVALIDATE, ibv_wr_local_inv, IMMEDIATE_OR_KEY, false",
        "BIND_MW, ibv_wr_bind_mw, BIND, false",
        "SEND_WITH_INVALIDATE, ibv_wr_send_inv, IMMEDIATE_OR_KEY, true",
        "TSO, ibv_wr_send_tso, TSO, true",
        "FLUSH, ibv_wr_flush, FLUSH, false",
        "ATOMIC_WRITE, ibv_wr_atomic_write, ATOMIC_WRITE, false"
    })
    void operationsHaveTheArgumentsOfTheirBuilder(
            Operation operation, String builder, Operation.Shape shape, boolean carriesData) {
        assertThat(operation.builder()).isEqualTo(builder);
        assertThat(operation.shape()).isEqualTo(shape);
        assertThat(operation.carriesData()).isEqualTo(carriesData);
        assertThat(operation.flag())
                .isEqualTo(QueuePairOptions.OfferedOperation.valueOf(operation.name())
                        .bit());
    }

    /** A struct of builders whose addresses are all different. */
    @Test
    void buildersAreTheFunctionsOfTheirName() throws ReflectiveOperationException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment pair = arena.allocate(2 * ibv_qp_ex.sizeof(), 8);
            for (long at = 0; at < pair.byteSize(); at += Long.BYTES) {
                pair.set(ValueLayout.JAVA_LONG, at, at + 1);
            }
            Set<MemorySegment> all = new HashSet<>();
            for (QueuePairOptions.OfferedOperation send : QueuePairOptions.OfferedOperation.values()) {
                Operation operation = send.operation();
                MemorySegment builder = operation.builder(pair);
                assertThat(all.add(builder)).as("%s", operation).isTrue();
                if (operation != Operation.FLUSH) { // headers newer than the bindings have it
                    Method field = ibv_qp_ex.class.getMethod(
                            operation.builder().substring("ibv_".length()), MemorySegment.class);
                    assertThat(builder).isEqualTo(field.invoke(null, pair));
                }
            }
            assertThat(Operation.RECEIVE.builder(pair)).isEqualTo(MemorySegment.NULL);
        }
    }
}
