package dev.verbena.verbs.device;

import dev.verbena.internal.raw.ibv_tso_caps;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * The segmented sends of a device ({@code struct ibv_tso_caps}).
 *
 * @param maxBytes the longest data to cut into packets ({@code max_tso}); 0 where there are no segmented sends
 * @param types the kinds of queue pairs that have them
 */
public record TcpSegmentation(int maxBytes, Set<QueuePairType> types) {
    static TcpSegmentation read(MemorySegment caps) {
        return new TcpSegmentation(ibv_tso_caps.max_tso(caps), QueuePairType.set(ibv_tso_caps.supported_qpts(caps)));
    }
}
