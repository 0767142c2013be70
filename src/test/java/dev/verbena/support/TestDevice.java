package dev.verbena.support;

import dev.verbena.verbs.Device;
import dev.verbena.verbs.device.TransportType;

/** The device that tests run on: VERBENA_DEVICE if it is set, the first one otherwise. */
public final class TestDevice {
    private TestDevice() {}

    public static Device get() {
        String name = System.getenv("VERBENA_DEVICE");
        return name == null ? Device.first() : Device.named(name);
    }

    public static boolean isIwarp() {
        return get().transport() == TransportType.IWARP;
    }

    /**
     * How many connections a process can have: over iWARP in software, ten and both of their ends. Its library takes the
     * 145th page of the queues that a process has mapped for an error, wherever it is the first page of a queue.
     */
    public static int connections(int wanted) {
        return isIwarp() ? Math.min(wanted, 10) : wanted;
    }
}
