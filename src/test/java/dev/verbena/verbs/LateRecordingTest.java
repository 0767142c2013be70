package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;

/** Programs that start a flight recording late, or none. */
@FencedTest
class LateRecordingTest {
    private static final List<String> EVENTS = List.of(
            "event: dev.verbena.Registration",
            "event: dev.verbena.Registration",
            "event: dev.verbena.Registration",
            "event: dev.verbena.WorkFailure");

    private static ChildJvm jvm(String... options) {
        return ChildJvm.onTheProvider(options);
    }

    private static List<String> events(List<String> output) {
        return output.stream()
                .filter(line -> line.startsWith("event: dev.verbena."))
                .sorted()
                .toList();
    }

    @Test
    void recordingThatStartsLaterSeesEvents() {
        List<String> output = jvm().runOnClassPath(LateRecording.class)
                .successfulOutput()
                .lines()
                .toList();

        assertThat(output).contains("recorder before: false");
        assertThat(events(output)).isEqualTo(EVENTS);
    }

    @Test
    void recordingFromTheStartOfTheJvmSeesEvents() {
        List<String> output = jvm("-XX:StartFlightRecording")
                .runOnClassPath(LateRecording.class)
                .successfulOutput()
                .lines()
                .toList();

        assertThat(output).contains("recorder before: true");
        assertThat(events(output)).isEqualTo(EVENTS);
    }

    /** The classes of the recorder take longer than all else that a first registration does. */
    @Test
    void registrationWithoutRecordingLoadsNoEventClass() {
        String output =
                jvm("-Xlog:class+load").runOnClassPath(LateRecording.class).successfulOutput();
        String before = output.substring(0, output.indexOf("recorder before: "));

        assertThat(before).contains("dev.verbena.verbs.MemoryRegion ");
        assertThat(before).doesNotContain("dev.verbena.verbs.RegistrationEvent");
        assertThat(before).doesNotContain("dev.verbena.verbs.WorkFailureEvent");
        assertThat(output).contains("dev.verbena.verbs.RegistrationEvent");
    }

    /**
     * A program for {@link ChildJvm}: registers memory and fails a request without a flight recorder, then during a recording.
     * Prints whether the first part touched the recorder, and the events of the recording.
     */
    static final class LateRecording {
        public static void main(String[] args) throws IOException, InterruptedException {
            work();
            System.out.println("recorder before: " + FlightRecorder.isInitialized());
            Path file = Files.createTempFile("verbena", ".jfr");
            try (Recording recording = new Recording()) {
                recording.enable("dev.verbena.Registration").withoutThreshold();
                recording.enable("dev.verbena.WorkFailure");
                recording.start();
                work();
                recording.stop();
                recording.dump(file);
                List<RecordedEvent> events = RecordingFile.readAllEvents(file);
                events.forEach(event ->
                        System.out.println("event: " + event.getEventType().getName()));
            } finally {
                Files.delete(file);
            }
            work();
        }

        private static void work() throws InterruptedException {
            try (Loopback loopback = Loopback.connected()) {
                loopback.domain.register(loopback.arena.allocate(64), AccessFlag.LOCAL_WRITE);
                loopback.left.pair.postRead(7, loopback.left.buffer.slice(0, 8), new RemoteMemory(0, 0, 8));
                if (loopback.left.next().isSuccess()) {
                    throw new AssertionError("a read of nothing was successful");
                }
            }
        }
    }
}
