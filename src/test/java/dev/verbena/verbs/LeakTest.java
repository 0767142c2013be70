package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.DeviceTest;
import dev.verbena.support.Resources;
import dev.verbena.support.RunTests;
import org.junit.jupiter.api.Test;

/** Nothing is left behind. It runs after all others, so that it sees what they have left. */
@DeviceTest
@RunTests.ByName.Last
class LeakTest {
    @Test
    void testsLeaveNoKernelObjects() throws Exception {
        assertThat(Resources.ofThisProcess()).isEmpty();
    }
}
