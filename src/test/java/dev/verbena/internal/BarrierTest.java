package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.LibraryCopy;
import dev.verbena.support.SystemCallFilter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.Callable;
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

    /** By the kernel's own headers, as far as this machine has them. */
    @Test
    void numberOfTheSystemCallIsThatOfTheKernel() throws IOException {
        assertThat(Barrier.numberOfMembarrier("amd64")).isEqualTo(324);
        assertThat(Barrier.numberOfMembarrier("x86_64")).isEqualTo(324);
        assertThat(Barrier.numberOfMembarrier("aarch64")).isEqualTo(283);
        assertThat(Barrier.numberOfMembarrier("riscv64")).isEqualTo(283);
        assertThat(Barrier.numberOfMembarrier("s390x")).isNegative();
        assertHeader("x86_64-linux-gnu/asm/unistd_64.h", 324);
        assertHeader("asm-generic/unistd.h", 283);
    }

    private static void assertHeader(String header, int number) throws IOException {
        Path file = Path.of("/usr/include", header);
        if (Files.exists(file)) {
            assertThat(Files.readString(file)).containsPattern("#define __NR_membarrier " + number + "\\b");
        }
    }

    /** A system call that is forbidden in one thread: its barriers are handshakes from then on. */
    static final class Refused implements Callable<String> {
        @Override
        public String call() throws Exception {
            StringBuilder seen = new StringBuilder("available " + Barrier.AVAILABLE);
            Thread filtered = Thread.ofPlatform().start(() -> {
                SystemCallFilter.forbidMembarrierHere();
                for (int i = 0; i < 2; i++) {
                    Barrier.allThreads();
                    seen.append(", fenced");
                }
            });
            Await.end(filtered);
            Barrier.allThreads();
            return seen.append(", fenced").toString();
        }
    }

    @Test
    void barrierDoesWithoutTheSystemCallOnceItIsRefused() {
        assertThat(LibraryCopy.call(Refused.class, Map.of())).isEqualTo("available true, fenced, fenced, fenced");
    }

    static final class Available implements Callable<Boolean> {
        @Override
        public Boolean call() {
            Barrier.allThreads();
            return Barrier.AVAILABLE;
        }
    }

    @Test
    void barrierIsAvailableUnlessItIsTurnedOff() {
        assertThat(LibraryCopy.call(Available.class, Map.of("dev.verbena.membarrier", "")))
                .isEqualTo(true);
        assertThat(LibraryCopy.call(Available.class, Map.of("dev.verbena.membarrier", "false")))
                .isEqualTo(false);
    }
}
