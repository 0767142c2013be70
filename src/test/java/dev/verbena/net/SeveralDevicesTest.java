package dev.verbena.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.NodesOnTwoDevices;
import dev.verbena.support.SecondDevice;
import dev.verbena.support.TestDevice;
import org.junit.jupiter.api.Test;

/** A machine with two devices has a node for each: librdmacm keeps both open till the end of the process. */
@DeviceTest
class SeveralDevicesTest {
    @Test
    void nodesOfEachDeviceTalkOverIt() throws Exception {
        try (SecondDevice added = SecondDevice.make()) {
            String one = TestDevice.get().name();
            String two = added.device().name();
            String first = CmAddress.four(0).getAddress().getHostAddress();
            assertThat(ChildJvm.with(ChildJvm.DENY, "--enable-native-access=ALL-UNNAMED")
                            .runOnClassPath(NodesOnTwoDevices.class, first, SecondDevice.ADDRESS)
                            .successfulOutput()
                            .lines())
                    .containsExactly(one + " to " + one, one + " to " + one, two + " to " + two, two + " to " + two);
        }
    }
}
