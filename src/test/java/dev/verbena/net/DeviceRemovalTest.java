package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.NodesOnRemovedDevice;
import dev.verbena.support.SecondDevice;
import java.io.BufferedReader;
import org.junit.jupiter.api.Test;

/** A device that goes while a process of its own has nodes on it: {@link RemovedDeviceTest} has the provider for tests. */
@DeviceTest
class DeviceRemovalTest {
    private static final int WAITS = 5;

    @Test
    void removedDeviceEndsAllWaitsWithOneCauseAndAllowsClose() throws Exception {
        try (SecondDevice second = SecondDevice.make()) {
            Process user = ChildJvm.with(ChildJvm.DENY, "--enable-native-access=ALL-UNNAMED")
                    .startOnClassPath(NodesOnRemovedDevice.class, SecondDevice.ADDRESS);
            try (BufferedReader output = user.inputReader()) {
                assertThat(output.readLine()).isEqualTo("connected");
                Process removal = second.remove();
                for (int i = 0; i < WAITS; i++) {
                    assertThat(output.readLine()).isEqualTo("ended: DEVICE_REMOVED");
                }
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
