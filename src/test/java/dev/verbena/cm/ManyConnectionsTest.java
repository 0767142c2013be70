package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.CmAddress;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.Resources;
import dev.verbena.support.Slow;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueueCapabilities;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Connections that come and go leave nothing behind: no memory, no descriptor, nothing in the kernel. */
@Slow
@IwarpToo
class ManyConnectionsTest {
    private static final int WARM_UP = 500;
    private static final int CYCLES = 2000;
    private static final QueueCapabilities SIZES = QueueCapabilities.of(4, 4);

    /** A leak of a page for each connection is found. */
    private static final long PAGE = 4096;

    @Test
    void connectionsLeaveNothingBehind() throws Exception {
        long descriptors;
        long early;
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Listener listener = Listener.open(CmAddress.four(0), arena);
            run(listener, WARM_UP);
            descriptors = descriptors();
            early = residentBytes();
            run(listener, CYCLES - WARM_UP);
            // Not one for each connection; the event thread has two, when it is there.
            assertThat(descriptors()).isBetween(descriptors - 10, descriptors + 10);
            long growth = residentBytes() - early;
            assertThat(growth)
                    .as("growth of %d KiB on top of %d KiB", growth >> 10, early >> 10)
                    .isLessThan((CYCLES - WARM_UP) * PAGE);
        }
        assertThat(Resources.ofThisProcess()).isEmpty();
    }

    private static void run(Listener listener, int cycles) throws InterruptedException {
        InetSocketAddress address = listener.address();
        for (int i = 0; i < cycles; i++) {
            cycle(listener, address);
        }
    }

    private static void cycle(Listener listener, InetSocketAddress address) throws InterruptedException {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Connection client = Connection.to(address, DEADLINE, SIZES, arena);
            client.id().beginConnect(ConnectionParameters.defaults());
            Connection server = listener.awaitConnection(DEADLINE, SIZES, arena);
            server.id().beginAccept(ConnectionParameters.defaults());
            expect(client, CmEventType.ESTABLISHED);
            expect(server, CmEventType.ESTABLISHED);
            MemoryRegion source = client.register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
            MemoryRegion sink = server.register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
            server.queuePair().postReceive(1, sink);
            client.queuePair().postSend(2, source);
            client.completionQueue().await(DEADLINE).orThrow();
            server.completionQueue().await(DEADLINE).orThrow();
            client.id().beginDisconnect();
            expect(server, CmEventType.DISCONNECTED);
            server.id().beginDisconnect();
            expect(client, CmEventType.DISCONNECTED);
        }
    }

    private static void expect(Connection side, CmEventType type) throws InterruptedException {
        assertThat(side.id().awaitEvent(DEADLINE).type()).isEqualTo(type);
    }

    private static long descriptors() throws IOException {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            return open.count();
        }
    }

    /** With a heap that holds only what is used, as far as it can be had. */
    private static long residentBytes() throws IOException {
        System.gc();
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("VmRSS:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
                .findFirst()
                .orElseThrow();
    }
}
