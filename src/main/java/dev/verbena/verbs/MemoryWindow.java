package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Errno;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_mw;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A memory window: a key of its own for a part of a memory region ({@code struct ibv_mw}). A work request binds the
 * window to the part. Unbinding it takes the rights from peers again, without registering memory anew.
 *
 * <p>Bind a window with {@link QueuePair#postBind} or {@link SendBatch#bind}. Each binding changes the key: send
 * {@link #remote} to peers. The memory region needs {@link AccessFlag#MW_BIND}, and can't be closed while a window is
 * bound to it. An arena that owns both closes the window first.
 *
 * <p>All threads can use a window of a shared arena; only the arena's thread can use one of a confined arena. One
 * binding at a time can be under way.
 *
 * {@snippet file="ObjectSnippets.java" region="window"}
 */
public final class MemoryWindow extends RequestPart {
    private static final int KEY_PART = 0xff;

    /** The last binding. */
    record Binding(MemoryRegion region, long address, long length, int access) {}

    private final ProtectionDomain domain;
    private final Type type;
    private final long address;
    private final MemorySegment struct;
    private final Set<MemoryRegion> regions = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean beingBound = new AtomicBoolean();
    private volatile @Nullable Binding binding;

    private MemoryWindow(ObjectLifetime lifetime, ProtectionDomain domain, Type type, long address) {
        super(lifetime);
        this.domain = domain;
        this.type = type;
        this.address = address;
        lifetime.destroyedBy(this::destroy);
        this.struct = MemorySegment.ofAddress(address).reinterpret(ibv_mw.sizeof());
    }

    static MemoryWindow make(ProtectionDomain domain, Type type, VerbsArena arena) {
        if (type == Type.UNKNOWN) {
            throw new IllegalArgumentException("type of a memory window must be TYPE_1 or TYPE_2, got " + type);
        }
        return ObjectLifetime.create(arena, List.of(domain), lifetime -> {
            Context context = domain.context;
            long window = Calls.pointer(
                    context.function(ContextVerb.ALLOC_MW),
                    context.name() + ", " + type,
                    errno -> context.limits()
                            .hint(
                                    DriverLimits.Part.WINDOWS,
                                    errno,
                                    errno == Errno.EOPNOTSUPP || errno == Errno.EINVAL
                                            ? "This device or its driver has no memory windows of this type"
                                            : ""),
                    domain.address(),
                    type.code);
            return new MemoryWindow(lifetime, domain, type, window);
        });
    }

    @CName("ibv_dealloc_mw")
    @Override
    void destroy() {
        Calls.run(domain.context.function(ContextVerb.DEALLOC_MW), this, address);
        lifetime.noteDestroyed();
        regions.forEach(region -> region.forget(this));
    }

    /** Throws if this window is closed, or if a protection domain can't use it. */
    void checkUsableIn(@Nullable ProtectionDomain wanted) {
        lifetime.checkOpen();
        if (wanted == null || domain.root() != wanted.root()) {
            throw new IllegalArgumentException(this + " belongs to another protection domain than the queue pair");
        }
    }

    /** Checks a binding that C does not check, and that the device would answer by failing the queue pair. */
    void checkCanCover(MemoryRegion region, LocalMemory part, int access) {
        if (part.length() == 0) {
            throw new IllegalArgumentException("a window can't be bound to 0 bytes: unbind or invalidate it");
        }
        Set<AccessFlag> allowed = region.access();
        if (!allowed.contains(AccessFlag.MW_BIND)) {
            throw new IllegalArgumentException("a window needs a memory region with MW_BIND, got " + region);
        }
        int writes = AccessFlag.REMOTE_WRITE.bit | AccessFlag.REMOTE_ATOMIC.bit;
        if ((access & writes) != 0 && !allowed.contains(AccessFlag.LOCAL_WRITE)) {
            throw new IllegalArgumentException(
                    "REMOTE_WRITE and REMOTE_ATOMIC need a memory region with LOCAL_WRITE, got " + region);
        }
        if (type == Type.TYPE_1 && (access & AccessFlag.ZERO_BASED.bit) != 0) {
            throw new IllegalArgumentException("a window of TYPE_1 can't be ZERO_BASED");
        }
    }

    /** Begins a binding. Only one can be under way, since each changes the key. */
    void beginBinding() {
        if (!beingBound.compareAndSet(false, true)) {
            throw new IllegalStateException(
                    this + " is being bound by another request, which may be in the same batch");
        }
    }

    void endBinding() {
        beingBound.set(false);
    }

    /** Notes that a binding was posted: from now on the region may have this window. */
    void nowBound(MemoryRegion region, long start, long length, int access) {
        if (regions.add(region)) {
            region.remember(this);
        }
        binding = length == 0 ? null : new Binding(region, start, length, access);
    }

    /** Returns the region of the last binding. */
    MemoryRegion region() {
        Binding known = binding;
        if (known == null) {
            throw new IllegalStateException(this + " is not bound");
        }
        return known.region();
    }

    /** Returns the {@code struct ibv_mw}. The caller keeps this window open while C uses it. */
    long address() {
        return address;
    }

    /** Returns the key in the struct. The caller keeps this window open. */
    int key() {
        return ibv_mw.rkey(struct);
    }

    /** Sets the key in the struct. Drivers do this for windows of type 1 only. */
    void key(int key) {
        ibv_mw.rkey(struct, key);
    }

    /** Returns the key that follows a key of a window of type 2. */
    static int after(int key) {
        return (key & ~KEY_PART) | ((key + 1) & KEY_PART);
    }

    /**
     * Returns the protection domain that this window was made in.
     *
     * @return the protection domain
     */
    public ProtectionDomain domain() {
        lifetime.checkOpen();
        return domain;
    }

    /**
     * Returns the kind of this window.
     *
     * @return the type
     */
    public Type type() {
        lifetime.checkOpen();
        return type;
    }

    /**
     * Returns the key by which peers name the memory ({@code rkey}). Each binding changes the key as soon as it is
     * posted.
     *
     * @return the remote key
     */
    public int remoteKey() {
        try (var _ = lifetime.held()) {
            return key();
        }
    }

    /**
     * Returns the key after the next binding of a window of {@link Type#TYPE_2} ({@code ibv_inc_rkey}). The
     * lowest 8 bits count the bindings.
     *
     * @return the next remote key
     */
    @CName("ibv_inc_rkey")
    public int nextRemoteKey() {
        return after(remoteKey());
    }

    /**
     * Returns the memory of the last binding as peers see it. Peers can use it once the binding has completed, until
     * the window is unbound or invalidated.
     *
     * @return the address, the remote key and the length
     * @throws IllegalStateException if this window is not bound
     */
    public RemoteMemory remote() {
        int key = remoteKey();
        Binding known = binding;
        if (known == null) {
            throw new IllegalStateException(this + " is not bound");
        }
        boolean fromZero = (known.access() & AccessFlag.ZERO_BASED.bit) != 0;
        return new RemoteMemory(fromZero ? 0 : known.address(), key, known.length());
    }

    /** Returns for example {@code TYPE_2 memory window of rxe0}. */
    @Override
    public String toString() {
        return type + " memory window of " + domain.context.name();
    }

    /** The kind of a memory window ({@code enum ibv_mw_type}). */
    public enum Type {
        /** The adapter chooses the key; all queue pairs of the protection domain may use the window ({@code IBV_MW_TYPE_1}). */
        TYPE_1(rdma_h.IBV_MW_TYPE_1),
        /** The program chooses part of the key; the program or the peer can invalidate the window ({@code IBV_MW_TYPE_2}). */
        TYPE_2(rdma_h.IBV_MW_TYPE_2),
        /** No type: {@link ProtectionDomain#allocateMemoryWindow} refuses it. */
        UNKNOWN(-1);

        final int code;

        Type(int code) {
            this.code = code;
        }
    }
}
