package dev.verbena.verbs.device;

import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.ibv_tm_caps;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * The limits of tag matching ({@code struct ibv_tm_caps}).
 *
 * @param maxRendezvousHeader the maximum size of the header of a rendezvous request, in bytes
 * @param maxTags the maximum number of receives in a list; 0 if the device has no tag matching
 * @param capabilities the capabilities of tag matching
 * @param maxOperations the maximum number of changes of a list under way
 * @param maxSge the maximum number of pieces of memory in a receive
 */
public record TagMatchingLimits(
        int maxRendezvousHeader, int maxTags, Set<TagMatchingCapability> capabilities, int maxOperations, int maxSge) {
    static TagMatchingLimits read(MemorySegment caps) {
        return new TagMatchingLimits(
                ibv_tm_caps.max_rndv_hdr_size(caps),
                ibv_tm_caps.max_num_tags(caps),
                EnumCodec.flags(TagMatchingCapability.class, flag -> flag.bit, ibv_tm_caps.flags(caps)),
                ibv_tm_caps.max_ops(caps),
                ibv_tm_caps.max_sge(caps));
    }
}
