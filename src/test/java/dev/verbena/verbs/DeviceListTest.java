package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.Test;

/** Finding devices, on a machine with devices and on one without. */
class DeviceListTest {
    private final List<Device> devices = Device.list(); // empty without a device, not an error

    @Test
    void namedListsTheDevicesWhenNoneHasTheName() {
        assertThatThrownBy(() -> Device.named("nosuch0"))
                .isInstanceOf(NoSuchElementException.class)
                .hasMessageContaining("'nosuch0'")
                .satisfies(e -> assertThat(e.getMessage())
                        .contains(
                                devices.isEmpty()
                                        ? List.of("this machine has no RDMA device", "rdma link add")
                                        : devices.stream().map(Device::name).toList()));
    }

    @Test
    void firstReturnsTheFirstOfTheList() {
        if (devices.isEmpty()) {
            assertThatThrownBy(Device::first)
                    .isInstanceOf(NoSuchElementException.class)
                    .hasMessageContaining("rdma link add");
        } else {
            assertThat(Device.first()).isEqualTo(devices.getFirst());
        }
    }

    @Test
    void namedFindsEachDevice() {
        for (Device device : devices) {
            assertThat(Device.named(device.name())).isEqualTo(device).hasSameHashCodeAs(device);
        }
    }

    @Test
    void listIsUnmodifiable() {
        assertThatThrownBy(devices::clear).isInstanceOf(UnsupportedOperationException.class);
    }
}
