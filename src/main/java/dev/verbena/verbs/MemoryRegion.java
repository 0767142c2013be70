package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.access.ObjectLifetime;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.Memory;
import dev.verbena.internal.jfr.RegistrationEvent;
import dev.verbena.internal.raw.ibv_mr;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Memory that an adapter may use ({@code struct ibv_mr}). Most often it is the caller's own segment, registered as it is
 * and pinned until the region is closed; {@link ProtectionDomain} has methods for the other kinds.
 */
public final class MemoryRegion extends RequestPart implements LocalMemory {
    /** What ends a region in C. */
    private enum End {
        DEREGISTER,
        UNIMPORT,
        NOTHING
    }

    private final ProtectionDomain domain;
    private final RegionBacking backing;
    private final Set<AccessFlag> access;
    private final long structure;
    private final End end;
    private final long start;
    private final long length;
    private final int localKey;
    private final int remoteKey;
    /** Those that were bound to it, and may still be. */
    private final Set<MemoryWindow> windows = ConcurrentHashMap.newKeySet();

    private volatile @Nullable Reregistration change;

    private MemoryRegion(
            ObjectLifetime lifetime,
            ProtectionDomain domain,
            RegionBacking backing,
            Set<AccessFlag> access,
            long structure,
            End end) {
        super(lifetime);
        this.domain = domain;
        this.backing = backing;
        this.start = backing.address();
        this.length = backing.length();
        this.access = access;
        this.structure = structure;
        this.end = end;
        MemorySegment mr = struct(structure);
        this.localKey = ibv_mr.lkey(mr);
        this.remoteKey = ibv_mr.rkey(mr);
        lifetime.closesAfter(() -> List.copyOf(windows)); // a bound window keeps its region from being deregistered
    }

    private static MemorySegment struct(long address) {
        return MemorySegment.ofAddress(address).reinterpret(ibv_mr.sizeof());
    }

    /** A region that a call into C makes, over memory that is sure to outlive it if it is memory of this process. */
    static MemoryRegion over(
            VerbsArena arena,
            RegionBacking backing,
            Set<AccessFlag> access,
            ProtectionDomain domain,
            LongSupplier call,
            VerbsObject... others) {
        Function<ObjectLifetime, MemoryRegion> maker = lifetime -> {
            RegistrationEvent event = new RegistrationEvent();
            event.begin();
            MemoryRegion made = new MemoryRegion(lifetime, domain, backing, access, call.getAsLong(), End.DEREGISTER);
            event.end();
            if (event.shouldCommit()) {
                event.device = domain.context().name();
                event.size = backing.length();
                event.access = access.toString();
                event.commit();
            }
            return made;
        };
        VerbsObject[] parents =
                Stream.concat(Stream.of(domain), Stream.of(others)).toArray(VerbsObject[]::new);
        if (backing.memory() == null) {
            return ObjectLifetime.create(arena, maker, parents);
        }
        return backing.foreign()
                ? ObjectLifetime.createOverForeign(arena, backing.memory(), maker, parents)
                : ObjectLifetime.createOver(arena, backing.memory(), maker, parents);
    }

    /** A part of a region that covers the whole address space: it has that one's keys, and nothing to undo. */
    static MemoryRegion within(AddressSpace space, long structure, MemorySegment memory, VerbsArena arena) {
        RegionBacking backing = RegionBacking.of(memory, false, memory.address());
        return ObjectLifetime.createOver(
                arena,
                memory,
                lifetime -> new MemoryRegion(
                        lifetime,
                        space.domainEvenIfClosed(),
                        backing,
                        space.accessEvenIfClosed(),
                        structure,
                        End.NOTHING),
                space);
    }

    /** A region of another process, which will deregister it. */
    static MemoryRegion imported(VerbsArena arena, ProtectionDomain domain, long address, LongSupplier call) {
        return ObjectLifetime.create(
                arena,
                lifetime -> {
                    long structure = call.getAsLong();
                    RegionBacking backing =
                            RegionBacking.elsewhere("another process", address, ibv_mr.length(struct(structure)));
                    return new MemoryRegion(lifetime, domain, backing, Set.of(), structure, End.UNIMPORT);
                },
                domain);
    }

    @Override
    @CName({"ibv_dereg_mr", "ibv_unimport_mr", "rdma_dereg_mr"})
    void destroy() {
        Reregistration under = change;
        if (under != null && under.isMine()) {
            under.call(structure);
            return;
        }
        switch (end) {
            case DEREGISTER ->
                VerbFailures.check(
                        Ibv.DEREG_MR.name(),
                        (int) Ibv.DEREG_MR.call(structure),
                        toString(),
                        windows.isEmpty() ? "" : "Unbind, invalidate or close what was bound to it first: " + windows);
            case UNIMPORT -> Ibv.UNIMPORT_MR.call(structure);
            case NOTHING -> {}
        }
    }

    void remember(MemoryWindow window) {
        windows.add(window);
    }

    void forget(MemoryWindow window) {
        windows.remove(window);
    }

    /** The {@code struct ibv_mr}, for a caller that keeps this open while C uses it. */
    long structure() {
        return structure;
    }

