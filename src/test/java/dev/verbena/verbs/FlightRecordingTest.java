package dev.verbena.verbs;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.PortSpace;
import dev.verbena.support.CmAddress;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.Recorded;
import java.util.List;
import jdk.jfr.consumer.RecordedEvent;
import org.junit.jupiter.api.Test;

/** What an operator finds in a flight recording. */
@FencedTest
class FlightRecordingTest {
    @Test
    void recordingContainsRegistrationsFailuresAndConnections() throws Exception {
        List<RecordedEvent> events = Recorded.during(
                () -> {
                    failedRead();
                    resolvedAddress();
                },
                "Registration",
                "WorkFailure",
                "DeviceEvent",
                "ConnectionEvent");
        assertThat(events)
                .filteredOn(event -> Recorded.is(event, "Registration"))
                .hasSize(2)
                .allSatisfy(event -> {
                    assertThat(event.getLong("size")).isEqualTo(Loopback.SIZE);
                    assertThat(event.getString("access")).contains("REMOTE_READ");
                });
        assertThat(events)
                .filteredOn(event -> Recorded.is(event, "WorkFailure"))
                .singleElement()
                .satisfies(event -> {
                    assertThat(event.getLong("id")).isEqualTo(7);
                    assertThat(event.getString("operation")).isEqualTo("RDMA_READ");
                    assertThat(event.getString("status")).isEqualTo("REMOTE_ACCESS_ERROR");
                });
        assertThat(events)
                .filteredOn(event -> Recorded.is(event, "ConnectionEvent"))
                .singleElement()
                .satisfies(event -> assertThat(event.getString("type")).isEqualTo("ADDRESS_RESOLVED"));
    }

    private static void failedRead() throws InterruptedException {
        try (Loopback loopback = Loopback.connected()) {
            loopback.left.pair.postRead(7, loopback.left.buffer.slice(0, 8), new RemoteMemory(0, 0, 8));
            assertThat(loopback.left.next().isSuccess()).isFalse();
        }
    }

    private static void resolvedAddress() throws InterruptedException {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            EventChannel.create(arena).createId(PortSpace.TCP).resolveAddress(CmAddress.four(1), DEADLINE);
        }
    }
}
