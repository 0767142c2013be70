package dev.verbena.cm;

import dev.verbena.internal.Checks;
import dev.verbena.verbs.address.Gid;
import java.net.SocketAddress;
import java.util.Arrays;
import java.util.Objects;

/**
 * An address of InfiniBand's own ({@code struct sockaddr_ib}): a port's GID, and the number of a service there. Only
 * devices of InfiniBand have such addresses; everywhere, also there, addresses of IP do.
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
     * An address with all that C knows of it.
     *
     * @param gid the port
     * @param pkey the partition's key, 16 bits; {@code 0xffff} for the default one
     * @param flow the flow's label
     * @param service the number of the service: the upper half may be a port space, the lower 16 bits a port
     * @param serviceMask which bits of the number count
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
     * The address of a service in the default partition.
     *
     * @param gid the port
     * @param space whose ports these are
     * @param port the service's port, 0 to 65535
     * @return the address
     */
    public static IbAddress of(Gid gid, PortSpace space, int port) {
        Checks.checkRange("port", port, 0xffff);
        return new IbAddress(gid, 0xffff, 0, (long) space.code() << 16 | port, port == 0 ? WHOLE << 16 : WHOLE, 0);
    }

    /**
     * The port's address in the network.
     *
     * @return the GID
     */
    public Gid gid() {
        return Gid.of(gid);
    }

    /**
     * The partition's key.
     *
     * @return 16 bits
     */
    public int pkey() {
        return pkey;
    }

    /**
     * The flow's label.
     *
     * @return the number
     */
    public int flow() {
        return flow;
    }

    /**
     * The number of the service ({@code sib_sid}).
     *
     * @return 64 bits
     */
    public long service() {
        return service;
    }

    /**
     * Which bits of {@link #service} count ({@code sib_sid_mask}).
     *
     * @return 64 bits
     */
    public long serviceMask() {
        return serviceMask;
    }

    /**
     * The scope.
     *
     * @return the number
     */
    public long scope() {
        return scope;
    }

    /**
     * The port that the number of the service ends with.
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

    /** For example {@code fe80::1, service 0x1061d2f}. */
    @Override
    public String toString() {
        return gid() + ", service 0x" + Long.toHexString(service);
    }
}
