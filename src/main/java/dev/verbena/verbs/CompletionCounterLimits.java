package dev.verbena.verbs;

import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.ibv_comp_cntr_caps;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * The limits of completion counters ({@code struct ibv_comp_cntr_caps}).
 *
 * @param maxValue the greatest value of a counter, unsigned; the next increment makes it begin again at 0
 * @param maxCounters the maximum number of counters, unsigned
 * @param operations the operations that the device can count
 */
public record CompletionCounterLimits(long maxValue, int maxCounters, Set<CountedOperation> operations) {
    static CompletionCounterLimits read(MemorySegment caps) {
        return new CompletionCounterLimits(
                ibv_comp_cntr_caps.max_value(caps),
                ibv_comp_cntr_caps.max_counters(caps),
                EnumCodec.flags(
                        CountedOperation.class,
                        operation -> operation.bit,
                        ibv_comp_cntr_caps.supported_qp_attach_ops(caps)));
    }
}
