package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.lifetime.ObjectLifetime;
import java.lang.foreign.Arena;

/**
 * A handle for hints to the bus about the use of memory ({@code struct ibv_dmah}). PCIe's TLP processing hints steer
 * the data that an adapter writes to the cache of a processor. Register memory with a handle by
 * {@link RegionOptions#hints}.
 *
 * <p>All threads can use a handle of a shared arena; only the arena's thread can use one of a confined arena.
 *
 * {@snippet file="ObjectSnippets.java" region="dma-handle"}
 */
public final class DmaHandle extends VerbsObject {
    private final ObjectLifetime lifetime;
    private final Context context;
    private final DmaHints hints;
    private final long address;

    private DmaHandle(ObjectLifetime lifetime, Context context, DmaHints hints, long address) {
        super(lifetime);
        this.lifetime = lifetime;
        this.context = context;
        this.hints = hints;
        this.address = address;
        lifetime.destroyedBy(this::destroy);
    }

    static DmaHandle allocate(Context context, DmaHints hints, VerbsArena arena) {
        String arguments = context.name() + ", " + hints;
        return ObjectLifetime.create(
                arena,
                lifetime -> {
                    Failures.require(Ibv.ALLOC_DMAH, arguments);
                    try (Arena scratch = Arena.ofConfined()) {
                        return new DmaHandle(
                                lifetime,
                                context,
                                hints,
                                VerbFailures.pointer(
                                        Ibv.ALLOC_DMAH,
                                        Ibv.ALLOC_DMAH.call(
                                                context.address(),
                                                hints.write(scratch).address()),
                                        arguments));
                    }
                },
                context);
    }

    @CName("ibv_dealloc_dmah")
    private void destroy() {
        VerbFailures.check(Ibv.DEALLOC_DMAH, Ibv.DEALLOC_DMAH.call(address), toString());
    }

    Context contextEvenIfClosed() {
        return context;
    }

    long address() {
        return address;
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
