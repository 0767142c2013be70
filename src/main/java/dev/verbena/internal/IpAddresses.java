package dev.verbena.internal;

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

/** Converts between {@code InetSocketAddress} and {@code struct sockaddr}. */
public final class IpAddresses {
    /** {@code AF_INET}. */
    public static final int INET = 2;

    /** {@code AF_INET6}. */
    public static final int INET6 = 10;

    /** The scope of a Java address that has none. C has 0. */
    private static final int NO_SCOPE = -1;

    private static final ValueLayout.OfShort BIG_ENDIAN_SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private IpAddresses() {}

    /** Returns for example {@code 10.9.9.1:7174} or {@code [fe80::1]:7174}. */
    public static String text(InetSocketAddress address) {
        String host = address.getAddress().getHostAddress();
        return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + address.getPort();
    }

    /** Returns the number of bytes of the struct that C reads. */
    public static int length(InetSocketAddress address) {
        return (int) (address.getAddress() instanceof Inet6Address ? sockaddr_in6.sizeof() : sockaddr_in.sizeof());
    }

    /** Writes an address into a {@code struct sockaddr_storage}. */
    public static MemorySegment write(InetSocketAddress address, Arena scratch) {
        InetAddress ip = address.getAddress();
        if (ip == null) {
            throw new IllegalArgumentException("The host name '" + address.getHostString() + "' can't be resolved");
        }
        MemorySegment to = sockaddr_storage.allocate(scratch);
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

    /** Reads a {@code struct sockaddr_storage}, if it holds an IP address. */
    public static Optional<InetSocketAddress> read(MemorySegment from) {
        int family = sockaddr_storage.ss_family(from);
        if (family != INET && family != INET6) {
            return Optional.empty();
        }
        boolean four = family == INET;
        byte[] bytes = from.asSlice(
                        four ? sockaddr_in.sin_addr$offset() : sockaddr_in6.sin6_addr$offset(), four ? 4 : 16)
                .toArray(ValueLayout.JAVA_BYTE);
        int port = Short.toUnsignedInt(
                from.get(BIG_ENDIAN_SHORT, four ? sockaddr_in.sin_port$offset() : sockaddr_in6.sin6_port$offset()));
        try {
            int scope = four ? 0 : sockaddr_in6.sin6_scope_id(from);
            InetAddress address = four
                    ? InetAddress.getByAddress(bytes)
                    : Inet6Address.getByAddress(null, bytes, scope == 0 ? NO_SCOPE : scope);
            return Optional.of(new InetSocketAddress(address, port));
        } catch (UnknownHostException impossible) {
            throw new AssertionError(impossible);
        }
    }
}
