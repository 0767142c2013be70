package dev.verbena.cm;

import dev.verbena.internal.raw.rdma_h;

/** A flag for looking up an address ({@code RAI_*}). */
public enum AddressFlag {
    /** Looks up an address to listen at, not to connect to ({@code RAI_PASSIVE}). */
    PASSIVE(rdma_h.RAI_PASSIVE),
    /** Takes the node as a numeric address, and asks no name service ({@code RAI_NUMERICHOST}). */
    NUMERIC_HOST(rdma_h.RAI_NUMERICHOST),
    /** Leaves out the route ({@code RAI_NOROUTE}). */
    NO_ROUTE(rdma_h.RAI_NOROUTE),
    /** Looks up only addresses of the hints' family ({@code RAI_FAMILY}). */
    FAMILY(rdma_h.RAI_FAMILY),
    /** Asks the subnet administrator, in {@link ConnectionId#resolveAddressInfo} ({@code RAI_SA}, rdma-core 60). */
    SUBNET_ADMINISTRATOR(rdma_h.RAI_SA),
    /** Asks by name and address, in {@link ConnectionId#resolveAddressInfo} ({@code RAI_DNS}, rdma-core 60). */
    NAME(rdma_h.RAI_DNS);

    final int bit;

    AddressFlag(int bit) {
        this.bit = bit;
    }
}
