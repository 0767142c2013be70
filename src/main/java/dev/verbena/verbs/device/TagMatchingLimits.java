package dev.verbena.verbs.device;

import dev.verbena.NativeFlag;
import dev.verbena.internal.raw.ibv_tm_caps;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * What a device's tag matching can hold ({@code struct ibv_tm_caps}).
 *
 * @param maxRendezvousHeader the longest header of a rendezvous request, in bytes
 * @param maxTags how many receives a list can have; 0 where there is no tag matching
 * @param capabilities what it can do
 * @param maxOperations how many changes of a list can be under way
 * @param maxSge how many pieces of memory a receive can name
 */
public record TagMatchingLimits(
        int maxRendezvousHeader, int maxTags, Set<TagMatchingCapability> capabilities, int maxOperations, int maxSge) {
    static TagMatchingLimits read(MemorySegment caps) {
        return new TagMatchingLimits(
                ibv_tm_caps.max_rndv_hdr_size(caps),
                ibv_tm_caps.max_num_tags(caps),
                NativeFlag.of(TagMatchingCapability.class, ibv_tm_caps.flags(caps)),
                ibv_tm_caps.max_ops(caps),
                ibv_tm_caps.max_sge(caps));
    }
}
