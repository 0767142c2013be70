package dev.verbena.verbs.device;

import dev.verbena.internal.raw.ibv_packet_pacing_caps;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * The limits of packet pacing, which bounds the rate of a queue pair's sends ({@code struct ibv_packet_pacing_caps}).
 *
 * @param minKilobits the lowest rate, in kbit/s
 * @param maxKilobits the highest rate, in kbit/s; 0 if rates can't be set
 * @param types the types of queue pairs that can have a rate
 */
public record PacketPacing(long minKilobits, long maxKilobits, Set<QueuePairType> types) {
    static PacketPacing read(MemorySegment caps) {
        return new PacketPacing(
                Integer.toUnsignedLong(ibv_packet_pacing_caps.qp_rate_limit_min(caps)),
                Integer.toUnsignedLong(ibv_packet_pacing_caps.qp_rate_limit_max(caps)),
                QueuePairType.set(ibv_packet_pacing_caps.supported_qpts(caps)));
    }
}
