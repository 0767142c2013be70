package dev.verbena.walk;

import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.BufferPool;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RegistrationCache;
import dev.verbena.walk.Node.ArenaNode;
import dev.verbena.walk.Node.Block;
import dev.verbena.walk.Node.DomainNode;
import dev.verbena.walk.Node.RegionNode;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Steps with pools of buffers and caches of registrations. */
final class Lending {
    private static final int[] SIZES = {8, 64, 100};

    /** The number of pools, and of caches, that a walk keeps. */
    private static final int KEPT = 6;

    private Lending() {}

    private static <T> void keep(List<T> all, T one) {
        all.add(one);
        if (all.size() > KEPT) {
            all.removeFirst();
        }
    }

    private static <T> T any(List<T> all, int operand) {
        World.skipIf(all.isEmpty());
        return all.get(operand % all.size());
    }

    // --- pools ---

    /** What the model knows of a pool. */
    static final class Pool {
        final String name;
        final BufferPool pool;
        final RegionNode region;
        final long size;
        /** The free buffers; the first is the next to be taken. */
        final ArrayDeque<Integer> free = new ArrayDeque<>();

        Pool(String name, BufferPool pool, RegionNode region, int count, long size) {
            this.name = name;
            this.pool = pool;
            this.region = region;
            this.size = size;
            for (int i = 0; i < count; i++) {
                free.add(i);
            }
        }

        @Override
        public String toString() {
            return name;
        }
    }

    static void pool(World world, Step step) {
        ArenaNode arena = world.need(world.arenas, step.a(), step.actor());
        DomainNode domain = world.need(world.domains, step.b(), step.actor());
        World.skipIf(arena.blocks.size() > 5 || World.isFull(world.regions));
        int count = 1 + step.c() % 3;
        int size = SIZES[step.c() / 3 % SIZES.length];
        Set<AccessFlag> access = Making.access(step.d());
        String name = world.name("pool");
        String regionName = world.name("region");
        world.say(
                step,
                () -> name + " of " + regionName + " = BufferPool.of(" + domain + ", " + count + ", " + size + ", "
                        + access + ", " + arena + ")");
        Faults faults = Making.refused(new Faults(step.actor()).needs(arena, domain), access);
        BufferPool made = world.call(faults, () -> BufferPool.of(domain.domain, count, size, access, arena.arena));
        if (made == null) {
            return;
        }
        MemoryRegion region = made.region();
        Block block = new Block(world.name("memory"), arena, region.segment());
        arena.blocks.add(block);
        world.blocks.add(block);
        RegionNode node = new RegionNode(regionName, arena, domain, block, region);
        world.wire.add(world.born(world.regions, node));
        keep(world.pools, new Pool(name, made, node, count, size));
    }

    static void take(World world, Step step) {
        Pool pool = any(world.pools, step.a());
        world.say(step, () -> pool + ".take() of " + pool.free);
        Faults faults = new Faults(step.actor())
                .needs(pool.region)
                .when(pool.free.isEmpty(), NoSuchElementException.class, pool, " is empty");
        BufferPool.Buffer taken = world.call(faults, pool.pool::take);
        if (taken == null) {
            return;
        }
        world.note("buffer lent");
        int expected = pool.free.removeFirst();
        World.require(
                taken.index() == expected && taken.segment().byteSize() == pool.size,
                () -> pool + " must lend buffer " + expected + " and lends " + taken);
        World.require(
                pool.pool.available() == pool.free.size(), () -> pool + " must have " + pool.free.size() + " left");
    }

    static void giveBack(World world, Step step) {
        Pool pool = any(world.pools, step.a());
        int index = step.b() % pool.pool.size();
        world.say(step, () -> "buffer " + index + " of " + pool + ".close(), free are " + pool.free);
        world.run(new Faults(step.actor()), () -> pool.pool.buffer(index).close()); // twice does nothing
        if (!pool.free.contains(index)) {
            pool.free.addFirst(index);
        }
        World.require(
                pool.pool.available() == pool.free.size(), () -> pool + " must have " + pool.free.size() + " left");
    }

    // --- caches ---

    /** A registration that a cache keeps. */
    private static final class Entry {
        final RegionNode region;
        final List<RegistrationCache.Use> uses = new ArrayList<>();
        int last;

        Entry(RegionNode region) {
            this.region = region;
        }
    }

    /** What the model knows of a cache. */
    static final class Cache {
        final String name;
        final RegistrationCache cache;
        final DomainNode domain;
        final ArenaNode arena;
        final int max;
        final List<Entry> entries = new ArrayList<>();
        int clock;

