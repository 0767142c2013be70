package dev.verbena.verbs;

import static dev.verbena.verbs.AccessFlag.FLUSH_GLOBAL;
import static dev.verbena.verbs.AccessFlag.FLUSH_PERSISTENT;
import static dev.verbena.verbs.AccessFlag.REMOTE_ATOMIC;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.verbena.internal.raw.ibv_device_attr_ex;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Rate;
import dev.verbena.verbs.device.DeviceCapability;
import dev.verbena.verbs.device.Mtu;
import dev.verbena.verbs.device.QueuePairType;
import dev.verbena.verbs.device.access.DeviceAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Options for connecting never change, and refuse numbers that do not fit. */
class ConnectOptionsTest {
    private static final ConnectOptions DEFAULTS = ConnectOptions.defaults();

    static List<UnaryOperator<ConnectOptions>> changes() {
        return List.of(
                options -> options.access(List.of()),
                options -> options.pkeyIndex(1),
                options -> options.pathMtu(Mtu.BYTES_256),
                options -> options.minRnrTimer(Duration.ofMillis(1)),
                options -> options.minRnrTimerCode(1),
                options -> options.timeout(Duration.ofMillis(1)),
                options -> options.timeoutCode(1),
                options -> options.retryCount(1),
                options -> options.rnrRetry(1),
                options -> options.maxReadAtomic(1),
                options -> options.maxDestinationReadAtomic(1),
                options -> options.hopLimit(1),
                options -> options.trafficClass(1),
                options -> options.flowLabel(1),
                options -> options.serviceLevel(1),
                options -> options.sourcePathBits(1),
                options -> options.staticRate(Rate.GBPS_10),
                options -> options.staticRateCode(1),
                options -> options.global(true));
    }

    @ParameterizedTest
    @MethodSource("changes")
    void changeReturnsCopyAndLeavesOriginal(UnaryOperator<ConnectOptions> change) {
        ConnectOptions changed = change.apply(DEFAULTS);
        assertThat(changed).isNotEqualTo(DEFAULTS);
        assertThat(DEFAULTS.timeoutCode()).isEqualTo(14);
        assertThat(change.apply(DEFAULTS)).isEqualTo(changed).hasSameHashCodeAs(changed);
    }

    @Test
    void timesAreReadAsDurationsAndCodes() {
        assertThat(DEFAULTS.timeout()).isEqualTo(Duration.ofNanos(67_108_864));
        assertThat(DEFAULTS.timeout(Duration.ofMillis(68)).timeoutCode()).isEqualTo(15);
        assertThat(DEFAULTS.minRnrTimer()).isEqualTo(Duration.ofNanos(640_000));
        assertThat(DEFAULTS.minRnrTimer(Duration.ofMillis(1)).minRnrTimerCode()).isEqualTo(14);
    }

    @Test
    void staticRateIsReadAsConstantAndCode() {
        assertThat(DEFAULTS.staticRate()).isEqualTo(Rate.MAX);
        assertThat(DEFAULTS.staticRate(Rate.GBPS_40).staticRateCode()).isEqualTo(7);
        assertThat(DEFAULTS.staticRateCode(200).staticRate()).isEqualTo(Rate.UNKNOWN);
        assertThatIllegalArgumentException().isThrownBy(() -> DEFAULTS.staticRate(Rate.UNKNOWN));
        AddressVector path = AddressVector.of(1).staticRate(Rate.GBPS_40);
        assertThat(path).isEqualTo(AddressVector.of(1).staticRateCode(7)).hasToString("port 1, static rate GBPS_40");
        assertThat(path.staticRateCode(200)).hasToString("port 1, static rate 200");
    }

    /** Returns the rights that a queue pair gets from a device with these capabilities. */
    private static Set<AccessFlag> access(ConnectOptions how, QueuePairType type, DeviceCapability... capabilities) {
        long bits = Stream.of(capabilities).mapToLong(DeviceCapability::bit).reduce(0, (all, bit) -> all | bit);
        MemorySegment struct = Arena.ofAuto().allocate(ibv_device_attr_ex.layout());
        ibv_device_attr_ex.device_cap_flags_ex(struct, bits);
        return how.toInit(type, 1, DeviceAccess.get().attributes(struct)).access();
    }

    @Test
    void accessByDefaultFollowsTheDevice() {
        assertThat(access(DEFAULTS, QueuePairType.RC, DeviceCapability.ATOMIC_WRITE))
                .containsExactlyInAnyOrder(REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC);
        assertThat(access(DEFAULTS, QueuePairType.RC, DeviceCapability.FLUSH_GLOBAL))
                .containsExactlyInAnyOrder(REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC, FLUSH_GLOBAL);
        assertThat(access(DEFAULTS, QueuePairType.RC, DeviceCapability.FLUSH_GLOBAL, DeviceCapability.FLUSH_PERSISTENT))
                .isEqualTo(DEFAULTS.access());
        ConnectOptions sameAgain = DEFAULTS.access(Set.of()).access(DEFAULTS.access());
        assertThat(sameAgain).isEqualTo(DEFAULTS);
        assertThat(access(sameAgain, QueuePairType.RC)).doesNotContain(FLUSH_GLOBAL, FLUSH_PERSISTENT);
    }

    @Test
    void accessAskedForDoesNotFollowTheDevice() {
        ConnectOptions asked = DEFAULTS.access(List.copyOf(DEFAULTS.access()));
        assertThat(asked).isNotEqualTo(DEFAULTS);
        assertThat(access(asked, QueuePairType.RC)).isEqualTo(DEFAULTS.access());
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

    static List<UnaryOperator<ConnectOptions>> outOfRange() {
        return List.of(
                options -> options.pkeyIndex(0x10000),
                options -> options.pathMtu(Mtu.UNKNOWN),
                options -> options.minRnrTimerCode(32),
                options -> options.timeoutCode(32),
                options -> options.retryCount(8),
                options -> options.rnrRetry(8),
                options -> options.maxReadAtomic(256),
                options -> options.maxDestinationReadAtomic(-2),
                options -> options.hopLimit(256),
                options -> options.trafficClass(256),
                options -> options.flowLabel(1 << 20),
                options -> options.serviceLevel(16),
                options -> options.sourcePathBits(128),
                options -> options.staticRateCode(256));
    }

    @ParameterizedTest
    @MethodSource("outOfRange")
    void setterRefusesNumbersThatDoNotFit(UnaryOperator<ConnectOptions> change) {
        assertThatIllegalArgumentException().isThrownBy(() -> change.apply(DEFAULTS));
    }
}
