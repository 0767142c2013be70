package strangers;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.FencedTest;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** No close waits for a thread whose stack overflowed. Both compilers run: exits get lost where code is compiled anew. */
@FencedTest
class FullStackTest {
    @ParameterizedTest
    @CsvSource({"queues, 60", "callers, 12", "handlers, 12"})
    void closingWaitsForNoThreadWhoseStackOverflowed(String what, String rounds) {
        String library = System.getProperty("dev.verbena.libibverbs");
        assertThat(ChildJvm.with(
                                "--enable-native-access=ALL-UNNAMED",
                                "-Ddev.verbena.fenced=true",
                                "-Ddev.verbena.libibverbs=" + library,
                                "-Ddev.verbena.librdmacm=" + library)
                        .optimizing()
                        .runOnClassPath(FullStack.class, what, rounds)
                        .successfulOutput())
                .contains("all closed");
    }
}
