package dev.verbena.net;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The peers that have connected to a node, until its program accepts them. One that has left meanwhile keeps nobody out. */
final class Arrivals {
    private final Engine engine;

    /** The channels of peers that have not greeted yet. */
    private final Set<ChannelCore> greeting = ConcurrentHashMap.newKeySet();

    /** The channels of peers that have, in their order. */
    private final ConcurrentLinkedQueue<ChannelCore> greeted = new ConcurrentLinkedQueue<>();

    /** The number of both. */
    private final AtomicInteger waiting = new AtomicInteger();

    /** The number of peers that have connected and are no channels yet. */
    private final AtomicInteger visitors = new AtomicInteger();

    Arrivals(Engine engine) {
        this.engine = engine;
    }

    /** Counts a peer that has connected, and is no channel yet. */
    void comes() {
        visitors.incrementAndGet();
    }

    /** Notes that a peer that was counted by {@link #comes} becomes a channel, or has left. */
    void hasCome() {
        visitors.decrementAndGet();
    }

    /** Returns the number of peers that have connected and were not accepted. */
    int count() {
        return waiting.get() + visitors.get();
    }

    /**
     * Makes a channel for a peer that connects. If there are as many as may be, one gives way: the oldest one whose peer has
     * left or was refused, or else the oldest one whose peer has not greeted. Returns null if there is none.
     */
    @Nullable
    ChannelCore admit(InetSocketAddress peer) {
        ChannelCore core = enter(peer);
        while (core == null && makesRoom(engine.hasRoomOf(peer.getAddress()) ? null : peer.getAddress())) {
            core = enter(peer);
        }
        return core;
    }

    private @Nullable ChannelCore enter(InetSocketAddress peer) {
        // connections of both transports may come at once
        try (var _ = engine.table.held()) {
            boolean hasRoom = waiting.get() < engine.options.maxWaiting() && engine.hasRoomOf(peer.getAddress());
            ChannelCore core = hasRoom ? engine.enter(peer, true) : null;
            if (core != null) {
                try {
                    greeting.add(core);
                } catch (Throwable shortage) {
                    engine.giveUp(core);
                    throw shortage;
                }
                waiting.incrementAndGet();
            }
            return core;
        }
    }

    /** Has a channel give way, of one address or of any. Returns false if there is none. */
    private boolean makesRoom(@Nullable InetAddress of) {
        for (ChannelCore core : greeted) {
            if (core.state().hasEnded() && isOf(of, core)) {
                forget(core);
                return true;
            }
        }
        ChannelCore oldest = leastWelcome(of);
        if (oldest == null) {
            return false;
        }
        oldest.giveWay();
        if (oldest.state().hasEnded() && greeting.remove(oldest)) { // else it has greeted meanwhile
            close(oldest);
        }
        return true;
    }

    private static boolean isOf(@Nullable InetAddress address, ChannelCore core) {
        return address == null || core.peer.getAddress().equals(address);
    }

    /**
     * Returns the oldest channel whose peer was refused or has left; or else the oldest one that has no greeting, of one address
     * or of the one that has the most.
     */
    private @Nullable ChannelCore leastWelcome(@Nullable InetAddress of) {
        List<ChannelCore> all = new ArrayList<>(greeting);
        all.removeIf(core -> !core.canGiveWay() || !isOf(of, core));
        all.sort((one, other) -> Long.signum(one.rail.begun - other.rail.begun));
        for (ChannelCore core : all) {
            if (core.state().hasEnded()) {
                return core;
            }
        }
        return oldestOfMost(all, core -> core.peer.getAddress());
    }

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

    /** Notes that a channel is open. Returns true if the program has to accept it. */
    boolean opened(ChannelCore core) {
        return greeting.remove(core) && greeted.add(core);
    }

    /** Returns true for a channel that the program has not accepted. */
    boolean has(ChannelCore core) {
        return greeting.contains(core) || greeted.contains(core);
    }

    /** Takes the channel that has waited longest, without those of peers that came and went; null if there is none. */
    @Nullable
    ChannelCore next() {
        if (greeted.isEmpty()) {
            return null; // a program that polls makes no iterator
        }
        for (ChannelCore core : greeted) {
            if (!hasLeftNothing(core) && greeted.remove(core)) {
                waiting.decrementAndGet();
                return core;
            }
        }
        return null;
    }

    /** Returns true if the peer has left, and no message of it is there to receive: none comes after the end. */
    private static boolean hasLeftNothing(ChannelCore core) {
        return core.state().hasEnded() && core.messages.arrivedCount() == 0;
    }

    /** Closes the channels that have ended, unless the program has to receive the last messages. */
    void bury() {
        for (ChannelCore core : List.copyOf(greeting)) {
            if (core.cause() != null && engine.buried(core) && greeting.remove(core)) {
                waiting.decrementAndGet();
            }
        }
        for (ChannelCore core : greeted) {
            if (hasLeftNothing(core)) {
                forget(core);
            }
        }
    }

    /** Closes the channel of a peer that has left, unless the program accepts it just now. */
    private void forget(ChannelCore core) {
        if (greeted.remove(core)) {
            close(core);
        }
    }

    private void close(ChannelCore core) {
        waiting.decrementAndGet();
        if (!engine.buried(core)) {
            engine.bury(core);
        }
    }
}
