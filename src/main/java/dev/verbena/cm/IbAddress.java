package dev.verbena.cm;

import dev.verbena.internal.Checks;
import dev.verbena.verbs.address.Gid;
import java.net.SocketAddress;
import java.util.Arrays;
import java.util.Objects;

/**
 * An InfiniBand address ({@code struct sockaddr_ib}): a port's GID, and the number of a service there. Only InfiniBand
 * devices have such addresses; IP addresses work with all devices. Addresses cannot be changed, and all threads can use
 * them.
 */
public final class IbAddress extends SocketAddress {
    private static final long serialVersionUID = 1L;
    private static final long WHOLE = -1L;

    private final byte[] gid;
    private final int pkey;
    private final int flow;
    private final long service;
    private final long serviceMask;
    private final long scope;

    /**
     * Makes an address of all its fields.
     *
     * @param gid the port
     * @param pkey the partition's key, 16 bits; {@code 0xffff} for the default one
     * @param flow the flow's label
     * @param service the number of the service: the upper half may be a port space, the lower 16 bits a port
     * @param serviceMask the bits of the number that count
     * @param scope the scope
     */
    public IbAddress(Gid gid, int pkey, int flow, long service, long serviceMask, long scope) {
        Checks.checkRange("partition key", pkey, 0xffff);
        this.gid = gid.toBytes();
        this.pkey = pkey;
        this.flow = flow;
        this.service = service;
        this.serviceMask = serviceMask;
        this.scope = scope;
    }

    /**
     * Makes the address of a service in the default partition.
     *
     * @param gid the port
     * @param space the port space of the port
     * @param port the service's port, 0 to 65535
     * @return the address
     */
    public static IbAddress of(Gid gid, PortSpace space, int port) {
        Checks.checkRange("port", port, 0xffff);
        return new IbAddress(gid, 0xffff, 0, (long) space.code() << 16 | port, port == 0 ? WHOLE << 16 : WHOLE, 0);
    }

    /**
     * Returns the port's GID.
     *
     * @return the GID
     */
    public Gid gid() {
        return Gid.from(gid);
    }

    /**
     * Returns the partition's key.
     *
     * @return 16 bits
     */
    public int pkey() {
        return pkey;
    }

    /**
     * Returns the flow's label.
     *
     * @return the number
     */
    public int flow() {
        return flow;
    }

    /**
     * Returns the number of the service ({@code sib_sid}).
     *
     * @return 64 bits
     */
    public long service() {
        return service;
    }

    /**
     * Returns the bits of {@link #service} that count ({@code sib_sid_mask}).
     *
     * @return 64 bits
     */
    public long serviceMask() {
        return serviceMask;
    }

    /**
     * Returns the scope.
     *
     * @return the number
     */
    public long scope() {
        return scope;
    }

    /**
     * Returns the port: the last 16 bits of the number of the service.
     *
     * @return 0 to 65535
     */
    public int port() {
        return (int) (service & 0xffff);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof IbAddress that
                && Arrays.equals(gid, that.gid)
                && pkey == that.pkey
                && flow == that.flow
                && service == that.service
                && serviceMask == that.serviceMask
                && scope == that.scope;
    }

    @Override
    public int hashCode() {
        return Objects.hash(Arrays.hashCode(gid), pkey, service);
    }

    /** Returns for example {@code fe80::1, service 0x1061d2f}. */
    @Override
    public String toString() {
        return gid() + ", service 0x" + Long.toHexString(service);
    }
}
