package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.access.ObjectLifetime;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.raw.ibv_td_init_attr;
import java.lang.foreign.Arena;

/**
 * A promise that objects are used by one thread at a time ({@code struct ibv_td}), so that the device's user-space driver
 * may leave its locks out. Give it to {@link ProtectionDomain#allocateParentDomain(ThreadDomain, VerbsArena)}; what is made in
 * such a parent domain must be of a confined arena, which keeps the promise.
 */
public final class ThreadDomain extends VerbsObject {
    private final ObjectLifetime lifetime;
    private final Context context;
    private final long address;

    private ThreadDomain(ObjectLifetime lifetime, Context context, long address) {
        super(lifetime);
        this.lifetime = lifetime;
        lifetime.destroyedBy(this::destroy);
        this.context = context;
        this.address = address;
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
                                        scratch.allocate(ibv_td_init_attr.layout())
                                                .address()));
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
     * The context that it was made from.
     *
     * @return the context
     */
    public Context context() {
        lifetime.checkOpen();
        return context;
    }

    @Override
    public String toString() {
        return "thread domain of " + context.name();
    }
}
