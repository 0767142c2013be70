package dev.verbena.verbs;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.PortSpace;
import dev.verbena.support.CmAddress;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import java.nio.file.Path;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an operator finds in a flight recording. */
@FencedTest
class FlightRecordingTest {
    @Test
    void recordingContainsRegistrationsFailuresAndConnections(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("recording.jfr");
        try (Recording recording = new Recording()) {
            for (String event : List.of("Registration", "WorkFailure", "DeviceEvent", "ConnectionEvent")) {
                recording.enable("dev.verbena." + event).withoutThreshold();
            }
            recording.start();
            failedRead();
            resolvedAddress();
            recording.stop();
            recording.dump(file);
        }
        List<RecordedEvent> events = RecordingFile.readAllEvents(file);

        assertThat(events)
                .filteredOn(event -> named(event, "Registration"))
                .hasSize(2)
                .allSatisfy(event -> {
                    assertThat(event.getLong("size")).isEqualTo(Loopback.SIZE);
                    assertThat(event.getString("access")).contains("REMOTE_READ");
                });
        assertThat(events)
                .filteredOn(event -> named(event, "WorkFailure"))
                .singleElement()
                .satisfies(event -> {
                    assertThat(event.getLong("id")).isEqualTo(7);
                    assertThat(event.getString("operation")).isEqualTo("RDMA_READ");
                    assertThat(event.getString("status")).isEqualTo("REMOTE_ACCESS_ERROR");
                });
        assertThat(events)
                .filteredOn(event -> named(event, "ConnectionEvent"))
                .singleElement()
                .satisfies(event -> assertThat(event.getString("type")).isEqualTo("ADDRESS_RESOLVED"));
    }

    private static boolean named(RecordedEvent event, String name) {
        return event.getEventType().getName().equals("dev.verbena." + name);
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
