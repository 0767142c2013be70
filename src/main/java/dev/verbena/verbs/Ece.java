package dev.verbena.verbs;

import dev.verbena.internal.raw.ibv_ece;
import java.lang.foreign.MemorySegment;

/**
 * The options of enhanced connection establishment: agreements beyond the standard between two queue pairs of the same
 * vendor ({@code struct ibv_ece}). Send the options to the peer, which sets those that both support. A value is
 * immutable: all threads can use it.
 *
 * @param vendorId the vendor's identifier; 0 without options
 * @param options the vendor's own bits
 */
public record Ece(int vendorId, int options) {
    static Ece read(MemorySegment ece) {
        return new Ece(ibv_ece.vendor_id(ece), ibv_ece.options(ece));
    }

    void write(MemorySegment ece) {
        ibv_ece.vendor_id(ece, vendorId);
        ibv_ece.options(ece, options);
    }

    /** Returns for example {@code vendor 0x15b3, options 0x1}. */
    @Override
    public String toString() {
        return String.format("vendor 0x%x, options 0x%x", vendorId, options);
    }
}
