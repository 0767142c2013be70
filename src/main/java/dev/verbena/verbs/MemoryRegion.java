package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.LockedMemory;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Recorder;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_mr;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A region of registered memory, which an adapter may use ({@code struct ibv_mr}). Most often this is the caller's own
 * segment, pinned until the region is closed. {@link ProtectionDomain} has methods for the other kinds. A
 * node over TCP (see {@code dev.verbena.net}) has no device: it reads and writes the region itself.
 *
 * <p>All threads can use a region of a shared arena; only the arena's thread can use one of a confined arena. A region
 * can't be closed while a window is bound to it.
 *
 * {@snippet file="MemorySnippets.java" region="register"}
 *
 * <p>Requests can use parts of a region:
 *
 * {@snippet file="ObjectSnippets.java" region="slice"}
 */
public final class MemoryRegion extends RequestPart implements LocalMemory {
    /** The ways in which memory is known to a device. */
    private enum Kind {
        /** This process has registered the memory. */
        REGISTERED(true),
        /** Another process has registered the memory, and deregisters it. */
        IMPORTED(true),
        /** The memory is part of a registered {@link AddressSpace}, whose keys it has. C notices no end of the region. */
        PART_OF_ADDRESS_SPACE(false),
        /** No device knows the memory: the library takes the part of the adapter. */
        WITHOUT_DEVICE(false);

        /** Whether C checks the key of each request. */
        final boolean isCheckedByC;

        Kind(boolean isCheckedByC) {
            this.isCheckedByC = isCheckedByC;
        }
    }

    private final Kind kind;

    /** The domain; null if the region is {@link Kind#WITHOUT_DEVICE}. */
    private final @Nullable ProtectionDomain domain;

    /**
     * The domain while this is open, if C checks the key of each request, and all threads that may use the domain may use
     * this; else null. A thread that may use the domain then needs no other check of this region. The thread may read this
     * field as it is: if another thread closes this region at the same time, the key becomes invalid, which C notices.
     */
    @Nullable
    ProtectionDomain uncheckedDomain;

    private final RegionBacking backing;
    private final Set<AccessFlag> access;
    /** The {@code struct ibv_mr}; 0 if the region is {@link Kind#WITHOUT_DEVICE}. */
    private final long structure;

    /** The objects that this region depends on besides its domain. The region that replaces this one needs them too. */
    private final VerbsObject[] others;

    private final long start;
    private final long length;
    private final int localKey;
    private final int remoteKey;

    /** Ends the use of the memory by the library; null unless the region is {@link Kind#WITHOUT_DEVICE}. */
    private final @Nullable Runnable ending;

    /** Called when C has ended this region; null if nobody else uses the memory. */
    private volatile @Nullable Runnable follower;

    /** Frees the memory, and is closed after this region; null if others free the memory. */
    private volatile @Nullable AutoCloseable owner;

    /** All memory of this region, for requests that name the region itself. */
    final MemorySlice whole;
    /** The windows that were bound to this region, and may still be. */
    private final Set<MemoryWindow> windows = ConcurrentHashMap.newKeySet();

    /** The registrations of the same memory in other domains, which end before this one: see {@link #registerAgain}. */
    private final Map<ProtectionDomain, MemoryRegion> copies = new ConcurrentHashMap<>();

    /** The region that this one is a copy of; null if it is none. */
    private volatile @Nullable MemoryRegion original;

    private MemoryRegion(
            ObjectLifetime lifetime,
            Kind kind,
            ProtectionDomain domain,
            RegionBacking backing,
            Set<AccessFlag> access,
            long structure,
            VerbsObject... others) {
        super(lifetime);
        this.others = others;
        this.kind = kind;
        this.domain = domain;
        this.backing = backing;
        this.start = backing.address();
        this.length = backing.length();
        this.access = access;
        this.structure = structure;
        lifetime.destroyedBy(this::destroy);
        MemorySegment mr = struct(structure);
        this.localKey = ibv_mr.lkey(mr);
        this.remoteKey = ibv_mr.rkey(mr);
        this.ending = null;
        this.whole = new MemorySlice(this, 0, length);
        noteOpen();
        lifetime.closesAfter(() -> List.copyOf(windows)); // C refuses to deregister a region with a bound window
        countPinned(length);
    }

