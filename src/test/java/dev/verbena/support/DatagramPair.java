package dev.verbena.support;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;

/** Two datagram queue pairs of the test device, each with a completion queue and a buffer. */
public final class DatagramPair implements AutoCloseable {
    public static final int LEFT_KEY = 0x1234;
    public static final int RIGHT_KEY = 0x5678;

    public final VerbsArena arena;
    public final Context context;
    public final ProtectionDomain domain;
    public final Loopback.Side left;
    public final Loopback.Side right;

    private DatagramPair(VerbsArena arena) {
        this.arena = arena;
        context = TestDevice.get().open(arena);
        domain = context.allocateProtectionDomain();
        left = side(LEFT_KEY);
        right = side(RIGHT_KEY);
    }

    /** Makes an end that is ready, with room for inline data and two pieces of memory. */
    private Loopback.Side side(int key) {
        Loopback.Side side = new Loopback.Side(
                domain, queue -> QueuePair.ud(queue).inlineSize(64).sendSge(2).receiveSge(2), LOCAL_WRITE);
        side.pair.toReady(key);
        return side;
    }

    /** Makes both ends ready. */
    public static DatagramPair ready(VerbsArena arena) {
        try {
            return new DatagramPair(arena);
        } catch (Throwable t) {
            arena.close();
            throw t;
        }
    }

    /** Returns a path to one end, for the other. */
    public static AddressHandle path(Loopback.Side to) {
        return to.pair.domain().createAddressHandle(to.pair.pathTo(to.pair.endpoint()));
    }

    @Override
    public void close() {
        arena.close();
    }
}
