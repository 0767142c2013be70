package dev.verbena.examples;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.cm.ConnectionException;
import dev.verbena.examples.nvme.MemoryDisk;
import dev.verbena.support.Await;
import dev.verbena.support.FencedTest;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The queues of one host at the example {@code MemoryDisk}, which serves others too. */
@FencedTest
@Timeout(120)
class MemoryDiskPlacesTest {
    private static final InetSocketAddress ADDRESS = new InetSocketAddress("10.9.9.1", 4423);
    private static final int OF_A_HOST = 68;
    private static final int OF_ALL = 256;
    private static final int NO_RESOURCES = 6;

    private final List<RawHost> queues = new ArrayList<>();
    private Thread target;

    @BeforeEach
    void start() {
        target = Thread.ofPlatform().daemon().start(() -> {
            try {
                MemoryDisk.main(new String[] {ADDRESS.getHostString() + ":" + ADDRESS.getPort(), "1m"});
            } catch (InterruptedException over) {
                // The test has ended.
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        });
        Await.until("the disk is served", () -> {
            try {
                queues.add(new RawHost(ADDRESS, 0, 0, 16));
                return true;
            } catch (ConnectionException nobody) {
                return false;
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
    }

    @AfterEach
    void end() throws InterruptedException {
        queues.forEach(RawHost::close);
        Await.until(
                "the disk has ended the queues, which use its memory",
                () -> Thread.getAllStackTraces().keySet().stream()
                        .noneMatch(thread -> thread.getName().startsWith("queue ")));
        target.interrupt();
        assertThat(target.join(DEADLINE)).isTrue();
    }

    @Test
    void oneHostGetsAPartOfTheQueues() {
        ConnectionException refused = null;
        while (refused == null && queues.size() <= OF_ALL) {
            refused = catchThrowableOfType(ConnectionException.class, () -> queues.add(new RawHost(ADDRESS, 0, 0, 16)));
        }
        assertThat(refused).isNotNull();
        assertThat(refused.privateData().toBytes()[2]).isEqualTo((byte) NO_RESOURCES);
        assertThat(queues).hasSizeBetween(OF_A_HOST, OF_ALL - 1);
    }
}
