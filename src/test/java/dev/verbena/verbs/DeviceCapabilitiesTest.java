package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.NativeLibraries;
import dev.verbena.ledger.Covers;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.TestDevice;
import dev.verbena.support.Twin;
import dev.verbena.support.Unsupported;
import dev.verbena.verbs.address.GidEntry;
import dev.verbena.verbs.address.Rate;
import dev.verbena.verbs.device.DeviceCapability;
import dev.verbena.verbs.device.Port;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a device tells about itself, its ports and its tables. */
@DeviceTest
class DeviceCapabilitiesTest {
    private VerbsArena arena;
    private Context context;

    @BeforeEach
    void open() {
        arena = VerbsArena.ofConfined();
        context = TestDevice.get().open(arena);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    @Twin("test_device.DeviceTest.test_dev_list")
    @Test
    void listHasTheDevice() {
        assertThat(Device.list()).contains(TestDevice.get());
    }

    @Twin("test_device.DeviceTest.test_open_dev")
    @Test
    void openSucceedsForAllDevices() {
        for (Device device : Device.list()) {
            try (Context opened = device.open(arena)) {
                assertThat(opened.device()).isEqualTo(device);
            }
        }
    }

    @Test
    void deviceHasIndexAndCharacterDevice() {
        Device device = TestDevice.get();
        assertThat(device.index())
                .isEqualTo(Device.named(device.name()).index())
                .isPresent();
        assertThat(device.characterDevice()).startsWith("uverbs");
    }

    @Twin("test_device.DeviceTest.test_phys_port_cnt_ex")
    @Test
    void portsAreAsManyAsTheDeviceCounts() {
        assertThat(context.ports())
                .hasSize(context.attributes().ports())
                .isNotEmpty()
                .allSatisfy(port -> assertThat(port.toString())
                        .isEqualTo(context.port(port.number()).toString()));
    }

    @Twin("test_device.DeviceTest.test_query_port")
    @Test
    void portHasStateAndCapabilities() {
        Port port = context.port(1);
        assertThat(port.state()).isEqualTo(Port.State.ACTIVE);
        assertThat(port.capabilities())
                .isEqualTo(EnumCodec.flags(Port.Capability.class, Port.Capability::bit, port.capabilityFlags()));
        assertThat(port.capabilities2())
                .isEqualTo(EnumCodec.flags(Port.Capability2.class, Port.Capability2::bit, port.capabilityFlags2()));
        assertThat(port.activeMtu().bytes()).isLessThanOrEqualTo(port.maxMtu().bytes());
        assertThat(port.gidTableLength()).isPositive();
    }

    @Twin("test_device.DeviceTest.test_query_pkey")
    @Test
    void pkeyIsFoundByIndexAndByValue() {
        int key = context.pkey(1, 0);
        assertThat(context.pkeyIndex(1, key)).hasValue(0);
        assertThat(context.pkeyIndex(1, key ^ 0x4321)).isEmpty();
        assertThatThrownBy(() -> context.pkey(1, context.port(1).pkeyTableLength()))
                .isInstanceOf(VerbsException.class);
    }

    @Twin({"test_device.DeviceTest.test_query_gid", "test_device.DeviceTest.test_query_gid_ex"})
    @Test
    void gidEntryIsTheSameFromEachQuery() {
        for (GidEntry entry : context.gids()) {
            assertThat(context.gid(entry.port(), entry.index())).isEqualTo(entry.gid());
            assertThat(context.gidEntry(entry.port(), entry.index())).contains(entry);
        }
    }

    @Twin("test_device.DeviceTest.test_query_gid_table")
    @Test
    void gidsAreTheUsedEntries() {
        assertThat(context.gids()).isNotEmpty().allSatisfy(entry -> {
            assertThat(entry.gid().isZero()).isFalse();
            assertThat(entry.type()).isNotEqualTo(GidEntry.Type.UNKNOWN);
        });
    }

    @Twin("test_device.DeviceTest.test_query_gid_table_bad_flow")
    @Test
    void gidsPassesLargeEnoughTableToC() {
        // What C answers to one is EINVAL; gids() makes room for all that the ports can have.
        int room = context.ports().stream().mapToInt(Port::gidTableLength).sum();
        assertThat(context.gids()).hasSizeLessThanOrEqualTo(room);
    }

    @Twin("test_device.DeviceTest.test_query_gid_ex_bad_flow")
    @Test
    void gidEntryIsEmptyWhenUnusedAndRefusedBeyondTheEnd() {
        Set<Integer> used = new HashSet<>();
        context.gids().forEach(entry -> used.add(entry.index()));
        int length = context.port(1).gidTableLength();
        for (int index = 0; index < length; index++) {
            if (!used.contains(index)) {
                assertThat(context.gidEntry(1, index)).isEmpty();
                break;
            }
        }
        assertThatThrownBy(() -> context.gidEntry(1, length))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("ibv_query_gid_ex");
    }

    @Test
    void rawClockRuns() {
        long before = Unsupported.orAborts("ibv_query_rt_values_ex", context::rawClock);
        assertThat(context.rawClock()).isGreaterThanOrEqualTo(before);
    }

    @Test
    void portSpeedIsReported() {
        assertThat(Unsupported.orAborts("ibv_query_port_speed", () -> context.portSpeed(1)))
                .isPositive();
    }

    @Covers({"ibv_rate_to_mbps", "ibv_rate_to_mult", "mbps_to_ibv_rate", "mult_to_ibv_rate"})
    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "UNKNOWN")
    void rateConvertsAsInC(Rate rate) {
        int megabits = (int) c("ibv_rate_to_mbps").call(rate.code());
        int multiplier = (int) c("ibv_rate_to_mult").call(rate.code());
        if (megabits > 0 || rate == Rate.MAX) { // an older library does not know the newest
            assertThat(rate.megabitsPerSecond()).isEqualTo(megabits);
            assertThat(rate.multiplier()).isEqualTo(multiplier);
            assertThat(Rate.ofMegabitsPerSecond(megabits).code())
                    .isEqualTo((int) c("mbps_to_ibv_rate").call(megabits));
            assertThat(Rate.ofMultiplier(multiplier).code())
                    .isEqualTo((int) c("mult_to_ibv_rate").call(multiplier));
        }
        assertThat(Rate.of(rate.code())).isEqualTo(rate);
    }

