package dev.verbena.internal.link;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.PortSpace;
import dev.verbena.internal.Errno;
import dev.verbena.internal.IpAddresses;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/** Addresses of devices, which this process has taken. */
record DevicePlace(EventChannel events, List<ConnectionId> listeners) {
    /**
     * Takes the addresses of a node. Leaves nothing behind if that fails.
     *
     * @param orTcp true if the node needs no device at its further addresses
     */
    static DevicePlace at(LinkOptions options, boolean orTcp, VerbsArena arena) {
        EventChannel events = EventChannel.create(arena);
        List<ConnectionId> listeners = new ArrayList<>();
        try {
            take(options.first(), events, listeners, arena);
            for (InetSocketAddress further : options.further()) {
                takeFurther(further, events, listeners, orTcp, arena);
            }
            return new DevicePlace(events, List.copyOf(listeners));
        } catch (Throwable t) {
            listeners.forEach(ConnectionId::close);
            events.close();
            throw t;
        }
    }

    private static void take(
            InetSocketAddress own, EventChannel events, List<ConnectionId> listeners, VerbsArena arena) {
        ConnectionId listener = events.createId(PortSpace.TCP, arena);
        listeners.add(listener);
        listener.bind(own);
        checkDevice(listener, own);
    }

    /** Takes another address. With TCP beside it, a node needs no device there. */
    private static void takeFurther(
            InetSocketAddress own, EventChannel events, List<ConnectionId> listeners, boolean orTcp, VerbsArena arena) {
        try {
            take(own, events, listeners, arena);
        } catch (VerbsException refused) {
            boolean isNone = refused.errno() == Errno.ENODEV || refused.errno() == Errno.EADDRNOTAVAIL;
            if (!orTcp || !isNone) {
                throw refused;
            }
            listeners.removeLast().close();
        }
    }

    List<InetSocketAddress> addresses() {
        return listeners.stream()
                .map(listener -> listener.localAddress().orElseThrow())
                .toList();
    }

    /** Throws if no device has the address. The kernel binds ids to loopback addresses, which belong to no device. */
    private static void checkDevice(ConnectionId listener, InetSocketAddress own) {
        try {
            listener.context();
        } catch (IllegalStateException none) {
            throw new VerbsException(
                    "rdma_bind_addr",
                    IpAddresses.text(own),
                    Errno.ENODEV,
                    "Take an address of a device, or Transport.AUTO");
        }
    }
}
