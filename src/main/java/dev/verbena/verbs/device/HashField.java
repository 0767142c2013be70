package dev.verbena.verbs.device;

import dev.verbena.internal.raw.rdma_h;

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
    /** The chosen fields of the packet inside a tunnel, instead of those of the outer packet ({@code IBV_RX_HASH_INNER}). */
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
