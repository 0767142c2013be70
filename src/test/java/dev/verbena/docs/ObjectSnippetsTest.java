package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

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
import java.util.stream.Stream;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

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

    /** An example that needs what some devices lack. */
    private interface Feature {
        void use(Loopback loopback, MemoryRegion buffer, Path file) throws Exception;
    }

    private static Stream<Named<Feature>> features() {
        return Stream.of(
                Named.of(
                        "reregister",
                        (all, buffer, file) -> ObjectSnippets.reregister(buffer, all.arena.allocate(8192, 4096))),
                Named.of("flow", (all, buffer, file) -> ObjectSnippets.flow(all.left.pair)),
                Named.of("deviceMemory", (all, buffer, file) -> ObjectSnippets.deviceMemory(all.context, all.domain)),
                Named.of("workQueue", (all, buffer, file) -> ObjectSnippets.workQueue(all.domain, all.left.queue)),
                Named.of(
                        "xrc",
                        (all, buffer, file) -> ObjectSnippets.xrc(all.context, all.domain, all.left.queue, file)),
                Named.of("count", (all, buffer, file) -> ObjectSnippets.count(all.context, all.left.pair)),
                Named.of("threadDomain", (all, buffer, file) -> ObjectSnippets.threadDomain(all.domain)),
                Named.of("tags", (all, buffer, file) -> ObjectSnippets.tags(all.domain, all.left.queue, buffer)),
                Named.of(
                        "dmaHandle",
                        (all, buffer, file) -> ObjectSnippets.dmaHandle(all.domain, all.arena.allocate(4096, 4096))),
                Named.of(
                        "regionOptions",
                        (all, buffer, file) ->
                                ObjectSnippets.regionOptions(all.domain, all.arena.allocate(4096, 4096))),
                Named.of("driverBuffer", (all, buffer, file) -> ObjectSnippets.driverBuffer(all.domain)),
                Named.of(
                        "completionCounter",
                        (all, buffer, file) -> ObjectSnippets.completionCounter(
                                all.domain.createQueuePair(QueuePair.rc(all.left.queue)),
                                all.right.pair.endpoint(),
                                buffer.slice(0, 8),
                                all.right.buffer.remote())),
                Named.of("limitRate", (all, buffer, file) -> ObjectSnippets.limitRate(all.left.pair)));
    }

    @ParameterizedTest
    @MethodSource("features")
    void featureWorks(Feature feature, @TempDir Path folder) throws Exception {
        Path file = Files.createFile(folder.resolve("xrc"));
        try (Loopback loopback = Loopback.unconnected(VerbsArena.ofConfined(), options -> options)) {
            feature.use(loopback, loopback.domain.register(loopback.arena.allocate(4096, 4096)), file);
        } catch (UnsupportedVerbException e) {
            abort("the device lacks it: " + e.getMessage());
        }
    }

    @Test
    void addressSpaceMakesRegions() {
        try (Loopback loopback = Loopback.unconnected(VerbsArena.ofConfined(), options -> options)) {
            MemorySegment memory = loopback.arena.allocate(4096, 4096);
            try {
                assertThat(ObjectSnippets.addressSpace(loopback.domain, memory).segment())
                        .isEqualTo(memory);
            } catch (VerbsException e) {
                assertThat(e).hasMessageContaining("on-demand paging");
                abort("the device lacks it: " + e.getMessage());
            }
        }
    }
}
