package dev.verbena.bench;

import dev.verbena.verbs.Device;

/** Lists the devices. */
final class ListDevices {
    private ListDevices() {}

    /** Takes no arguments. */
    public static void main(String[] args) {
        if (Device.list().isEmpty()) {
            throw new AssertionError("the stub has a device");
        }
    }
}
