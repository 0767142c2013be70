package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.AllocationProbe;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.FencedTest;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Posting and polling allocate nothing once they are compiled: not one byte in thousands of operations. */
@FencedTest
class AllocationTest {
    private static final int ROWS = 15;

    @ParameterizedTest
    @CsvSource({"confined, true", "shared, true", "confined, false", "shared, false"})
    void dataPathAllocatesNothing(String arena, boolean critical) {
        Set<String> clean = AllocationProbe.cleanRows(
                ROWS,
                () -> ChildJvm.with(
                        "--enable-native-access=ALL-UNNAMED",
                        "-Ddev.verbena.critical=" + critical,
                        "-Ddev.verbena.libibverbs=" + System.getProperty("dev.verbena.libibverbs")),
                AllocationProbe.class,
                arena);
        assertThat(clean).as("what allocates nothing").hasSize(ROWS);
    }
}
