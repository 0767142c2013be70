package dev.verbena.verbs.device;

import dev.verbena.NativeFlag;
import dev.verbena.internal.raw.ibv_rss_caps;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * How a device spreads packets over work queues ({@code struct ibv_rss_caps}).
 *
 * @param types the kinds of queue pairs that can have an {@link dev.verbena.verbs.IndirectionTable}
 * @param maxTables how many tables there can be
 * @param maxTableSize how many entries a table can have
 * @param fields what of a packet can decide
 * @param functions how it is computed
 */
public record ReceiveSideScaling(
        Set<QueuePairType> types, int maxTables, int maxTableSize, Set<HashField> fields, Set<HashFunction> functions) {
    static ReceiveSideScaling read(MemorySegment caps) {
        return new ReceiveSideScaling(
                QueuePairType.set(ibv_rss_caps.supported_qpts(caps)),
                ibv_rss_caps.max_rwq_indirection_tables(caps),
                ibv_rss_caps.max_rwq_indirection_table_size(caps),
                NativeFlag.of(HashField.class, (int) ibv_rss_caps.rx_hash_fields_mask(caps)),
                NativeFlag.of(HashFunction.class, ibv_rss_caps.rx_hash_function(caps)));
    }
}
