package dev.verbena.support;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.address.GidEntry;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;

/** The IP addresses of the test device. */
public final class CmAddress {
    private CmAddress() {}

    /** Returns the IPv4 address: VERBENA_ADDRESS, or else that of a GID (the GIDs of iWARP contain none). */
    public static InetSocketAddress four(int port) {
        String given = System.getenv("VERBENA_ADDRESS");
        if (given != null) {
            return new InetSocketAddress(given, port);
        }
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            return new InetSocketAddress(
                    find(TestDevice.get().open(arena), true).gid().toInetAddress(), port);
        }
    }

    /** Returns the link-local IPv6 address with its scope. */
    public static InetSocketAddress six(int port) {
        if (TestDevice.isIwarp()) {
            return new InetSocketAddress(linkLocalBeside(four(0).getAddress()), port);
        }
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            GidEntry entry = find(TestDevice.get().open(arena), false);
            InetAddress address = Inet6Address.getByAddress(
                    null, entry.gid().toBytes(), NetworkInterface.getByName(entry.networkDevice()));
            return new InetSocketAddress(address, port);
        } catch (UnknownHostException | SocketException e) {
            throw new AssertionError(e);
        }
    }

    private static InetAddress linkLocalBeside(InetAddress address) {
        try {
            return NetworkInterface.getByInetAddress(address)
                    .inetAddresses()
                    .filter(each -> each instanceof Inet6Address six && six.isLinkLocalAddress())
                    .findFirst()
                    .orElseThrow();
        } catch (SocketException e) {
            throw new AssertionError(e);
        }
    }

    private static GidEntry find(Context context, boolean four) {
        return context.gids().stream()
                .filter(entry -> four ? entry.gid().isIpv4Mapped() : entry.gid().isLinkLocal())
                .findFirst()
                .orElseThrow();
    }
}
