package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.FencedTest;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The classes that a program loads for its first call, which it waits for. */
@FencedTest
class FirstCallsTest {
    private static final String LIBRARY = "dev.verbena.";

    private static Set<String> loaded;

    /** A program that lists the devices and does nothing else. */
    static final class Program {
        private Program() {}

        public static void main(String[] args) {
            if (Device.list().isEmpty()) {
                throw new AssertionError("the provider has a device");
            }
        }
    }

    @BeforeAll
    static void listDevices() {
        String provider = System.getProperty("dev.verbena.libibverbs");
        List<String> lines = ChildJvm.with(ChildJvm.DENY, "--enable-native-access=ALL-UNNAMED", "-Xlog:class+load")
                .option("-Ddev.verbena.libibverbs=" + provider)
                .runOnClassPath(Program.class)
                .successfulOutput()
                .lines()
                .toList();
        loaded = lines.stream()
                .filter(line -> line.contains(" source: "))
                .map(line -> line.substring(line.lastIndexOf("] ") + 2, line.indexOf(" source: ")))
                .collect(Collectors.toSet());
        assertThat(loaded).contains(LIBRARY + "verbs.Device");
    }

    /** To link a handle takes as long as all else that a call needs. */
    @Test
    void deviceListLinksOneHandle() {
        assertThat(loaded)
                .filteredOn(name -> name.startsWith("jdk.internal.foreign.abi.DowncallStub"))
                .hasSize(1);
    }

    @Test
    void deviceListLoadsOnlyTheStructsThatItReads() {
        assertThat(loaded)
                .filteredOn(name -> name.startsWith(LIBRARY + "internal.raw."))
                .containsExactly(LIBRARY + "internal.raw.ibv_device");
    }

    /** A lambda expression or a concatenation that is linked takes longer than a class. */
    @Test
    void deviceListLinksNoExpressionOfTheLibrary() {
        assertThat(loaded)
                .filteredOn(name -> name.startsWith(LIBRARY) && name.contains("$$"))
                .isEmpty();
        assertThat(loaded).doesNotContain(LIBRARY + "internal.DataPathCalls", LIBRARY + "internal.RdmaCm");
    }
}
