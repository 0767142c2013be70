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

    private static DriverFunctions driver(String name, String property) {
        MemorySegment context = Arena.ofAuto().allocate(ibv_context.layout()); // C's functions are not called
        return new DriverFunctions(context.address(), name, property);
    }

    @Test
    void optionChoosesTheCallsOfAQueue() {
        DriverFunctions mayBlock = driver("mlx4_core", null);
        assertThat(mayBlock.pollsCritically(PollingCalls.BY_DRIVER)).isFalse();
        assertThat(mayBlock.pollsCritically(PollingCalls.CRITICAL)).isTrue();
        assertThat(mayBlock.pollsCritically(PollingCalls.PLAIN)).isFalse();
        assertThat(mayBlock.calls()).isSameAs(ExtendedCalls.CRITICAL); // reading a field never blocks
        assertThat(mayBlock.calls(false)).isSameAs(ExtendedCalls.PLAIN);
        DriverFunctions bounded = driver("irdma", null);
        assertThat(bounded.pollsCritically(PollingCalls.BY_DRIVER)).isTrue();
        assertThat(bounded.pollsCritically(PollingCalls.PLAIN)).isFalse();
        DriverFunctions forbidden = driver("irdma", "none");
        for (PollingCalls calls : PollingCalls.values()) {
            assertThat(forbidden.pollsCritically(calls)).isFalse();
        }
        assertThat(forbidden.calls()).isSameAs(ExtendedCalls.PLAIN);
        assertThat(forbidden.calls(true)).isSameAs(ExtendedCalls.PLAIN);
    }
}
