package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.IpAddresses;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Recorded;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.util.List;
import jdk.jfr.consumer.RecordedEvent;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The flight recorder tells whose connection an event is about. */
@FencedTest
@Timeout(120)
class RecordedConnectionsTest {
    private static List<RecordedEvent> named(List<RecordedEvent> events, String name) {
        return events.stream().filter(event -> Recorded.is(event, name)).toList();
    }

    @Test
    void eventsNameTheirPeersAndFailedRequestsTheirChannel() throws Exception {
        String server;
        List<RecordedEvent> events;
        try (NodePair nodes = new NodePair()) {
            server = IpAddresses.text(nodes.server.address());
            events = Recorded.during(
                    () -> {
                        NodePair.Ends ends = nodes.connect();
                        LocalMemory local = nodes.client.register(nodes.arena.allocate(64), AccessFlag.LOCAL_WRITE);
                        NodePair.failure(
                                EndReason.ACCESS_DENIED,
                                () -> ends.client().read(local.slice(0, 8), new RemoteMemory(0, 0, 8), DEADLINE));
                    },
                    "WorkFailure",
                    "ConnectionEvent",
                    "Registration");
        }
        assertThat(named(events, "WorkFailure")).singleElement().satisfies(event -> {
            assertThat(event.getString("status")).isEqualTo("REMOTE_ACCESS_ERROR");
            assertThat(event.getString("channel")).isEqualTo("to " + server);
        });
        assertThat(named(events, "Registration"))
                .filteredOn(event -> event.getLong("size") == 64)
                .singleElement()
                .satisfies(event -> assertThat(event.getString("place"))
                        .matches(
                                ".*RecordedConnectionsTest\\..*eventsName.*\\(RecordedConnectionsTest\\.java:\\d+\\)"));
        assertThat(named(events, "ConnectionEvent").stream()
                        .filter(event -> event.getString("peer").equals(server))
                        .map(event -> event.getString("id"))
                        .distinct())
                .as("all events of one connection")
                .hasSize(1)
                .doesNotContain("", "0");
        assertThat(named(events, "ConnectionEvent"))
                .filteredOn(event -> event.getString("type").equals("ROUTE_RESOLVED"))
                .singleElement()
                .satisfies(event -> {
                    assertThat(event.getString("peer")).isEqualTo(server);
                    assertThat(event.getString("local")).startsWith("10.9.9.1");
                });
        assertThat(named(events, "ConnectionEvent"))
                .filteredOn(event -> event.getString("type").equals("CONNECT_REQUEST"))
                .singleElement()
                .satisfies(event -> {
                    assertThat(event.getString("local")).isEqualTo(server);
                    assertThat(event.getString("peer")).startsWith("10.9.9.1:");
                });
    }
}
