package dev.verbena.tools.device;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.raw.ibv_port_attr;
import dev.verbena.verbs.device.Port;
import dev.verbena.verbs.device.PortCounters;
import dev.verbena.verbs.device.access.DeviceAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Finds weaknesses of made-up ports. */
class PortHealthTest {
    private static final int INFINIBAND = 1;
    private static final int ETHERNET = 2;

    @AutoClose
    private final Arena arena = Arena.ofConfined();

    private final MemorySegment attributes = arena.allocate(ibv_port_attr.layout());
    private final SysfsTree sysfs;

    PortHealthTest(@TempDir Path folder) {
        sysfs = new SysfsTree(folder);
    }

    private List<String> weaknesses() {
        Port port = DeviceAccess.get().port("mlx5_0", 1, attributes);
        PortCounters counters = PortCounters.read(sysfs.folder().resolve("mlx5_0"), 1);
        return PortHealth.of(port, counters, new DeviceFolders(sysfs.folder())).stream()
                .map(weakness -> weakness.what() + ": " + weakness.how())
                .toList();
    }

    /** The highest speed that the port says it has, and the one that it has: 32 is EDR. */
    @ParameterizedTest
    @CsvSource({
        "HDR, 32, 'link speed: port 1 runs at EDR, and has HDR'",
        "NDR, 64, 'link speed: port 1 runs at HDR, and has NDR'",
        "XDR, 128, 'link speed: port 1 runs at NDR, and has XDR'",
        "HDR, 64,",
        "NDR, 128,",
        "XDR, 256,"
    })
    void linkThatIsSlowerThanItsPortIsAWeakness(String best, int speed, String weakness) {
        ibv_port_attr.link_layer(attributes, (byte) INFINIBAND);
        ibv_port_attr.active_speed_ex(attributes, speed);
        int bits = Port.Capability2.LINK_SPEED_HDR.bit();
        bits |= best.equals("HDR") ? 0 : Port.Capability2.LINK_SPEED_NDR.bit();
        bits |= best.equals("XDR") ? Port.Capability2.LINK_SPEED_XDR.bit() : 0;
        ibv_port_attr.port_cap_flags2(attributes, (short) bits);
        ibv_port_attr.port_cap_flags(attributes, Port.Capability.CAPABILITY_MASK_2.bit());
        assertThat(weaknesses()).isEqualTo(weakness == null ? List.of() : List.of(weakness));
    }

    @Test
    void linkOfQdrIsAWeaknessOfAPortWithFasterOnes() {
        ibv_port_attr.link_layer(attributes, (byte) INFINIBAND);
        ibv_port_attr.active_speed(attributes, (byte) 4);
        ibv_port_attr.port_cap_flags(attributes, Port.Capability.EXTENDED_SPEEDS.bit());
        assertThat(weaknesses()).containsExactly("link speed: port 1 runs at QDR, and has FDR");
        ibv_port_attr.link_layer(attributes, (byte) ETHERNET);
        assertThat(weaknesses()).isEmpty();
    }

    @Test
    void slotThatIsSlowerThanTheAdapterIsAWeakness() {
        sysfs.with("mlx5_0/device/max_link_speed", "16.0 GT/s PCIe")
                .with("mlx5_0/device/max_link_width", 16)
                .with("mlx5_0/device/current_link_speed", "16.0 GT/s PCIe")
                .with("mlx5_0/device/current_link_width", 16);
        assertThat(weaknesses()).isEmpty();
        sysfs.with("mlx5_0/device/current_link_width", 8);
        assertThat(weaknesses()).containsExactly("PCI Express: mlx5_0 has 16.0 GT/s x8 of 16.0 GT/s x16");
        sysfs.with("mlx5_0/device/current_link_speed", "Unknown").with("mlx5_0/device/current_link_width", 0);
        assertThat(weaknesses()).as("a virtual function").isEmpty();
    }

    @Test
    void errorsThatWereCountedAreWeaknessesButCongestionIsNone() {
        sysfs.with("mlx5_0/ports/1/counters/link_downed", 255)
                .with("mlx5_0/ports/1/counters/symbol_error", 0)
                .with("mlx5_0/ports/1/counters/port_xmit_wait", 77)
                .with("mlx5_0/ports/1/hw_counters/out_of_buffer", 5)
                .with("mlx5_0/ports/1/hw_counters/rx_write_requests", 9);
        assertThat(weaknesses())
                .containsExactly(
                        "counters: port 1: the link went down: link_downed 255 (maximum)",
                        "counters: port 1: this side had no receive for a message: out_of_buffer 5");
    }
}
