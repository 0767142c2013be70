package dev.verbena.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.FencedTest;
import dev.verbena.support.OtherThread;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.BufferPool;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.RegistrationCache;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** No call keeps a lock: another thread makes the same calls, after a thread that has ended. */
@FencedTest
@Timeout(120)
class FreeLocksTest {
    private static void byTwoThreads(Runnable calls) throws Throwable {
        OtherThread.run(calls);
        OtherThread.run(calls);
    }

    @Test
    void poolsKeepNoLock() throws Throwable {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            ProtectionDomain domain = TestDevice.get().open(arena).allocateProtectionDomain();
            BufferPool pool = BufferPool.of(domain, 2, 64, AccessFlag.LOCAL_WRITE);
            byTwoThreads(() -> {
                assertThat(pool.available()).isEqualTo(2);
                try (BufferPool.Buffer buffer = pool.take()) {
                    assertThat(pool.available()).isOne();
                    assertThat(pool.buffer(buffer.index()).memory().length()).isEqualTo(64);
                }
                assertThat(pool.size()).isEqualTo(2);
            });
        }
    }

    @Test
    void cachesKeepNoLock() throws Throwable {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            ProtectionDomain domain = TestDevice.get().open(arena).allocateProtectionDomain();
            RegistrationCache cache = RegistrationCache.of(domain, 4, AccessFlag.LOCAL_WRITE);
            List<MemorySegment> segments =
                    List.of(arena.allocate(64, 64), arena.allocate(64, 64), arena.allocate(64, 64));
            byTwoThreads(() -> {
                for (MemorySegment segment : segments) {
                    try (RegistrationCache.Use use = cache.use(segment)) {
                        assertThat(use.memory(segment).length()).isEqualTo(64);
                        assertThat(cache.use(segment).region()).isSameAs(use.region());
                    }
                }
                assertThat(cache.size()).isEqualTo(3);
                assertThat(cache.toString()).isNotEmpty();
            });
        }
    }

    @Test
    void channelsKeepNoLock() throws Throwable {
        try (NodePair nodes = new NodePair()) {
            NodePair.Ends ends = nodes.connect();
            Channel channel = ends.client();
            byTwoThreads(() -> {
                try (Message message = channel.pollMessage()) {
                    assertThat(message).isNotNull();
                    assertThat(message.channel()).isSameAs(channel);
                    assertThat(message.length(5).length()).isEqualTo(5);
                    assertThat(message.segment().byteSize()).isEqualTo(5);
                }
                assertThat(channel.pollReceive()).isNull();
                assertThat(channel.isOpen()).isTrue();
                assertThat(channel.cause()).isEmpty();
                assertThat(channel.queuePair().isOpen()).isTrue();
                assertThat(channel.queuePair()).isNotSameAs(ends.server().queuePair());
                assertThat(channel.maxMessageSize()).isEqualTo(256);
                assertThat(channel.node()).isSameAs(nodes.client);
                assertThat(channel.toString()).contains("open", "4 credits", "0 under way, 0");
                assertThat(nodes.client.pollAccept()).isNull();
                assertThat(nodes.client.toString()).contains("(1 of 64 channels, 0 waiting)");
            });
            NodePair.send(ends.server(), 7);
            NodePair.send(channel, 8);
            assertThat(NodePair.receive(channel)).isEqualTo(7);
            assertThat(NodePair.receive(ends.server())).isEqualTo(8);
            OtherThread.run(channel::close);
            byTwoThreads(() -> {
                assertThat(channel.isOpen()).isFalse();
                assertThat(channel.toString()).doesNotContain("(open");
                channel.close();
            });
        }
    }
}
