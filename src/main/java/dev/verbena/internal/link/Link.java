package dev.verbena.internal.link;

import dev.verbena.VerbsArena;
import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.internal.wire.Seal;
import dev.verbena.internal.wire.Wire;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The requests of a channel: its memory, and the methods that post. A link begins with memory for the greetings only: that
 * of the messages comes when the peer is admitted. Each request has a place, which the {@link Carrier} gives
 * back when the request has completed. Requests are carried out in order. The channel's lock guards the posting methods.
 *
 * <p>This is a class and no interface, so that calls are direct while a program uses one transport.
 */
public abstract sealed class Link permits RdmaLink, TcpLink {
    static final long CACHE_LINE = 64;

    /** Marks the number of a receive in a request's id. */
    public static final int RECEIVE = 0x8000;

    /** The place of a binding of a memory window in a request's id. */
    public static final int BIND = 0x7ffe;

    /** The place of a message without bytes, and of a sign of life, in a request's id. */
    public static final int CONTROL = 0x7fff;

    /**
     * Memory as the peer sees it. A node with several devices gives it one key for each, because a connection may move to
     * another device; the key of the memory itself is a number that stands for all of them.
     *
     * @param memory the memory
     * @param keys the keys on the devices; none if there is one device
     */
    @SuppressWarnings("ArrayRecordComponent") // is never compared
    public record Shown(RemoteMemory memory, int... keys) {
        /** Returns the number of bytes that describe memory of a node with a number of devices. */
        public static int bytes(int devices) {
            return devices == 1 ? Wire.EXPORT_BYTES : Wire.EXPORT_BYTES + devices * Integer.BYTES;
        }

        public void writeTo(MemorySegment to) {
            memory.writeWideTo(to);
            for (int i = 0; i < keys.length; i++) {
                to.set(Wire.INT, Wire.EXPORT_BYTES + (long) i * Integer.BYTES, keys[i]);
            }
        }

        public byte[] toBytes() {
            byte[] bytes = new byte[Wire.EXPORT_BYTES + keys.length * Integer.BYTES];
            writeTo(MemorySegment.ofArray(bytes));
            return bytes;
        }

        /** Returns a description of as many bytes of the same memory. */
        public Shown ofLength(long length) {
            return new Shown(new RemoteMemory(memory.address(), memory.key(), length), keys);
        }

        public static Shown from(MemorySegment bytes, int devices) {
            int[] keys = new int[devices == 1 ? 0 : devices];
            for (int i = 0; i < keys.length; i++) {
                keys[i] = bytes.get(Wire.INT, Wire.EXPORT_BYTES + (long) i * Integer.BYTES);
            }
            return new Shown(RemoteMemory.fromWide(bytes), keys);
        }

        /** Returns a part of the memory, as the peer's device knows it. */
        public RemoteMemory on(int device, RemoteMemory part) {
            return keys.length == 0 ? part : new RemoteMemory(part.address(), keys[device], part.length());
        }
    }

    /**
     * A key that a peer has got for an export.
     *
     * @param shown returns the memory as the peer sees it
     * @param isPosted true if the key is made by a request, which completes
     * @param end ends the key: no peer can use it afterwards
     */
    public record Key(Supplier<Shown> shown, boolean isPosted, Runnable end) {}

    /** The place of the header in a piece of memory: the message behind it begins a cache line. */
    private static final long HEADER_AT = CACHE_LINE - Wire.HEADER_BYTES;

    /** The distance of the greetings of both sides, and of what follows them. */
    private static final long GREETING_DISTANCE = CACHE_LINE + Wire.MAX_GREETING_BYTES;

    /** The distance of messages without bytes: they have a header, and a tag if they are sealed. */
    private static final long BARE_DISTANCE = Wire.HEADER_BYTES + Seal.BYTES;

    private final MemoryRegion greetings;
    private final int pieces;
    private final long distance;

    /** Memory for messages without bytes, and the same memory with room for their tags. */
    private final LocalMemory[] bare;

    private final LocalMemory[] sealed;

    /** The same memory: a segment that is made when it is used is an object. */
    private final @Nullable MemorySegment[] heads;

    private int nextBare;

    /** The bits by which the ids of all requests tell this link. */
    private long key;

    private @Nullable MemoryRegion region;

    /** The memory of the results of atomics and of numbers to write: 8 bytes for each operation, behind the messages. */
    private long atomics;

    private final @Nullable LocalMemory[] results;

    /**
     * Makes the requests.
     *
     * @param greetings registered memory as large as {@link #greetings(Sizes)} says
     */
    Link(MemoryRegion greetings, Sizes sizes) {
        this.greetings = greetings;
        pieces = sizes.pieces();
        distance = distance(sizes);
        bare = new LocalMemory[sizes.controlSends()];
        sealed = new LocalMemory[sizes.isSecret() ? bare.length : 0];
        heads = new MemorySegment[bare.length];
        for (int i = 0; i < bare.length; i++) {
            bare[i] = bare(i, Wire.HEADER_BYTES);
        }
        for (int i = 0; i < sealed.length; i++) {
            sealed[i] = bare(i, BARE_DISTANCE);
        }
        results = new LocalMemory[sizes.operations()];
    }

