package dev.verbena.verbs.device;

import dev.verbena.internal.raw.ibv_cq_moderation_caps;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.time.temporal.ChronoUnit;

/**
 * The limits of completion moderation ({@code struct ibv_cq_moderation_caps}): a device gathers completions before it
 * raises an event. See {@link dev.verbena.verbs.CompletionQueue#moderate}.
 *
 * @param maxCompletions the maximum number of completions to gather; 0 if the device has no moderation
 * @param maxPeriod the maximum time to gather completions
 */
public record CompletionModeration(int maxCompletions, Duration maxPeriod) {
    static CompletionModeration read(MemorySegment caps) {
        return new CompletionModeration(
                Short.toUnsignedInt(ibv_cq_moderation_caps.max_cq_count(caps)),
                Duration.of(Short.toUnsignedInt(ibv_cq_moderation_caps.max_cq_period(caps)), ChronoUnit.MICROS));
    }
}
