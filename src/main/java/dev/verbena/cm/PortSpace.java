package dev.verbena.cm;

import dev.verbena.NativeValue;

/** A port space: the kind of service that a port number belongs to ({@code enum rdma_port_space}). */
public enum PortSpace implements NativeValue {
    /** Reliable connections ({@code RDMA_PS_TCP}). */
    TCP(0x0106, "RDMA_PS_TCP"),
    /** Datagrams and multicast ({@code RDMA_PS_UDP}). */
    UDP(0x0111, "RDMA_PS_UDP"),
    /** Any InfiniBand service, reliable or not ({@code RDMA_PS_IB}). */
    IB(0x013f, "RDMA_PS_IB"),
    /** Datagrams among the members of an IPoIB network ({@code RDMA_PS_IPOIB}). */
    IPOIB(0x0002, "RDMA_PS_IPOIB"),
    /** A number that this release does not know. */
    UNKNOWN(-1, "");

    private final int code;
    private final String cName;

    PortSpace(int code, String cName) {
        this.code = code;
        this.cName = cName;
    }

    @Override
    public int code() {
        return code;
    }

    @Override
    public String cName() {
        return cName;
    }

    static PortSpace of(int code) {
        return NativeValue.find(values(), code, UNKNOWN);
    }
}
