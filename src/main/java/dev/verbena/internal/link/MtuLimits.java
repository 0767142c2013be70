package dev.verbena.internal.link;

import dev.verbena.cm.PrivateData;
import dev.verbena.verbs.device.Mtu;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The limits of a packet's payload ({@code NodeOptions.pathMtu}) of a node and of the peers that it connects to. Both ends of
 * a connection need the same. A node that has a limit tells it in the private data of its request. A node with a smaller
 * limit, or one that was told none, refuses the request and tells its own limit, and the peer connects again with that.
 *
 * <p>All threads may use an instance.
 */
final class MtuLimits {
    /** The most peers to remember. */
    private static final int PEERS = 1000;

    private final @Nullable Mtu own;
    private final Map<InetSocketAddress, Mtu> peers = new ConcurrentHashMap<>();

    MtuLimits(@Nullable Mtu own) {
        this.own = own;
    }

    /** Returns the limit for packets to and from a peer that this node connects to; null if there is none. */
    @Nullable
    Mtu of(InetSocketAddress peer) {
        Mtu told = peers.get(peer);
        return told != null && isBelow(told, own) ? told : own;
    }

    /** Returns the limit that this node answers a request with: its own, unless the peer keeps to it; else null. */
    @Nullable
    Mtu refusal(@Nullable Mtu ofPeer) {
        return own != null && isBelow(own, ofPeer) ? own : null;
    }

    /**
     * Notes the limit with which a peer has refused a connection.
     *
     * @param with the limit of that connection; null if it had none
     * @return false if the peer has told no limit that is smaller
     */
    boolean learn(InetSocketAddress peer, @Nullable Mtu with, PrivateData data) {
        Mtu told = ConnectData.limit(data);
        if (told == null || !isBelow(told, with)) {
            return false;
        }
        if (peers.size() >= PEERS) {
            peers.clear(); // they tell it again
        }
        peers.put(peer, told);
        return true;
    }

    private static boolean isBelow(Mtu limit, @Nullable Mtu other) {
        return other == null || limit.compareTo(other) < 0;
    }
}
