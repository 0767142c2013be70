package dev.verbena.cm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.CmAddress;
import dev.verbena.support.ConnectAndClose;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.ResidentMemory;
import dev.verbena.support.Resources;
import dev.verbena.support.Slow;
import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Connections that come and go leave nothing behind in the kernel and in rdma-core: no object, no descriptor, no page.
 * {@code FlatMemoryOnTheFencedProviderTest} measures the library's own memory with many more connections.
 */
@Slow
@IwarpToo
class ManyConnectionsTest {
    private static final int WARM_UP = 100;
    private static final int CYCLES = 300;

    /** A leak of a page for each connection is found. */
    private static final long PAGE_KIB = 4;

    @Test
    void connectionsLeaveNothingBehind() throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Listener listener = Listener.open(CmAddress.four(0), arena);
            ConnectAndClose.cycles(listener, WARM_UP);
            long descriptors = descriptors();
            fillYoungGeneration();
            long early = ResidentMemory.kib();
            ConnectAndClose.cycles(listener, CYCLES);
            // Not one for each connection; the event thread has two, when it is there.
            assertThat(descriptors()).isBetween(descriptors - 10, descriptors + 10);
            long growth = ResidentMemory.kib() - early;
            assertThat(growth)
                    .as("growth of %d KiB on top of %d KiB", growth, early)
                    .isLessThan(CYCLES * PAGE_KIB);
        }
        assertThat(Resources.ofThisProcess()).isEmpty();
    }

    private static long descriptors() throws IOException {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            return open.count();
        }
    }

    /** Makes all pages of the young generation resident: their first use would count as growth. */
    private static void fillYoungGeneration() {
        long before = collections();
        while (collections() < before + 2) {
            byte[] garbage = new byte[1 << 16];
            garbage[0] = 1;
        }
    }

    private static long collections() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream()
                .mapToLong(GarbageCollectorMXBean::getCollectionCount)
                .sum();
    }
}
