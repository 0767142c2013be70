package dev.verbena.cm;

import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.rdma_h;

/** A port space: the kind of service that a port number belongs to ({@code enum rdma_port_space}). */
public enum PortSpace {
    /** Reliable connections ({@code RDMA_PS_TCP}). */
    TCP(rdma_h.RDMA_PS_TCP),
    /** Datagrams and multicast ({@code RDMA_PS_UDP}). */
    UDP(rdma_h.RDMA_PS_UDP),
    /** Any InfiniBand service, reliable or not ({@code RDMA_PS_IB}). */
    IB(rdma_h.RDMA_PS_IB),
    /** Datagrams among the members of an IPoIB network ({@code RDMA_PS_IPOIB}). */
    IPOIB(rdma_h.RDMA_PS_IPOIB),
    /** A number that this release does not know. */
    UNKNOWN(-1);

    private final int code;

    PortSpace(int code) {
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

    static PortSpace of(int code) {
        return EnumCodec.find(values(), value -> value.code, code, UNKNOWN);
    }
}
