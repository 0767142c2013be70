package dev.verbena.cm;

import dev.verbena.NativeFlag;

/** How to look up an address ({@code RAI_*}). */
public enum AddressFlag implements NativeFlag {
    /** To listen there, not to connect ({@code RAI_PASSIVE}). */
    PASSIVE(1, "RAI_PASSIVE"),
    /** The node is a numeric address: no service is asked ({@code RAI_NUMERICHOST}). */
    NUMERIC_HOST(1 << 1, "RAI_NUMERICHOST"),
    /** Without the route ({@code RAI_NOROUTE}). */
    NO_ROUTE(1 << 2, "RAI_NOROUTE"),
    /** Only of the family that the hints name ({@code RAI_FAMILY}). */
    FAMILY(1 << 3, "RAI_FAMILY"),
    /** By the subnet administrator, in {@link ConnectionId#resolveAddressInfo} ({@code RAI_SA}, rdma-core 60). */
    SUBNET_ADMINISTRATOR(1 << 4, "RAI_SA"),
    /** By name and address, in {@link ConnectionId#resolveAddressInfo} ({@code RAI_DNS}, rdma-core 60). */
    NAME(1 << 5, "RAI_DNS");

    private final int bit;
    private final String cName;

    AddressFlag(int bit, String cName) {
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
