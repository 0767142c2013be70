package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Nothing is destroyed while a thread is using it, by whichever of the two handshakes the kernel allows. */
class GuardHammerTest {
    @ParameterizedTest(name = "{0} threads, up to {1} rounds")
    @CsvSource({"1, 10000", "3, 2000"})
    void guardNeverClosesDuringACall(int users, int rounds) {
        assertThat(hammer("true", users, rounds)).contains("survived");
    }

    @ParameterizedTest(name = "{0} threads, up to {1} rounds")
    @CsvSource({"1, 10000", "3, 2000"})
    void guardWithoutMembarrierNeverClosesDuringACall(int users, int rounds) {
        assertThat(hammer("false", users, rounds)).contains("survived", "membarrier not in use");
    }

    private static String hammer(String membarrier, int users, int rounds) {
        return ChildJvm.with(
                        "--enable-native-access=ALL-UNNAMED", ChildJvm.DENY, "-Ddev.verbena.membarrier=" + membarrier)
                .optimizing()
                .runOnClassPath(GuardHammer.class, Integer.toString(rounds), Integer.toString(users))
                .successfulOutput();
    }
}
