package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.CmOnRemovedDevice;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Fault;
import dev.verbena.support.SecondDevice;
import java.io.BufferedReader;
import org.junit.jupiter.api.Test;

/** A device that goes while a process of its own has connections on it: librdmacm keeps devices open till its end. */
@DeviceTest
class DeviceRemovalTest {
    @Test
    @Fault("cm-device-removed")
    void removedDeviceEndsWaitsAndAllowsClose() throws Exception {
        try (SecondDevice second = SecondDevice.make()) {
            Process user = ChildJvm.with(ChildJvm.DENY, "--enable-native-access=ALL-UNNAMED")
                    .startOnClassPath(CmOnRemovedDevice.class, SecondDevice.ADDRESS);
            try (BufferedReader output = user.inputReader()) {
                assertThat(output.readLine()).isEqualTo("connected");
                Process removal = second.remove();
                assertThat(output.readLine()).isEqualTo("told");
                assertThat(output.readLine()).isEqualTo("ended: DEVICE_REMOVAL");
                assertThat(output.readLine()).isEqualTo("closed");
                assertThat(user.waitFor(DEADLINE.toSeconds(), SECONDS)).isTrue();
                assertThat(user.exitValue()).isZero();
                assertThat(removal.waitFor(DEADLINE.toSeconds(), SECONDS)).isTrue();
            } finally {
                user.destroyForcibly();
            }
        }
    }
}
