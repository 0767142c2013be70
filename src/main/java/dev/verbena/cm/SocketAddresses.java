package dev.verbena.cm;

import dev.verbena.internal.raw.sockaddr_in;
import dev.verbena.internal.raw.sockaddr_in6;
import dev.verbena.internal.raw.sockaddr_storage;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteOrder;
import java.util.Optional;

/** {@code InetSocketAddress} and {@code struct sockaddr}. */
final class SocketAddresses {
    static final int INET = 2;
    static final int INET6 = 10;

    private static final ValueLayout.OfShort BIG_ENDIAN_SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private SocketAddresses() {}

    /** A {@code struct sockaddr_storage} for an address. */
    static MemorySegment write(InetSocketAddress address, Arena scratch) {
        InetAddress ip = address.getAddress();
        if (ip == null) {
            throw new IllegalArgumentException("The host name '" + address.getHostString() + "' can't be resolved");
        }
        MemorySegment to = scratch.allocate(sockaddr_storage.layout());
        byte[] bytes = ip.getAddress();
        if (ip instanceof Inet6Address six) {
            sockaddr_in6.sin6_family(to, (short) INET6);
            to.set(BIG_ENDIAN_SHORT, sockaddr_in6.sin6_port$offset(), (short) address.getPort());
            MemorySegment.copy(bytes, 0, to, ValueLayout.JAVA_BYTE, sockaddr_in6.sin6_addr$offset(), bytes.length);
            sockaddr_in6.sin6_scope_id(to, six.getScopeId());
        } else {
            sockaddr_in.sin_family(to, (short) INET);
            to.set(BIG_ENDIAN_SHORT, sockaddr_in.sin_port$offset(), (short) address.getPort());
            MemorySegment.copy(bytes, 0, to, ValueLayout.JAVA_BYTE, sockaddr_in.sin_addr$offset(), bytes.length);
        }
        return to;
    }

    /** The address in a {@code struct sockaddr_storage}, if it is one of IP. */
    static Optional<InetSocketAddress> read(MemorySegment from) {
        int family = sockaddr_storage.ss_family(from);
        if (family != INET && family != INET6) {
            return Optional.empty();
        }
        boolean four = family == INET;
        byte[] bytes = from.asSlice(four ? sockaddr_in.sin_addr$offset() : sockaddr_in6.sin6_addr$offset(), four ? 4 : 16)
                .toArray(ValueLayout.JAVA_BYTE);
        int port = Short.toUnsignedInt(
                from.get(BIG_ENDIAN_SHORT, four ? sockaddr_in.sin_port$offset() : sockaddr_in6.sin6_port$offset()));
        try {
            InetAddress address = four ? InetAddress.getByAddress(bytes)
                    : Inet6Address.getByAddress(null, bytes, sockaddr_in6.sin6_scope_id(from));
            return Optional.of(new InetSocketAddress(address, port));
        } catch (UnknownHostException impossible) {
            throw new AssertionError(impossible);
        }
    }
}
