package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairState;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests that the examples of objects and their options run. */
@DeviceTest
class ObjectSnippetsTest {
    @Test
    void objectsAreMadeWithOptions() {
        try (Loopback loopback = Loopback.connected()) {
            CompletionQueue queue = loopback.context.createCompletionQueue(256);
            QueuePair qp = ObjectSnippets.queuePair(loopback.domain, queue);
            ObjectSnippets.connect(qp, qp.endpoint());
            assertThat(qp.state()).isEqualTo(QueuePairState.RTS);
            assertThat(ObjectSnippets.path(qp.endpoint(), 1).port()).isEqualTo(1);
            MemoryRegion buffer = loopback.domain.register(loopback.arena.allocate(4096, 4096));
            assertThat(ObjectSnippets.slice(qp, loopback.left.buffer).length()).isEqualTo(64);
            assertThat(ObjectSnippets.sharedReceiveQueue(loopback.domain).isOpen())
                    .isTrue();
            assertThat(ObjectSnippets.window(loopback.domain).isOpen()).isTrue();
            assertThat(ObjectSnippets.domain(loopback.context, queue).isOpen()).isTrue();
            assertThat(ObjectSnippets.capabilities().toString()).isNotEmpty();
            assertThat(buffer.isOpen()).isTrue();
        }
    }

    @Test
    void featuresWorkOrAreUnsupported(@TempDir Path folder) throws Exception {
        Path file = Files.createFile(folder.resolve("xrc"));
        try (Loopback loopback = Loopback.unconnected(VerbsArena.ofConfined(), options -> options)) {
            MemoryRegion buffer = loopback.domain.register(loopback.arena.allocate(4096, 4096));
            CompletionQueue queue = loopback.left.queue;
            List<ThrowingCallable> features = List.of(
                    () -> ObjectSnippets.reregister(buffer, loopback.arena.allocate(8192, 4096)),
                    () -> ObjectSnippets.flow(loopback.left.pair),
                    () -> ObjectSnippets.deviceMemory(loopback.context, loopback.domain),
                    () -> ObjectSnippets.workQueue(loopback.domain, queue),
                    () -> ObjectSnippets.xrc(loopback.context, loopback.domain, queue, file),
                    () -> ObjectSnippets.count(loopback.context, loopback.left.pair),
                    () -> ObjectSnippets.threadDomain(loopback.domain),
                    () -> ObjectSnippets.tags(loopback.domain, queue, buffer),
                    () -> ObjectSnippets.dmaHandle(loopback.domain, loopback.arena.allocate(4096, 4096)),
                    () -> ObjectSnippets.regionOptions(loopback.domain, loopback.arena.allocate(4096, 4096)),
                    () -> ObjectSnippets.driverBuffer(loopback.domain),
                    () -> ObjectSnippets.completionCounter(
                            loopback.domain.createQueuePair(QueuePair.rc(queue)),
                            loopback.right.pair.endpoint(),
                            buffer.slice(0, 8),
                            loopback.right.buffer.remote()),
                    () -> ObjectSnippets.limitRate(loopback.left.pair));
            assertThat(features).allSatisfy(feature -> {
                Throwable failure = catchThrowable(feature);
                if (failure != null) {
                    assertThat(failure).isInstanceOf(UnsupportedVerbException.class);
                }
            });
        }
    }

    @Test
    void addressSpaceMakesRegionsOrGivesTheReason() {
        try (Loopback loopback = Loopback.unconnected(VerbsArena.ofConfined(), options -> options)) {
            MemorySegment memory = loopback.arena.allocate(4096, 4096);
            try {
                assertThat(ObjectSnippets.addressSpace(loopback.domain, memory).segment())
                        .isEqualTo(memory);
            } catch (VerbsException e) {
                assertThat(e).hasMessageContaining("on-demand paging");
            }
        }
    }
}