    /** Makes a region that no device knows, and that C has no structure for. */
    private MemoryRegion(
            ObjectLifetime lifetime, RegionBacking backing, Set<AccessFlag> access, int key, Runnable ending) {
        super(lifetime);
        this.others = new VerbsObject[0];
        this.kind = Kind.WITHOUT_DEVICE;
        this.domain = null;
        this.backing = backing;
        this.start = backing.address();
        this.length = backing.length();
        this.access = access;
        this.structure = 0;
        this.localKey = key;
        this.remoteKey = key;
        this.ending = ending;
        lifetime.destroyedBy(this::destroy);
        this.whole = new MemorySlice(this, 0, length);
    }

    private void noteOpen() {
        ProtectionDomain own = domain;
        boolean forAll = own != null && (ObjectLifetime.of(own).isConfined() || !lifetime.isConfined());
        uncheckedDomain = forAll && kind.isCheckedByC ? own : null;
    }

    /** Counts the memory as pinned, or with a negative number as not pinned any more. */
    private void countPinned(long bytes) {
        ProtectionDomain own = domain;
        if (own != null && isOwnRegistration() && !access.contains(AccessFlag.ON_DEMAND)) {
            own.pinned.addAndGet(bytes);
            LockedMemory.count(bytes);
        }
    }

    private static MemorySegment struct(long address) {
        return MemorySegment.ofAddress(address).reinterpret(ibv_mr.sizeof());
    }

    /** Makes a region by a call into C. Memory of this process outlives the region. */
    static MemoryRegion over(
            VerbsArena arena,
            RegionBacking backing,
            Set<AccessFlag> access,
            ProtectionDomain domain,
            LongSupplier call,
            VerbsObject... others) {
        Function<ObjectLifetime, MemoryRegion> plain = lifetime ->
                new MemoryRegion(lifetime, Kind.REGISTERED, domain, backing, access, call.getAsLong(), others);
        Function<ObjectLifetime, MemoryRegion> maker = Recorder.isPresent() ? recorded(plain) : plain;
        VerbsObject[] parents = new VerbsObject[others.length + 1];
        parents[0] = domain;
        System.arraycopy(others, 0, parents, 1, others.length);
        if (backing.memory() == null) {
            return ObjectLifetime.create(arena, maker, parents);
        }
        return backing.foreign()
                ? ObjectLifetime.createOverForeign(arena, backing.memory(), maker, parents)
                : ObjectLifetime.createOver(arena, backing.memory(), maker, parents);
    }

    /** Returns a maker that does the same, and adds the region to the flight recording. */
    private static Function<ObjectLifetime, MemoryRegion> recorded(Function<ObjectLifetime, MemoryRegion> maker) {
        RegistrationEvent event;
        try {
            event = new RegistrationEvent();
        } catch (LinkageError lost) {
            return maker;
        }
        return lifetime -> {
            event.begin();
            MemoryRegion made = maker.apply(lifetime);
            try {
                event.end();
                if (event.shouldCommit()) {
                    event.device = made.domainOfDevice().context.name();
                    event.size = made.length;
                    event.access = made.access.toString();
                    event.place = ProgramPlace.ofThisThread();
                    event.commit();
                }
            } catch (OutOfMemoryError | LinkageError lost) {
                return made; // C has registered it
            }
            return made;
        };
    }

