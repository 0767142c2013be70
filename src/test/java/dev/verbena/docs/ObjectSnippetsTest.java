package dev.verbena.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairState;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfEnvironmentVariable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests that the examples of objects and their options run. */
@FencedTest
@DisabledIfEnvironmentVariable(
        named = "VERBENA_DRIVER",
        matches = ".+",
        disabledReason = "it needs what few drivers have: DriverFeaturesTest has what works over each")
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

    interface Feature {
        void use(Loopback loopback, MemoryRegion buffer, Path file) throws Exception;
    }

    /** An example that needs what some devices lack: then this function refuses, and the message has these words. */
    record Example(String name, String function, Feature feature, String... words) {
        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Example> examples() {
        return Stream.of(
                new Example(
                        "reregister",
                        "ibv_rereg_mr",
                        (all, buffer, file) -> ObjectSnippets.reregister(buffer, all.arena.allocate(8192, 4096))),
                new Example("flow", "ibv_create_flow", (all, buffer, file) -> ObjectSnippets.flow(all.left.pair)),
                new Example(
                        "deviceMemory",
                        "ibv_alloc_dm",
                        (all, buffer, file) -> ObjectSnippets.deviceMemory(all.context, all.domain)),
                new Example(
                        "workQueue",
                        "ibv_create_wq",
                        (all, buffer, file) -> ObjectSnippets.workQueue(all.domain, all.left.queue)),
                new Example(
                        "receiveHash",
                        "ibv_create_wq",
                        (all, buffer, file) -> ObjectSnippets.receiveHash(
                                all.context,
                                all.domain,
                                List.of(ObjectSnippets.workQueue(all.domain, all.left.queue)),
                                new byte[40])),
                new Example(
                        "xrc",
                        "ibv_open_xrcd",
                        (all, buffer, file) -> ObjectSnippets.xrc(all.context, all.domain, all.left.queue, file),
                        "no extended reliable connections"),
                new Example(
                        "count",
                        "ibv_create_counters",
                        (all, buffer, file) -> ObjectSnippets.count(all.context, all.left.pair)),
                new Example(
                        "threadDomain", "ibv_alloc_td", (all, buffer, file) -> ObjectSnippets.threadDomain(all.domain)),
                new Example(
                        "tags",
                        "ibv_create_srq_ex",
                        (all, buffer, file) -> ObjectSnippets.tags(all.domain, all.left.queue, buffer),
                        "no shared receive queue of this kind"),
                new Example(
                        "dmaHandle",
                        "ibv_alloc_dmah",
                        (all, buffer, file) -> ObjectSnippets.dmaHandle(all.domain, all.arena.allocate(4096, 4096))),
                new Example(
                        "regionOptions",
                        "ibv_alloc_dmah",
                        (all, buffer, file) ->
                                ObjectSnippets.regionOptions(all.domain, all.arena.allocate(4096, 4096))),
                new Example(
                        "driverBuffer",
                        "ibv_alloc_parent_domain",
                        (all, buffer, file) -> ObjectSnippets.driverBuffer(all.domain)),
                new Example(
                        "completionCounter",
                        "ibv_create_comp_cntr",
                        (all, buffer, file) -> ObjectSnippets.completionCounter(
                                all.domain.createQueuePair(QueuePair.rc(all.left.queue)),
                                all.right.pair.endpoint(),
                                buffer.slice(0, 8),
                                all.right.buffer.remote())),
                new Example(
                        "limitRate",
                        "ibv_modify_qp_rate_limit",
                        (all, buffer, file) -> ObjectSnippets.limitRate(all.left.pair)));
    }

    @ParameterizedTest
    @MethodSource("examples")
    void featureWorks(Example example, @TempDir Path folder) throws Exception {
        Path file = Files.createFile(folder.resolve("xrc"));
        try (Loopback loopback = Loopback.unconnected(VerbsArena.ofConfined(), options -> options)) {
            example.feature.use(loopback, loopback.domain.register(loopback.arena.allocate(4096, 4096)), file);
        }
    }

    @Test
    void addressSpaceMakesRegions() {
        try (Loopback loopback = Loopback.unconnected(VerbsArena.ofConfined(), options -> options)) {
            MemorySegment memory = loopback.arena.allocate(4096, 4096);
            assertThat(ObjectSnippets.addressSpace(loopback.domain, memory).segment())
                    .isEqualTo(memory);
        }
    }
}
