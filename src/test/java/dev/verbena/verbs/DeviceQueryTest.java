package dev.verbena.verbs;

import static dev.verbena.verbs.Refusals.assertFails;
import static org.assertj.core.api.Assertions.assertThat;

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
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GidEntry;
import dev.verbena.verbs.address.Rate;
import dev.verbena.verbs.device.Port;
import dev.verbena.verbs.device.QueuePairType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What a device says about itself, its ports and its tables, compared with what the kernel and C say. {@code DeviceInfoTest}
 * compares all that {@code ibv_devinfo} prints, {@link ContextQueriesTest} has the rules.
 */
@DeviceTest
class DeviceQueryTest {
    @AutoClose
    private final VerbsArena arena = VerbsArena.ofConfined();

    private final Context context = TestDevice.get().open(arena);

    private String sysfs(String name) throws IOException {
        return Files.readString(
                        Path.of("/sys/class/infiniband", context.device().name(), name))
                .strip();
    }

    @Twin({"test_device.DeviceTest.test_dev_list", "test_device.DeviceTest.test_open_dev"})
    @Test
    void listedDevicesAreOpened() {
        assertThat(Device.list()).contains(TestDevice.get());
        for (Device device : Device.list()) {
            try (Context opened = device.open(arena)) {
                assertThat(opened.device()).isEqualTo(device);
            }
        }
    }

    @Test
    void identityIsThatOfTheKernel() throws IOException {
        Device device = context.device();
        assertThat(device.guid()).hasToString(sysfs("node_guid"));
        assertThat(context.attributes().nodeGuid()).isEqualTo(device.guid());
        assertThat(sysfs("node_type")).startsWith(device.nodeType().code() + ":");
        assertThat(device.index()).isPresent();
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
    }

    @Twin("test_device.DeviceTest.test_query_pkey")
    @Test
    void pkeyIsFoundByIndexAndByValue() throws IOException {
        int key = context.pkey(1, 0);
        assertThat("0x" + Integer.toHexString(key)).isEqualTo(sysfs("ports/1/pkeys/0"));
        assertThat(context.pkeyIndex(1, key)).hasValue(0);
        assertThat(context.pkeyIndex(1, key ^ 0x4321)).isEmpty();
    }

    @Twin({
        "test_device.DeviceTest.test_query_gid",
        "test_device.DeviceTest.test_query_gid_ex",
        "test_device.DeviceTest.test_query_gid_table",
        "test_device.DeviceTest.test_query_gid_table_bad_flow" // gids() makes room for all that the ports can have
    })
    @Test
    void gidsAreTheUsedEntriesOfEachQuery() throws IOException {
        assertThat(context.gids()).isNotEmpty();
        for (GidEntry entry : context.gids()) {
            assertThat(sysfs("ports/" + entry.port() + "/gids/" + entry.index()).replace(":", ""))
                    .isEqualTo(entry.gid().toHex());
            assertThat(entry.gid().isZero()).isFalse();
            assertThat(entry.type()).isNotEqualTo(GidEntry.Type.UNKNOWN);
            assertThat(context.gid(entry.port(), entry.index())).isEqualTo(entry.gid());
            assertThat(context.gidEntry(entry.port(), entry.index())).contains(entry);
        }
        int last = context.port(1).gidTableLength() - 1;
        assertThat(context.gids()).noneMatch(entry -> entry.index() == last);
        assertThat(context.gid(1, last)).isEqualTo(Gid.ZERO);
        assertThat(context.gidEntry(1, last)).isEmpty();
    }

    @Test
    void gidEntryHasAddressKindAndNetworkDevice() throws IOException {
        GidEntry entry = context.bestGid(1);
        String attributes = "ports/1/gid_attrs/";
        assertThat(entry)
                .hasToString("GID " + entry.index() + " of port 1: " + entry.gid() + ", "
                        + sysfs(attributes + "types/" + entry.index()) + ", on "
                        + sysfs(attributes + "ndevs/" + entry.index()));
    }

    @Twin({"test_device.DeviceTest.test_query_port_bad_flow", "test_device.DeviceTest.test_query_gid_ex_bad_flow"})
    @Test
    void refusalNamesTheNumberOfPortsAndTheLengthOfTheTable() {
        String device = context.name();
        int ports = context.attributes().ports();
        assertFails(
                "ibv_query_port(" + device + ", port " + (ports + 1) + "): EINVAL",
                "from 1 to " + ports,
                () -> context.port(ports + 1));
        int gids = context.port(1).gidTableLength();
        int pkeys = context.port(1).pkeyTableLength();
        for (int index : new int[] {-1, gids, Integer.MAX_VALUE}) {
            String where = device + ", port 1, index " + index;
            assertFails("ibv_query_gid(" + where, gids + " entries", () -> context.gid(1, index));
            assertFails("ibv_query_gid_ex(" + where, () -> context.gidEntry(1, index));
        }
        for (int index : new int[] {-1, pkeys, Integer.MAX_VALUE}) {
            assertFails(
                    "ibv_query_pkey(" + device + ", port 1, index " + index,
                    pkeys + (pkeys == 1 ? " entry" : " entries"),
                    () -> context.pkey(1, index));
        }
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
    }

    @Covers({"ibv_node_type_str", "ibv_port_state_str"})
    @Test
    void typesAndStatesHaveTheNamesOfC() {
        for (Device.NodeType type : Device.NodeType.values()) {
            assertThat(type.meaning()).isEqualTo(text("ibv_node_type_str", type.code()));
        }
        for (Port.State state : Port.State.values()) {
            assertThat(state.meaning()).isEqualTo(text("ibv_port_state_str", state.code()));
        }
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

    private static CFunction c(String name) {
        return new CFunction(NativeLibraries.VERBS, name);
    }

    private static String text(String function, int code) {
        return MemorySegment.ofAddress(c(function).call(code))
                .reinterpret(Long.MAX_VALUE)
                .getString(0);
    }
}
