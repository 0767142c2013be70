package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.ComeAndGo;
import dev.verbena.support.FencedTest;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Objects and connections that come and go leave the memory of the process as it was. The library's own memory does not
 * depend on the driver, and the provider for tests runs many cycles in seconds. {@code FlatMemoryTest} and {@code
 * ManyConnectionsTest} look for what stays in the kernel and in rdma-core, with fewer cycles on a device.
 */
@FencedTest
class FlatMemoryOnTheFencedProviderTest {
    private static final String CYCLES = "600";

    /** A leak of 1.3 KiB for each cycle is found. */
    private static final int MOST_KIB = 800;

    private static final Pattern GROWN = Pattern.compile("grown (-?\\d+)");

    /**
     * The program runs in a heap that does not grow. The warm-up is long enough for the compiler, whose code would be taken
     * for a leak; it compiles what runs a few times, to make an end of that soon.
     */
    @ParameterizedTest
    @CsvSource({"objects, 800", "connections, 600"})
    void comingAndGoingDoesNotGrowMemory(String what, String warmUp) {
        String output = ChildJvm.onTheProvider(
                        "-XX:CompileThresholdScaling=0.1", "-Xms48m", "-Xmx48m", "-XX:+AlwaysPreTouch")
                .runOnClassPath(ComeAndGo.class, what, warmUp, CYCLES)
                .successfulOutput();
        Matcher grown = GROWN.matcher(output);
        assertThat(grown.find()).as(output).isTrue();
        assertThat(Long.parseLong(grown.group(1))).as(output).isLessThan(MOST_KIB);
        assertThat(output).contains("left 0 objects and 0 violations");
    }
}
