package dev.verbena.cm;

import dev.verbena.internal.IpAddresses;
import dev.verbena.internal.raw.sockaddr_storage;
import dev.verbena.verbs.address.Gid;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.ByteOrder;
import java.util.Optional;

/** Converts between {@code SocketAddress} and {@code struct sockaddr}. */
final class SocketAddresses {
    static final int IB = 27;

    /** The size of {@code struct sockaddr_ib}, whose header is not part of the bindings. */
    private static final long IB_SIZE = 48;

    private static final long IB_PKEY = 2;
    private static final long IB_FLOW = 4;
    private static final long IB_GID = 8;
    private static final long IB_SERVICE = 24;
    private static final long IB_MASK = 32;
    private static final long IB_SCOPE = 40;

    private static final ValueLayout.OfShort BIG_ENDIAN_SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private static final ValueLayout.OfInt BIG_ENDIAN_INT =
            ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfLong BIG_ENDIAN_LONG =
            ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private SocketAddresses() {}

    /** Writes an address into a {@code struct sockaddr_storage}. */
    static MemorySegment write(SocketAddress address, Arena scratch) {
        return switch (address) {
            case InetSocketAddress ip -> IpAddresses.write(ip, scratch);
            case IbAddress ib -> write(ib, scratch);
            default ->
                throw new IllegalArgumentException("The connection manager knows addresses of IP and of InfiniBand, "
                        + "InetSocketAddress and IbAddress, but no "
                        + address.getClass().getName());
        };
    }

    /** Returns the number of bytes of the struct that C reads. */
    static int length(SocketAddress address) {
        return (int)
                switch (address) {
                    case InetSocketAddress ip -> IpAddresses.length(ip);
                    default -> IB_SIZE;
                };
    }

    private static MemorySegment write(IbAddress address, Arena scratch) {
        MemorySegment to = sockaddr_storage.allocate(scratch);
        sockaddr_storage.ss_family(to, (short) IB);
        to.set(BIG_ENDIAN_SHORT, IB_PKEY, (short) address.pkey());
        to.set(BIG_ENDIAN_INT, IB_FLOW, address.flow());
        byte[] gid = address.gid().toBytes();
        MemorySegment.copy(gid, 0, to, ValueLayout.JAVA_BYTE, IB_GID, gid.length);
        to.set(BIG_ENDIAN_LONG, IB_SERVICE, address.service());
        to.set(BIG_ENDIAN_LONG, IB_MASK, address.serviceMask());
        to.set(ValueLayout.JAVA_LONG, IB_SCOPE, address.scope());
        return to;
    }

    /** Reads a {@code struct sockaddr_storage}, if it holds an InfiniBand address. */
    static Optional<IbAddress> readIb(MemorySegment from) {
        if (sockaddr_storage.ss_family(from) != IB) {
            return Optional.empty();
        }
        return Optional.of(new IbAddress(
                Gid.from(from.asSlice(IB_GID, 16).toArray(ValueLayout.JAVA_BYTE)),
                Short.toUnsignedInt(from.get(BIG_ENDIAN_SHORT, IB_PKEY)),
                from.get(BIG_ENDIAN_INT, IB_FLOW),
                from.get(BIG_ENDIAN_LONG, IB_SERVICE),
                from.get(BIG_ENDIAN_LONG, IB_MASK),
                from.get(ValueLayout.JAVA_LONG_UNALIGNED, IB_SCOPE)));
    }

    /** Reads an address from the struct of its family, if the family is known. */
    static Optional<SocketAddress> readAny(MemorySegment from) {
        MemorySegment storage = sockaddr_storage.allocate(Arena.ofAuto());
        storage.copyFrom(from.asSlice(0, Math.min(from.byteSize(), storage.byteSize())));
        return SocketAddresses.read(storage).<SocketAddress>map(ip -> ip).or(() -> readIb(storage));
    }

    /** Reads a {@code struct sockaddr_storage}, if it holds an IP address. */
    static Optional<InetSocketAddress> read(MemorySegment from) {
        return IpAddresses.read(from);
    }
}
