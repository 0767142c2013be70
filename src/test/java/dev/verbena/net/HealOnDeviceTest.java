package dev.verbena.net;

import dev.verbena.support.DeviceTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Runs the tests of {@link HealOnDevice}. */
@DeviceTest
@EnabledIfEnvironmentVariable(
        named = "VERBENA_GUEST",
        matches = "1",
        disabledReason = "it rewires the network, which only a guest of scripts/soft-roce may have done to it")
class HealOnDeviceTest {
    @Test
    void channelsOutliveAWireThatLosesPackets() throws Exception {
        CutWire.runTests(HealOnDevice.class);
    }
}
