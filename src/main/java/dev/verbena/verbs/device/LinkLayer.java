package dev.verbena.verbs.device;

import dev.verbena.NativeValue;

/** The link layer below RDMA on a port ({@code IBV_LINK_LAYER_*}). */
public enum LinkLayer implements NativeValue {
    /** Not reported, which means InfiniBand ({@code IBV_LINK_LAYER_UNSPECIFIED}). */
    UNSPECIFIED(0, "IBV_LINK_LAYER_UNSPECIFIED"),
    /** InfiniBand ({@code IBV_LINK_LAYER_INFINIBAND}). */
    INFINIBAND(1, "IBV_LINK_LAYER_INFINIBAND"),
    /** Ethernet: RoCE or iWARP ({@code IBV_LINK_LAYER_ETHERNET}). */
    ETHERNET(2, "IBV_LINK_LAYER_ETHERNET"),
    /** A number that this release does not know. */
    UNKNOWN(-1, "");

    private static final LinkLayer[] VALUES = values();

    private final int code;
    private final String cName;

    LinkLayer(int code, String cName) {
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
    public static LinkLayer of(int code) {
        return NativeValue.find(VALUES, code, UNKNOWN);
    }
}
