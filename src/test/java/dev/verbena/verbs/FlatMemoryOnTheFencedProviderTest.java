package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.ConnectAndClose;
import dev.verbena.support.FencedTest;
import dev.verbena.support.FlatMemory;
import dev.verbena.support.MakeAndClose;
import org.junit.jupiter.api.Test;

/**
 * Objects and connections that come and go leave the memory of the process as it was. The library's own memory does not
 * depend on the driver, and the provider for tests runs many cycles in seconds. {@code FlatMemoryTest} and {@code
 * ManyConnectionsTest} look for what stays in the kernel and in rdma-core, with fewer cycles on a device.
 */
@FencedTest
class FlatMemoryOnTheFencedProviderTest {
    private static final int CYCLES = 1500;

    /** A leak of 1.3 KiB for each cycle is found. */
    private static final int MOST_KIB = 2000;

    /** The warm-up is long enough for the compiler, whose code would be taken for a leak. */
    private static void memoryStaysFlat(Class<?> program, int warmUp) {
        String provider = System.getProperty("dev.verbena.libibverbs");
        ChildJvm jvm = ChildJvm.with(
                ChildJvm.DENY,
                "-Ddev.verbena.fenced=true",
                "-Ddev.verbena.libibverbs=" + provider,
                "-Ddev.verbena.librdmacm=" + provider);
        FlatMemory memory = FlatMemory.of(jvm, program, warmUp, CYCLES);
        assertThat(memory.grownKib()).as(memory.output()).isLessThan(MOST_KIB);
        assertThat(memory.output()).contains("left 0 objects and 0 violations");
    }

    @Test
    void createAndCloseDoesNotGrowMemory() {
        memoryStaysFlat(MakeAndClose.class, 3000);
    }

    @Test
    void connectAndCloseDoesNotGrowMemory() {
        memoryStaysFlat(ConnectAndClose.class, 2000);
    }
}
