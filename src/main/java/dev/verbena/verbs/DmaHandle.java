package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.lifetime.ObjectLifetime;
import java.util.List;

/**
 * A handle for hints to the bus about the use of memory ({@code struct ibv_dmah}). PCIe's TLP processing hints steer
 * the data that an adapter writes to the cache of a processor. Register memory with a handle by
 * {@link RegionOptions#hints}.
 *
 * <p>All threads can use a handle of a shared arena; only the arena's thread can use one of a confined arena.
 *
 * {@snippet file="ObjectSnippets.java" region="dma-handle"}
 */
public final class DmaHandle extends ContextObject {
    private final DmaHints hints;

    private DmaHandle(ObjectLifetime lifetime, Context context, DmaHints hints, long address) {
        super(lifetime, context, address);
        this.hints = hints;
    }

    static DmaHandle allocate(Context context, DmaHints hints, VerbsArena arena) {
        return ObjectLifetime.create(arena, List.of(context), (lifetime, scratch) -> {
            long init = hints.write(scratch).address();
            long handle = Calls.pointer(Ibv.ALLOC_DMAH, context.name() + ", " + hints, context.address(), init);
            return new DmaHandle(lifetime, context, hints, handle);
        });
    }

    @CName("ibv_dealloc_dmah")
    @Override
    void destroy() {
        Calls.run(Ibv.DEALLOC_DMAH, this, address);
    }

    /**
     * Returns the hints that this handle was made with.
     *
     * @return the hints
     */
    public DmaHints hints() {
        lifetime.checkOpen();
        return hints;
    }

    /** Returns for example {@code DMA handle of mlx5_0, hints: processor 3}. */
    @Override
    public String toString() {
        return "DMA handle of " + context.name() + ", " + hints;
    }
}
