package dev.verbena.sockets;

import dev.verbena.RdmaUnavailableException;
import dev.verbena.VerbsException;
import dev.verbena.verbs.Device;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Inline data where a driver ignores the flag for it, such as mana, or has little room for it. rsockets ask for 64 bytes by
 * default. Where the flag is ignored, the adapter would send other memory: sockets of a machine with such a device have none.
 */
final class InlineDataLimits {
    private InlineDataLimits() {}

    /** Returns true if a device of this machine ignores the flag. It may have come since the last call. */
    static boolean isIgnored() {
        return devices().stream().anyMatch(Device::ignoresInlineData);
    }

    /**
     * Checks the value of RDMA_INLINE.
     *
     * @throws UnsupportedOperationException if a device of this machine would send other memory
     */
    static void check(int bytes) {
        if (bytes > 0 && isIgnored()) {
            throw new UnsupportedOperationException("RDMA_INLINE must be 0 on this machine, got " + bytes + reasons());
        }
    }

    /** Returns what the drivers of this machine say of inline data, as the end of a message; empty if they have room for it. */
    static String hint() {
        String reasons = reasons();
        return reasons.isEmpty() ? "" : ". RDMA_INLINE may be too large" + reasons;
    }

    private static String reasons() {
        return devices().stream()
                .flatMap(device -> device.limits().stream())
                .filter(limit -> limit.contains("inline data"))
                .distinct()
                .map(limit -> ": " + limit)
                .collect(Collectors.joining());
    }

    private static List<Device> devices() {
        try {
            return Device.list();
        } catch (VerbsException | RdmaUnavailableException refused) {
            return List.of(); // a connect will tell why
        }
    }
}
