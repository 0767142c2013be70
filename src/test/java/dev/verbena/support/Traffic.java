package dev.verbena.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The counters of the test device: they show what went over it. */
public final class Traffic {
    private Traffic() {}

    /** Returns the number of packets that the device has sent since it was added. */
    public static long packetsSent() {
        Path counter = Path.of("/sys/class/infiniband", TestDevice.get().name(), "ports/1/hw_counters/sent_pkts");
        try {
            return Long.parseLong(Files.readString(counter).strip());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
