package dev.verbena.verbs;

import static dev.verbena.verbs.Refusals.assertIllegalArgument;
import static dev.verbena.verbs.Refusals.assertIllegalState;
import static dev.verbena.verbs.Refusals.assertThrows;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests buffers of a pool. */
@DeviceTest
class BufferPoolTest {
    private static final int COUNT = 8;
    private static final long SIZE = 100;

    private Loopback loopback;
    private BufferPool pool;

    @BeforeEach
    void open() {
        loopback = Loopback.connected(VerbsArena.ofShared(), QueuePairAttributes.none());
        pool = BufferPool.of(loopback.domain, COUNT, SIZE, AccessFlag.LOCAL_WRITE);
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    @Test
    void bufferNumberAsIdFindsTheReceivedBuffer() throws Exception {
        BufferPool.Buffer target = pool.take();
        BufferPool.Buffer source = pool.take();
        source.segment().setString(0, "from the pool");
        loopback.right.pair.postReceive(target.index(), target.memory());
        loopback.left.pair.postSend(source.index(), source.memory());
        WorkCompletion received = loopback.right.next().orThrow();
        assertThat(pool.buffer((int) received.id())).isSameAs(target);
        assertThat(target.segment().getString(0)).isEqualTo("from the pool");
        assertThat(received.byteLength()).isEqualTo((int) SIZE);
    }

    @Test
    void buffersDoNotOverlap() {
        for (int i = 0; i < COUNT; i++) {
            pool.buffer(i).segment().fill((byte) i);
        }
        for (int i = 0; i < COUNT; i++) {
            byte[] bytes = pool.buffer(i).segment().toArray(ValueLayout.JAVA_BYTE);
            assertThat(bytes).hasSize((int) SIZE).containsOnly(i);
        }
    }

    @Test
    void takeReturnsEachBufferOnceUntilItIsGivenBack() {
        Set<Integer> taken = new HashSet<>();
        for (int i = 0; i < COUNT; i++) {
            taken.add(pool.take().index());
        }
        assertThat(taken).hasSize(COUNT);
        assertThat(pool.available()).isZero();
        assertThrows(NoSuchElementException.class, "all 8 buffers", pool::take);
        pool.buffer(3).close();
        assertThat(pool.take().index()).isEqualTo(3);
    }

    @Test
    void closingBufferTwiceGivesItBackOnce() {
        BufferPool.Buffer buffer = pool.take();
        assertThat(pool.available()).isEqualTo(COUNT - 1);
        buffer.close();
        buffer.close();
        assertThat(pool.available()).isEqualTo(COUNT);
        Set<Integer> taken = new HashSet<>();
        for (int i = 0; i < COUNT; i++) {
            taken.add(pool.take().index());
        }
        assertThat(taken).hasSize(COUNT);
    }

    @Test
    void takeNeverReturnsOneBufferToTwoThreads() throws Exception {
        int threads = 4;
        try (ExecutorService executor = Executors.newFixedThreadPool(threads)) {
            List<Future<Integer>> wrong = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                int mine = i;
                wrong.add(executor.submit(() -> {
                    int clashes = 0;
                    for (int round = 0; round < 20_000; round++) {
                        try (BufferPool.Buffer buffer = pool.take()) {
                            buffer.segment().set(ValueLayout.JAVA_INT, 0, mine);
                            Thread.onSpinWait();
                            clashes += buffer.segment().get(ValueLayout.JAVA_INT, 0) == mine ? 0 : 1;
                        }
                    }
                    return clashes;
                }));
            }
            for (Future<Integer> one : wrong) {
                assertThat(one.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS))
                        .isZero();
            }
        }
        assertThat(pool.available()).isEqualTo(COUNT);
    }

    @Test
    void closedRegionEndsThePool() {
        pool.region().close();
        assertIllegalState("closed", pool::take);
    }

    @Test
    void poolRefusesInvalidSizes() {
        for (long[] bad : new long[][] {{0, 1}, {-1, 1}, {1, 0}, {2, Long.MAX_VALUE / 2}}) {
            assertIllegalArgument(
                            "a pool needs at least one buffer",
                            () -> BufferPool.of(loopback.domain, (int) bad[0], bad[1]))
                    .hasMessageContaining("got " + bad[0] + " buffers of " + bad[1] + " bytes");
        }
    }

    @Test
    void poolDescribesItself() {
        pool.take();
        pool.take();
        assertThat(pool.size()).isEqualTo(COUNT);
        assertThat(pool.toString())
                .startsWith("pool of 8 buffers, 6 available, in ")
                .endsWith(pool.region().toString());
        assertThat(pool.buffer(5)).hasToString("buffer 5 of 8");
    }
}
