package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import java.lang.foreign.MemorySegment;
import java.util.List;

/** Memory that is registered for one transfer. Data of an array is copied. */
final class TransferMemory implements AutoCloseable {
    private static final long PAGE = 4096;

    private final Engine engine;
    private final VerbsArena arena = VerbsArena.ofShared();
    private final boolean copied;
    private final MemoryRegion region;

    private TransferMemory(Engine engine, MemorySegment memory, AccessFlag access, boolean copyNow) {
        this.engine = engine;
        engine.beginTransfer();
        try {
            copied = !memory.isNative();
            MemorySegment used = copied ? arena.allocate(memory.byteSize(), PAGE) : memory;
            if (copied && copyNow) {
                used.copyFrom(memory);
            }
            region = engine.domain().register(used, List.of(access), arena);
        } catch (Throwable t) {
            close();
            throw t;
        }
    }

    static TransferMemory sending(Engine engine, MemorySegment data, AccessFlag access) {
        return new TransferMemory(engine, data, access, true);
    }

    static TransferMemory receiving(Engine engine, MemorySegment target, AccessFlag access) {
        if (target.isReadOnly()) {
            throw new IllegalArgumentException("target must not be read-only");
        }
        return new TransferMemory(engine, target, access, false);
    }

    MemoryRegion region() {
        return region;
    }

    /** Copies what has come, if the target is an array. */
    void copyTo(MemorySegment target) {
        if (copied) {
            target.copyFrom(region.segment());
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
