package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A node whose device is removed. */
@FencedTest
@Timeout(120)
class RemovedDeviceTest {
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
            List<Future<?>> waits = List.of(
                    nodes.start(() -> ends.client().receive(DEADLINE)),
                    nodes.start(() -> ends.server().receive(DEADLINE)),
                    nodes.start(() -> nodes.server.accept(DEADLINE)));
            Files.delete(device);
            for (Future<?> wait : waits) {
                assertThat(wait)
                        .failsWithin(DEADLINE)
                        .withThrowableThat()
                        .withCauseInstanceOf(ChannelException.class)
                        .satisfies(told -> assertThat(((ChannelException) told.getCause()).reason())
                                .isEqualTo(EndReason.DEVICE_REMOVED));
            }
            assertThatExceptionOfType(ChannelException.class)
                    .isThrownBy(() -> nodes.client.connect(nodes.server.address(), DEADLINE))
                    .satisfies(told -> assertThat(told.reason()).isEqualTo(EndReason.DEVICE_REMOVED));
        }
    }
}
