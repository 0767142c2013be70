package dev.verbena.verbs.device;

/**
 * A globally unique identifier of a device.
 *
 * @param value the 64 bits
 */
public record Guid(long value) {
    /** Returns the GUID as the C tools print it, such as {@code 5054:00ff:fe12:3456}. */
    @Override
    public String toString() {
        return String.format(
                "%04x:%04x:%04x:%04x", value >>> 48, value >>> 32 & 0xffff, value >>> 16 & 0xffff, value & 0xffff);
    }
}
