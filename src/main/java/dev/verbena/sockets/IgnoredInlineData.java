package dev.verbena.sockets;

import dev.verbena.RdmaUnavailableException;
import dev.verbena.VerbsException;
import dev.verbena.verbs.Device;

/**
 * Inline data where a driver ignores the flag for it, such as mana: rsockets ask for 64 bytes by default, and the adapter
 * would send other memory. So sockets of a machine with such a device ask for none, unless the program does.
 */
final class IgnoredInlineData {
    private IgnoredInlineData() {}

    /** Returns true if a device of this machine ignores the flag. It may have come since the last call. */
    static boolean isPossible() {
        try {
            return Device.list().stream().anyMatch(Device::ignoresInlineData);
        } catch (VerbsException | RdmaUnavailableException refused) {
            return false; // a connect will tell why
        }
    }
}
