package dev.verbena.internal.link;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RegionOptions;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.access.VerbsAccess;
import java.lang.foreign.MemorySegment;
import java.security.SecureRandom;
import java.util.Collection;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The registered memory of a node over TCP, by keys. It takes the part of a protection domain: memory is used only while its
 * key is known, only within its bounds, and only as its rights allow.
 *
 * <p>A node with a device too registers memory with the device, and then {@linkplain #adopt adopts} it here. Such memory has
 * the remote key of the device for peers, and a key of its own for this side.
 *
 * <p>A key ends under a lock that the node's thread holds while it uses memory. So nobody uses the memory of a key that has
 * ended, and the memory can be freed. Keys that peers may use are random, so that they can't guess others. The rest are
 * counted: to make the first random number takes a program's start longer.
 */
public final class TcpMemory extends VerbsObject {
    /**
     * The memory of a key. With a holder, only its peer may use the key.
     *
     * @param remoteKey the key of the device, if the memory was adopted; else the key
     * @param address the address as requests name it
     * @param place the address of the memory in this process
     */
    private record Area(
            MemoryRegion region,
            int key,
            int remoteKey,
            long address,
            long place,
            long length,
            Set<AccessFlag> access,
            @Nullable Object only) {

        /** Makes the area of a region that is open. */
        static Area of(MemoryRegion region, int key) {
            return new Area(
                    region,
                    key,
                    region.remoteKey(),
                    region.address(),
                    region.segment().address(),
                    region.length(),
                    region.access(),
                    null);
        }
    }

    private final Map<Integer, Area> areas = new ConcurrentHashMap<>();

    /** The memory that is registered with a device, and by the device's remote keys. */
    private final Map<MemoryRegion, Area> adopted = new ConcurrentHashMap<>();

    private final Map<Integer, Area> adoptedByKey = new ConcurrentHashMap<>();

    private final AtomicInteger lastOwn = new AtomicInteger();
    private volatile @Nullable SecureRandom random;

    /** Held by a thread that uses memory, or that ends a key. */
    private final Mutex using = new Mutex();

    private TcpMemory(ObjectLifetime lifetime) {
        super(lifetime);
        lifetime.destroyedBy(() -> {}); // the regions depend on this, and end first
    }

    public static TcpMemory create(VerbsArena arena) {
        return ObjectLifetime.create(arena, TcpMemory::new);
    }

    public MemoryRegion register(MemorySegment memory, Collection<AccessFlag> access, VerbsArena owner) {
        return register(memory, false, access, owner);
    }

    public MemoryRegion register(RegionOptions options, VerbsArena owner) {
        VerbsAccess verbs = VerbsAccess.get();
        return register(verbs.memory(options), verbs.isForeign(options), verbs.access(options), owner);
    }

    private MemoryRegion register(
            MemorySegment memory, boolean foreign, Collection<AccessFlag> access, VerbsArena owner) {
        Integer key = freeKey(access);
        return VerbsAccess.get()
                .regionWithoutDevice(
                        memory,
                        foreign,
                        access,
                        key,
                        owner,
                        this,
                        made -> areas.put(key, Area.of(made, key)),
                        () -> remove(key));
    }

    /** Lets this side and peers use memory that is registered with a device, until that region is closed. */
    public void adopt(MemoryRegion region) {
        int key = freeKey(region.access());
        VerbsAccess.get().follow(region, () -> add(Area.of(region, key)), () -> remove(key));
    }

    private void add(Area area) {
        areas.put(area.key, area);
        adopted.put(area.region, area);
        adoptedByKey.put(area.remoteKey, area);
    }

    private int freeKey(Collection<AccessFlag> access) {
        boolean isForPeers = !Collections.disjoint(access, Carrier.RIGHTS_OF_PEERS);
        int key;
        do {
            key = isForPeers ? randomly() : lastOwn.incrementAndGet();
        } while (areas.containsKey(key));
        return key;
    }

    private int randomly() {
        SecureRandom known = random;
        if (known == null) {
            random = known = new SecureRandom();
        }
        return known.nextInt();
    }

    private void remove(int key) {
        try (var _ = using.held()) {
            Area ended = areas.remove(key);
            if (ended != null) {
                areas.values().removeIf(area -> area.region == ended.region); // keys of channels for the same memory
                adopted.remove(ended.region);
                adoptedByKey.remove(ended.remoteKey, ended);
            }
        }
    }

    /** Makes a key for the peer of a link. */
    RemoteMemory grant(TcpLink link, MemoryRegion region, Set<AccessFlag> access) {
        try (var _ = using.held()) {
            Area whole = areas.get(keyOf(region));
            if (whole == null) {
                throw new IllegalStateException("The " + region + " is closed");
            }
            int key = freeKey(access);
            areas.put(key, new Area(region, key, key, whole.address, whole.place, whole.length, access, link.holder()));
            return new RemoteMemory(whole.address, key, whole.length);
        }
    }

    /** Ends a key of a peer. */
    void revoke(int key) {
        try (var _ = using.held()) {
            areas.remove(key);
        }
    }

    /** Returns the key by which this side uses memory. Throws if the region is closed. */
    public int keyOf(MemoryRegion region) {
        int key = region.localKey();
        Area area = adopted.get(region);
        return area == null ? key : area.key;
    }

    /** Throws if this side can't use memory for a request. */
    public void checkOwn(LocalMemory memory, boolean written) {
        MemoryRegion region = memory.region();
        Area area = areas.get(keyOf(region));
        if (area == null || area.region != region) {
            throw new IllegalArgumentException(region + " is not registered with this node: use Node.register()");
        }
        if (written && !area.access.contains(AccessFlag.LOCAL_WRITE)) {
            throw new IllegalArgumentException(region + " can't be read into without LOCAL_WRITE");
        }
    }

    /**
     * Begins to use memory: no key ends until the result is closed. The lock also orders what is written: a program that polls
     * sees nothing of a use before it sees what the uses before have written.
     */
    public Mutex use() {
        return using.held();
    }

    /**
     * Returns memory of a key, for a use that has begun.
     *
     * @param link the link that asks; null for this side's own use
     * @param right the right that the key must give; null if none is needed
     * @return the memory; null if the key, the range or the right is wrong
     */
    @Nullable
    public MemorySegment find(@Nullable TcpLink link, int key, long address, long length, @Nullable AccessFlag right) {
        MemorySegment found = part(areas.get(key), link, address, length, right);
        return found == null && link != null && !adoptedByKey.isEmpty()
                ? part(adoptedByKey.get(key), link, address, length, right)
                : found;
    }

    private static @Nullable MemorySegment part(
            @Nullable Area area, @Nullable TcpLink link, long address, long length, @Nullable AccessFlag right) {
        if (area == null
                || (area.only != null && (link == null || area.only != link.holder()))
                || (right != null && !area.access.contains(right))) {
            return null;
        }
        long offset = address - area.address;
        if (offset < 0 || length < 0 || length > area.length - offset) {
            return null;
        }
        return MemorySegment.ofAddress(area.place + offset).reinterpret(length);
    }

    /** Returns for example {@code registered memory of a node over TCP}. */
    @Override
    public String toString() {
        return "registered memory of a node over TCP";
    }
}
