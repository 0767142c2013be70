package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.cm.ConnectionId;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemorySlice;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.ReceiveBatch;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendBatch;
import dev.verbena.verbs.access.VerbsAccess;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The verbs objects of a channel: queue pair, memory and batches, all in an arena of the channel's own. The channel's lock
 * guards the posting methods.
 */
final class Link {
    private static final long CACHE_LINE = 64;
    private static final RemoteMemory NOWHERE = new RemoteMemory(0, 0, 0);

    private final VerbsAccess verbs = VerbsAccess.get();
    private final QueuePair pair;
    private final MemoryRegion region;
    private final SendBatch sends;
    private final ReceiveBatch receives;
    private final long distance;

    /** The memory of the results of atomics: 8 bytes for each operation, behind the messages. */
    private final long atomics;

    private final @Nullable MemorySlice[] results;

    /**
     * Makes the objects.
     *
     * @param id the id to make the queue pair on
     * @param messages the number of pieces of memory
     */
    Link(
            ConnectionId id,
            ProtectionDomain domain,
            CompletionQueue completions,
            NodeOptions options,
            int messages,
            VerbsArena arena) {
        distance = (options.messageSize() + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
        atomics = distance * messages;
        results = new MemorySlice[options.operations()];
        region = domain.register(
                arena.allocate(atomics + (long) Long.BYTES * results.length, CACHE_LINE),
                List.of(AccessFlag.LOCAL_WRITE),
                arena);
        pair = id.createQueuePair(
                domain,
                QueuePair.rc(completions)
                        .sendDepth(Messages.sendDepth(options))
                        .receiveDepth(Messages.receiveDepth(options)),
                arena);
        sends = pair.sendBatch(1);
        receives = pair.receiveBatch(1);
    }

    QueuePair pair() {
        return pair;
    }

    /** Returns a piece of memory. */
    MemorySlice piece(int index, long size) {
        return region.slice(index * distance, size);
    }

    void send(long id, MemorySlice data, int immediate) {
        verbs.takeOver(sends);
        sends.clear().send(id, data).immediate(immediate).post();
    }

    void send(long id, int immediate) {
        verbs.takeOver(sends);
        sends.clear().send(id).immediate(immediate).post();
    }

    void read(long id, LocalMemory into, RemoteMemory from) {
        verbs.takeOver(sends);
        sends.clear().read(id, into, from).post();
    }

    void write(long id, LocalMemory data, RemoteMemory to) {
        verbs.takeOver(sends);
        sends.clear().write(id, data, to).post();
    }

    void fetchAndAdd(long id, int number, RemoteMemory at, long value) {
        verbs.takeOver(sends);
        sends.clear().fetchAndAdd(id, result(number), at, value).post();
    }

    void compareAndSwap(long id, int number, RemoteMemory at, long expected, long value) {
        verbs.takeOver(sends);
        sends.clear().compareAndSwap(id, result(number), at, expected, value).post();
    }

    private MemorySlice result(int number) {
        MemorySlice known = results[number];
        if (known == null) {
            known = region.slice(atomics + (long) Long.BYTES * number, Long.BYTES);
            results[number] = known;
        }
        return known;
    }

    /** Returns the value that an atomic operation has found. */
    long fetched(int number) {
        return result(number).segment().get(ValueLayout.JAVA_LONG, 0);
    }

    void bind(long id, MemoryWindow window, MemoryRegion memory, Set<AccessFlag> access) {
        verbs.takeOver(sends);
        sends.clear().bind(id, window, memory, access).post();
    }

    void receive(long id, MemorySlice memory) {
        verbs.takeOver(receives);
        receives.clear().receive(id, memory).post();
    }

    /** Posts a write of no bytes, which only the peer's adapter answers. */
    void probe(long id) {
        verbs.takeOver(sends);
        sends.clear().writeInline(id, MemorySegment.NULL, NOWHERE).post();
    }
}
