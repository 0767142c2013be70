package dev.verbena.support;

import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/**
 * A program for {@link ChildJvm}: registers memory and fails a request without a flight recorder, then during a recording.
 * Prints whether the first part touched the recorder, and the events of the recording.
 */
public final class LateRecording {
    private LateRecording() {}

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
            events.forEach(
                    event -> System.out.println("event: " + event.getEventType().getName()));
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
