package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.ExtendedCalls;
import dev.verbena.internal.raw.ibv_context;
import dev.verbena.verbs.CompletionQueueOptions.PollingCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The choice between critical and plain calls, by driver, system property and option. */
class PollingCallsTest {
    @ParameterizedTest
    @CsvSource(
            nullValues = "-",
            value = {
                "'', -, true, false", // software, such as soft-RoCE
                "irdma, -, true, true",
                "mlx4_core, -, false, true", // its polls may block
                "mlx5_core, -, true, true",
                "unheard_of, -, true, false",
                "mlx4_core, none, false, false",
                "mlx4_core, poll, true, false",
                "mlx4_core, post, true, true",
                "irdma, none, false, false",
                "irdma, poll, true, false",
                "'', post, true, true",
            })
    void driverAndPropertyChooseTheCalls(String driver, String property, boolean polls, boolean posts) {
        assertThat(DriverFunctions.pollsCritically(driver, property)).isEqualTo(polls);
        assertThat(DriverFunctions.postsCritically(driver, property)).isEqualTo(posts);
    }

    @Test
    void environmentMakesPollsOfMlx5Block() {
        assertThat(DriverFunctions.pollsMayBlock("mlx5_core", Map.of())).isFalse();
        for (String variable : List.of("MLX5_DEBUG_FILE", "MLX5_FREEZE_ON_ERROR_CQE")) {
            assertThat(DriverFunctions.pollsMayBlock("mlx5_core", Map.of(variable, "1")))
                    .isTrue();
            assertThat(DriverFunctions.pollsMayBlock("irdma", Map.of(variable, "1")))
                    .isFalse();
        }
    }

    @ParameterizedTest
    @CsvSource(
            nullValues = "-",
            value = {"mlx4_core, -, false, true", "irdma, -, true, true", "irdma, none, false, false"})
    void optionChoosesTheCallsOfAQueue(String driver, String property, boolean byDriver, boolean critical) {
        MemorySegment context = Arena.ofAuto().allocate(ibv_context.layout()); // C's functions are not called
        DriverFunctions functions = new DriverFunctions(context.address(), driver, property);
        assertThat(functions.pollsCritically(PollingCalls.BY_DRIVER)).isEqualTo(byDriver);
        assertThat(functions.pollsCritically(PollingCalls.CRITICAL)).isEqualTo(critical);
        assertThat(functions.pollsCritically(PollingCalls.PLAIN)).isFalse();
        ExtendedCalls calls = critical ? ExtendedCalls.CRITICAL : ExtendedCalls.PLAIN;
        assertThat(functions.calls()).isSameAs(calls); // reading a field never blocks
        assertThat(functions.calls(true)).isSameAs(calls);
        assertThat(functions.calls(false)).isSameAs(ExtendedCalls.PLAIN);
    }
}
