package dev.verbena.net;

import dev.verbena.VerbsArena;
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
    private final Engine engine;

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

    NodeDevice(Engine engine, int number, Context context, NodeOptions options, VerbsArena arena) {
        this.engine = engine;
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
        ackTimeout = Carrier.ackTimeout(options, context.device().driver().isEmpty());
    }

    private int capacity(NodeOptions options) {
        int times = options.heals() ? 2 : 1; // one that goes on is twice there for a while
        long each = times * ((long) Sizes.sendDepth(options) + Sizes.receiveDepth(options));
        long all = each * options.maxChannels();
        int most = context.attributes().maxCompletions();
        if (all > most) {
            throw new IllegalArgumentException("number of channels must be at most " + most / each
                    + " on " + context.device().name() + " with window " + options.window() + " and " + options.sends()
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
                engine.checkRoom();
                unhandled = 0;
                handleFetched();
                handled += found;
            }
        } while (found == BATCH);
        return handled;
    }

    /** Handles what the last poll has found. The lock of a channel is taken once for neighbouring completions. */
    private void handleFetched() {
        Session locked = null;
        try {
            while (cursor.next()) {
                long id = cursor.id();
                Rail rail = engine.rails.find(id); // null if it is closed
                Session session = rail == null ? null : rail.session;
                if (session != locked && locked != null) {
                    locked.lock.unlock();
                    locked = null;
                }
                if (session != null && rail != null) {
                    if (locked == null) {
                        session.lock.lock();
                        locked = session;
                    }
                    handleCompletion(rail, (int) id & 0xffff);
                }
            }
        } finally {
            if (locked != null) {
                locked.lock.unlock();
            }
        }
    }

    private void handleCompletion(Rail rail, int place) {
        if (rail.isRetired()) {
            return;
        }
        try {
            if (!cursor.isSuccess()) {
                rail.failed(place, cursor.status(), failure);
            } else if ((place & Rail.RECEIVE) == 0) {
                rail.sent(place);
            } else if (cursor.opcode() == WorkCompletion.Opcode.RECEIVE && !cursor.hasImmediate()) {
                rail.received(place, cursor.byteLength());
            } else if (cursor.opcode() == WorkCompletion.Opcode.RECEIVE && rail.isHalfOpen()) {
                rail.abort(EndReason.OTHER_VERSION, FirstVersion.SPOKEN);
            } else {
                rail.wireBroken("Not a message of a node");
            }
        } catch (RuntimeException | Error failed) {
            rail.fail(failed);
        }
    }
}