        Cache(String name, RegistrationCache cache, DomainNode domain, ArenaNode arena, int max) {
            this.name = name;
            this.cache = cache;
            this.domain = domain;
            this.arena = arena;
            this.max = max;
        }

        @Nullable
        Entry of(Block block) {
            return entries.stream()
                    .filter(each -> each.region.block == block)
                    .findFirst()
                    .orElse(null);
        }

        /** Returns the entry to close for another one; null if all are in use. */
        @Nullable
        Entry oldest() {
            return entries.stream()
                    .filter(each -> each.uses.isEmpty())
                    .min(Comparator.comparingInt(each -> each.last))
                    .orElse(null);
        }

        void check() {
            entries.removeIf(each -> !each.region.open);
            World.require(
                    cache.size() == entries.size(), () -> name + " must keep " + entries.size() + " registrations");
        }

        @Override
        public String toString() {
            return name;
        }
    }

    static void cache(World world, Step step) {
        ArenaNode arena = world.need(world.arenas, step.a() | 1, step.actor());
        DomainNode domain = world.need(world.domains, step.b() | 1, step.actor());
        int max = 1 + step.c() % 3;
        String name = world.name("cache");
        world.say(
                step, () -> name + " = RegistrationCache.of(" + domain + ", " + max + ", LOCAL_WRITE, " + arena + ")");
        List<AccessFlag> access = List.of(AccessFlag.LOCAL_WRITE);
        RegistrationCache made = world.call(
                new Faults(step.actor()), () -> RegistrationCache.of(domain.domain, max, access, arena.arena));
        if (made != null) {
            keep(world.caches, new Cache(name, made, domain, arena, max));
        }
    }

    static void use(World world, Step step) {
        Cache cache = any(world.caches, step.a());
        Block block = any(world.blocks, step.b());
        World.skipIf(!cache.arena.isAccessibleBy(step.actor()));
        cache.entries.removeIf(each -> !each.region.open);
        Entry known = cache.of(block);
        world.say(step, () -> cache + ".use(" + block + ")" + (known == null ? ", which registers it" : ""));
        Faults faults = new Faults(step.actor()).needs(cache.domain, block.arena);
        boolean evicts = faults.isEmpty() && known == null && cache.entries.size() == cache.max;
        Entry oldest = evicts ? cache.oldest() : null;
        if (known == null) {
            faults.needs(cache.arena)
                    .when(evicts && oldest == null, NoSuchElementException.class, cache, " is full of uses");
        }
        RegistrationCache.Use use = world.call(faults, () -> cache.cache.use(block.segment));
        if (use == null) {
            return;
        }
        if (oldest != null) {
            world.note("registration evicted");
            cache.entries.remove(oldest);
            world.died(oldest.region);
        }
        Entry entry = known;
        if (entry == null) {
            entry = new Entry(new RegionNode(world.name("region"), cache.arena, cache.domain, block, use.region()));
            world.born(world.cached, entry.region);
            cache.entries.add(entry);
        }
        world.note(known == null ? "registered" : "registration found");
        Entry found = entry;
        World.require(use.region() == found.region.region, () -> cache + " must return " + found.region);
        entry.uses.add(use);
        entry.last = ++cache.clock;
        cache.check();
    }

    static void endUse(World world, Step step) {
        Cache cache = any(world.caches, step.a());
        Entry entry = any(cache.entries, step.b());
        World.skipIf(entry.uses.isEmpty());
        world.say(step, () -> "a use of " + entry.region + " in " + cache + " ends");
        RegistrationCache.Use use = entry.uses.removeFirst();
        world.run(new Faults(step.actor()), () -> {
            use.close();
            use.close(); // twice does nothing
        });
    }

    static void forget(World world, Step step) {
        Cache cache = any(world.caches, step.a());
        Block block = any(world.blocks, step.b());
        World.skipIf(!cache.arena.isAccessibleBy(step.actor()));
        cache.entries.removeIf(each -> !each.region.open);
        Entry known = cache.of(block);
        world.say(step, () -> cache + ".forget(" + block + ")");
        Faults faults = new Faults(step.actor()).state(known != null && !known.uses.isEmpty(), block, " is in use");
        if (world.run(faults, () -> cache.cache.forget(block.segment)) && known != null) {
            cache.entries.remove(known);
            world.died(known.region);
        }
        cache.check();
    }
}
