package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The counters of an open device whose folder the test has made. */
@FencedTest
class ContextCountersTest {
    private static final String EVENT = "dev.verbena.PortCounters";

    /** Settings of a recording that reads the counters once, when it stops. */
    private static final Map<String, String> AT_THE_END =
            Map.of(EVENT + "#enabled", "true", EVENT + "#period", "endChunk");

    private final Path device;
    private final Path counters;

    ContextCountersTest(@TempDir Path folder) {
        device = folder.resolve("counted0");
        counters = device.resolve("ports/1/hw_counters");
    }

    @BeforeEach
    void haveCounters() throws IOException {
        Files.createDirectories(counters);
        write("sent_pkts", 5);
        write("rcvd_pkts", 6);
        Fenced.adapterPath(device.toString());
    }

    @AfterEach
    void haveNone() {
        Fenced.adapterPath("");
    }

    private void write(String counter, long value) throws IOException {
        Files.writeString(counters.resolve(counter), value + "\n");
    }

    @Test
    void countersReadsTheFolderOfTheDevice() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Device.first().open(arena);
            assertThat(context.counters(1).device()).isEqualTo("counted0");
            assertThat(context.counters(1).values()).isEqualTo(Map.of("rcvd_pkts", 6L, "sent_pkts", 5L));
        }
    }

    /** Returns the events that were recorded while something happened, as text. */
    private static List<String> recorded(Map<String, String> settings, Work work) throws IOException {
        Path file = Files.createTempFile("verbena", ".jfr");
        try (Recording recording = new Recording()) {
            recording.setSettings(settings);
            recording.start();
            work.run();
            recording.stop();
            recording.dump(file);
            return RecordingFile.readAllEvents(file).stream()
                    .filter(event -> event.getEventType().getName().equals(EVENT))
                    .map(event -> event.getString("device") + " " + event.getInt("port") + " "
                            + event.getString("counter") + " " + event.getLong("value") + " " + event.getLong("change"))
                    .sorted()
                    .toList();
        } finally {
            Files.delete(file);
        }
    }

    private interface Work {
        void run() throws IOException;
    }

    @Test
    void recordingHasTheCountersThatChanged() throws IOException {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Device.first().open(arena);
            assertThat(recorded(AT_THE_END, () -> write("sent_pkts", 8))).containsExactly("counted0 1 sent_pkts 8 3");
            write("rcvd_pkts", 16); // between the recordings
            assertThat(recorded(AT_THE_END, () -> write("sent_pkts", 9))).containsExactly("counted0 1 sent_pkts 9 1");
            assertThat(recorded(AT_THE_END, () -> {})).isEmpty();
        }
    }

    @Test
    void recordingHasTheCountersOfADeviceThatIsOpenedLater() throws IOException {
        write("sent_pkts", 10);
        List<String> events = recorded(AT_THE_END, () -> {
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                Device.first().open(arena);
                write("sent_pkts", 12);
            }
        });
        assertThat(events).containsExactly("counted0 1 sent_pkts 12 2");
    }

    /** A recorder that starts later than the device is opened, as with jcmd. */
    @Test
    void lateRecorderHasTheCountersThatChanged() {
        String output = ChildJvm.onTheProvider("-Xlog:class+load")
                .runOnClassPath(LateRecorder.class, device.toString())
                .successfulOutput();
        int late = output.indexOf("recorder before: false");
        assertThat(late).isPositive();
        assertThat(output.indexOf("dev.verbena.verbs.PortCountersEvent ")).isGreaterThan(late);
        assertThat(output.lines()).contains("events: [counted0 1 sent_pkts 6 1]");
    }

    /** A program for {@link ChildJvm}: opens a device, and then starts its first recording. */
    static final class LateRecorder {
        public static void main(String[] args) throws IOException {
            Fenced.adapterPath(args[0]);
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                Device.first().open(arena);
                System.out.println("recorder before: " + FlightRecorder.isInitialized());
                Path counter = Path.of(args[0]).resolve("ports/1/hw_counters/sent_pkts");
                System.out.println("events: " + recorded(AT_THE_END, () -> Files.writeString(counter, "6\n")));
            }
        }
    }

    @Test
    void countersRefusesAPortThatTheDeviceHasNot() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Device.first().open(arena);
            assertThatThrownBy(() -> context.counters(77))
                    .isInstanceOf(VerbsException.class)
                    .hasMessageContaining("port 77");
        }
    }
}
