package dev.verbena.internal.link;

import dev.verbena.verbs.device.Mtu;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The part of a node's options that its carriers need.
 *
 * @param own the address of the node, and then its further ones
 * @param sizes the sizes of each channel
 * @param maxChannels the largest number of channels
 * @param maxWaiting the largest number of peers that have connected and were not accepted
 * @param handshakeTimeout the longest time for a peer's greeting
 * @param alive the time between signs of life
 * @param quality what the packets ask of the network
 * @param completionVector the completion vector of the devices
 * @param isPolled true if threads of the program make progress
 */
public record LinkOptions(
        List<InetSocketAddress> own,
        Sizes sizes,
        int maxChannels,
        int maxWaiting,
        Duration handshakeTimeout,
        Duration alive,
        Quality quality,
        int completionVector,
        boolean isPolled) {
    /**
     * The treatment that the packets of a node ask of the network.
     *
     * @param trafficClass the traffic class; empty for that of the system
     * @param serviceLevel the service level; empty for that of the connection manager
     * @param pathMtu the largest MTU; null for that of the connection manager
     */
    public record Quality(
            OptionalInt trafficClass,
            OptionalInt serviceLevel,
            @Nullable Mtu pathMtu) {
        /** Returns true if a part is chosen that the connection manager has no option for. */
        boolean isChosen() {
            return serviceLevel.isPresent() || pathMtu != null;
        }

        /** Returns the same with another largest MTU. */
        Quality limitedTo(@Nullable Mtu mtu) {
            return new Quality(trafficClass, serviceLevel, mtu);
        }
    }

    /** Returns the address of the node. */
    public InetSocketAddress first() {
        return own.getFirst();
    }

    /** Returns the further addresses. */
    List<InetSocketAddress> further() {
        return own.subList(1, own.size());
    }

    /** Returns the same, with another address of the node. */
    LinkOptions at(InetSocketAddress first) {
        List<InetSocketAddress> all = new ArrayList<>(own);
        all.set(0, first);
        return new LinkOptions(
                List.copyOf(all),
                sizes,
                maxChannels,
                maxWaiting,
                handshakeTimeout,
                alive,
                quality,
                completionVector,
                isPolled);
    }
}
