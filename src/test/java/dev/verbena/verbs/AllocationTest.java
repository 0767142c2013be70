package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.AllocationProbe;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.FencedTest;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Posting and polling allocate nothing once they are compiled: not one byte in thousands of operations. */
@FencedTest
class AllocationTest {
    private static final int ROWS = 13;
    private static final int ATTEMPTS = 3;

    @ParameterizedTest
    @CsvSource({"confined, true", "shared, true", "confined, false", "shared, false"})
    void dataPathAllocatesNothing(String arena, boolean critical) {
        // What the code allocates it allocates in each run. Whether the compiler sees through a call is decided anew in
        // each, now and then badly: so a row counts that was clean in one of them.
        Set<String> clean = new HashSet<>();
        StringBuilder all = new StringBuilder();
        for (int i = 0; i < ATTEMPTS && clean.size() < ROWS; i++) {
            String output = ChildJvm.with(
                            "--enable-native-access=ALL-UNNAMED",
                            "-Ddev.verbena.critical=" + critical,
                            "-Ddev.verbena.libibverbs=" + System.getProperty("dev.verbena.libibverbs"))
                    .optimizing()
                    .runOnClassPath(AllocationProbe.class, arena)
                    .successfulOutput();
            all.append(output);
            List<String> measured =
                    output.lines().filter(line -> line.contains(" bytes in ")).toList();
            assertThat(measured).hasSize(ROWS);
            measured.stream()
                    .filter(line -> line.contains(": 0 bytes in "))
                    .forEach(line -> clean.add(line.substring(0, line.indexOf(':'))));
        }
        assertThat(clean).as("what allocates nothing, of %s", all).hasSize(ROWS);
    }
}
