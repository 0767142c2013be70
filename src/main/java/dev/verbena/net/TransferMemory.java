package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.internal.link.Carrier;
import dev.verbena.internal.link.Registrar;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Memory that is registered for one transfer. It is that of the program or a mapped file. Where the adapter can't use that,
 * data to send is copied before, and received data piece by piece.
 */
final class TransferMemory implements Engine.Transferring {
    /** The largest number of pieces under way. Two keep the peer's adapter busy. */
    static final int PIECES = 2;

    /** The largest piece of data that is copied. */
    private static final long COPIED = 256 << 10;

    private static final long PAGE = 4096;
    private static final Set<AccessFlag> SENDING = Set.of(AccessFlag.REMOTE_READ);
    private static final Set<AccessFlag> RECEIVING = Set.of(AccessFlag.LOCAL_WRITE);

    /** The place that pieces are copied to. */
    interface Sink {
        void put(long from, MemorySegment data) throws IOException;
    }

    /** Registered memory. With a sink, it is memory for the pieces under way. */
    private record Part(MemoryRegion region, @Nullable Sink sink) {}

    private interface Maker<X extends Exception> {
        Part make(VerbsArena arena) throws X;
    }

    private final Engine engine;
    private final Carrier.Connection on;
    private final VerbsArena arena = VerbsArena.ofShared();
    private final Part part;
    private boolean ended;

    private <X extends Exception> TransferMemory(Engine engine, Carrier.Connection on, Maker<X> maker) throws X {
        this.engine = engine;
        this.on = on;
        on.beginTransfer();
        try {
            engine.beginTransfer(this);
            part = maker.make(arena);
        } catch (Throwable t) {
            close();
            throw t;
        }
    }

    static TransferMemory sending(Engine engine, Carrier.Connection on, MemorySegment data) {
        return new TransferMemory(engine, on, arena -> {
            MemoryRegion direct = data.isNative() ? FileMemory.tryRegister(on, data, sending(engine, on), arena) : null;
            if (direct == null) {
                MemorySegment copy = arena.allocate(data.byteSize(), PAGE).copyFrom(data);
                direct = on.register(copy, sending(engine, on), arena);
            }
            return new Part(direct, null);
        });
    }

    static TransferMemory sending(Engine engine, Carrier.Connection on, FileMemory file) throws IOException {
        return new TransferMemory(engine, on, (Maker<IOException>)
                arena -> new Part(file.readable(on, sending(engine, on), arena), null));
    }

    static TransferMemory receiving(Engine engine, Carrier.Connection on, MemorySegment target) {
        return new TransferMemory(engine, on, arena -> {
            MemoryRegion direct = target.isNative() ? FileMemory.tryRegister(on, target, RECEIVING, arena) : null;
            return direct != null
                    ? new Part(direct, null)
                    : pieces(
                            on,
                            target.byteSize(),
                            (from, data) ->
                                    target.asSlice(from, data.byteSize()).copyFrom(data),
                            arena);
        });
    }

    static TransferMemory receiving(Engine engine, Carrier.Connection on, FileMemory file) {
        return new TransferMemory(engine, on, arena -> {
            MemoryRegion direct = file.tryWritable(on, RECEIVING, arena);
            return direct != null ? new Part(direct, null) : pieces(on, file.size(), file::write, arena);
        });
    }

    /** Returns the rights for data that the peer reads. With protection, only its own key gives them. */
    private static Set<AccessFlag> sending(Engine engine, Carrier.Connection on) {
        return engine.options.protection() == Protection.NONE || on.isApart()
                ? SENDING
                : on.carrier.rightsToExport(SENDING);
    }

    private static Part pieces(Registrar on, long size, Sink sink, VerbsArena arena) {
        MemorySegment memory = arena.allocate(Math.min(size, COPIED) * PIECES, PAGE);
        return new Part(on.register(memory, RECEIVING, arena), sink);
    }

    VerbsArena arena() {
        return arena;
    }

    MemoryRegion region() {
        return part.region();
    }

    /** Returns the largest size of a piece. */
    long longest() {
        return part.sink() == null ? Pace.LARGEST : COPIED;
    }

    /**
     * Returns the memory to receive a piece in.
     *
     * @param index the number of pieces before, of which at most {@link #PIECES} - 1 are under way
     */
    LocalMemory piece(long index, long from, long size) {
        return part.region().slice(offset(index, from), size);
    }

    private long offset(long index, long from) {
        return part.sink() == null ? from : part.region().length() / PIECES * (index % PIECES);
    }

    /** Takes a piece that has come. */
    void arrived(long index, long from, long size) throws IOException {
        Sink sink = part.sink();
        if (sink != null) {
            sink.put(from, part.region().segment().asSlice(offset(index, from), size));
        }
    }

    @Override
    public void close() {
        if (ended) {
            return;
        }
        ended = true;
        try {
            arena.close();
        } catch (VerbsException refused) { // the program can't free it
            engine.freeLater(this);
            throw refused;
        } finally {
            on.endTransfer();
            engine.endTransfer(this);
        }
    }

    /** Frees memory that C has refused to free. Returns false if it still does. */
    boolean isFreed() {
        try {
            ArenaLifetime.of(arena).closeUnlessClosed();
        } catch (VerbsException | IllegalStateException refused) {
            return false;
        }
        on.freeUnused();
        return true;
    }
}
