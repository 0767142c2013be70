package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.ShortTicks;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A node whose device is removed. */
@FencedTest
@ExtendWith(ShortTicks.class)
@Timeout(120)
class RemovedDeviceTest {
    private static final int CHANNELS = 150;

    @TempDir
    private Path folder;

    @AfterEach
    void close() {
        Fenced.devicePath("");
    }

    /** Also those that wait for no channel. */
    @Test
    void removedDeviceEndsAllWaitsOfItsNode() throws Exception {
        Path device = Files.createDirectory(folder.resolve("uverbs0"));
        Fenced.devicePath(device.toString());
        try (NodePair nodes = new NodePair()) {
            NodePair.Ends ends = nodes.connect();
            List<Future<?>> ofChannels = List.of(
                    nodes.start(() -> ends.client().receive(DEADLINE)),
                    nodes.start(() -> ends.server().receive(DEADLINE)));
            List<Future<?>> ofNodes = List.of(
                    nodes.start(() -> nodes.client.accept(DEADLINE)), nodes.start(() -> nodes.server.accept(DEADLINE)));
            Files.delete(device);
            for (Future<?> wait : ofNodes) {
                assertEnds(wait, EnumSet.of(EndReason.DEVICE_REMOVED));
            }
            for (Future<?> wait : ofChannels) { // the other node may have ended the channel first
                assertEnds(wait, EnumSet.of(EndReason.DEVICE_REMOVED, EndReason.LOST));
            }
            NodePair.failure(EndReason.DEVICE_REMOVED, () -> nodes.client.connect(nodes.server.address(), DEADLINE));
        }
    }

    @Test
    void removedDeviceEndsChannelsThatHeal() throws Exception {
        Path device = Files.createDirectory(folder.resolve("uverbs0"));
        Fenced.devicePath(device.toString());
        try (NodePair nodes = new NodePair(NodePair.SMALL.heal(DEADLINE).connecting(1))) {
            NodePair.Ends ends = nodes.connect();
            assertThat(nodes.client.engine().connector.tryBegin()).isTrue(); // no connection can be made any more
            for (Channel each : List.of(ends.client(), ends.server())) {
                HealTest.cut(each);
                assertThat(HealTest.isHealing(each)).isTrue();
            }
            List<Future<?>> waits = List.of(
                    nodes.start(() -> ends.client().receive(DEADLINE)),
                    nodes.start(() -> ends.server().receive(DEADLINE)));
            Files.delete(device);
            for (Future<?> wait : waits) {
                assertEnds(wait, EnumSet.of(EndReason.DEVICE_REMOVED));
            }
        }
    }

    private static void assertEnds(Future<?> wait, Set<EndReason> reasons) {
        assertThat(wait)
                .failsWithin(DEADLINE)
                .withThrowableThat()
                .withCauseInstanceOf(ChannelException.class)
                .satisfies(told -> assertThat(((ChannelException) told.getCause()).reason())
                        .isIn(reasons));
    }

    /** More channels than are served in one turn, and calls whose futures are not done. */
    @ParameterizedTest
    @EnumSource(NodeOptions.Progress.class)
    void removedDeviceIsToldToAllHandlersAndFutures(NodeOptions.Progress progress) throws Exception {
        Path device = Files.createDirectory(folder.resolve("uverbs0"));
        Fenced.devicePath(device.toString());
        NodeOptions options =
                NodePair.SMALL.maxChannels(CHANNELS).progress(progress).closeTimeout(Duration.ofMillis(20));
        NodeOptions served = NodePair.SMALL
                .maxChannels(CHANNELS)
                .maxChannelsPerPeer(CHANNELS)
                .progress(NodeOptions.Progress.CALLER);
        try (NodePair nodes = new NodePair(options, served)) {
            List<Message> unsent = Collections.synchronizedList(new ArrayList<>());
            nodes.server.listen((channel, request) -> unsent.add(request.reply()));
            Set<EndReason> reasons = ConcurrentHashMap.newKeySet();
            AtomicInteger told = new AtomicInteger();
            Handler handler = new Handler() {
                @Override
                public void received(Channel channel, Message message) {}

                @Override
                public void closed(Channel channel) {
                    reasons.add(((ChannelException) channel.cause().orElseThrow()).reason());
                    told.incrementAndGet();
                }
            };
            AtomicBoolean serves = new AtomicBoolean(true);
            Future<?> server = nodes.start(() -> {
                while (serves.get()) {
                    nodes.server.progress();
                }
                return null;
            });
            List<CompletableFuture<Message>> calls = new ArrayList<>();
            for (int i = 0; i < CHANNELS; i++) {
                Channel channel = nodes.client.connect(nodes.server.address(), DEADLINE);
                channel.listen(handler);
                calls.add(channel.callAsync(channel.message(DEADLINE)));
            }
            serves.set(false); // a server that goes on may see the removal first, and end the channels
            NodePair.end(server);
            Files.delete(device);
            Await.until("all handlers were told", () -> {
                if (progress == NodeOptions.Progress.CALLER) {
                    try {
                        nodes.client.progress();
                    } catch (ChannelException removed) {
                        assertThat(removed.reason()).isEqualTo(EndReason.DEVICE_REMOVED);
                    }
                }
                return told.get() == CHANNELS;
            });
            assertThat(reasons).containsExactly(EndReason.DEVICE_REMOVED);
            for (CompletableFuture<Message> call : calls) {
                assertThat(call).failsWithin(DEADLINE).withThrowableThat().withCauseInstanceOf(ChannelException.class);
            }
        }
    }
}
