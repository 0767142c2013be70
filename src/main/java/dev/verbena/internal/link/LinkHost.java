package dev.verbena.internal.link;

import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The node of a carrier. */
public interface LinkHost {
    /** Starts a thread, which the end of the node interrupts. */
    void startThread(String job, Runnable work);

    /** Lets a thread do something that takes long. It does one after the other. If that throws, the node can't go on. */
    void runApart(Runnable work);

    /** Returns true while this node is being closed. Peers that come are then turned away without a reason, as later. */
    boolean isClosing();

    /** Returns true once the threads of the node are to end. */
    boolean isClosed();

    /** Notes an interrupt of a thread of the node, which goes on unless the node is being closed. */
    void interrupted();

    /** Notes that the node can't go on. */
    void fail(Throwable why);

    /** Notes the failure of a thread of the node, which goes on after a pause: it tells others the end. */
    void failed(Throwable why);

    /** Notes that all devices of the node were removed. */
    void deviceRemoved();

    /** Makes sure that a thread which the program's code runs in has room to handle what it has taken, before it does. */
    void checkRoom();

    /** Returns the owner of the connection of a request's id; null if it is closed. */
    @Nullable
    LinkOwner find(long id);

    /** Counts a peer that has connected, and has not been admitted yet. */
    void comes();

    /** Notes that a peer that was counted by {@link #comes} is admitted, or has left. */
    void hasCome();

    /**
     * Makes an owner for the connection of a peer; null if there is no room for one.
     *
     * @param claims true if the peer says that it goes on over another connection
     * @param name the name by which it goes on, if that is known already; else null
     */
    @Nullable
    LinkOwner admit(InetSocketAddress peer, boolean claims, @Nullable UUID name);

    /**
     * Answers a peer that has connected and greeted. One that is refused by its greeting has cost no owner.
     *
     * @param over the carrier of the connection
     */
    Admission admit(Carrier over, InetSocketAddress peer, MemorySegment greeting);

    /** Returns the connection of a name that a peer goes on with; null if there is none. */
    Carrier.@Nullable Connection claimed(@Nullable UUID name);

    /** Returns the first of those that have the most frequent address; null if there is none. */
    static <T> @Nullable T oldestOfMost(Iterable<T> oldestFirst, Function<T, InetAddress> address) {
        Map<InetAddress, Integer> counts = new HashMap<>();
        int most = 0;
        for (T each : oldestFirst) {
            most = Math.max(most, counts.merge(address.apply(each), 1, Integer::sum));
        }
        for (T each : oldestFirst) {
            if (counts.getOrDefault(address.apply(each), 0) == most) {
                return each;
            }
        }
        return null;
    }
}
