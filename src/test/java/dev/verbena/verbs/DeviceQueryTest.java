package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Devinfo;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GidEntry;
import dev.verbena.verbs.device.DeviceAttributes;
import dev.verbena.verbs.device.Port;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** What a device says about itself, compared with what {@code ibv_devinfo} and the kernel say about it. */
@DeviceTest
class DeviceQueryTest {
    private static Devinfo devinfo;

    private VerbsArena arena;
    private Context context;

    @BeforeAll
    static void ask() throws IOException {
        devinfo = Devinfo.of(TestDevice.get().name());
    }

    @BeforeEach
    void open() {
        arena = VerbsArena.ofConfined();
        context = TestDevice.get().open(arena);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    private String sysfs(String name) throws IOException {
        return Files.readString(
                        Path.of("/sys/class/infiniband", context.device().name(), name))
                .strip();
    }

    private static Arguments attribute(String name, ToLongFunction<DeviceAttributes> getter) {
        return Arguments.of(name, getter);
    }

    static Stream<Arguments> attributes() {
        return Stream.of(
                attribute("max_mr_size", DeviceAttributes::maxMemoryRegionSize),
                attribute("page_size_cap", DeviceAttributes::pageSizes),
                attribute("vendor_id", DeviceAttributes::vendorId),
                attribute("vendor_part_id", DeviceAttributes::vendorPartId),
                attribute("hw_ver", DeviceAttributes::hardwareVersion),
                attribute("max_qp", DeviceAttributes::maxQueuePairs),
                attribute("max_qp_wr", DeviceAttributes::maxWorkRequests),
                attribute("device_cap_flags", device -> Integer.toUnsignedLong(device.capabilityFlags())),
                attribute("max_sge", DeviceAttributes::maxSge),
                attribute("max_sge_rd", DeviceAttributes::maxSgeRead),
                attribute("max_cq", DeviceAttributes::maxCompletionQueues),
                attribute("max_cqe", DeviceAttributes::maxCompletions),
                attribute("max_mr", DeviceAttributes::maxMemoryRegions),
                attribute("max_pd", DeviceAttributes::maxProtectionDomains),
                attribute("max_qp_rd_atom", DeviceAttributes::maxReadAtomic),
                attribute("max_res_rd_atom", DeviceAttributes::maxReadAtomicOfDevice),
                attribute("max_qp_init_rd_atom", DeviceAttributes::maxInitiatedReadAtomic),
                attribute("atomic_cap", device -> device.atomicCapability().code()),
                attribute("max_mw", DeviceAttributes::maxMemoryWindows),
                attribute("max_raw_ipv6_qp", DeviceAttributes::maxRawIpv6QueuePairs),
                attribute("max_raw_ethy_qp", DeviceAttributes::maxRawEthernetQueuePairs),
                attribute("max_mcast_grp", DeviceAttributes::maxMulticastGroups),
                attribute("max_mcast_qp_attach", DeviceAttributes::maxQueuePairsPerMulticastGroup),
                attribute("max_total_mcast_qp_attach", DeviceAttributes::maxMulticastAttachments),
                attribute("max_ah", DeviceAttributes::maxAddressHandles),
                attribute("max_srq", DeviceAttributes::maxSharedReceiveQueues),
                attribute("max_srq_wr", DeviceAttributes::maxSharedReceives),
                attribute("max_srq_sge", DeviceAttributes::maxSharedReceiveSge),
                attribute("max_pkeys", DeviceAttributes::maxPkeys),
                attribute("local_ca_ack_delay", DeviceAttributes::acknowledgementDelayCode),
                attribute("phys_port_cnt", DeviceAttributes::ports));
    }

    @ParameterizedTest
    @MethodSource("attributes")
    void attributeEqualsThatOfDevinfo(String name, ToLongFunction<DeviceAttributes> getter) {
        assertThat(getter.applyAsLong(context.attributes())).isEqualTo(devinfo.number(name));
    }

    private static Arguments port(String name, ToLongFunction<Port> getter) {
        return Arguments.of(name, getter);
    }

    static Stream<Arguments> portAttributes() {
        return Stream.of(
                port("state", port -> port.state().code()),
                port("max_mtu", port -> port.maxMtu().code()),
                port("active_mtu", port -> port.activeMtu().code()),
                port("sm_lid", Port::subnetManagerLid),
                port("port_lid", Port::lid),
                port("port_lmc", Port::lidMaskControl),
                port("max_msg_sz", Port::maxMessageSize),
                port("port_cap_flags", port -> Integer.toUnsignedLong(port.capabilityFlags())),
                port("port_cap_flags2", Port::capabilityFlags2),
                port("max_vl_num", Port::maxVirtualLanes),
                port("bad_pkey_cntr", Port::badPkeys),
                port("qkey_viol_cntr", Port::qkeyViolations),
                port("sm_sl", Port::subnetManagerServiceLevel),
                port("pkey_tbl_len", Port::pkeyTableLength),
                port("gid_tbl_len", Port::gidTableLength),
                port("subnet_timeout", Port::subnetTimeoutCode),
                port("init_type_reply", Port::initTypeReply),
                port("phys_state", Port::physicalState));
    }

    @ParameterizedTest
    @MethodSource("portAttributes")
    void portAttributeEqualsThatOfDevinfo(String name, ToLongFunction<Port> getter) {
        assertThat(getter.applyAsLong(context.port(1))).isEqualTo(devinfo.number(name));
    }

    @Test
    void portToStringAgreesWithDevinfo() {
        Port port = context.port(1);
        assertThat(devinfo.text("link_layer"))
                .isEqualToIgnoringCase(port.linkLayer().toString());
        assertThat(devinfo.text("active_width")).startsWith(port.lanes() + "X");
        assertThat(port.toString())
                .startsWith("port 1 of " + context.device().name() + ": " + port.state())
                .contains("MTU " + devinfo.text("active_mtu").split(" ")[0] + " (of "
                        + devinfo.text("max_mtu").split(" ")[0]);
    }

    @Test
    void identityEqualsThatOfDevinfoAndTheKernel() throws IOException {
        Device device = context.device();
        assertThat(device.guid()).hasToString(devinfo.text("node_guid")).hasToString(sysfs("node_guid"));
        assertThat(context.attributes().nodeGuid()).isEqualTo(device.guid());
        assertThat(context.attributes().systemImageGuid()).hasToString(devinfo.text("sys_image_guid"));
        assertThat(context.attributes().firmwareVersion()).isEqualTo(devinfo.text("fw_ver"));
        assertThat(device.transport().code()).isEqualTo((int) devinfo.number("transport"));
        assertThat(sysfs("node_type")).startsWith(device.nodeType().code() + ":");
    }

    @Test
    void deviceToStringNamesKindTransportAndGuid() {
        Device device = context.device();
        assertThat(device.toString())
                .startsWith(device.name() + ": ")
                .contains(devinfo.text("transport").split(" ")[0])
                .endsWith("GUID " + devinfo.text("node_guid"));
        assertThat(context.toString()).isEqualTo(device + " (open)");
        assertThat(context.attributes().toString())
                .contains(
                        "node " + devinfo.text("node_guid"),
                        devinfo.text("max_qp_wr") + " requests",
                        devinfo.text("max_cqe"));
    }

    @Test
    void gidsEqualThoseOfDevinfo() {
        List<String> ours = context.gids().stream()
                .map(entry -> entry.index() + " " + entry.gid().toHex() + " " + word(entry.type()))
                .toList();
        List<String> theirs = devinfo.gids().stream()
                .map(line -> {
                    String[] parts = line.split("[ ,]+", 3);
                    return parts[0] + " " + Gid.parse(parts[1]).toHex() + " " + parts[2];
                })
                .toList();
        assertThat(ours).isEqualTo(theirs).isNotEmpty();
    }

    private static String word(GidEntry.Type type) {
        return switch (type) {
            case IB -> "IB/RoCE v1";
            case ROCE_V1 -> "RoCE v1";
            case ROCE_V2 -> "RoCE v2";
            case UNKNOWN -> "unknown";
        };
    }

    @Test
    void gidEntryHasAddressKindAndNetworkDevice() throws IOException {
        GidEntry entry = context.bestGid(1);
        assertThat(entry.networkDevice()).isEqualTo(sysfs("ports/1/gid_attrs/ndevs/" + entry.index()));
        assertThat(entry)
                .hasToString("GID " + entry.index() + " of port 1: " + entry.gid() + ", "
                        + sysfs("ports/1/gid_attrs/types/" + entry.index()) + ", on " + entry.networkDevice());
        assertThat(sysfs("ports/1/gids/" + entry.index()).replace(":", ""))
                .isEqualTo(entry.gid().toHex());
    }

    @Test
    void bestGidIsIpv4MappedOfRoceVersion2() {
        List<GidEntry> mapped = context.gids().stream()
                .filter(entry ->
                        entry.type() == GidEntry.Type.ROCE_V2 && entry.gid().isIpv4Mapped())
                .toList();
        GidEntry best = context.bestGid(1);
        if (mapped.isEmpty()) {
            assertThat(context.gids()).contains(best);
        } else {
            assertThat(best).isEqualTo(mapped.getFirst());
        }
    }

    @Test
    void gidEntryEqualsThatOfTheTable() {
        for (GidEntry entry : context.gids()) {
            assertThat(context.gid(entry.port(), entry.index())).isEqualTo(entry.gid());
        }
    }

    @Test
    void gidOfEmptyEntryIsZero() {
        int last = context.port(1).gidTableLength() - 1;
        assertThat(context.gids()).noneMatch(entry -> entry.index() == last);
        assertThat(context.gid(1, last)).isEqualTo(Gid.ZERO);
    }

    @Test
    void pkeyEqualsThatOfTheKernel() throws IOException {
        assertThat("0x" + Integer.toHexString(context.pkey(1, 0))).isEqualTo(sysfs("ports/1/pkeys/0"));
    }

    @Test
    void portsAreAsManyAsTheAttributesSay() {
        assertThat(context.ports())
                .hasSize(context.attributes().ports())
                .allSatisfy(port -> assertThat(port.toString())
                        .isEqualTo(context.port(port.number()).toString()));
    }

    @Test
    void portRefusalNamesTheNumberOfPorts() {
        int ports = context.attributes().ports();
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(() -> context.port(ports + 1))
                .withMessageContaining("ibv_query_port")
                .withMessageContaining("port " + (ports + 1))
                .withMessageContaining("EINVAL")
                .withMessageContaining("from 1 to " + ports);
        assertThatIllegalArgumentException().isThrownBy(() -> context.port(-1));
        assertThatIllegalArgumentException().isThrownBy(() -> context.port(256)).withMessageContaining("256");
        assertThatIllegalArgumentException().isThrownBy(() -> context.gid(257, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> context.pkey(-1, 0));
    }

    @Test
    void gidRefusalNamesTheLengthOfTheTable() {
        int length = context.port(1).gidTableLength();
        for (int index : new int[] {-1, length, Integer.MAX_VALUE}) {
            assertThatExceptionOfType(VerbsException.class)
                    .isThrownBy(() -> context.gid(1, index))
                    .withMessageContaining("ibv_query_gid")
                    .withMessageContaining("index " + index)
                    .withMessageContaining(length + " entries");
        }
    }

    @Test
    void pkeyRefusalNamesTheLengthOfTheTable() {
        int length = context.port(1).pkeyTableLength();
        for (int index : new int[] {-1, length, Integer.MAX_VALUE}) {
            assertThatExceptionOfType(VerbsException.class)
                    .isThrownBy(() -> context.pkey(1, index))
                    .withMessageContaining("ibv_query_pkey")
                    .withMessageContaining("index " + index)
                    .withMessageContaining(length + (length == 1 ? " entry" : " entries"));
        }
    }
}
