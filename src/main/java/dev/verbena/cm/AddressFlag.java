package dev.verbena.cm;

import dev.verbena.NativeFlag;

/** A flag for looking up an address ({@code RAI_*}). */
public enum AddressFlag implements NativeFlag {
    /** Looks up an address to listen at, not to connect to ({@code RAI_PASSIVE}). */
    PASSIVE(1, "RAI_PASSIVE"),
    /** Takes the node as a numeric address, and asks no name service ({@code RAI_NUMERICHOST}). */
    NUMERIC_HOST(1 << 1, "RAI_NUMERICHOST"),
    /** Leaves out the route ({@code RAI_NOROUTE}). */
    NO_ROUTE(1 << 2, "RAI_NOROUTE"),
    /** Looks up only addresses of the hints' family ({@code RAI_FAMILY}). */
    FAMILY(1 << 3, "RAI_FAMILY"),
    /** Asks the subnet administrator, in {@link ConnectionId#resolveAddressInfo} ({@code RAI_SA}, rdma-core 60). */
    SUBNET_ADMINISTRATOR(1 << 4, "RAI_SA"),
    /** Asks by name and address, in {@link ConnectionId#resolveAddressInfo} ({@code RAI_DNS}, rdma-core 60). */
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
