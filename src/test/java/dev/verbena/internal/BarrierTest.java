package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.Hammer;
import dev.verbena.support.LibraryCopy;
import dev.verbena.support.SystemCallFilter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;

/** The closing thread's fence counts for all threads, whichever way the kernel allows. */
@Hammer
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
            useC();
            StringBuilder seen = new StringBuilder("system call " + Barrier.isSystemCall());
            Thread filtered = Thread.ofPlatform().start(() -> {
                SystemCallFilter.forbidMembarrierHere();
                Barrier.allThreads();
                Barrier.prepare();
                seen.append(", then ").append(Barrier.isSystemCall());
            });
            Await.end(filtered);
            Barrier.allThreads();
            return seen.toString();
        }
    }

    private static void useC() {
        new CFunction(NativeLibraries.C, "getpid").find();
        Barrier.prepare();
    }

    @Test
    void barrierDoesWithoutTheSystemCallOnceItIsRefused() {
        assertThat(LibraryCopy.call(Refused.class, Map.of())).isEqualTo("system call true, then false");
    }

    /** To link a function of C takes long. */
    static final class Chosen implements Callable<String> {
        @Override
        public String call() {
            Barrier.prepare();
            Barrier.allThreads();
            boolean before = Barrier.isSystemCall() || CFunction.isInUse();
            useC();
            Barrier.allThreads();
            return before + ", then " + Barrier.isSystemCall();
        }
    }

    @Test
    void systemCallIsUsedOnceTheProcessCallsCUnlessItIsTurnedOff() {
        assertThat(LibraryCopy.call(Chosen.class, Map.of())).isEqualTo("false, then true");
        assertThat(LibraryCopy.call(Chosen.class, Map.of("dev.verbena.membarrier", "false")))
                .isEqualTo("false, then false");
    }
}
