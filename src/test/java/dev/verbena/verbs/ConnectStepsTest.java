package dev.verbena.verbs;

import static dev.verbena.verbs.AccessFlag.FLUSH_GLOBAL;
import static dev.verbena.verbs.AccessFlag.FLUSH_PERSISTENT;
import static dev.verbena.verbs.AccessFlag.REMOTE_ATOMIC;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.raw.ibv_device_attr_ex;
import dev.verbena.verbs.device.DeviceCapability;
import dev.verbena.verbs.device.QueuePairType;
import dev.verbena.verbs.device.access.DeviceAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The rights of peers that connecting sets. */
class ConnectStepsTest {
    private static final QueuePairAttributes DEFAULTS = QueuePairAttributes.none();
    private static final Set<AccessFlag> ALL =
            Set.of(REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC, FLUSH_GLOBAL, FLUSH_PERSISTENT);

    /** Returns the rights that a queue pair gets from a device with these capabilities. */
    private static Set<AccessFlag> access(
            QueuePairAttributes how, QueuePairType type, DeviceCapability... capabilities) {
        long bits = Stream.of(capabilities).mapToLong(DeviceCapability::bit).reduce(0, (all, bit) -> all | bit);
        MemorySegment struct = Arena.ofAuto().allocate(ibv_device_attr_ex.layout());
        ibv_device_attr_ex.device_cap_flags_ex(struct, bits);
        return new ConnectSteps(type, how, DeviceAccess.get().attributes(struct))
                .toInit(1)
                .access();
    }

    @Test
    void accessByDefaultFollowsTheDevice() {
        assertThat(access(DEFAULTS, QueuePairType.RC, DeviceCapability.ATOMIC_WRITE))
                .containsExactlyInAnyOrder(REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC);
        assertThat(access(DEFAULTS, QueuePairType.RC, DeviceCapability.FLUSH_GLOBAL))
                .containsExactlyInAnyOrder(REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC, FLUSH_GLOBAL);
        assertThat(access(DEFAULTS, QueuePairType.RC, DeviceCapability.FLUSH_GLOBAL, DeviceCapability.FLUSH_PERSISTENT))
                .isEqualTo(ALL);
    }

    @Test
    void accessAskedForDoesNotFollowTheDevice() {
        assertThat(access(DEFAULTS.access(ALL), QueuePairType.RC)).isEqualTo(ALL);
        assertThat(access(DEFAULTS.access(Set.of()), QueuePairType.RC, DeviceCapability.FLUSH_GLOBAL))
                .isEmpty();
    }

    @Test
    void unreliableConnectionsAllowOnlyWrites() {
        assertThat(access(DEFAULTS, QueuePairType.UC, DeviceCapability.FLUSH_GLOBAL))
                .containsExactly(REMOTE_WRITE);
        assertThat(access(DEFAULTS, QueuePairType.UC, DeviceCapability.FLUSH_GLOBAL, DeviceCapability.FLUSH_PERSISTENT))
                .containsExactly(REMOTE_WRITE);
        for (AccessFlag reliable : List.of(REMOTE_READ, REMOTE_ATOMIC, FLUSH_GLOBAL, FLUSH_PERSISTENT)) {
            assertThat(access(DEFAULTS.access(List.of(reliable)), QueuePairType.UC))
                    .isEmpty();
        }
        assertThat(access(DEFAULTS.access(List.of(AccessFlag.RELAXED_ORDERING)), QueuePairType.UC))
                .containsExactly(AccessFlag.RELAXED_ORDERING);
    }
}
