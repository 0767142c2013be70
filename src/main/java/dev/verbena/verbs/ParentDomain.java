package dev.verbena.verbs;

import dev.verbena.VerbsArena;
import dev.verbena.access.ArenaLifetime;
import dev.verbena.access.ObjectLifetime;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.raw.ibv_parent_domain_init_attr;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A protection domain with more to it ({@code struct ibv_pd} of {@code ibv_alloc_parent_domain}): it can be used wherever
 * a protection domain can, and works with the memory and queue pairs of the one that it was made from.
 *
 * <p>C's own allocators ({@code IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS}) are not offered: the driver would call Java while it makes and
 * destroys objects, where an exception could only end the virtual machine.
 */
public final class ParentDomain extends ProtectionDomain {
    private final ProtectionDomain root;
    private final @Nullable ThreadDomain threadDomain;

    private ParentDomain(
            ObjectLifetime lifetime, ProtectionDomain root, @Nullable ThreadDomain threadDomain, long address) {
        super(lifetime, root.contextEvenIfClosed(), address, Origin.ALLOCATED);
        this.root = root;
        this.threadDomain = threadDomain;
    }

    static ParentDomain allocate(ProtectionDomain from, @Nullable ThreadDomain threadDomain, VerbsArena arena) {
        ProtectionDomain root = from.root();
        Context context = root.contextEvenIfClosed();
        if (threadDomain != null && threadDomain.context() != context) {
            throw new IllegalArgumentException(threadDomain + " belongs to another context than " + from);
        }
        return threadDomain == null
                ? ObjectLifetime.create(arena, lifetime -> make(root, null, lifetime), root)
                : ObjectLifetime.create(arena, lifetime -> make(root, threadDomain, lifetime), root, threadDomain);
    }

    private static ParentDomain make(
            ProtectionDomain root, @Nullable ThreadDomain threadDomain, ObjectLifetime lifetime) {
        Context context = root.contextEvenIfClosed();
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment init = scratch.allocate(ibv_parent_domain_init_attr.layout());
            ibv_parent_domain_init_attr.pd(init, MemorySegment.ofAddress(root.address()));
            if (threadDomain != null) {
                ibv_parent_domain_init_attr.td(init, MemorySegment.ofAddress(threadDomain.address()));
            }
            return new ParentDomain(
                    lifetime,
                    root,
                    threadDomain,
                    VerbFailures.pointer(
                            ContextVerb.ALLOC_PARENT_DOMAIN,
                            context,
                            root + (threadDomain == null ? "" : ", " + threadDomain),
                            context.address(),
                            init.address()));
        }
    }

    @Override
    ProtectionDomain root() {
        return root;
    }

    @Override
    void checkMakesIn(VerbsArena arena) {
        if (threadDomain != null && !ArenaLifetime.of(arena).isConfined()) {
            throw new IllegalArgumentException(
                    "What is made in a parent domain with a thread domain has no locks: it must be "
                            + "of a VerbsArena.ofConfined()");
        }
    }

    /**
     * The protection domain that it was made from.
     *
     * @return the protection domain, not itself a parent domain
     */
    public ProtectionDomain protectionDomain() {
        lifetime.checkOpen();
        return root;
    }

    /**
     * The thread domain, if it was made with one.
     *
     * @return the thread domain
     */
    public Optional<ThreadDomain> threadDomain() {
        lifetime.checkOpen();
        return Optional.ofNullable(threadDomain);
    }

    @Override
    public String toString() {
        return "parent domain of " + root;
    }
}
