package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.FencedTest;
import dev.verbena.support.LifeInShortage;
import dev.verbena.support.WaitsWithoutHeap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A momentary shortage leaves nothing behind: what was refused can be repeated, and all closes. */
@FencedTest
@Timeout(300)
class ShortageTest {
    @ParameterizedTest
    @CsvSource({"files, RDMA", "files, TCP", "heap, RDMA", "heap, TCP"})
    void shortageThatIsOverLeavesTheLibraryAsItWas(String missing, String transport) {
        assertThat(run(LifeInShortage.class, missing, transport, transport.equals("RDMA") ? "10.9.9.1" : "127.0.0.1"))
                .containsPattern("failed [1-9][0-9]*, then succeeded")
                .contains("left 0 objects and 0 violations");
    }

    @Test
    void threadsThatLackedMemoryForAnEventGoOn() {
        assertThat(run(WaitsWithoutHeap.class)).contains("left 0 objects and 0 violations");
    }

    private static String run(Class<?> main, String... arguments) {
        String provider = System.getProperty("dev.verbena.libibverbs");
        return ChildJvm.with(
                        ChildJvm.DENY,
                        "--enable-native-access=ALL-UNNAMED",
                        "-Ddev.verbena.fenced=true",
                        "-Ddev.verbena.libibverbs=" + provider,
                        "-Ddev.verbena.librdmacm=" + provider,
                        "-Xmx48m",
                        "-XX:-UseTLAB")
                .runOnClassPath(main, arguments)
                .successfulOutput();
    }
}
