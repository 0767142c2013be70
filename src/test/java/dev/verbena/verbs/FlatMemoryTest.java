package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ComeAndGo;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Resources;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Objects that come and go leave nothing behind in the kernel, and no queue that the driver has mapped. {@code
 * FlatMemoryOnTheFencedProviderTest} measures the memory of the library with many more cycles.
 */
@DeviceTest
class FlatMemoryTest {
    private static final int WARM_UP = 2;
    private static final int CYCLES = 8;

    @Test
    void createAndCloseLeavesNothingBehind() throws Exception {
        ComeAndGo.make(WARM_UP);
        List<String> objects = Resources.ofThisProcess();
        long mapped = Resources.mappedQueues();
        ComeAndGo.make(CYCLES);
        assertThat(Resources.ofThisProcess()).isEqualTo(objects);
        assertThat(Resources.mappedQueues()).isEqualTo(mapped);
    }
}