    private LocalMemory bare(int index, long size) {
        return greetings.slice(2 * GREETING_DISTANCE + index * BARE_DISTANCE, size);
    }

    /** Returns the number of bytes of the memory for the greetings and for messages without bytes. */
    public static long greetings(Sizes sizes) {
        return 2 * GREETING_DISTANCE + sizes.controlSends() * BARE_DISTANCE;
    }

    private static long distance(Sizes sizes) {
        long lines = ((long) sizes.messageSize() + sizes.room() + CACHE_LINE - 1) / CACHE_LINE;
        return CACHE_LINE + lines * CACHE_LINE;
    }

    /** Allocates the memory of the messages. */
    static MemorySegment allocate(Sizes sizes, VerbsArena arena) {
        long size = distance(sizes) * sizes.pieces() + (long) Long.BYTES * sizes.operations();
        return ArenaLifetime.of(arena).allocateUntouched(size, CACHE_LINE);
    }

    /** Takes the memory of the messages. */
    public final void open(MemoryRegion memory) {
        region = memory;
        atomics = distance * pieces;
    }

    /** Returns true once this link has the memory of messages, and not that of the greetings alone. */
    final boolean isOpen() {
        return region != null;
    }

    private MemoryRegion region() {
        return Objects.requireNonNull(region);
    }

    /** Returns the memory of this side's greeting, with its header. */
    public final LocalMemory greeting(int bytes) {
        return greetings.slice(HEADER_AT, (long) Wire.HEADER_BYTES + bytes);
    }

    /** Returns the memory of the peer's greeting, with its header. */
    public final LocalMemory greetingOfPeer() {
        return greetings.slice(GREETING_DISTANCE + HEADER_AT, Wire.HEADER_BYTES + Wire.MAX_GREETING_BYTES);
    }

    /** Returns the place of the header, and of the tag, of the message that {@link #nextBare} returns next. */
    public final MemorySegment nextHead() {
        MemorySegment known = heads[nextBare];
        if (known == null) {
            known = bare(nextBare, BARE_DISTANCE).segment();
            heads[nextBare] = known;
        }
        return known;
    }

    /**
     * Returns memory for a message without bytes. It is free: there is a place for each that can be under way.
     *
     * @param isSealed true if the message has a tag
     */
    public final LocalMemory nextBare(boolean isSealed) {
        LocalMemory next = (isSealed ? sealed : bare)[nextBare];
        nextBare = (nextBare + 1) % bare.length;
        return next;
    }

    /** Returns a piece of memory for a header, and for a message and its seal of so many bytes. */
    public final LocalMemory piece(int index, long size) {
        return region().slice(index * distance + HEADER_AT, Wire.HEADER_BYTES + size);
    }

    /** Returns the memory of the result of an atomic operation, or of a number to write. */
    public final LocalMemory result(int number) {
        LocalMemory known = results[number];
        if (known == null) {
            known = region().slice(atomics + (long) Long.BYTES * number, Long.BYTES);
            results[number] = known;
        }
        return known;
    }

    public abstract QueuePair pair();

    /** Notes the key of the requests, and the text of the channel, for the flight recorder. */
    public void serves(long keyOfRail, String channel) {
        key = keyOfRail;
    }

    /** Returns the id of a request. */
    final long id(int place) {
        return key | place;
    }

    /** Has the adapter use no memory of the requests any more: all of them end. Over TCP, the end of the connection does that. */
    public void stop() {
        // See RdmaLink.
    }

    /** Posts a message, which begins with its header. */
    public abstract void send(int place, LocalMemory message);

    /**
     * Posts an operation on the peer's memory.
     *
     * @param local this side's memory: of an atomic, that of its {@link #result}
     * @param first the number to add, or the expected one
     * @param second the number that replaces the expected one
     */
    public abstract void post(
            OperationKind kind, int place, LocalMemory local, RemoteMemory remote, long first, long second);

    /** Posts a request that only the peer's adapter answers. */
    public abstract void probe(int place);

    /** Returns memory of the program as requests of this channel can name it. That may register the memory, which takes long. */
    public LocalMemory usable(LocalMemory memory) {
        return memory;
    }

    /** Returns memory of the program, or of the channel, as it is registered for this connection. */
    public MemoryRegion here(MemoryRegion region) {
        return region;
    }

    /** Returns memory of the channel as the peer sees it. */
    public Shown shown(MemoryRegion region) {
        return new Shown(region.remote());
    }

    /** Posts memory for a message of the peer, now or together with more. There is always enough posted for the peer's credits. */
    public abstract void receive(int place, LocalMemory memory);

    /** Notes that all receives are posted, by a thread that usually posts no more. No other thread has posted yet. */
    public void prepared() {
        // Nothing depends on the thread.
    }

    /**
     * Makes a key for the peer. It is valid before all later requests.
     *
     * @param arena the arena of a window
     */
    public abstract Key grant(int place, MemoryRegion region, Set<AccessFlag> access, VerbsArena arena);
}
