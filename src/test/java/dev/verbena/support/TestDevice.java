package dev.verbena.support;

import dev.verbena.verbs.Device;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The device for tests: VERBENA_DEVICE if set, else the first one. */
public final class TestDevice {
    private TestDevice() {}

    public static Device get() {
        String name = System.getenv("VERBENA_DEVICE");
        return name == null ? Device.first() : Device.named(name);
    }

    public static boolean isIwarp() {
        return get().transport() == Device.TransportType.IWARP;
    }

    /**
     * Returns the number of connections that a process can have: over siw, ten with both ends. Its library mistakes the
     * 145th page of a process's mapped queues for an error if it is the first page of a queue.
     */
    public static int connections(int wanted) {
        return isIwarp() ? Math.min(wanted, 10) : wanted;
    }

    /** Returns the number of packets that the device has sent since it was added: it shows what went over it. */
    public static long packetsSent() {
        Path counter = Path.of("/sys/class/infiniband", get().name(), "ports/1/hw_counters/sent_pkts");
        try {
            return Long.parseLong(Files.readString(counter).strip());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
