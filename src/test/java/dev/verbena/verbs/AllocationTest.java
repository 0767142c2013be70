package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.AllocationProbe;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.DeviceTest;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Posting and polling allocate nothing once they are compiled: not one byte in thousands of operations. */
@DeviceTest
class AllocationTest {
    @ParameterizedTest
    @ValueSource(strings = {"confined", "shared"})
    void theDataPathAllocatesNothing(String arena) {
        String output = ChildJvm.with("--enable-native-access=ALL-UNNAMED")
                .runOnClassPath(AllocationProbe.class, arena).successfulOutput();
        System.out.println(arena + " arena:\n" + output);
        List<String> measured = output.lines().filter(line -> line.contains(" bytes in ")).toList();
        assertThat(measured).hasSize(10).allMatch(line -> line.contains(": 0 bytes in "));
    }
}
