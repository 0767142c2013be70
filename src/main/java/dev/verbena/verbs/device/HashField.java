package dev.verbena.verbs.device;

import dev.verbena.NativeFlag;

/** A field of a packet that the hash function uses to choose a work queue ({@code enum ibv_rx_hash_fields}). */
public enum HashField implements NativeFlag {
    /** The IPv4 source address ({@code IBV_RX_HASH_SRC_IPV4}). */
    SOURCE_IPV4(1, "IBV_RX_HASH_SRC_IPV4"),
    /** The IPv4 destination address ({@code IBV_RX_HASH_DST_IPV4}). */
    DESTINATION_IPV4(1 << 1, "IBV_RX_HASH_DST_IPV4"),
    /** The IPv6 source address ({@code IBV_RX_HASH_SRC_IPV6}). */
    SOURCE_IPV6(1 << 2, "IBV_RX_HASH_SRC_IPV6"),
    /** The IPv6 destination address ({@code IBV_RX_HASH_DST_IPV6}). */
    DESTINATION_IPV6(1 << 3, "IBV_RX_HASH_DST_IPV6"),
    /** The TCP source port ({@code IBV_RX_HASH_SRC_PORT_TCP}). */
    SOURCE_TCP_PORT(1 << 4, "IBV_RX_HASH_SRC_PORT_TCP"),
    /** The TCP destination port ({@code IBV_RX_HASH_DST_PORT_TCP}). */
    DESTINATION_TCP_PORT(1 << 5, "IBV_RX_HASH_DST_PORT_TCP"),
    /** The UDP source port ({@code IBV_RX_HASH_SRC_PORT_UDP}). */
    SOURCE_UDP_PORT(1 << 6, "IBV_RX_HASH_SRC_PORT_UDP"),
    /** The UDP destination port ({@code IBV_RX_HASH_DST_PORT_UDP}). */
    DESTINATION_UDP_PORT(1 << 7, "IBV_RX_HASH_DST_PORT_UDP"),
    /** The security parameter index of IPsec ({@code IBV_RX_HASH_IPSEC_SPI}). */
    IPSEC_SPI(1 << 8, "IBV_RX_HASH_IPSEC_SPI"),
    /** The chosen fields of the packet inside a tunnel, instead of those of the outer packet ({@code IBV_RX_HASH_INNER}). */
    INNER(1 << 31, "IBV_RX_HASH_INNER");

    private final int bit;
    private final String cName;

    HashField(int bit, String cName) {
        this.bit = bit;
        this.cName = cName;
    }

    @Override
    public int bit() {
        return bit;
    }

    @Override
    public String cName() {
        return cName;
    }
}
