package dev.verbena.sockets;

import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.nio.channels.UnresolvedAddressException;
import java.nio.channels.UnsupportedAddressTypeException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The addresses that a channel takes: those of its protocol family. */
enum AddressRules {
    /** IPv4 only. */
    FOUR,
    /** IPv6 and IPv4. */
    SIX,
    /** No family was given: IPv6 and IPv4 where the machine has IPv6. */
    ANY;

    private static final boolean HAS_SIX = Files.exists(Path.of("/proc/net/if_inet6"));
    private static final InetAddress WILDCARD_FOUR = wildcard(4);
    private static final InetAddress WILDCARD_SIX = wildcard(16);

    private static InetAddress wildcard(int bytes) {
        try {
            return InetAddress.getByAddress(new byte[bytes]);
        } catch (UnknownHostException impossible) {
            throw new AssertionError(impossible);
        }
    }

    boolean isSix() {
        return this == SIX || (this == ANY && HAS_SIX);
    }

    /** Checks an address of a peer. */
    InetSocketAddress forConnect(SocketAddress address) {
        Objects.requireNonNull(address);
        if (!(address instanceof InetSocketAddress ip)) {
            throw new UnsupportedAddressTypeException();
        }
        if (ip.isUnresolved()) {
            throw new UnresolvedAddressException();
        }
        if (this == FOUR && ip.getAddress() instanceof Inet6Address) {
            throw new UnsupportedAddressTypeException();
        }
        return ip;
    }

    /** Checks a local address of a socket; null stands for any address and port. */
    InetSocketAddress forBind(@Nullable SocketAddress address) {
        return address == null
                ? new InetSocketAddress(this == SIX ? WILDCARD_SIX : WILDCARD_FOUR, 0)
                : forConnect(address);
    }

    /** Checks a local address of a server, whose IPv6 wildcard takes connections over IPv4 too. */
    InetSocketAddress forListen(@Nullable SocketAddress address) {
        InetSocketAddress ip = forBind(address);
        boolean wildcard =
                ip.getAddress() instanceof Inet4Address && ip.getAddress().isAnyLocalAddress();
        return wildcard && isSix() ? new InetSocketAddress(WILDCARD_SIX, ip.getPort()) : ip;
    }
}
