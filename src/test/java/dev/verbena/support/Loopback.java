package dev.verbena.support;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.REMOTE_ATOMIC;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.WorkCompletion;
import java.time.Duration;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/**
 * Two reliable queue pairs of the test device, connected to each other. Each has a completion queue, and a buffer that
 * is open to the other's reads, writes and atomics.
 */
public final class Loopback implements AutoCloseable {
    /** Long enough for a slow and busy machine. */
    public static final Duration DEADLINE = Duration.ofSeconds(150);

    /** Length of each buffer in bytes. */
    public static final int SIZE = 1 << 16;

    public final VerbsArena arena;
    public final Context context;
    public final ProtectionDomain domain;
    public final Side left;
    public final Side right;

    /** One end of two. */
    public static final class Side {
        public final CompletionQueue queue;
        public final QueuePair pair;
        public final MemoryRegion buffer;

        Side(ProtectionDomain domain, Function<CompletionQueue, QueuePairOptions> options, AccessFlag... access) {
            queue = domain.context().createCompletionQueue(256);
            pair = domain.createQueuePair(options.apply(queue));
            buffer = domain.register(domain.arena().allocate(SIZE, 4096), access);
        }

        /** Waits for the next completion with any status. */
        public WorkCompletion next() throws InterruptedException {
            return queue.await(DEADLINE);
        }

        /** Waits for the next completion, which must be successful. */
        public WorkCompletion done() throws InterruptedException {
            return next().orThrow();
        }
    }

    private Loopback(VerbsArena arena, UnaryOperator<QueuePairOptions> options) {
        this.arena = arena;
        context = TestDevice.get().open(arena);
        domain = context.allocateProtectionDomain();
        left = side(options);
        right = side(options);
    }

    private Side side(UnaryOperator<QueuePairOptions> options) {
        return new Side(
                domain,
                queue -> options.apply(QueuePair.rc(queue)),
                LOCAL_WRITE,
                REMOTE_READ,
                REMOTE_WRITE,
                REMOTE_ATOMIC);
    }

    /** Makes a connected pair in a confined arena, with room for inline data and three pieces of memory. */
    public static Loopback connected() {
        return connected(VerbsArena.ofConfined(), QueuePairAttributes.none());
    }

    public static Loopback connected(VerbsArena arena, QueuePairAttributes how) {
        return connected(
                arena, how, options -> options.inlineSize(64).sendSge(3).receiveSge(3));
    }

    public static Loopback connected(
            VerbsArena arena, QueuePairAttributes how, UnaryOperator<QueuePairOptions> options) {
        Loopback pair = unconnected(arena, options);
        try {
            pair.left.pair.connect(pair.right.pair.endpoint(), how);
            pair.right.pair.connect(pair.left.pair.endpoint(), how);
            return pair;
        } catch (Throwable t) { // such as a driver that has the connection manager only
            pair.close();
            throw t;
        }
    }

    public static Loopback unconnected(VerbsArena arena, UnaryOperator<QueuePairOptions> options) {
        try {
            return new Loopback(arena, options);
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
