package dev.verbena.support;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.WorkCompletion;
import java.util.function.UnaryOperator;

/** Two datagram queue pairs of the test device, each with a completion queue, a buffer and a path to the other. */
public final class DatagramPair implements AutoCloseable {
    public static final int LEFT_KEY = 0x1234;
    public static final int RIGHT_KEY = 0x5678;

    /** Length of each buffer in bytes. */
    public static final int SIZE = 8192;

    public final VerbsArena arena;
    public final Context context;
    public final ProtectionDomain domain;
    public final Side left;
    public final Side right;

    /** One end. */
    public static final class Side {
        public final CompletionQueue queue;
        public final QueuePair pair;
        public final MemoryRegion buffer;

        private Side(Context context, ProtectionDomain domain, UnaryOperator<QueuePairOptions> options) {
            queue = context.createCompletionQueue(256);
            pair = domain.createQueuePair(options.apply(QueuePair.ud(queue)));
            buffer = domain.register(domain.arena().allocate(SIZE, 4096), LOCAL_WRITE);
        }

        /** Returns a path to this end. */
        public AddressHandle path() {
            return pair.domain().createAddressHandle(pair.pathTo(pair.endpoint()));
        }

        /** Waits for the next completion with any status. */
        public WorkCompletion next() throws InterruptedException {
            return queue.await(Loopback.DEADLINE);
        }

        /** Waits for the next completion, which must be successful. */
        public WorkCompletion done() throws InterruptedException {
            return next().orThrow();
        }
    }

    private DatagramPair(VerbsArena arena, UnaryOperator<QueuePairOptions> options) {
        this.arena = arena;
        context = TestDevice.get().open(arena);
        domain = context.allocateProtectionDomain();
        left = new Side(context, domain, options);
        right = new Side(context, domain, options);
        left.pair.toReady(LEFT_KEY);
        right.pair.toReady(RIGHT_KEY);
    }

    /** Makes both ends ready, with room for inline data and two pieces of memory. */
    public static DatagramPair ready(VerbsArena arena) {
        try {
            return new DatagramPair(
                    arena, options -> options.inlineSize(64).sendSge(2).receiveSge(2));
        } catch (Throwable t) {
            arena.close();
            throw t;
        }
    }

    @Override
    public void close() {
        arena.close();
    }
}
