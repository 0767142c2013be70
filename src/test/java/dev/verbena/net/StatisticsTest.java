package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.net.NodePair.end;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.Await;
import dev.verbena.support.FencedTest;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The counters and events of nodes, and the end of channels with slow readers. */
@FencedTest
class StatisticsTest extends ConnectedTest {
    private static final Duration SHORT = Duration.ofMillis(20);

    /** The clocks of these nodes go on by hours. */
    private static final NodeOptions PATIENT = SMALL.alive(NodeClock.ALIVE);

    private static void fillWindow(Channel on) throws InterruptedException {
        for (int i = 0; i < SMALL.window(); i++) {
            NodePair.send(on, i);
        }
    }

    @Test
    void countersAddUpOverChannelsThatAreOpenAndClosed() throws Exception {
        pair(SMALL);
        NodePair.Ends first = nodes.connect();
        fillWindow(first.client());
        Message waits = first.client().message(DEADLINE).length(0);
        assertThat(first.client().trySend(waits)).isFalse();
        assertThat(first.client().trySend(waits)).as("the same stall").isFalse();
        for (int i = 0; i < SMALL.window(); i++) {
            NodePair.receive(first.server());
        }
        first.client().send(waits, DEADLINE);
        Future<Message> called =
                nodes.start(() -> first.client().call(first.client().message(DEADLINE), DEADLINE));
        first.server().receive(DEADLINE).close();
        first.server().receive(DEADLINE).reply().length(0).send();
        end(called).close();
        NodePair.Ends second = nodes.connect();
        NodePair.send(second.server(), 1);
        NodePair.receive(second.client());
        first.client().close();
        Await.until("the server has seen the end", () -> !first.server().isOpen());
        first.server().close();
        assertThat(nodes.client.statistics()).isEqualTo(new Node.Statistics(6, 2, 1, 1, 2, 1));
        assertThat(nodes.server.statistics()).isEqualTo(new Node.Statistics(2, 6, 0, 0, 2, 1));
    }

    @Test
    void slowReaderLosesItsChannel() throws Exception {
        use(PATIENT.maxStall(DEADLINE));
        fillWindow(ends.client());
        Message more = ends.client().message(DEADLINE);
        Future<?> sending = nodes.run(() -> ends.client().send(more, DEADLINE));
        Await.until("it stalls", () -> nodes.client.statistics().stalls() == 1);
        new NodeClock(nodes.client)
                .passUntil("it has ended", DEADLINE, () -> !ends.client().isOpen());
        assertThatExceptionOfType(ExecutionException.class)
                .isThrownBy(() -> end(sending))
                .withCauseInstanceOf(ChannelException.class);
        assertThat(NodePair.endOf(ends.client()).reason()).isEqualTo(EndReason.STALLED);
        for (int i = 0; i < SMALL.window(); i++) {
            assertThat(NodePair.receive(ends.server())).isEqualTo(i);
        }
        assertThat(NodePair.endOf(ends.server()).reason()).isEqualTo(EndReason.STALLED);
    }

    /** A full window alone is no stall: nothing waits to be sent. */
    @Test
    void idleChannelWithFullWindowStaysOpen() throws Exception {
        use(PATIENT.maxStall(Duration.ofNanos(1)));
        fillWindow(ends.client());
        new NodeClock(nodes.client).idle(ends.client());
        assertThat(ends.client().isOpen()).isTrue();
    }

    @Test
    void recordingContainsOpenEndAndStalls(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("recording.jfr");
        try (Recording recording = new Recording();
                NodePair nodes = new NodePair()) {
            for (String event : List.of("ChannelOpen", "ChannelEnd", "CreditStall")) {
                recording
                        .enable("dev.verbena." + event)
                        .withThreshold(event.startsWith("Credit") ? SHORT : Duration.ZERO);
            }
            recording.start();
            NodePair.Ends ends = nodes.connect();
            fillWindow(ends.client());
            Message more = ends.client().message(DEADLINE).length(8);
            assertThatExceptionOfType(VerbsTimeoutException.class)
                    .isThrownBy(() -> ends.client().send(more, SHORT));
            NodePair.receive(ends.server());
            NodePair.receive(ends.server()); // half of the window
            ends.client().send(more, DEADLINE);
            ends.client().close();
            Await.until("the server has seen the end", () -> !ends.server().isOpen());
            ends.server().close();
            recording.stop();
            recording.dump(file);
        }
        List<RecordedEvent> events = RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().matches("dev.verbena.(Channel|Credit).*"))
                .toList();
        assertThat(names(events)).containsOnlyOnce("dev.verbena.CreditStall");
        assertThat(events)
                .filteredOn(event -> event.getEventType().getName().endsWith("Stall"))
                .allSatisfy(event -> assertThat(event.getDuration()).isGreaterThanOrEqualTo(SHORT));
        assertThat(names(events))
                .filteredOn(name -> name.endsWith("ChannelOpen"))
                .hasSize(2);
        assertThat(events)
                .filteredOn(event -> event.getEventType().getName().endsWith("ChannelEnd"))
                .extracting(event -> event.getString("reason"))
                .containsExactlyInAnyOrder("CLOSED", "CLOSED_BY_PEER");
        assertThat(events)
                .allSatisfy(event -> assertThat(event.getString("channel"))
                        .contains(NodePair.own().getAddress().getHostAddress() + ":"));
    }

    private static List<String> names(List<RecordedEvent> events) {
        return events.stream().map(event -> event.getEventType().getName()).toList();
    }

    @Test
    void countersAddUpOneByOne() {
        assertThat(new Node.Statistics(1, 2, 3, 4, 5, 6)
                        .plus(new Node.Statistics(10, 200, 3000, 40000, 500000, 6000000)))
                .isEqualTo(new Node.Statistics(11, 202, 3003, 40004, 500005, 6000006));
    }

    /** A stall is over when a credit has come: the next one begins anew. */
    @Test
    void stallsThatEndAreForgotten() throws Exception {
        use(PATIENT.maxStall(DEADLINE), SMALL);
        for (int round = 1; round <= 2; round++) {
            fillWindow(ends.client());
            Message more = ends.client().message(DEADLINE);
            assertThat(ends.client().trySend(more)).isFalse();
            for (int i = 0; i < SMALL.window(); i++) {
                NodePair.receive(ends.server());
            }
            more.close();
            Await.until("credits", () -> ends.client().toString().contains("4 credits"));
            assertThat(nodes.client.statistics().stalls()).isEqualTo(round);
        }
        new NodeClock(nodes.client).idle(ends.client());
        assertThat(ends.client().isOpen()).isTrue();
    }
}
