package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.internal.raw.ibv_qp;
import dev.verbena.support.Mlx5Too;
import dev.verbena.support.TestDevice;
import dev.verbena.tools.Listening;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests the mlx5 adapter without hardware by rdma-core's own programs, which use it by the system's libmlx5: what they
 * accept, a benchmark may measure.
 */
@Mlx5Too
@EnabledIfSystemProperty(
        named = "dev.verbena.mlx5",
        matches = "true",
        disabledReason = "scripts/test runs these tests with the adapter")
class Mlx5AdapterTest {
    private static final int SECONDS = 60;

    private static Process start(List<String> command) throws IOException {
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    /** Returns the output of a program that must succeed. */
    private static String end(Process process) throws Exception {
        try (InputStream output = process.getInputStream()) {
            assertThat(process.waitFor(SECONDS, TimeUnit.SECONDS)).as("ended").isTrue();
            String text = new String(output.readAllBytes(), StandardCharsets.UTF_8);
            assertThat(process.exitValue()).as(text).isZero();
            return text;
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    void devinfoShowsTheAdapter() throws Exception {
        assertThat(end(start(List.of("ibv_devinfo", "-v"))))
                .containsPattern("hca_id:\\s+mlx5_0")
                .containsPattern("fw_ver:\\s+16[.]35[.]2000")
                .containsPattern("state:\\s+PORT_ACTIVE");
    }

    /** The programs check every message with the option -c. Those with -e sleep until an event. */
    @ParameterizedTest
    @CsvSource({
        "ibv_rc_pingpong, 4096, -c", "ibv_rc_pingpong, 65536, -c", "ibv_rc_pingpong, 64, -e",
        "ibv_uc_pingpong, 4096, -c", "ibv_ud_pingpong, 2048, -c", "ibv_srq_pingpong, 4096, -c"
    })
    void pingPongMovesMessagesBetweenProcesses(String program, int size, String option) throws Exception {
        int port = Listening.freePort();
        List<String> command = new ArrayList<>();
        Collections.addAll(command, program, "-s", "" + size, "-n", "100", "-p", "" + port, option);
        Process server = start(command);
        try {
            Listening.await(port, server::isAlive);
            command.add("127.0.0.1");
            assertThat(end(start(command))).contains("100 iters in");
            assertThat(end(server)).contains("100 iters in");
        } finally {
            server.destroyForcibly();
        }
    }

    /** Returns true if C made a queue pair of another struct than that of its protection domain. */
    private static boolean hasThreadDomain(QueuePair pair, ProtectionDomain domain) {
        MemorySegment struct = MemorySegment.ofAddress(pair.address()).reinterpret(ibv_qp.sizeof());
        return ibv_qp.pd(struct).address() != domain.address();
    }

    private static QueuePair pair(ProtectionDomain domain, boolean locks) {
        CompletionQueue queue = domain.context().createCompletionQueue(8);
        return domain.createQueuePair(QueuePair.rc(queue).locks(locks));
    }

    @Test
    void confinedQueuePairsHaveAThreadDomain() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain = TestDevice.get().open(arena).allocateProtectionDomain();
            QueuePair first = pair(domain, false);
            assertThat(hasThreadDomain(first, domain)).isTrue();
            assertThat(hasThreadDomain(pair(domain, false), domain)).isTrue();
            assertThat(hasThreadDomain(pair(domain, true), domain)).isFalse();
            assertThat(domain.base()).isEmpty();
            assertThat(domain.threadDomain()).isEmpty();
            assertThatThrownBy(domain::close)
                    .isInstanceOf(ResourceBusyException.class)
                    .hasMessageContaining(first.toString());
        }
        try (VerbsArena arena = VerbsArena.ofShared()) {
            ProtectionDomain domain = TestDevice.get().open(arena).allocateProtectionDomain();
            assertThat(hasThreadDomain(pair(domain, false), domain)).isFalse();
        }
    }
}
