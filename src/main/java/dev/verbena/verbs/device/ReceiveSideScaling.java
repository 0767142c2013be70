package dev.verbena.verbs.device;

import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.ibv_rss_caps;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * The limits of receive side scaling, which spreads packets over work queues ({@code struct ibv_rss_caps}).
 *
 * @param types the types of queue pairs that can have an {@link dev.verbena.verbs.IndirectionTable}
 * @param maxTables the maximum number of tables
 * @param maxTableSize the maximum number of entries in a table
 * @param fields the fields of a packet that can choose the work queue
 * @param functions the functions that can choose the work queue
 */
public record ReceiveSideScaling(
        Set<QueuePairType> types, int maxTables, int maxTableSize, Set<HashField> fields, Set<HashFunction> functions) {
    static ReceiveSideScaling read(MemorySegment caps) {
        return new ReceiveSideScaling(
                QueuePairType.set(ibv_rss_caps.supported_qpts(caps)),
                ibv_rss_caps.max_rwq_indirection_tables(caps),
                ibv_rss_caps.max_rwq_indirection_table_size(caps),
                EnumCodec.flags(HashField.class, HashField::bit, (int) ibv_rss_caps.rx_hash_fields_mask(caps)),
                EnumCodec.flags(HashFunction.class, HashFunction::bit, ibv_rss_caps.rx_hash_function(caps)));
    }
}
