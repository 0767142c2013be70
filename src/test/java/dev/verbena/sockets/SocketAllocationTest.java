package dev.verbena.sockets;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.AllocationProbe;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.DeviceTest;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Reads and writes with direct buffers allocate nothing once they are compiled. */
@DeviceTest
class SocketAllocationTest {
    @Test
    void readsAndWritesAllocateNothing() {
        Set<String> clean = AllocationProbe.cleanRows(
                4, () -> ChildJvm.with("--enable-native-access=ALL-UNNAMED"), SocketAllocationProbe.class);
        assertThat(clean)
                .containsExactlyInAnyOrder(
                        "write and read",
                        "gathering write and read",
                        "non-blocking write and read",
                        "there and back with waits");
    }
}
