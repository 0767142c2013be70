package dev.verbena.cm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.verbena.internal.raw.rdma_conn_param;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

/** Each parameter has its place in {@code struct rdma_conn_param}: all have different values here. */
class ConnectionParametersTest {
    private static final ConnectionParameters PARAMETERS = ConnectionParameters.defaults()
            .privateData(PrivateData.of(new byte[] {1, 2, 3, 4, 5, 6, 7, 8, 9}))
            .responderResources(12)
            .initiatorDepth(34)
            .flowControl(true)
            .retryCount(5)
            .rnrRetryCount(6)
            .queuePair(0x123456, false);

    /** The offsets are those of the header: a pointer, seven bytes, and the number after a gap of one byte. */
    @Test
    void structHoldsEachParameterInItsPlace() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment struct = PARAMETERS.write(arena);
            assertThat(struct.byteSize()).isEqualTo(rdma_conn_param.sizeof()).isEqualTo(24);
            byte[] bytes = struct.asSlice(8, 7).toArray(ValueLayout.JAVA_BYTE);
            assertThat(bytes).containsExactly(9, 12, 34, 1, 5, 6, 0);
            assertThat(struct.get(ValueLayout.JAVA_INT, 16)).isEqualTo(0x123456);
            MemorySegment data = struct.get(ValueLayout.ADDRESS, 0).reinterpret(9);
            assertThat(data.toArray(ValueLayout.JAVA_BYTE)).containsExactly(1, 2, 3, 4, 5, 6, 7, 8, 9);
        }
    }

    @Test
    void structIsReadBack() {
        try (Arena arena = Arena.ofConfined()) {
            ConnectionParameters read = ConnectionParameters.read(PARAMETERS.write(arena));
            assertThat(read).isEqualTo(PARAMETERS);
            assertThat(read.responderResources()).isEqualTo(12);
            assertThat(read.initiatorDepth()).isEqualTo(34);
            assertThat(read.retryCount()).isEqualTo(5);
            assertThat(read.rnrRetryCount()).isEqualTo(6);
        }
    }

    @Test
    void privateDataBeyondTheLargestFieldIsRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> PrivateData.of(new byte[256]));
        assertThat(PrivateData.of(new byte[255]).size()).isEqualTo(255);
    }
}
