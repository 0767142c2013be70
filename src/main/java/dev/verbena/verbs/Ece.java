package dev.verbena.verbs;

import dev.verbena.internal.raw.ibv_ece;
import java.lang.foreign.MemorySegment;

/**
 * What two queue pairs of the same vendor agree to do beyond the standard ({@code struct ibv_ece}, enhanced connection
 * establishment): hand it to the peer, which sets what both can do.
 *
 * @param vendorId the vendor's identifier; 0 when there is nothing
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

    /** For example {@code vendor 0x15b3, options 0x1}. */
    @Override
    public String toString() {
        return String.format("vendor 0x%x, options 0x%x", vendorId, options);
    }
}
