package dev.verbena.cm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.CmAddress;
import dev.verbena.support.ComeAndGo;
import dev.verbena.support.IwarpToo;
import dev.verbena.support.OpenFileLimit;
import dev.verbena.support.Resources;
import dev.verbena.support.Slow;
import org.junit.jupiter.api.Test;

/**
 * Connections that come and go leave nothing behind in the kernel and in rdma-core: no object, no descriptor, no mapped
 * queue. {@code FlatMemoryOnTheFencedProviderTest} measures the memory of many more connections.
 */
@Slow
@IwarpToo
class ManyConnectionsTest {
    private static final int WARM_UP = 10;
    private static final int CYCLES = 150;

    /** Descriptors and mappings that are not of a connection may come and go: the event thread has two. */
    private static final int OTHERS = 10;

    @Test
    void connectionsLeaveNothingBehind() throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Listener listener = Listener.open(CmAddress.four(0), arena);
            ComeAndGo.connect(listener, WARM_UP);
            long descriptors = OpenFileLimit.count();
            long mapped = Resources.mappedQueues();
            ComeAndGo.connect(listener, CYCLES);
            assertThat(OpenFileLimit.count()).isBetween(descriptors - OTHERS, descriptors + OTHERS);
            assertThat(Resources.mappedQueues()).isBetween(mapped - OTHERS, mapped + OTHERS);
        }
        assertThat(Resources.ofThisProcess()).isEmpty();
    }
}
