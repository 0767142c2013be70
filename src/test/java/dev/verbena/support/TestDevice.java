package dev.verbena.support;

import dev.verbena.verbs.Device;

/** The device that tests run on: VERBENA_DEVICE if it is set, the first one otherwise. */
public final class TestDevice {
    private TestDevice() {}

    public static Device get() {
        String name = System.getenv("VERBENA_DEVICE");
        return name == null ? Device.first() : Device.named(name);
    }
}
