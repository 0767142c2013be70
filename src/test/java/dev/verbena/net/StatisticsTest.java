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

    @Test
    void countersAddUpOverChannelsThatAreOpenAndClosed() throws Exception {
        pair(SMALL);
        NodePair.Ends first = nodes.connect();
        fillWindow(first.client());
        Message waits = first.client().message(DEADLINE).length(0);
        assertThat(first.client().trySend(waits)).isFalse();
        assertThat(first.client().trySend(waits)).as("the same stall").isFalse();
        emptyWindow(first.server());
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
        assertThat(nodes.client.statistics())
                .returns(6L, NodeStatistics::sent)
                .returns(2L, NodeStatistics::received)
                .returns(1L, NodeStatistics::calls)
                .returns(0L, NodeStatistics::served)
                .returns(1L, NodeStatistics::stalls)
                .returns(2L, NodeStatistics::opened)
                .returns(1L, NodeStatistics::ended);
        assertThat(nodes.server.statistics())
                .returns(2L, NodeStatistics::sent)
                .returns(6L, NodeStatistics::received)
                .returns(0L, NodeStatistics::calls)
                .returns(1L, NodeStatistics::served)
                .returns(0L, NodeStatistics::stalls)
                .returns(2L, NodeStatistics::opened)
                .returns(1L, NodeStatistics::ended);
        assertThat(first.client().statistics().sent()).as("after its end").isEqualTo(6);
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
        NodePair.endOf(ends.client(), EndReason.STALLED);
        emptyWindow(ends.server());
        NodePair.endOf(ends.server(), EndReason.STALLED);
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

    private static ChannelStatistics times(int factor) {
        return new ChannelStatistics(
                factor,
                2L * factor,
                3L * factor,
                4L * factor,
                5L * factor,
                6L * factor,
                7L * factor,
                8L * factor,
                9L * factor,
                10L * factor,
                11L * factor,
                12L * factor,
                13L * factor,
                14L * factor,
                15L * factor,
                16L * factor);
    }

    @Test
    void countersAddUpOneByOne() {
        assertThat(times(1).plus(times(100))).isEqualTo(times(101));
    }

    /** A stall is over when a credit has come: the next one begins anew. */
    @Test
    void stallsThatEndAreForgotten() throws Exception {
        use(PATIENT.maxStall(DEADLINE), SMALL);
        for (int round = 1; round <= 2; round++) {
            fillWindow(ends.client());
            Message more = ends.client().message(DEADLINE);
            assertThat(ends.client().trySend(more)).isFalse();
            emptyWindow(ends.server());
            more.close();
            Await.until("credits", () -> ends.client().toString().contains("4 credits"));
            assertThat(nodes.client.statistics().stalls()).isEqualTo(round);
        }
        new NodeClock(nodes.client).idle(ends.client());
        assertThat(ends.client().isOpen()).isTrue();
    }
}
