package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.IwarpToo.NotOnIwarp;
import dev.verbena.support.Loopback;
import dev.verbena.verbs.device.PortCounters;
import java.nio.file.Path;
import java.util.Map;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The counters of a port while messages go over it. The driver may show values of 10 ms ago, so the tests look again. */
@DeviceTest
class PortCountersOnDeviceTest {
    private static final int MESSAGES = 10;

    private static void send(Loopback loopback) throws InterruptedException {
        for (int i = 0; i < MESSAGES; i++) {
            loopback.right.pair.postReceive(i, loopback.right.buffer.slice(0, 64));
            loopback.left.pair.postSend(i, loopback.left.buffer.slice(0, 64));
            loopback.left.done();
            loopback.right.done();
        }
    }

    /** Waits until counters have grown by a number. */
    private static void awaitGrowth(Context context, PortCounters before, long least, String... names) {
        for (String name : names) {
            Await.until(name + " grows by " + least, () -> {
                PortCounters change = context.counters(1).since(before);
                return change.value(name).orElse(0) >= least;
            });
        }
    }

    @Test
    @NotOnIwarp("its driver has no such counters")
    void countersGrowWithMessagesAndTheRecordingHasThem(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("recording.jfr");
        try (Loopback loopback = Loopback.connected();
                Recording recording = new Recording()) {
            recording.setSettings(
                    Map.of("dev.verbena.PortCounters#enabled", "true", "dev.verbena.PortCounters#period", "endChunk"));
            recording.start();
            PortCounters before = loopback.context.counters(1);
            send(loopback);
            awaitGrowth(loopback.context, before, MESSAGES, "sent_pkts", "rcvd_pkts");
            recording.stop();
            recording.dump(file);
        }
        assertThat(RecordingFile.readAllEvents(file))
                .filteredOn(event -> event.getEventType().getName().equals("dev.verbena.PortCounters")
                        && event.getString("counter").equals("sent_pkts"))
                .singleElement()
                .satisfies(event -> {
                    assertThat(event.getLong("change")).isGreaterThanOrEqualTo(MESSAGES);
                    assertThat(event.getLong("value")).isGreaterThanOrEqualTo(event.getLong("change"));
                    assertThat(event.getInt("port")).isEqualTo(1);
                });
    }

    @Test
    @NotOnIwarp("it has no receiver that is not ready")
    void countersHaveSendsThatFindNoReceive() {
        try (Loopback loopback = Loopback.connected()) {
            PortCounters before = loopback.context.counters(1);
            loopback.left.pair.postSend(1, loopback.left.buffer.slice(0, 64));
            awaitGrowth(loopback.context, before, 1, "send_rnr_err", "rcvd_rnr_err");
        }
    }
}
