package dev.verbena.internal.link;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** The paths that a channel can take from the addresses of this node to those of its peer. The first one is preferred. */
public final class Ways {
    /**
     * A path.
     *
     * @param own the number of this node's address
     * @param peer the address of the peer
     */
    public record Way(int own, InetSocketAddress peer) {}

    private final List<Way> all = new ArrayList<>();

    /**
     * Finds the paths. Those between addresses of equal numbers come first: they are probably of one network.
     *
     * @param own the addresses of this node
     * @param peer the address that the program has connected to
     * @param further the addresses of the peer, as it tells them
     */
    public Ways(List<InetSocketAddress> own, InetSocketAddress peer, List<InetSocketAddress> further) {
        List<InetSocketAddress> peers = new ArrayList<>(List.of(peer));
        further.stream()
                .filter(address -> !address.equals(peer) && isOfPeer(address, peer.getAddress()))
                .forEach(peers::add);
        for (int i = 0; i < own.size(); i++) {
            for (InetSocketAddress to : peers) {
                if (to.getAddress().getClass() == own.get(i).getAddress().getClass()) {
                    all.add(new Way(i, to));
                }
            }
        }
        all.sort(Comparator.comparingInt((Way way) -> Math.abs(way.own - peers.indexOf(way.peer)))
                .thenComparingInt(Way::own));
    }

    /** Returns true if an address may be that of a peer: none of this machine's own, unless the peer is on this machine. */
    private static boolean isOfPeer(InetSocketAddress address, InetAddress peer) {
        InetAddress host = address.getAddress();
        return address.getPort() != 0
                && !host.isAnyLocalAddress()
                && !host.isMulticastAddress()
                && (!host.isLoopbackAddress() || peer.isLoopbackAddress());
    }

    public Way preferred() {
        return all.getFirst();
    }

    public int count() {
        return all.size();
    }

    /** Returns the path behind another one: after the last one, the first. */
    public Way after(Way way) {
        return all.get((all.indexOf(way) + 1) % all.size());
    }

    /** Returns the path before another one: before the first one, the last. */
    public Way before(Way way) {
        return all.get((all.indexOf(way) + all.size() - 1) % all.size());
    }
}
