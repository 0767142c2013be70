package dev.verbena.verbs.device;

import dev.verbena.internal.raw.ibv_cq_moderation_caps;
import java.lang.foreign.MemorySegment;

/**
 * How many completions a device can gather before it raises an event ({@code struct ibv_cq_moderation_caps}): see
 * {@link dev.verbena.verbs.CompletionQueue#moderate}.
 *
 * @param maxCompletions how many; 0 where there is no moderation
 * @param maxMicroseconds how long
 */
public record CompletionModeration(int maxCompletions, int maxMicroseconds) {
    static CompletionModeration read(MemorySegment caps) {
        return new CompletionModeration(
                Short.toUnsignedInt(ibv_cq_moderation_caps.max_cq_count(caps)),
                Short.toUnsignedInt(ibv_cq_moderation_caps.max_cq_period(caps)));
    }
}
