package dev.verbena.verbs.device;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.raw.ibv_port_attr;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a port's codes mean in words: the numbers are filled in here as a device would. */
class PortTest {
    private final Arena arena = Arena.ofConfined();
    private final MemorySegment attributes = arena.allocate(ibv_port_attr.layout());
    private final Port port = new Port("mlx5_0", 2, attributes);

    @AfterEach
    void close() {
        arena.close();
    }

    private void link(int width, int speed) {
        ibv_port_attr.active_width(attributes, (byte) width);
        ibv_port_attr.active_speed(attributes, (byte) speed);
    }

    @ParameterizedTest
    @CsvSource({
        "1, SDR, 2.5",
        "2, DDR, 5",
        "4, QDR, 10",
        "8, FDR10, 10",
        "16, FDR, 14",
        "32, EDR, 25",
        "64, HDR, 50",
        "128, NDR, 100"
    })
    void speedHasTheNameOfItsGeneration(int code, String name, double gigabits) {
        link(1, code);
        assertThat(port.speedName()).isEqualTo(name);
        assertThat(port.gigabitsPerSecond()).isEqualTo(gigabits);
    }

    @Test
    void speedBeyondNdrIsReadFromTheLongerField() {
        link(2, 128); // the field of a byte can't hold XDR
        ibv_port_attr.active_speed_ex(attributes, 256);
        assertThat(port.speedName()).isEqualTo("XDR");
        assertThat(port.gigabitsPerSecond()).isEqualTo(800);
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "2, 4", "4, 8", "8, 12", "16, 2"})
    void lanesAreThoseOfTheWidth(int code, int lanes) {
        link(code, 64);
        assertThat(port.lanes()).isEqualTo(lanes);
        assertThat(port.gigabitsPerSecond()).isEqualTo(lanes * 50.0);
    }

    @Test
    void unknownCodesKeepTheirNumbers() {
        link(3, 5);
        assertThat(port.lanes()).isZero();
        assertThat(port.speedName()).isEqualTo("speed 5");
        assertThat(port.gigabitsPerSecond()).isZero();
        assertThat(port.toString()).contains("speed 5");
    }

    @Test
    void toStringHasStateSpeedAndMtu() {
        link(2, 64);
        ibv_port_attr.state(attributes, 4);
        ibv_port_attr.max_mtu(attributes, 5);
        ibv_port_attr.active_mtu(attributes, 5);
        ibv_port_attr.lid(attributes, (short) 0xfffe);
        ibv_port_attr.link_layer(attributes, (byte) 1);
        assertThat(port)
                .hasToString(
                        "port 2 of mlx5_0: ACTIVE, InfiniBand, LID 65534, MTU 4096 (of 4096), 200 Gbit/s (4x HDR)");
    }

    @Test
    void needsGlobalRoutingOnEthernetOrByFlag() {
        ibv_port_attr.link_layer(attributes, (byte) 2);
        assertThat(port.needsGlobalRouting()).isTrue();
        ibv_port_attr.link_layer(attributes, (byte) 1);
        assertThat(port.needsGlobalRouting()).isFalse();
        ibv_port_attr.flags(attributes, (byte) 1);
        assertThat(port.needsGlobalRouting()).isTrue();
    }

    @Test
    void unsignedFieldsAreNotNegative() {
        attributes.fill((byte) 0xff);
        assertThat(port.maxMessageSize()).isEqualTo(0xffff_ffffL);
        assertThat(port.lid()).isEqualTo(0xffff);
        assertThat(port.subnetManagerLid()).isEqualTo(0xffff);
        assertThat(port.pkeyTableLength()).isEqualTo(0xffff);
        assertThat(port.capabilityFlags2()).isEqualTo(0xffff);
        assertThat(port.physicalState()).isEqualTo(255);
        assertThat(port.state()).isEqualTo(Port.State.UNKNOWN);
        assertThat(port.linkLayer()).isEqualTo(Port.LinkLayer.UNKNOWN);
    }
}
