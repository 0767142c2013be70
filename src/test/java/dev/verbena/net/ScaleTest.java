package dev.verbena.net;

import static dev.verbena.net.NodePair.OWN;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.internal.link.Link;
import dev.verbena.support.FencedTest;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Many channels of one node, and many threads on few channels. */
@FencedTest
@Timeout(300)
class ScaleTest {
    private static final int PAGE = 4096;

    private final VerbsArena arena = VerbsArena.ofShared();

    @AfterEach
    void close() {
        arena.close();
    }

    private static void answer(Channel channel, Message request) {
        Message reply = request.reply().length(Long.BYTES);
        reply.segment().set(ValueLayout.JAVA_LONG, 0, request.segment().get(ValueLayout.JAVA_LONG, 0) + 1);
        reply.send();
    }

    private static void call(List<Channel> channels, int threads) throws Exception {
        List<Future<Long>> calls = new ArrayList<>();
        try (ExecutorService each = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < threads; i++) {
                Channel channel = channels.get(i % channels.size());
                long value = i;
                calls.add(each.submit(() -> {
                    Message request = channel.message(DEADLINE).length(Long.BYTES);
                    request.segment().set(ValueLayout.JAVA_LONG, 0, value);
                    try (Message reply = channel.call(request, DEADLINE)) { // throws if it is late
                        return reply.segment().get(ValueLayout.JAVA_LONG, 0);
                    }
                }));
            }
        }
        for (int i = 0; i < threads; i++) {
            assertThat(calls.get(i).get()).isEqualTo(i + 1L);
        }
    }

    /** Returns the bytes of objects that live, after collections that find all others. */
    static long heap() throws InterruptedException {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 3; i++) {
            System.gc();
            least = Math.min(
                    least,
                    Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory());
        }
        return least;
    }

    /** The threads wait for messages, for numbers of calls, for credits and for replies. */
    @Test
    void tenThousandVirtualThreadsCallOnSixteenChannels(@TempDir Path folder) throws Exception {
        Node server = Node.open(OWN, arena);
        Node client = Node.open(OWN, arena);
        server.listen(ScaleTest::answer);
        List<Channel> channels = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            channels.add(client.connect(server.address(), DEADLINE));
        }
        call(channels, 10_000);
        long before = heap();
        Path file = folder.resolve("pinned.jfr");
        try (Recording recording = new Recording()) {
            recording.enable("jdk.VirtualThreadPinned").withoutThreshold();
            recording.start();
            call(channels, 10_000);
            recording.dump(file);
        }
        assertThat(RecordingFile.readAllEvents(file))
                .filteredOn(event -> event.getEventType().getName().equals("jdk.VirtualThreadPinned"))
                .isEmpty();
        call(channels, 10_000);
        assertThat(heap() - before).isLessThan(2 << 20); // 100 bytes for each of 20,000 calls
        assertThat(client.statistics().calls()).isEqualTo(30_000);
    }

    private static long descriptors() throws IOException {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            return open.count();
        }
    }

    /** Both ends are in this process, so that each connection counts for two channels. */
    @Test
    void channelIsSmall(@TempDir Path folder) throws Exception {
        int connections = 1000;
        NodeOptions options = NodeOptions.defaults()
                .window(4)
                .sends(4)
                .calls(4)
                .operations(4)
                .messageSize(256)
                .maxChannels(connections + 10)
                .maxChannelsPerPeer(connections);
        long windows = (options.window() + options.sends() + 2L * options.calls()) * options.messageSize();
        Node server = Node.open(OWN, options, arena);
        Node client = Node.open(OWN, options, arena);
        server.listen(ScaleTest::answer);
        List<Channel> channels = new ArrayList<>(connections);
        for (int i = 0; i < 10; i++) {
            channels.add(client.connect(server.address(), DEADLINE));
        }
        call(channels, 100);
        Path file = folder.resolve("registrations.jfr");
        long heap;
        long descriptors = descriptors();
        try (Recording recording = new Recording()) {
            recording.enable("dev.verbena.Registration").withoutThreshold();
            recording.start();
            heap = heap(); // after the start, which fills tables of the flight recorder
            for (int i = 10; i < connections; i++) {
                channels.add(client.connect(server.address(), DEADLINE));
            }
            recording.dump(file);
        }
        int ends = 2 * (connections - 10);
        call(channels, connections);
        System.out.println("RESULT " + (heap() - heap) / ends);
        assertThat((heap() - heap) / ends).as("bytes of Java heap").isLessThanOrEqualTo(16 << 10);
        assertThat(descriptors() - descriptors).as("descriptors").isLessThanOrEqualTo(ends);
        List<RecordedEvent> registrations = RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().equals("dev.verbena.Registration"))
                .toList();
        assertThat(registrations).hasSize(2 * ends);
        assertThat(registrations)
                .filteredOn(one -> one.getLong("size") != Link.greetings(options.sizes()))
                .hasSize(ends)
                .allSatisfy(one -> assertThat((one.getLong("size") - windows + PAGE - 1) / PAGE)
                        .as("pages beside the windows")
                        .isLessThanOrEqualTo(4));
    }
}
