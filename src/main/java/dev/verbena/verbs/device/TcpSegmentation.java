package dev.verbena.verbs.device;

import dev.verbena.internal.raw.ibv_tso_caps;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * The limits of segmented sends, which a device cuts into packets ({@code struct ibv_tso_caps}).
 *
 * @param maxBytes the maximum size of the data, in bytes ({@code max_tso}); 0 if the device has no segmented sends
 * @param types the types of queue pairs that have segmented sends
 */
public record TcpSegmentation(int maxBytes, Set<QueuePairType> types) {
    static TcpSegmentation read(MemorySegment caps) {
        return new TcpSegmentation(ibv_tso_caps.max_tso(caps), QueuePairType.set(ibv_tso_caps.supported_qpts(caps)));
    }
}
