package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.Hammer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Nothing is destroyed while a thread is using it, by whichever of the handshakes the kernel allows. */
@Hammer
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

    /** A sandbox may forbid the system call when threads rely on it already. */
    @Test
    void guardNeverClosesDuringACallWhenMembarrierFailsLater() {
        assertThat(hammer("true", 1, 2_000, "filtered"))
                .as("the first close has tried it")
                .contains("membarrier is refused", "survived", "membarrier not in use");
    }

    private static String hammer(String membarrier, int users, int rounds, String... more) {
        String[] arguments = Stream.concat(
                        Stream.of(Integer.toString(rounds), Integer.toString(users)), Stream.of(more))
                .toArray(String[]::new);
        return ChildJvm.with(
                        "--enable-native-access=ALL-UNNAMED", ChildJvm.DENY, "-Ddev.verbena.membarrier=" + membarrier)
                .optimizing()
                .runOnClassPath(GuardHammer.class, arguments)
                .successfulOutput();
    }
}