    @Test
    void rateOfUnknownNumberIsMax() {
        assertThat(Rate.ofMegabitsPerSecond(12345)).isEqualTo(Rate.MAX);
        assertThat(Rate.ofMegabitsPerSecond(-1)).isEqualTo(Rate.MAX);
        assertThat(Rate.ofMultiplier(-1)).isEqualTo(Rate.MAX);
        assertThat(Rate.of(99)).isEqualTo(Rate.UNKNOWN);
    }

    @Covers("ibv_node_type_str")
    @ParameterizedTest
    @EnumSource
    void nodeTypeHasNameOfC(Device.NodeType type) {
        assertThat(type.meaning()).isEqualTo(text("ibv_node_type_str", type.code()));
    }

    @Covers("ibv_port_state_str")
    @ParameterizedTest
    @EnumSource
    void portStateHasNameOfC(Port.State state) {
        assertThat(state.meaning()).isEqualTo(text("ibv_port_state_str", state.code()));
    }

    @Covers("ibv_is_qpt_supported")
    @Test
    void queuePairTypesAreReadFromBits() {
        assertThat(QueuePairType.RC.isIn(1 << 2)).isTrue();
        assertThat(QueuePairType.UD.isIn(1 << 2)).isFalse();
        assertThat(QueuePairType.DRIVER.isIn(-1)).isFalse();
    }

    @Test
    @Twin("test_fork.ForkAPITest.test_is_fork_initialized")
    void forkIsSafeOrCanBePrepared() {
        if (ForkStatus.current() == ForkStatus.UNNEEDED) {
            try {
                ForkStatus.initialize();
            } catch (VerbsException afterTheFirstRegistrationOfThisProcess) {
                assertThat(afterTheFirstRegistrationOfThisProcess)
                        .hasMessageContaining("before the first registration");
            }
            assertThat(ForkStatus.current()).isEqualTo(ForkStatus.UNNEEDED);
        } else {
            assertThat(ForkStatus.current()).isIn(ForkStatus.DISABLED, ForkStatus.ENABLED);
        }
    }

    @Test
    void capabilitiesAreReadFromBits() {
        assertThat(DeviceCapability.of(1L << 34 | 1L << 20 | 1L << 63))
                .containsExactly(DeviceCapability.XRC, DeviceCapability.RAW_SCATTER_FCS);
        assertThat(DeviceCapability.DMA_BOUNCE.bit()).isEqualTo(1L << 41);
    }

    private static CFunction c(String name) {
        return new CFunction(NativeLibraries.VERBS, name);
    }

    private static String text(String function, int code) {
        return MemorySegment.ofAddress(c(function).call(code))
                .reinterpret(Long.MAX_VALUE)
                .getString(0);
    }
}
