package dev.verbena.support;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/** What the flight recorder has of some work. */
public final class Recorded {
    private Recorded() {}

    /** Work that is recorded. */
    public interface Work {
        void run() throws Exception;
    }

    /** Does some work, and returns the library's events of these kinds meanwhile, however short. */
    public static List<RecordedEvent> during(Work work, String... kinds) throws Exception {
        Path file = Files.createTempFile("verbena", ".jfr");
        try (Recording recording = new Recording()) {
            Arrays.stream(kinds)
                    .forEach(kind -> recording.enable("dev.verbena." + kind).withoutThreshold());
            recording.start();
            work.run();
            recording.stop();
            recording.dump(file);
            return RecordingFile.readAllEvents(file).stream()
                    .filter(event -> Arrays.stream(kinds).anyMatch(kind -> is(event, kind)))
                    .toList();
        } finally {
            Files.delete(file);
        }
    }

    /** Returns whether an event is of a kind. */
    public static boolean is(RecordedEvent event, String kind) {
        return event.getEventType().getName().equals("dev.verbena." + kind);
    }
}
