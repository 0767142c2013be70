package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Memory that is registered for one transfer. It is that of the program or a mapped file. Where the adapter can't use that,
 * data to send is copied before, and received data piece by piece.
 */
final class TransferMemory implements AutoCloseable {
    /** The largest number of pieces under way. Two keep the peer's adapter busy. */
    static final int PIECES = 2;

    /** The largest piece of data that is copied. */
    private static final long COPIED = 256 << 10;

    private static final long PAGE = 4096;
    private static final List<AccessFlag> SENDING = List.of(AccessFlag.REMOTE_READ);
    private static final List<AccessFlag> RECEIVING = List.of(AccessFlag.LOCAL_WRITE);

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
    private final VerbsArena arena = VerbsArena.ofShared();
    private final Part part;

    private <X extends Exception> TransferMemory(Engine engine, Maker<X> maker) throws X {
        this.engine = engine;
        engine.beginTransfer();
        try {
            part = maker.make(arena);
        } catch (Throwable t) {
            close();
            throw t;
        }
    }

    static TransferMemory sending(Engine engine, Carrier carrier, MemorySegment data) {
        return new TransferMemory(engine, arena -> {
            MemoryRegion direct =
                    data.isNative() ? FileMemory.tryRegister(carrier, data, sending(engine, carrier), arena) : null;
            if (direct == null) {
                MemorySegment copy = arena.allocate(data.byteSize(), PAGE).copyFrom(data);
                direct = carrier.register(copy, sending(engine, carrier), arena);
            }
            return new Part(direct, null);
        });
    }

    static TransferMemory sending(Engine engine, Carrier carrier, FileMemory file) throws IOException {
        return new TransferMemory(engine, (Maker<IOException>)
                arena -> new Part(file.readable(carrier, sending(engine, carrier), arena), null));
    }

    static TransferMemory receiving(Engine engine, Carrier carrier, MemorySegment target) {
        return new TransferMemory(engine, arena -> {
            MemoryRegion direct = target.isNative() ? FileMemory.tryRegister(carrier, target, RECEIVING, arena) : null;
            return direct != null
                    ? new Part(direct, null)
                    : pieces(
                            carrier,
                            target.byteSize(),
                            (from, data) ->
                                    target.asSlice(from, data.byteSize()).copyFrom(data),
                            arena);
        });
    }

    static TransferMemory receiving(Engine engine, Carrier carrier, FileMemory file) {
        return new TransferMemory(engine, arena -> {
            MemoryRegion direct = file.tryWritable(carrier, RECEIVING, arena);
            return direct != null ? new Part(direct, null) : pieces(carrier, file.size(), file::write, arena);
        });
    }

    /** Returns the rights for data that the peer reads. With protection, only its own key gives them. */
    private static List<AccessFlag> sending(Engine engine, Carrier carrier) {
        return engine.options.protection() == Protection.NONE ? SENDING : Exports.access(carrier);
    }

    private static Part pieces(Carrier carrier, long size, Sink sink, VerbsArena arena) {
        MemorySegment memory = arena.allocate(Math.min(size, COPIED) * PIECES, PAGE);
        return new Part(carrier.register(memory, RECEIVING, arena), sink);
    }

    /**
     * Allocates memory for pieces that were sealed.
     *
     * @param sending true if the peer reads them
     */
    static TransferMemory staging(Engine engine, Carrier carrier, long size, boolean sending) {
        return new TransferMemory(
                engine,
                arena -> new Part(
                        carrier.register(arena.allocate(size, PAGE), sending ? SENDING : RECEIVING, arena), null));
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
        try {
            arena.close();
        } finally {
            engine.endTransfer();
        }
    }
}