    /**
     * Makes a region within an address space. The region has the keys of the address space, and closing it calls no C.
     */
    static MemoryRegion within(AddressSpace space, long structure, MemorySegment memory, VerbsArena arena) {
        RegionBacking backing = RegionBacking.of(memory, false, memory.address());
        return ObjectLifetime.createOver(
                arena,
                memory,
                lifetime -> new MemoryRegion(
                        lifetime, Kind.PART_OF_ADDRESS_SPACE, space.domain, backing, space.access, structure),
                space);
    }

    /**
     * Makes a region that no device knows. The library itself takes the part of the adapter.
     *
     * @param foreign true if the caller makes sure that the memory outlives the region
     * @param owner stays open as long as the region
     * @param opening gets the region before any other caller
     * @param ending called when the region is closed: nobody uses the memory when it returns
     */
    static MemoryRegion withoutDevice(
            MemorySegment memory,
            boolean foreign,
            Collection<AccessFlag> access,
            int key,
            VerbsArena arena,
            VerbsObject owner,
            Consumer<MemoryRegion> opening,
            Runnable ending) {
        Set<AccessFlag> flags = Registration.check(memory, access);
        RegionBacking backing = RegionBacking.of(memory, foreign, memory.address());
        WithoutDevice maker = new WithoutDevice(backing, flags, key, opening, ending);
        return foreign
                ? ObjectLifetime.createOverForeign(arena, memory, maker, owner)
                : ObjectLifetime.createOver(arena, memory, maker, owner);
    }

    /** Makes a region that no device knows. A lambda with as many values takes a program's start longer than a record. */
    private record WithoutDevice(
            RegionBacking backing, Set<AccessFlag> access, int key, Consumer<MemoryRegion> opening, Runnable ending)
            implements Function<ObjectLifetime, MemoryRegion> {
        @Override
        public MemoryRegion apply(ObjectLifetime lifetime) {
            MemoryRegion made = new MemoryRegion(lifetime, backing, access, key, ending);
            opening.accept(made);
            return made;
        }
    }

    /** Makes a region of another process, which will deregister it. */
    static MemoryRegion imported(VerbsArena arena, ProtectionDomain domain, long address, LongSupplier call) {
        return ObjectLifetime.create(
                arena,
                lifetime -> {
                    long structure = call.getAsLong();
                    RegionBacking backing =
                            RegionBacking.elsewhere("another process", address, ibv_mr.length(struct(structure)));
                    return new MemoryRegion(lifetime, Kind.IMPORTED, domain, backing, Set.of(), structure);
                },
                domain);
    }

    @Override
    @CName({"ibv_dereg_mr", "ibv_unimport_mr", "rdma_dereg_mr"})
    void destroy() {
        end(null);
    }

    /** Closes this region by another call of C, which gets the {@code struct ibv_mr} and throws if the region is unchanged. */
    void closeBy(LongConsumer call) {
        lifetime.closeBy(() -> end(call));
    }

    private void end(@Nullable LongConsumer call) {
        uncheckedDomain = null;
        try {
            copies.values().forEach(MemoryRegion::close);
            if (call == null) {
                destroyInC();
            } else {
                call.accept(structure);
            }
        } catch (Throwable refused) {
            noteOpen();
            throw refused;
        }
        lifetime.noteDestroyed();
        countPinned(-length);
        MemoryRegion of = original;
        if (of != null) {
            of.copies.remove(domainOfDevice(), this);
        }
        Runnable after = follower;
        if (after != null) {
            after.run();
        }
        closeOwner();
    }

    /** Has this region close an owner that frees the memory, unless it is null. */
    void closesOwner(@Nullable AutoCloseable ofMemory) {
        if (ofMemory != null) {
            try (var _ = lifetime.held()) { // a region that is closed meanwhile closes no owner
                owner = ofMemory;
            }
        }
    }

    private void closeOwner() {
        AutoCloseable ofMemory = owner;
        if (ofMemory == null) {
            return;
        }
        try {
            ofMemory.close();
        } catch (RuntimeException | Error thrown) {
            throw thrown;
        } catch (Exception thrown) {
            if (thrown instanceof InterruptedException) {
                Thread.currentThread().interrupt();
            }
            throw new IllegalStateException(
                    this + " is closed, but the owner of its memory could not be closed", thrown);
        }
    }

