package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the places of a pool's buffers in memory. */
@FencedTest
class BufferPoolLayoutTest {
    private static final int COUNT = 8;
    private static final int POOLS = 16;
    private static final long CACHE_LINE = 64;

    private Loopback loopback;

    @BeforeEach
    void open() {
        loopback = Loopback.connected();
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    /** Of many pools: the memory of one may begin at a cache line by chance. */
    @ParameterizedTest
    @ValueSource(longs = {1, 63, 64, 65, 100})
    void buffersShareNoCacheLine(long size) {
        for (int made = 0; made < POOLS; made++) {
            loopback.arena.allocate(1); // most allocators continue in the same cache line
            BufferPool pool = BufferPool.of(loopback.domain, COUNT, size, AccessFlag.LOCAL_WRITE);
            long end = pool.region().address() + pool.region().length();
            for (int i = 0; i < COUNT; i++) {
                long begins = pool.buffer(i).segment().address();
                long next = i == COUNT - 1 ? end : pool.buffer(i + 1).segment().address();
                assertThat(begins % CACHE_LINE).as("start of buffer %d", i).isZero();
                assertThat(lastLine(begins, size))
                        .as("last cache line of buffer %d", i)
                        .isLessThan(next / CACHE_LINE);
            }
            assertThat(end % CACHE_LINE).as("end of the pool").isZero();
            assertThat(pool.region().length())
                    .as("no cache line without a buffer")
                    .isEqualTo(COUNT * CACHE_LINE * ((size - 1) / CACHE_LINE + 1));
        }
    }

    private static long lastLine(long begins, long size) {
        return (begins + size - 1) / CACHE_LINE;
    }

    @Test
    void segmentAndRegisteredMemoryAreTheSame() {
        BufferPool pool = BufferPool.of(loopback.domain, COUNT, 100, AccessFlag.LOCAL_WRITE);
        for (int i = 0; i < COUNT; i++) {
            BufferPool.Buffer buffer = pool.buffer(i);
            assertThat(buffer.segment().address()).isEqualTo(buffer.memory().address());
            assertThat(buffer.segment().byteSize())
                    .isEqualTo(buffer.memory().length())
                    .isEqualTo(100);
        }
    }
}
