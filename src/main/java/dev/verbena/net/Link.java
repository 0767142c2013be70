package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The requests of a channel: its memory, and the methods that post. A link begins with memory for the greetings only: that
 * of the messages comes when the peer is admitted. Each request has an id, which the {@link Carrier} gives
 * back when the request has completed. Requests are carried out in order. The channel's lock guards the posting methods.
 *
 * <p>This is a class and no interface, so that calls are direct while a program uses one transport.
 */
abstract sealed class Link permits RdmaLink, TcpLink {
    static final long CACHE_LINE = 64;

    /**
     * A key that a peer has got for an export.
     *
     * @param remote returns the memory as the peer sees it
     * @param isPosted true if the key is made by a request, which completes
     * @param end ends the key: no peer can use it afterwards
     */
    record Key(Supplier<RemoteMemory> remote, boolean isPosted, Runnable end) {}

    /** The distance of the greetings of both sides, and of what follows them. */
    private static final long GREETING_DISTANCE = Wire.MAX_GREETING_BYTES + CACHE_LINE;

    /** The number of bytes of that memory without a secret. */
    static final long GREETINGS = 2 * GREETING_DISTANCE + CACHE_LINE;

    /** The distance of sealed messages without bytes: they have a tag, and on iWARP a number behind it. */
    private static final long SEALED_DISTANCE = 32;

    private final MemoryRegion greetings;
    private final long distance;
    private final LocalMemory[] sealed;
    private int nextSealed;
    private @Nullable MemoryRegion region;

    /** The memory of the results of atomics: 8 bytes for each operation, behind the messages. */
    private long atomics;

    private final @Nullable LocalMemory[] results;

    /**
     * Makes the requests.
     *
     * @param greetings registered memory as large as {@link #greetings(NodeOptions)} says
     * @param trailer the number of bytes behind each message that the link itself needs
     */
    Link(MemoryRegion greetings, NodeOptions options, int trailer) {
        this.greetings = greetings;
        distance = distance(options, trailer);
        sealed = new LocalMemory[sealedMessages(options)];
        for (int i = 0; i < sealed.length; i++) {
            sealed[i] = own(CACHE_LINE + i * SEALED_DISTANCE, Seal.BYTES);
        }
        results = new LocalMemory[options.operations()];
    }

    /** Returns the number of bytes of the memory for the greetings, and of what a link itself needs. */
    static long greetings(NodeOptions options) {
        return GREETINGS + sealedMessages(options) * SEALED_DISTANCE;
    }

    private static int sealedMessages(NodeOptions options) {
        return options.protection() == Protection.NONE ? 0 : ChannelCore.controlSends(options);
    }

    private static long distance(NodeOptions options, int trailer) {
        return ((long) options.messageSize() + options.room() + trailer + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    }

    /** Allocates the memory of a number of messages. */
    static MemorySegment allocate(NodeOptions options, int messages, int trailer, VerbsArena arena) {
        long size = distance(options, trailer) * messages + (long) Long.BYTES * options.operations();
        return ArenaLifetime.of(arena).allocateUntouched(size, CACHE_LINE);
    }

    /** Takes the memory of the messages. */
    final void open(MemoryRegion memory, int messages) {
        region = memory;
        atomics = distance * messages;
    }

    private MemoryRegion region() {
        return Objects.requireNonNull(region);
    }

    /** Returns the memory of this side's greeting. */
    final LocalMemory greeting(int bytes) {
        return greetings.slice(0, bytes);
    }

    /** Returns memory for a sealed message without bytes. It is free: there is one for each that can be under way. */
    final LocalMemory nextSealed() {
        LocalMemory next = sealed[nextSealed];
        nextSealed = (nextSealed + 1) % sealed.length;
        return next;
    }

    /** Returns the memory of the peer's greeting. */
    final LocalMemory greetingOfPeer() {
        return greetings.slice(GREETING_DISTANCE, Wire.MAX_GREETING_BYTES);
    }

    /** Returns memory that the link itself needs. */
    final LocalMemory own(long offset, long size) {
        return greetings.slice(2 * GREETING_DISTANCE + offset, size);
    }

    /** Returns the memory of a greeting with bytes behind it; null for another piece of memory. */
    final @Nullable LocalMemory greetingWith(int trailer, LocalMemory memory) {
        return memory.region() == greetings
                ? greetings.slice(memory.address() - greetings.address(), memory.length() + trailer)
                : null;
    }

    /** Returns a piece of memory. */
    final LocalMemory piece(int index, long size) {
        return region().slice(index * distance, size);
    }

    /** Returns the index of the piece that memory of this link begins with. */
    final int index(LocalMemory memory) {
        return (int) ((memory.address() - region().address()) / distance);
    }

    /** Returns the memory of the result of an atomic operation. */
    final LocalMemory result(int number) {
        LocalMemory known = results[number];
        if (known == null) {
            known = region().slice(atomics + (long) Long.BYTES * number, Long.BYTES);
            results[number] = known;
        }
        return known;
    }

    /** Returns the value that an atomic operation has found. */
    final long fetched(int number) {
        return result(number).segment().get(ValueLayout.JAVA_LONG, 0);
    }

    abstract QueuePair pair();

    /** Notes the text of the channel that this link serves, for the flight recorder. Over TCP no device fails. */
    void serves(String channel) {
        // See RdmaLink.
    }

    /** Posts a message. */
    abstract void send(long id, LocalMemory data, int immediate);

    /** Posts a message without bytes. */
    abstract void send(long id, int immediate);

    /**
     * Posts an operation on the peer's memory.
     *
     * @param local this side's memory: of an atomic, that of its {@link #result}
     * @param first the number to add, or the expected one
     * @param second the number that replaces the expected one
     */
    abstract void post(Operations.Kind kind, long id, LocalMemory local, RemoteMemory remote, long first, long second);

    /** Posts a request that only the peer's adapter answers. */
    abstract void probe(long id);

    /** Returns memory of the program as requests of this channel can name it. That may register the memory, which takes long. */
    LocalMemory usable(LocalMemory memory) {
        return memory;
    }

    /** Posts memory for a message of the peer. */
    abstract void receive(long id, LocalMemory memory);

    /** Notes that all receives are posted, by a thread that usually posts no more. No other thread has posted yet. */
    void prepared() {
        // Nothing depends on the thread.
    }

    /** Makes a key of an export for the peer. It is valid before all later requests. */
    abstract Key grant(long id, Export export);
}
