package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.FlatMemory;
import dev.verbena.support.MakeAndClose;
import org.junit.jupiter.api.Test;

/**
 * Objects that come and go leave nothing behind in the kernel, and no page in rdma-core's provider for this device.
 * {@code FlatMemoryOnTheFencedProviderTest} measures the library's own memory with many more cycles.
 */
@DeviceTest
class FlatMemoryTest {
    private static final int CYCLES = 300;
    private static final int PAGE_KIB = 4;

    @Test
    void createAndCloseDoesNotGrowMemory() {
        FlatMemory memory = FlatMemory.of(ChildJvm.with(), MakeAndClose.class, 100, CYCLES);
        assertThat(memory.grownKib()).as(memory.output()).isLessThan(CYCLES * PAGE_KIB);
        assertThat(memory.output()).contains("left []");
    }
}
