package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import org.junit.jupiter.api.Test;

/** The closing thread's fence counts for all threads, whichever way the kernel allows. */
class BarrierTest {
    private static String litmus(String... arguments) {
        return ChildJvm.with("--enable-native-access=ALL-UNNAMED", ChildJvm.DENY)
                .optimizing()
                .runOnClassPath(BarrierLitmus.class, arguments)
                .successfulOutput();
    }

    /** Without the handshake, about one run in three finds a round: a fault that the processor shows seldom. */
    @Test
    void barrierFencesAllThreadsWhenMembarrierFailsLater() {
        assertThat(litmus("filtered")).isEqualTo("all rounds were seen\n");
    }
}
