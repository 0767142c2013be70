package dev.verbena.cm;

import dev.verbena.internal.Deadline;
import dev.verbena.internal.Errno;
import dev.verbena.internal.RdmaCm;
import dev.verbena.internal.failures.Failures;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The resolution of an id: looks up its device, its route, and the addresses of services. */
final class Resolution {
    /** The kernel measures the time of a resolution itself, and reports the end a little later. */
    private static final Duration GRACE = Duration.ofMillis(500);

    private final CmId id;

    Resolution(CmId id) {
        this.id = id;
    }

    void beginAddress(@Nullable SocketAddress source, SocketAddress destination, Duration timeout) {
        id.call(
                RdmaCm.RESOLVE_ADDR,
                destination,
                errno -> hint(errno, destination),
                scratch -> CmId.values(
                        source == null ? MemorySegment.NULL : SocketAddresses.write(source, scratch),
                        SocketAddresses.write(destination, scratch).address(),
                        milliseconds(timeout)));
    }

    private static String hint(int errno, SocketAddress destination) {
        if (errno != Errno.ENETUNREACH) {
            return "";
        }
        return destination instanceof InetSocketAddress ip
                        && ip.getAddress() != null
                        && ip.getAddress().isMulticastAddress()
                ? "No route of this machine leads to the group: bind the id to an address of a device first, or give "
                        + "resolveAddress the own address to send from"
                : "No route of this machine leads there: 'ip route get' shows the route to an address";
    }

    void address(@Nullable SocketAddress source, SocketAddress destination, Duration timeout)
            throws InterruptedException {
        beginAddress(source, destination, timeout);
        id.events.awaitEnd(
                RdmaCm.RESOLVE_ADDR,
                Deadline.sum(timeout, GRACE),
                errno -> hint(errno, destination),
                CmEvent.Type.ADDRESS_RESOLVED);
    }

    void beginRoute(Duration timeout) {
        id.call(RdmaCm.RESOLVE_ROUTE, id, milliseconds(timeout));
    }

    void route(Duration timeout) throws InterruptedException {
        beginRoute(timeout);
        id.events.awaitEnd(RdmaCm.RESOLVE_ROUTE, Deadline.sum(timeout, GRACE), CmEvent.Type.ROUTE_RESOLVED);
    }

    private static int milliseconds(Duration timeout) {
        return Math.clamp(Deadline.milliseconds(timeout), 1, Integer.MAX_VALUE);
    }

    List<AddressInfo> addressInfo(@Nullable String node, @Nullable String service, AddressInfo hints, Duration timeout)
            throws InterruptedException {
        Objects.requireNonNull(hints, "hints"); // before C looks up anything
        Objects.requireNonNull(timeout, "timeout");
        id.lifetime.checkOpen();
        Failures.require(RdmaCm.RESOLVE_ADDRINFO, id.toString());
        if (node != null) {
            InetAddress.ofLiteral(node);
        }
        id.call(RdmaCm.RESOLVE_ADDRINFO, id + ", " + hints, scratch -> new long[] {
            AddressInfo.text(node, scratch),
            AddressInfo.text(service, scratch),
            hints.write(scratch).address()
        });
        id.events.awaitEnd(RdmaCm.RESOLVE_ADDRINFO, timeout, CmEvent.Type.ADDRESS_INFO_RESOLVED);
        try (Arena memory = Arena.ofConfined()) {
            MemorySegment found = memory.allocate(ValueLayout.JAVA_LONG);
            id.call(RdmaCm.QUERY_ADDRINFO, id, found.address());
            long first = found.get(ValueLayout.JAVA_LONG, 0);
            try {
                return AddressInfo.list(first);
            } finally {
                RdmaCm.FREEADDRINFO.call(first);
            }
        }
    }
}
