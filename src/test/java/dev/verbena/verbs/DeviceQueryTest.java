package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.TestDevice;
import dev.verbena.support.Twin;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GidEntry;
import dev.verbena.verbs.device.Port;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * What a device says about itself, compared with what the kernel says about it. {@code DeviceInfoTest} compares all that
 * {@code ibv_devinfo} prints.
 */
@DeviceTest
class DeviceQueryTest {
    private static Devinfo devinfo;

    @AutoClose
    private final VerbsArena arena = VerbsArena.ofConfined();

    private final Context context = TestDevice.get().open(arena);

    @BeforeAll
    static void ask() throws IOException {
        devinfo = Devinfo.of(TestDevice.get().name());
    }

    private static String devinfo(String name) {
        return devinfo.text(name);
    }

    private String sysfs(String name) throws IOException {
        return Files.readString(
                        Path.of("/sys/class/infiniband", context.device().name(), name))
                .strip();
    }

    @Test
    void portToStringAgreesWithDevinfo() {
        Port port = context.port(1);
        assertThat(devinfo("link_layer")).isEqualToIgnoringCase(port.linkLayer().toString());
        assertThat(devinfo("active_width")).startsWith(port.lanes() + "X");
        assertThat(port.toString())
                .startsWith("port 1 of " + context.device().name() + ": " + port.state())
                .contains("MTU " + devinfo("active_mtu").split(" ")[0] + " (of "
                        + devinfo("max_mtu").split(" ")[0]);
    }

    @Test
    void identityEqualsThatOfDevinfoAndTheKernel() throws IOException {
        Device device = context.device();
        assertThat(device.guid()).hasToString(devinfo("node_guid")).hasToString(sysfs("node_guid"));
        assertThat(context.attributes().nodeGuid()).isEqualTo(device.guid());
        assertThat(sysfs("node_type")).startsWith(device.nodeType().code() + ":");
    }

    @Test
    void deviceToStringNamesKindTransportAndGuid() {
        Device device = context.device();
        assertThat(device.toString())
                .startsWith(device.name() + ": ")
                .contains(devinfo("transport").split(" ")[0])
                .endsWith("GUID " + devinfo("node_guid"));
        assertThat(context.toString()).isEqualTo(device + " (open)");
        assertThat(context.attributes().toString())
                .contains("node " + devinfo("node_guid"), devinfo("max_qp_wr") + " requests", devinfo("max_cqe"));
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
    void gidOfEmptyEntryIsZero() {
        int last = context.port(1).gidTableLength() - 1;
        assertThat(context.gids()).noneMatch(entry -> entry.index() == last);
        assertThat(context.gid(1, last)).isEqualTo(Gid.ZERO);
    }

    @Test
    void pkeyEqualsThatOfTheKernel() throws IOException {
        assertThat("0x" + Integer.toHexString(context.pkey(1, 0))).isEqualTo(sysfs("ports/1/pkeys/0"));
    }

    @Twin("test_device.DeviceTest.test_query_port_bad_flow")
    @Test
    void portRefusalNamesTheNumberOfPorts() {
        int ports = context.attributes().ports();
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(() -> context.port(ports + 1))
                .withMessageContaining("ibv_query_port")
                .withMessageContaining("port " + (ports + 1))
                .withMessageContaining("EINVAL")
                .withMessageContaining("from 1 to " + ports)
                .satisfies(refused -> assertThat(refused.errno()).isEqualTo(Errno.EINVAL));
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
