package dev.verbena.verbs.device;

import dev.verbena.NativeValue;

/** The transport that a device speaks ({@code enum ibv_transport_type}). */
public enum TransportType implements NativeValue {
    /** InfiniBand transport, also over RoCE ({@code IBV_TRANSPORT_IB}). */
    IB(0, "IBV_TRANSPORT_IB"),
    /** iWARP ({@code IBV_TRANSPORT_IWARP}). */
    IWARP(1, "IBV_TRANSPORT_IWARP"),
    /** Cisco usNIC ({@code IBV_TRANSPORT_USNIC}). */
    USNIC(2, "IBV_TRANSPORT_USNIC"),
    /** Cisco usNIC over UDP ({@code IBV_TRANSPORT_USNIC_UDP}). */
    USNIC_UDP(3, "IBV_TRANSPORT_USNIC_UDP"),
    /** A transport of no specified kind ({@code IBV_TRANSPORT_UNSPECIFIED}). */
    UNSPECIFIED(4, "IBV_TRANSPORT_UNSPECIFIED"),
    /** A number that this release does not know. */
    UNKNOWN(-1, "");

    private static final TransportType[] VALUES = values();

    private final int code;
    private final String cName;

    TransportType(int code, String cName) {
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

    /**
     * Returns the constant for a number.
     *
     * @param code the number in C
     * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
     */
    public static TransportType of(int code) {
        return NativeValue.find(VALUES, code, UNKNOWN);
    }
}