    /**
     * Lets another part of the library use the memory too.
     *
     * @param opening called at once. This region is not closed meanwhile
     * @param ending called when this region is closed: that part does not use the memory when it returns
     */
    void follow(Runnable opening, Runnable ending) {
        try (var _ = lifetime.held()) {
            follower = ending;
            opening.run();
        }
    }

    /**
     * Registers the same memory in another domain too, unless it is: see {@link
     * dev.verbena.verbs.access.VerbsAccess#registerAgain}.
     */
    MemoryRegion registerAgain(
            ProtectionDomain from, ProtectionDomain in, Collection<AccessFlag> more, VerbsArena owner) {
        lifetime.checkOpen();
        if (domain != from || !isOwnRegistration()) {
            return this;
        }
        MemoryRegion known = copies.get(in);
        if (known != null && known.isOpen()) {
            return known;
        }
        Set<AccessFlag> both = new HashSet<>(access);
        both.addAll(more);
        // this region ends after its copy, and guards the memory
        MemorySegment memory = MemorySegment.ofAddress(start).reinterpret(length);
        try (var _ = lifetime.held()) {
            return Objects.requireNonNull(copies.compute(in, (_, old) -> {
                if (old != null && old.isOpen()) { // another thread was faster
                    return old;
                }
                MemoryRegion made = Registration.plain(in, memory, both, owner);
                made.original = this;
                return made;
            }));
        }
    }

    /** Returns true if this process has registered memory of its own. */
    private boolean isOwnRegistration() {
        return kind == Kind.REGISTERED && backing.memory() != null;
    }

    private void destroyInC() {
        switch (kind) {
            case REGISTERED ->
                Calls.run(
                        Ibv.DEREG_MR,
                        this,
                        errno -> windows.isEmpty() ? "" : "Unbind, invalidate or close its windows first: " + windows,
                        structure);
            case IMPORTED -> Ibv.UNIMPORT_MR.call(structure);
            case PART_OF_ADDRESS_SPACE -> {}
            case WITHOUT_DEVICE -> Objects.requireNonNull(ending).run();
        }
    }

    void remember(MemoryWindow window) {
        windows.add(window);
    }

    void forget(MemoryWindow window) {
        windows.remove(window);
    }

    /** Returns the {@code struct ibv_mr}. The caller keeps this region open while C uses it. */
    long structure() {
        return structure;
    }

    /**
     * Changes the memory, the access flags or the protection domain of this registration, which is faster than a new
     * registration ({@code ibv_rereg_mr}). This closes the region, whose slices may not fit any more, and returns a new
     * one. No work request may be using the region.
     *
     * @param wanted the changes
     * @return the changed region, closed by the same arena as this one
     * @throws IllegalStateException if this is not a registration of memory of this process, or a window is bound to it
     * @throws dev.verbena.UnsupportedVerbException if the device does not support the change: this region is unchanged
     * @throws dev.verbena.VerbsException if the change failed: the message says if this region is unchanged or closed
     */
    @CName("ibv_rereg_mr")
    public MemoryRegion reregister(RegionChange wanted) {
        lifetime.checkOpen();
        if (!isOwnRegistration()) {
            throw new IllegalStateException(
                    "only a registration of memory of this process can be changed, got " + this);
        }
        if (owner != null) {
            throw new IllegalStateException("the owner of its memory is closed with " + this + ": register it anew");
        }
        if (!windows.isEmpty()) {
            throw new IllegalStateException("unbind, invalidate or close its windows first: " + windows);
        }
        Reregistration mine = Reregistration.of(this, domainOfDevice(), backing, access, wanted, others);
        return lifetime.withoutClosing(() -> {
            lifetime.checkOpen(); // another thread may have closed or changed this region meanwhile
            return mine.run();
        });
    }

