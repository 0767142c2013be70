package dev.verbena.internal.link;

import dev.verbena.VerbsArena;
import dev.verbena.internal.wire.EndCode;
import dev.verbena.internal.wire.FirstVersion;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkCompletionException;
import dev.verbena.verbs.access.VerbsAccess;
import java.time.Duration;
import java.util.function.Supplier;

/** A device of a node, with the domain of the node's memory there, and one completion queue for all channels. */
final class NodeDevice {
    private static final int BATCH = 64;

    private final VerbsAccess verbs = VerbsAccess.get();
    private final LinkHost host;

    /** The number of the device, by which the peers know it. */
    final int number;

    final String name;
    final Context context;
    final ProtectionDomain domain;
    final CompletionQueue completions;
    final Duration ackTimeout;
    private final Completions cursor;

    /** The number of completions that a thread has polled whose stack had no room to handle them. */
    private int unhandled;

    private final Supplier<Throwable> failure;

    /** True once the device is gone. */
    volatile boolean removed;

    NodeDevice(LinkHost host, int number, Context context, LinkOptions options, VerbsArena arena) {
        this.host = host;
        this.number = number;
        this.context = context;
        this.name = context.device().name();
        domain = context.allocateProtectionDomain(arena);
        completions = context.createCompletionQueue(
                CompletionQueueOptions.of(capacity(options))
                        .channel(context.createCompletionChannel(arena))
                        .completionVector(options.completionVector()),
                arena);
        cursor = completions.completions(BATCH);
        failure = () -> new WorkCompletionException(cursor.completion());
        ackTimeout =
                Carrier.ackTimeout(options.alive(), context.device().driver().isEmpty());
    }

    private int capacity(LinkOptions options) {
        Sizes sizes = options.sizes();
        int times = sizes.heals() ? 2 : 1; // one that goes on is twice there for a while
        long each = times * ((long) sizes.sendDepth() + sizes.receiveDepth());
        long all = each * options.maxChannels();
        int most = context.attributes().maxCompletions();
        if (all > most) {
            throw new IllegalArgumentException("number of channels must be at most " + most / each
                    + " on " + context.device().name() + " with window " + sizes.window() + " and " + sizes.sends()
                    + " messages under way, got " + options.maxChannels()
                    + ": the device's completion queues have room for " + most + " completions");
        }
        return (int) all;
    }

    /** Lets this thread poll from now on. */
    void takeOver() {
        verbs.takeOver(cursor);
    }

    /** Hands completions to the channels. Returns their number. */
    int handleCompletions() {
        int handled = 0;
        int found;
        do {
            found = unhandled == 0 ? cursor.poll() : unhandled;
            if (found > 0) {
                unhandled = found;
                host.checkRoom();
                unhandled = 0;
                handleFetched();
                handled += found;
            }
        } while (found == BATCH);
        return handled;
    }

    /** Handles what the last poll has found. A lock is taken once for neighbouring completions. */
    private void handleFetched() {
        BiasedLock locked = null;
        try {
            while (cursor.next()) {
                long id = cursor.id();
                LinkOwner owner = host.find(id); // null if it is closed
                BiasedLock lock = owner == null ? null : owner.lock();
                if (lock != locked && locked != null) {
                    locked.unlock();
                    locked = null;
                }
                if (lock != null && owner != null) {
                    if (locked == null) {
                        lock.lock();
                        locked = lock;
                    }
                    handleCompletion(owner, (int) id & 0xffff);
                }
            }
        } finally {
            if (locked != null) {
                locked.unlock();
            }
        }
    }

    private void handleCompletion(LinkOwner owner, int place) {
        if (owner.isRetired()) {
            return;
        }
        try {
            if (!cursor.isSuccess()) {
                owner.failed(place, cursor.status(), failure);
            } else if ((place & Link.RECEIVE) == 0) {
                owner.sent(place);
            } else if (cursor.opcode() == WorkCompletion.Opcode.RECEIVE && !cursor.hasImmediate()) {
                owner.received(place, cursor.byteLength());
            } else if (cursor.opcode() == WorkCompletion.Opcode.RECEIVE && owner.isHalfOpen()) {
                owner.abort(EndCode.OTHER_VERSION, FirstVersion.SPOKEN);
            } else {
                owner.wireBroken("Not a message of a node");
            }
        } catch (RuntimeException | Error failed) {
            owner.fail(failed);
        }
    }
}
