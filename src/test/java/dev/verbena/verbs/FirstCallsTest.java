package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The classes that a program loads for its first call, and for its first completion, which it waits for. */
@FencedTest
class FirstCallsTest {
    private static final String LIBRARY = "dev.verbena.";

    private static Set<String> loaded;
    private static Set<String> loadedToComplete;

    /** A program that lists the devices and does nothing else. */
    static final class Program {
        private Program() {}

        public static void main(String[] args) {
            if (Device.list().isEmpty()) {
                throw new AssertionError("the provider has a device");
            }
        }
    }

    /** A program that connects two queue pairs, writes and reads by RDMA, and takes the completions. */
    static final class Completing {
        private Completing() {}

        public static void main(String[] args) throws InterruptedException {
            try (Loopback loopback = Loopback.connected()) {
                RemoteMemory remote = loopback.right.buffer.slice(0, 8).remote();
                loopback.left.pair.postWrite(1, loopback.left.buffer.slice(0, 8), remote);
                loopback.left.done();
                loopback.left.pair.postRead(2, loopback.left.buffer.slice(0, 8), remote);
                loopback.left.done();
            }
        }
    }

    @BeforeAll
    static void runPrograms() {
        loaded = loadedBy(Program.class);
        assertThat(loaded).contains(LIBRARY + "verbs.Device");
        loadedToComplete = loadedBy(Completing.class);
        assertThat(loadedToComplete)
                .contains(LIBRARY + "internal.raw.ibv_qp_attr", LIBRARY + "internal.raw.ibv_send_wr");
    }

    private static Set<String> loadedBy(Class<?> program) {
        String provider = System.getProperty("dev.verbena.libibverbs");
        List<String> lines = ChildJvm.with(ChildJvm.DENY, "--enable-native-access=ALL-UNNAMED", "-Xlog:class+load")
                .option("-Ddev.verbena.fenced=true", "-Ddev.verbena.libibverbs=" + provider)
                .runOnClassPath(program)
                .successfulOutput()
                .lines()
                .toList();
        return lines.stream()
                .filter(line -> line.contains(" source: "))
                .map(line -> line.substring(line.lastIndexOf("] ") + 2, line.indexOf(" source: ")))
                .collect(Collectors.toSet());
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

    /** The first path through a layout takes as long as ten classes. */
    @Test
    void deviceListReadsMemoryWithoutLayouts() {
        assertThat(loaded)
                .doesNotContain(
                        "jdk.internal.foreign.LayoutPath",
                        "java.lang.invoke.SegmentVarHandle",
                        LIBRARY + "internal.Memory");
    }

    /** The layout of a struct needs those of all structs inside, and is not needed for access. */
    @Test
    void firstCompletionLoadsNoLayoutOfAStruct() {
        assertThat(loadedToComplete)
                .filteredOn(name -> name.startsWith(LIBRARY + "internal.raw."))
                .noneMatch(name -> name.endsWith("$Layouts"))
                .doesNotContain(LIBRARY + "internal.raw.rdma_h$shared");
    }

    /** Control path, posts and polls: each is linked once, at the first call that needs it. */
    @Test
    void firstCompletionLinksOneHandleForEachKindOfCall() {
        assertThat(loadedToComplete)
                .filteredOn(name -> name.startsWith("jdk.internal.foreign.abi.DowncallStub"))
                .hasSizeLessThanOrEqualTo(3);
        assertThat(loadedToComplete)
                .doesNotContain(
                        LIBRARY + "internal.ExtendedCalls",
                        LIBRARY + "internal.Barrier",
                        LIBRARY + "internal.RdmaCm",
                        LIBRARY + "internal.DataPathCalls$PlainOfAny",
                        LIBRARY + "internal.DataPathCalls$CriticalOfAny");
    }

    /** The handle of an access that is made of other handles takes some fifteen classes, which the JDK spins. */
    @Test
    void firstCompletionAccessesMemoryByHandlesOfLayouts() {
        assertThat(loadedToComplete).doesNotContain("java.lang.invoke.IndirectVarHandle");
    }
}
