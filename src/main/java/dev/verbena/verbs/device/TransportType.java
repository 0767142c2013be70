package dev.verbena.verbs.device;

import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.rdma_h;

/** The transport that a device speaks ({@code enum ibv_transport_type}). */
public enum TransportType {
    /** InfiniBand transport, also over RoCE ({@code IBV_TRANSPORT_IB}). */
    IB(rdma_h.IBV_TRANSPORT_IB),
    /** iWARP ({@code IBV_TRANSPORT_IWARP}). */
    IWARP(rdma_h.IBV_TRANSPORT_IWARP),
    /** Cisco usNIC ({@code IBV_TRANSPORT_USNIC}). */
    USNIC(rdma_h.IBV_TRANSPORT_USNIC),
    /** Cisco usNIC over UDP ({@code IBV_TRANSPORT_USNIC_UDP}). */
    USNIC_UDP(rdma_h.IBV_TRANSPORT_USNIC_UDP),
    /** A transport of no specified kind ({@code IBV_TRANSPORT_UNSPECIFIED}). */
    UNSPECIFIED(rdma_h.IBV_TRANSPORT_UNSPECIFIED),
    /** A number that this release does not know. */
    UNKNOWN(-1);

    private final int code;

    TransportType(int code) {
        this.code = code;
    }

    /**
     * Returns the number in C.
     *
     * @return the value of the C constant
     */
    public int code() {
        return code;
    }

    /**
     * Returns the constant for a number.
     *
     * @param code the number in C
     * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
     */
    public static TransportType of(int code) {
        return EnumCodec.find(values(), value -> value.code, code, UNKNOWN);
    }
}
