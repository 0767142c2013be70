package dev.verbena.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChannelAllocationProbe;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.FencedTest;
import org.junit.jupiter.api.Test;

/** Programs that poll, and handlers, allocate nothing for messages and calls of one length, once the code is compiled. */
@FencedTest
class ChannelAllocationTest {
    private static final int ATTEMPTS = 3;

    @Test
    void pollingAndHandlersAllocateNothing() {
        String output = "";
        for (int i = 0;
                i < ATTEMPTS && !(output.contains("round trips: 0 bytes") && output.contains("calls: 0 bytes"));
                i++) {
            output = ChildJvm.with(
                            "--enable-native-access=ALL-UNNAMED",
                            "-Ddev.verbena.libibverbs=" + System.getProperty("dev.verbena.libibverbs"))
                    .optimizing()
                    .runOnClassPath(ChannelAllocationProbe.class)
                    .successfulOutput();
        }
        assertThat(output).contains("round trips: 0 bytes in ", "calls: 0 bytes in ");
    }
}