    /**
     * Throws if this region is closed, or if a protection domain can't use it.
     *
     * @return true if C does not notice that this region is closed: each post must keep it open
     */
    boolean checkUsableIn(@Nullable ProtectionDomain wanted) {
        lifetime.checkOpen();
        ProtectionDomain own = domain;
        if (own == wanted && kind.isCheckedByC) {
            return false;
        }
        if (wanted == null || own == null || own.root() != wanted.root()) {
            throw new IllegalArgumentException(this
                    + (own == null
                            ? " is registered with a node without a device: use channels of that node"
                            : " belongs to another protection domain than the queue"));
        }
        return !kind.isCheckedByC;
    }

    /** Returns the local key, for a caller that has just checked that this region is open. */
    int keyWhenOpen() {
        return localKey;
    }

    /** Returns the address, for a caller that has just checked that this region is open. */
    long startWhenOpen() {
        return start;
    }

    /**
     * Returns the protection domain that the memory is registered in.
     *
     * @return the protection domain
     * @throws UnsupportedOperationException if the memory is registered with a node without a device
     */
    public ProtectionDomain domain() {
        lifetime.checkOpen();
        return domainOfDevice();
    }

    private ProtectionDomain domainOfDevice() {
        if (domain == null) {
            throw new UnsupportedOperationException(
                    this + " is registered with a node without a device, and has no protection domain");
        }
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
            if (!memory.scope().isAlive()) { // the owner of foreign memory freed it too early
                throw new IllegalStateException("the memory of " + this + " was freed before the region was closed");
            }
            if (memory.isMapped()) { // if the file has become shorter, Java throws an error, and C would crash
                memory.asSlice(offset, size).fill(value);
            } else {
                Memory.fill(memory.address() + offset, size, value);
            }
        } finally {
            lifetime.exit(entered);
        }
    }

    /**
     * Returns the rights of the adapter and of peers.
     *
     * @return the flags that the memory was registered with
     */
    public Set<AccessFlag> access() {
        lifetime.checkOpen();
        return access;
    }

    /**
     * Returns the key by which this process's own work requests name the memory ({@code lkey}).
     *
     * @return the local key
     */
    public int localKey() {
        lifetime.checkOpen();
        return localKey;
    }

    /**
     * Returns the key by which peers name the memory ({@code rkey}).
     *
     * @return the remote key
     */
    public int remoteKey() {
        lifetime.checkOpen();
        return remoteKey;
    }

    @Override
    public LocalMemory slice(long offset, long size) {
        lifetime.checkOpen();
        Objects.checkFromIndexSize(offset, size, backing.length());
        return new MemorySlice(this, offset, size);
    }

    @Override
    public RemoteMemory remote() {
        lifetime.checkOpen();
        if (backing == RegionBacking.NOTHING || kind == Kind.PART_OF_ADDRESS_SPACE) {
            throw new UnsupportedOperationException("peers can't use " + this);
        }
        return new RemoteMemory(backing.address(), remoteKey, backing.length());
    }

    /**
     * Returns the kernel's number for this region ({@code handle}). A process that shares the device can
     * {@linkplain ProtectionDomain#importRegion import} the region by it.
     *
     * @return the handle
     * @throws UnsupportedOperationException if the memory is registered with a node without a device
     */
    public int handle() {
        if (kind == Kind.WITHOUT_DEVICE) {
            throw new UnsupportedOperationException(this + " is registered with no device, and has no handle");
        }
        try (var _ = lifetime.held()) {
            return ibv_mr.handle(struct(structure));
        }
    }

    /** Returns for example {@code memory region of 4 KiB at 0x7f0010, lkey 0x1234, rkey 0x1234, [LOCAL_WRITE]}. */
    @Override
    public String toString() {
        return "memory region of " + backing + ", lkey 0x" + Integer.toHexString(localKey) + ", rkey 0x"
                + Integer.toHexString(remoteKey) + ", " + access;
    }
}
