package dev.verbena.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.AllocationProbe;
import dev.verbena.support.ChannelAllocationProbe;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.FencedTest;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Programs that poll, and handlers, allocate nothing for messages and calls of one length, once the code is compiled. */
@FencedTest
class ChannelAllocationTest {
    @Test
    void pollingAndHandlersAllocateNothing() {
        Set<String> clean = AllocationProbe.cleanRows(
                2,
                () -> ChildJvm.with(
                        "--enable-native-access=ALL-UNNAMED",
                        "-Ddev.verbena.libibverbs=" + System.getProperty("dev.verbena.libibverbs")),
                ChannelAllocationProbe.class);
        assertThat(clean).containsExactlyInAnyOrder("round trips", "calls");
    }
}
