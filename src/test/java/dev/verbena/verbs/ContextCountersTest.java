package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The counters of an open device whose folder the test has made. */
@FencedTest
class ContextCountersTest {
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
