package dev.verbena.net;

import static dev.verbena.net.NodePair.OWN;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.internal.link.Link;
import dev.verbena.support.FencedTest;
import dev.verbena.support.OpenFileLimit;
import dev.verbena.support.Recorded;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.JMException;
import javax.management.ObjectName;
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
    private static final Pattern TOTAL = Pattern.compile("(?m)^Total +\\d+ +(\\d+)");

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

    /**
     * Returns the bytes of objects that live, as the virtual machine counts them one by one, which is the same in each
     * run within a few kilobytes. The part of the heap that is used differs by a megabyte.
     */
    static long heap() throws JMException {
        String histogram = (String) ManagementFactory.getPlatformMBeanServer()
                .invoke(
                        new ObjectName("com.sun.management:type=DiagnosticCommand"),
                        "gcClassHistogram",
                        new Object[] {new String[0]},
                        new String[] {String[].class.getName()});
        Matcher total = TOTAL.matcher(histogram);
        assertThat(total.find()).as(histogram).isTrue();
        return Long.parseLong(total.group(1));
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

    private static void connect(Node client, Node server, List<Channel> channels, int count) throws Exception {
        while (channels.size() < count) {
            channels.add(client.connect(server.address(), DEADLINE));
        }
    }

    /**
     * Both ends are in this process, so that each connection counts for two channels. What is made once, also by the
     * flight recorder, has been made before the heap is measured.
     */
    @Test
    void channelIsSmall() throws Exception {
        int first = 100;
        int connections = 1000;
        NodeOptions options = NodeOptions.defaults()
                .window(4)
                .sends(4)
                .calls(4)
                .operations(4)
                .messageSize(256)
                .maxChannels(connections + 10)
                .maxChannelsPerPeer(connections);
        Node server = Node.open(OWN, options, arena);
        Node client = Node.open(OWN, options, arena);
        server.listen(ScaleTest::answer);
        List<Channel> channels = new ArrayList<>(connections);
        connect(client, server, channels, 10);
        assertRegistrations(
                Recorded.during(() -> connect(client, server, channels, first), "Registration"),
                options,
                2 * (first - 10));
        call(channels, connections);
        long heap = heap();
        long descriptors = OpenFileLimit.count();
        connect(client, server, channels, connections);
        call(channels, connections);
        int ends = 2 * (connections - first);
        assertThat((heap() - heap) / ends).as("bytes of Java heap").isLessThanOrEqualTo(16 << 10);
        assertThat(OpenFileLimit.count() - descriptors).as("descriptors").isLessThanOrEqualTo(ends);
    }

    private static void assertRegistrations(List<RecordedEvent> registrations, NodeOptions options, int ends) {
        long windows = (options.window() + options.sends() + 2L * options.calls()) * options.messageSize();
        assertThat(registrations).hasSize(2 * ends);
        assertThat(registrations)
                .filteredOn(one -> one.getLong("size") != Link.greetings(options.sizes()))
                .hasSize(ends)
                .allSatisfy(one -> assertThat((one.getLong("size") - windows + PAGE - 1) / PAGE)
                        .as("pages beside the windows")
                        .isLessThanOrEqualTo(4));
    }
}
