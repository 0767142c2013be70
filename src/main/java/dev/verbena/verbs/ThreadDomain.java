package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_td_init_attr;
import java.lang.foreign.Arena;

/**
 * A thread domain: the promise that one thread at a time uses certain objects ({@code struct ibv_td}). The device's
 * user-space driver may then leave out its locks. Give the thread domain to
 * {@link ParentDomainOptions#threadDomain}. The objects of that parent domain need a
 * confined arena, which keeps the promise.
 *
 * <p>All threads can use a thread domain of a shared arena; only the arena's thread can use one of a confined arena.
 *
 * {@snippet file="ObjectSnippets.java" region="thread-domain"}
 */
public final class ThreadDomain extends VerbsObject {
    private final ObjectLifetime lifetime;
    private final Context context;
    private final long address;

    private ThreadDomain(ObjectLifetime lifetime, Context context, long address) {
        super(lifetime);
        this.lifetime = lifetime;
        this.context = context;
        this.address = address;
        lifetime.destroyedBy(this::destroy);
    }

    static ThreadDomain allocate(Context context, VerbsArena arena) {
        return ObjectLifetime.create(
                arena,
                lifetime -> {
                    try (Arena scratch = Arena.ofConfined()) {
                        return new ThreadDomain(
                                lifetime,
                                context,
                                VerbFailures.pointer(
                                        ContextVerb.ALLOC_TD,
                                        context,
                                        context.name(),
                                        context.address(),
                                        ibv_td_init_attr.allocate(scratch).address()));
                    }
                },
                context);
    }

    @CName("ibv_dealloc_td")
    private void destroy() {
        VerbFailures.check(ContextVerb.DEALLOC_TD, context, toString(), address);
    }

    long address() {
        return address;
    }

    /**
     * Returns the context that this thread domain was made from.
     *
     * @return the context
     */
    public Context context() {
        lifetime.checkOpen();
        return context;
    }

    /** Returns for example {@code thread domain of rxe0}. */
    @Override
    public String toString() {
        return "thread domain of " + context.name();
    }
}
