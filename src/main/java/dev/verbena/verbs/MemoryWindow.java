package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.access.ObjectLifetime;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Errno;
import dev.verbena.internal.OpsVerb;
import dev.verbena.internal.raw.ibv_mw;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A key of its own for a part of a memory region ({@code struct ibv_mw}): it is bound to the part by a work request, and
 * takes away from a peer what it was given without registering memory anew.
 *
 * <p>Bind it with {@link QueuePair#postBind} or {@link SendBatch#bind}: the key changes with each binding, and
 * {@link #remote} is what peers are to be told. The memory region needs {@link AccessFlag#MW_BIND}, and can't be closed
 * while a window is bound to it. An arena that owns both closes the window first.
 */
public final class MemoryWindow extends RequestPart {
    private static final int KEY_PART = 0xff;

    /** What it was bound to last. */
    record Binding(MemoryRegion region, long address, long length, int access) {}

    private final ProtectionDomain domain;
    private final MemoryWindowType type;
    private final long address;
    private final MemorySegment struct;
    private final Set<MemoryRegion> regions = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean beingBound = new AtomicBoolean();
    private volatile @Nullable Binding binding;

    private MemoryWindow(ObjectLifetime lifetime, ProtectionDomain domain, MemoryWindowType type, long address) {
        super(lifetime);
        this.domain = domain;
        this.type = type;
        this.address = address;
        this.struct = MemorySegment.ofAddress(address).reinterpret(ibv_mw.sizeof());
    }

    static MemoryWindow make(ProtectionDomain domain, MemoryWindowType type, VerbsArena arena) {
        if (type == MemoryWindowType.UNKNOWN) {
            throw new IllegalArgumentException("Memory windows are of TYPE_1 or TYPE_2");
        }
        return ObjectLifetime.create(
                arena,
                lifetime -> {
                    Context context = domain.contextEvenIfClosed();
                    String arguments = context.name() + ", " + type;
                    String hint = "This device or its driver has no memory windows of this type";
                    MemorySegment allocate = OpsVerb.ALLOC_MW
                            .in(context.address())
                            .orElseThrow(() ->
                                    VerbFailures.failure(OpsVerb.ALLOC_MW.verb(), Errno.EOPNOTSUPP, arguments, hint));
                    long mw = CFunction.callAt(allocate, domain.address(), type.code());
                    if (mw == 0) {
                        int errno = CFunction.errno();
                        throw VerbFailures.failure(
                                OpsVerb.ALLOC_MW.verb(),
                                errno,
                                arguments,
                                errno == Errno.EOPNOTSUPP || errno == Errno.EINVAL ? hint : "");
                    }
                    return new MemoryWindow(lifetime, domain, type, mw);
                },
                domain);
    }

    @CName("ibv_dealloc_mw")
    @Override
    void destroy() {
        MemorySegment free = OpsVerb.DEALLOC_MW
                .in(domain.contextEvenIfClosed().address())
                .orElseThrow(() -> VerbFailures.failure(OpsVerb.DEALLOC_MW.verb(), Errno.EOPNOTSUPP, toString(), ""));
        VerbFailures.check(OpsVerb.DEALLOC_MW.verb(), (int) CFunction.callAt(free, address), toString(), "");
        regions.forEach(region -> region.forget(this));
    }

    /** Refuses a window that is closed, or that the queue pair's protection domain can't use. */
    void checkUsableIn(@Nullable ProtectionDomain wanted) {
        lifetime.checkOpen();
        if (wanted == null || domain.root() != wanted.root()) {
            throw new IllegalArgumentException(this + " belongs to another protection domain than the queue pair");
        }
    }

    /** What C leaves to the device, which would give the queue pair up. */
    void checkCanCover(MemoryRegion region, LocalMemory part, int access) {
        if (part.length() == 0) {
            throw new IllegalArgumentException("A window can't be bound to no bytes: unbind or invalidate it");
        }
        Set<AccessFlag> allowed = region.access();
        if (!allowed.contains(AccessFlag.MW_BIND)) {
            throw new IllegalArgumentException("Windows need a memory region with MW_BIND: " + region);
        }
        int writes = AccessFlag.REMOTE_WRITE.bit() | AccessFlag.REMOTE_ATOMIC.bit();
        if ((access & writes) != 0 && !allowed.contains(AccessFlag.LOCAL_WRITE)) {
            throw new IllegalArgumentException(
                    "REMOTE_WRITE and REMOTE_ATOMIC need a memory region with LOCAL_WRITE: " + region);
        }
        if (type == MemoryWindowType.TYPE_1 && (access & AccessFlag.ZERO_BASED.bit()) != 0) {
            throw new IllegalArgumentException("Windows of TYPE_1 are never ZERO_BASED");
        }
    }

    /** One binding at a time, since each changes the key. */
    void beginBinding() {
        if (!beingBound.compareAndSet(false, true)) {
            throw new IllegalStateException(this + " is being bound by another request, perhaps of the same batch");
        }
    }

    void endBinding() {
        beingBound.set(false);
    }

    /** The request was posted: from here on, the region may be in use by this window. */
    void nowBound(MemoryRegion region, long start, long length, int access) {
        if (regions.add(region)) {
            region.remember(this);
        }
        binding = length == 0 ? null : new Binding(region, start, length, access);
    }

    /** The region that it was bound to last, to unbind it from. */
    MemoryRegion region() {
        Binding known = binding;
        if (known == null) {
            throw new IllegalStateException(this + " is not bound");
        }
        return known.region();
    }

    /** The {@code struct ibv_mw}, for a caller that keeps this open while C uses it. */
    long address() {
        return address;
    }

    /** The key in the struct, for a caller that keeps this open. */
    int key() {
        return ibv_mw.rkey(struct);
    }

    /** What a provider does for windows of type 1, the caller does for those of type 2. */
    void key(int key) {
        ibv_mw.rkey(struct, key);
    }

    /** The key that the next binding of a window of type 2 gives it. */
    static int after(int key) {
        return key & ~KEY_PART | key + 1 & KEY_PART;
    }

    /**
     * The protection domain that it was made in.
     *
     * @return the protection domain
     */
    public ProtectionDomain domain() {
        lifetime.checkOpen();
        return domain;
    }

    /**
     * The kind.
     *
     * @return the type
     */
    public MemoryWindowType type() {
        lifetime.checkOpen();
        return type;
    }

    /**
     * The key by which peers name the part of memory ({@code rkey}). Each binding changes it, as soon as it is posted.
     *
     * @return the remote key
     */
    public int remoteKey() {
        lifetime.hold();
        try {
            return key();
        } finally {
            lifetime.release();
        }
    }

    /**
     * The key that the next binding gives to a window of {@link MemoryWindowType#TYPE_2} ({@code ibv_inc_rkey}): the
     * lowest 8 bits count.
     *
     * @return the next remote key
     */
    @CName("ibv_inc_rkey")
    public int nextRemoteKey() {
        return after(remoteKey());
    }

    /**
     * The part of memory that it was bound to last, as peers see it. It can be used once the binding has completed, and
     * until it is unbound or invalidated.
     *
     * @return the address, the remote key and the length
     * @throws IllegalStateException if it is not bound
     */
    public RemoteMemory remote() {
        int key = remoteKey();
        Binding known = binding;
        if (known == null) {
            throw new IllegalStateException(this + " is not bound");
        }
        boolean fromZero = (known.access() & AccessFlag.ZERO_BASED.bit()) != 0;
        return new RemoteMemory(fromZero ? 0 : known.address(), key, known.length());
    }

    /** For example {@code TYPE_2 memory window of rxe0}. */
    @Override
    public String toString() {
        return type + " memory window of " + domain.contextEvenIfClosed().name();
    }
}
