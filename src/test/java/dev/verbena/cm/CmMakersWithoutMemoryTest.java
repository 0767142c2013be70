package dev.verbena.cm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.CmMakersWithoutMemory;
import dev.verbena.support.FencedTest;
import org.junit.jupiter.api.Test;

/** Tests that makers of the connection manager's objects leave nothing in C when there is no direct memory. */
@FencedTest
class CmMakersWithoutMemoryTest {
    private static final int DIRECT_MEMORY = 4 << 20;

    @Test
    void makersWithoutDirectMemoryLeaveNothingInC() {
        String provider = System.getProperty("dev.verbena.libibverbs");
        String output = ChildJvm.with(
                        "--enable-native-access=ALL-UNNAMED",
                        ChildJvm.DENY,
                        "-XX:MaxDirectMemorySize=" + DIRECT_MEMORY,
                        "-Ddev.verbena.fenced=true",
                        "-Ddev.verbena.libibverbs=" + provider,
                        "-Ddev.verbena.librdmacm=" + provider)
                .runOnClassPath(CmMakersWithoutMemory.class, Integer.toString(DIRECT_MEMORY))
                .successfulOutput();
        assertThat(output)
                .contains("left 0 objects and 0 violations")
                .containsPattern("channel failed [1-9]")
                .containsPattern("context failed [1-9]")
                .containsPattern("\nqueue pair failed [1-9]");
    }
}
