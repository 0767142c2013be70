package dev.verbena.verbs.device;

import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.ibv_rss_caps;
import dev.verbena.internal.raw.rdma_h;
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

    /** A field of a packet that the hash function uses to choose a work queue ({@code enum ibv_rx_hash_fields}). */
    public enum HashField {
        /** The IPv4 source address ({@code IBV_RX_HASH_SRC_IPV4}). */
        SOURCE_IPV4(rdma_h.IBV_RX_HASH_SRC_IPV4),
        /** The IPv4 destination address ({@code IBV_RX_HASH_DST_IPV4}). */
        DESTINATION_IPV4(rdma_h.IBV_RX_HASH_DST_IPV4),
        /** The IPv6 source address ({@code IBV_RX_HASH_SRC_IPV6}). */
        SOURCE_IPV6(rdma_h.IBV_RX_HASH_SRC_IPV6),
        /** The IPv6 destination address ({@code IBV_RX_HASH_DST_IPV6}). */
        DESTINATION_IPV6(rdma_h.IBV_RX_HASH_DST_IPV6),
        /** The TCP source port ({@code IBV_RX_HASH_SRC_PORT_TCP}). */
        SOURCE_TCP_PORT(rdma_h.IBV_RX_HASH_SRC_PORT_TCP),
        /** The TCP destination port ({@code IBV_RX_HASH_DST_PORT_TCP}). */
        DESTINATION_TCP_PORT(rdma_h.IBV_RX_HASH_DST_PORT_TCP),
        /** The UDP source port ({@code IBV_RX_HASH_SRC_PORT_UDP}). */
        SOURCE_UDP_PORT(rdma_h.IBV_RX_HASH_SRC_PORT_UDP),
        /** The UDP destination port ({@code IBV_RX_HASH_DST_PORT_UDP}). */
        DESTINATION_UDP_PORT(rdma_h.IBV_RX_HASH_DST_PORT_UDP),
        /** The security parameter index of IPsec ({@code IBV_RX_HASH_IPSEC_SPI}). */
        IPSEC_SPI(rdma_h.IBV_RX_HASH_IPSEC_SPI),
        /**
         * The chosen fields of the packet inside a tunnel, instead of those of the outer packet
         * ({@code IBV_RX_HASH_INNER}).
         */
        INNER(rdma_h.IBV_RX_HASH_INNER);

        private final int bit;

        HashField(int bit) {
            this.bit = bit;
        }

        /**
         * Returns the bit in C.
         *
         * @return a number with one bit set
         */
        public int bit() {
            return bit;
        }
    }

    /** A function that chooses the work queue of a packet ({@code enum ibv_rx_hash_function_flags}). */
    public enum HashFunction {
        /** The Toeplitz hash ({@code IBV_RX_HASH_FUNC_TOEPLITZ}). */
        TOEPLITZ(rdma_h.IBV_RX_HASH_FUNC_TOEPLITZ);

        private final int bit;

        HashFunction(int bit) {
            this.bit = bit;
        }

        /**
         * Returns the bit in C.
         *
         * @return a number with one bit set
         */
        public int bit() {
            return bit;
        }
    }
}