    /**
     * Changes the memory, the access flags or the protection domain of a registration, which is faster than a new one
     * ({@code ibv_rereg_mr}). This object is closed by it, since what was made of it may not fit any more: use the new
     * one. No work request may be using the region.
     *
     * @param wanted what is to be different
     * @return the region as it is now, closed by the same arena as this one
     * @throws IllegalStateException if it is not a registration of memory of this process, or a window is bound to it
     * @throws dev.verbena.UnsupportedVerbException if the device can't: this region is as it was
     * @throws dev.verbena.VerbsException if it failed: the message says whether this region is as it was or closed
     */
    @CName("ibv_rereg_mr")
    public MemoryRegion reregister(RegionChange wanted) {
        lifetime.checkOpen();
        if (end != End.DEREGISTER || backing.memory() == null) {
            throw new IllegalStateException(
                    "Only a registration of memory of this process can be changed, not " + this);
        }
        if (!windows.isEmpty()) {
            throw new IllegalStateException("Unbind, invalidate or close what is bound to it first: " + windows);
        }
        synchronized (this) {
            Reregistration mine = Reregistration.of(this, domain, backing, access, wanted);
            change = mine;
            try {
                return mine.run();
            } finally {
                change = null;
            }
        }
    }

    /** The region that a call has made of another one. */
    static MemoryRegion after(Reregistration done, long structure) {
        return over(done.arena(), done.backing(), done.access(), done.domain(), () -> structure);
    }

    /** Refuses a region that is closed, or that the queue pair's protection domain can't use. */
    void checkUsableIn(@Nullable ProtectionDomain wanted) {
        lifetime.checkOpen();
        if (domain != wanted && (wanted == null || domain.root() != wanted.root())) {
            throw new IllegalArgumentException(this + " belongs to another protection domain than the queue");
        }
    }

    /** The local key, for a caller that has just checked that this is open. */
    int keyWhenOpen() {
        return localKey;
    }

    /** The address, for a caller that has just checked that this is open. */
    long startWhenOpen() {
        return start;
    }

    /** The length, for a caller that has just checked that this is open. */
    long lengthWhenOpen() {
        return length;
    }

    /**
     * The protection domain that it is registered in.
     *
     * @return the protection domain
     */
    public ProtectionDomain domain() {
        lifetime.checkOpen();
        return domain;
    }

    @Override
    public MemoryRegion region() {
        return this;
    }

    @Override
    public long address() {
        lifetime.checkOpen();
        return backing.address();
    }

    @Override
    public long length() {
        lifetime.checkOpen();
        return backing.length();
    }

    @Override
    public MemorySegment segment() {
        lifetime.checkOpen();
        return backing.segment();
    }

    @Override
    public void fill(byte value) {
        fill(0, length(), value);
    }

    void fill(long offset, long size, byte value) {
        int entered = lifetime.enter();
        try {
            MemorySegment memory = backing.segment();
            if (memory.isReadOnly()) {
                throw new UnsupportedOperationException(this + " is read-only memory");
            }
            if (!memory.scope().isAlive()) { // who registered it as foreign has not kept the promise
                throw new IllegalStateException("The memory of " + this + " was freed before the region was closed");
            }
            if (memory.isMapped()) { // the file may have become shorter: Java survives that, C does not
                memory.asSlice(offset, size).fill(value);
            } else {
                Memory.fill(memory.address() + offset, size, value);
            }
        } finally {
            lifetime.exit(entered);
        }
    }

    /**
     * What the adapter and peers may do with the memory.
     *
     * @return the flags it was registered with
     */
    public Set<AccessFlag> access() {
        lifetime.checkOpen();
        return access;
    }

    /**
     * The key by which this process's own work requests name the memory ({@code lkey}).
     *
     * @return the local key
     */
    public int localKey() {
        lifetime.checkOpen();
        return localKey;
    }

    /**
     * The key by which peers name the memory ({@code rkey}).
     *
     * @return the remote key
     */
    public int remoteKey() {
        lifetime.checkOpen();
        return remoteKey;
    }

    @Override
    public MemorySlice slice(long offset, long size) {
        lifetime.checkOpen();
        Objects.checkFromIndexSize(offset, size, backing.length());
        return new MemorySlice(this, offset, size);
    }

    @Override
    public RemoteMemory remote() {
        lifetime.checkOpen();
        if (backing == RegionBacking.NOTHING || end == End.NOTHING) {
            throw new UnsupportedOperationException("Peers can't use " + this);
        }
        return new RemoteMemory(backing.address(), remoteKey, backing.length());
    }

    /**
     * The kernel's number for it ({@code handle}), by which a process that shares the device can
     * {@linkplain ProtectionDomain#importRegion import} it.
     *
     * @return the handle
     */
    public int handle() {
        lifetime.hold();
        try {
            return ibv_mr.handle(struct(structure));
        } finally {
            lifetime.release();
        }
    }

    /** For example {@code memory region of 4 KiB at 0x7f0010, lkey 0x1234, rkey 0x1234, [LOCAL_WRITE]}. */
    @Override
    public String toString() {
        return String.format("memory region of %s, lkey 0x%x, rkey 0x%x, %s", backing, localKey, remoteKey, access);
    }
}
