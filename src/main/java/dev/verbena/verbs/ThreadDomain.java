package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_td_init_attr;
import java.util.List;

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
public final class ThreadDomain extends ContextObject {

    private ThreadDomain(ObjectLifetime lifetime, Context context, long address) {
        super(lifetime, context, address);
    }

    static ThreadDomain allocate(Context context, VerbsArena arena) {
        return ObjectLifetime.create(arena, List.of(context), (lifetime, scratch) -> {
            long init = ibv_td_init_attr.allocate(scratch).address();
            CFunction allocate = context.function(ContextVerb.ALLOC_TD);
            return new ThreadDomain(
                    lifetime, context, Calls.pointer(allocate, context.name(), context.address(), init));
        });
    }

    @CName("ibv_dealloc_td")
    @Override
    void destroy() {
        Calls.run(context.function(ContextVerb.DEALLOC_TD), this, address);
    }

    /** Returns for example {@code thread domain of rxe0}. */
    @Override
    public String toString() {
        return "thread domain of " + context.name();
    }
}
