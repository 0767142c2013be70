package dev.verbena.walk;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionField;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.ParentDomainOptions;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.ReceiveBatch;
import dev.verbena.verbs.RegionChange;
import dev.verbena.verbs.SendBatch;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.walk.Node.ArenaNode;
import dev.verbena.walk.Node.Block;
import dev.verbena.walk.Node.ChannelNode;
import dev.verbena.walk.Node.ContextNode;
import dev.verbena.walk.Node.CursorNode;
import dev.verbena.walk.Node.DomainNode;
import dev.verbena.walk.Node.PairNode;
import dev.verbena.walk.Node.PathNode;
import dev.verbena.walk.Node.QueueNode;
import dev.verbena.walk.Node.ReceiveBatchNode;
import dev.verbena.walk.Node.RegionNode;
import dev.verbena.walk.Node.SendBatchNode;
import dev.verbena.walk.Node.SharedReceivesNode;
import dev.verbena.walk.Node.Thing;
import dev.verbena.walk.Node.WindowNode;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Set;
import java.util.function.Supplier;

/** Steps that make arenas and objects, and that use an object on its own. */
final class Making {
    private static final int[] SIZES = {64, 128, 256};
    private static final Set<AccessFlag> FULL = EnumSet.of(
            AccessFlag.LOCAL_WRITE,
            AccessFlag.REMOTE_WRITE,
            AccessFlag.REMOTE_READ,
            AccessFlag.REMOTE_ATOMIC,
            AccessFlag.MW_BIND);
    private static final Set<QueuePairOptions.OfferedOperation> FOR_CONNECTIONS = EnumSet.of(
            QueuePairOptions.OfferedOperation.SEND,
            QueuePairOptions.OfferedOperation.SEND_WITH_IMMEDIATE,
            QueuePairOptions.OfferedOperation.SEND_WITH_INVALIDATE,
            QueuePairOptions.OfferedOperation.RDMA_WRITE,
            QueuePairOptions.OfferedOperation.RDMA_WRITE_WITH_IMMEDIATE,
            QueuePairOptions.OfferedOperation.RDMA_READ,
            QueuePairOptions.OfferedOperation.FETCH_AND_ADD,
            QueuePairOptions.OfferedOperation.COMPARE_AND_SWAP,
            QueuePairOptions.OfferedOperation.BIND_MW,
            QueuePairOptions.OfferedOperation.LOCAL_INVALIDATE);
    private static final Set<QueuePairOptions.OfferedOperation> FOR_UNRELIABLE = EnumSet.of(
            QueuePairOptions.OfferedOperation.SEND,
            QueuePairOptions.OfferedOperation.SEND_WITH_IMMEDIATE,
            QueuePairOptions.OfferedOperation.SEND_WITH_INVALIDATE,
            QueuePairOptions.OfferedOperation.RDMA_WRITE,
            QueuePairOptions.OfferedOperation.RDMA_WRITE_WITH_IMMEDIATE,
            QueuePairOptions.OfferedOperation.BIND_MW,
            QueuePairOptions.OfferedOperation.LOCAL_INVALIDATE);
    private static final Set<QueuePairOptions.OfferedOperation> FOR_DATAGRAMS =
            EnumSet.of(QueuePairOptions.OfferedOperation.SEND, QueuePairOptions.OfferedOperation.SEND_WITH_IMMEDIATE);
    private static final int ARENAS = 6;

    private Making() {}

    static void arena(World world, Step step) {
        World.skipIf(world.arenas.stream().filter(each -> each.open).count() >= ARENAS);
        boolean confined = step.a() % 3 == 0;
        String name = world.name(confined ? "confined" : "shared");
        world.say(step, () -> name + " = " + (confined ? "VerbsArena.ofConfined()" : "VerbsArena.ofShared()"));
        VerbsArena arena = confined ? VerbsArena.ofConfined() : VerbsArena.ofShared();
        world.add(world.arenas, new ArenaNode(name, confined ? step.actor() : Node.ALL, arena));
    }

    static void context(World world, Step step) {
        ArenaNode arena = world.need(world.arenas, step.a(), step.actor());
        World.skipIf(World.isFull(world.contexts));
        String name = world.name("context");
        world.say(step, () -> name + " = device.open(" + arena + ")");
        Context made = world.call(new Faults(step.actor()).needs(arena), () -> world.device.open(arena.arena));
        if (made != null) {
            world.born(world.contexts, new ContextNode(name, arena, made));
        }
    }

    static void domain(World world, Step step) {
        ArenaNode arena = world.need(world.arenas, step.a(), step.actor());
        ContextNode context = world.need(world.contexts, step.b(), step.actor());
        World.skipIf(World.isFull(world.domains));
        String name = world.name("domain");
        world.say(step, () -> name + " = " + context + ".allocateProtectionDomain(" + arena + ")");
        ProtectionDomain made = world.call(
                new Faults(step.actor()).needs(arena, context),
                () -> context.context.allocateProtectionDomain(arena.arena));
        if (made != null) {
            world.born(world.domains, new DomainNode(name, arena, context, null, made));
        }
    }

    static void parentDomain(World world, Step step) {
        ArenaNode arena = world.need(world.arenas, step.a(), step.actor());
        DomainNode from = world.need(world.domains, step.b(), step.actor());
        World.skipIf(World.isFull(world.domains));
        String name = world.name("parent");
        world.say(step, () -> name + " = " + from + ".allocateParentDomain(" + arena + ")");
        ProtectionDomain made = world.call(
                new Faults(step.actor()).needs(arena, from, from.root()),
                () -> from.domain.allocateParentDomain(ParentDomainOptions.defaults(), arena.arena));
        if (made != null) {
            world.born(world.domains, new DomainNode(name, arena, from.context, from.root(), made));
        }
    }

    static void channel(World world, Step step) {
        ArenaNode arena = world.need(world.arenas, step.a(), step.actor());
        ContextNode context = world.need(world.contexts, step.b(), step.actor());
        World.skipIf(World.isFull(world.channels));
        String name = world.name("channel");
        world.say(step, () -> name + " = " + context + ".createCompletionChannel(" + arena + ")");
        CompletionChannel made = world.call(
                new Faults(step.actor()).needs(arena, context),
                () -> context.context.createCompletionChannel(arena.arena));
        if (made != null) {
            world.born(world.channels, new ChannelNode(name, arena, context, made));
        }
    }

    static void completionQueue(World world, Step step) {
        ArenaNode arena = world.need(world.arenas, step.a(), step.actor());
        ContextNode context = world.need(world.contexts, step.b(), step.actor());
        World.skipIf(World.isFull(world.queues));
        ChannelNode channel = step.d() % 2 == 0
                ? null
                : world.choose(world.channels, step.c(), step.actor(), each -> each.context == context);
        boolean extended = step.d() / 2 % 3 == 0;
        int capacity = SIZES[step.d() / 6 % SIZES.length];
        String name = world.name(extended ? "extendedQueue" : "queue");
        CompletionQueueOptions plain =
                CompletionQueueOptions.of(capacity).channel(channel == null ? null : channel.channel);
        CompletionQueueOptions options = !extended
                ? plain
                : plain.fields(
                        CompletionField.BYTE_LENGTH,
                        CompletionField.QUEUE_PAIR_NUMBER,
                        CompletionField.SOURCE_QUEUE_PAIR,
                        CompletionField.IMMEDIATE);
        world.say(
                step,
                () -> name + " = " + context + ".createCompletionQueue(" + capacity
                        + (channel == null ? "" : ", " + channel) + (extended ? ", extended" : "") + ", " + arena
                        + ")");
        Faults faults = new Faults(step.actor()).needs(arena, context);
        if (channel != null) {
            faults.needs(channel).argument(channel.context != context, channel, " is of another context");
        }
        CompletionQueue made = world.call(faults, () -> context.context.createCompletionQueue(options, arena.arena));
        if (made != null) {
            world.born(world.queues, new QueueNode(name, arena, context, channel, extended, capacity, made));
        }
    }

    static void queuePair(World world, Step step) {
        DomainNode domain = world.need(world.domains, step.b(), step.actor());
        ArenaNode arena = world.need(world.arenas, step.a(), step.actor());
        World.skipIf(World.isFull(world.pairs));
        QueueNode sends = world.need(world.queues, step.c(), step.actor(), each -> each.context == domain.context);
        QueueNode receives = step.d() % 3 == 0
                ? world.choose(world.queues, step.c() / 7, step.actor(), each -> each.context == domain.context)
                : sends;
        SharedReceivesNode shared = step.d() / 3 % 4 != 0
                ? null
                : world.choose(
                        world.sharedReceives,
                        step.d() / 12,
                        step.actor(),
                        each -> each.domain.context == domain.context);
        World.skipIf(receives == null);
        boolean datagrams = step.d() / 36 % 4 == 0;
        boolean unreliable = !datagrams && step.d() / 3888 % 4 == 0 && !Settling.ON_DEVICE;
        boolean extended = step.d() / 144 % 3 == 0;
        QueuePairOptions options = (datagrams
                        ? QueuePair.ud(sends.queue, receives.queue)
                        : unreliable
                                ? QueuePair.uc(sends.queue, receives.queue)
                                : QueuePair.rc(sends.queue, receives.queue))
                .sendDepth(4 << step.d() / 432 % 3)
                .receiveDepth(4 << step.d() / 1296 % 3)
                .sendSge(2)
                .receiveSge(2)
                .inlineSize(64);
        if (extended) {
            options = options.operations(datagrams ? FOR_DATAGRAMS : unreliable ? FOR_UNRELIABLE : FOR_CONNECTIONS);
        }
        if (shared != null) {
            options = options.sharedReceiveQueue(shared.queue);
        }
        QueuePairOptions chosen = options;
        String name = world.name(datagrams ? "datagrams" : unreliable ? "unreliable" : "pair");
        world.say(
                step,
                () -> name + " = " + domain + ".createQueuePair(" + (extended ? "extended " : "")
                        + chosen + ", " + sends + ", " + receives
                        + (shared == null ? "" : ", " + shared) + ", " + arena + ")");
        Faults faults = new Faults(step.actor()).needs(arena, domain, sends, receives);
        foreign(faults, domain, sends, sends.context);
        foreign(faults, domain, receives, receives.context);
        if (shared != null) {
            faults.needs(shared);
            foreign(faults, domain, shared, shared.domain.context);
        }
        QueuePair made = world.call(faults, () -> domain.domain.createQueuePair(chosen, arena.arena));
        if (made != null) {
            PairNode pair = new PairNode(name, arena, domain, sends, receives, shared, made);
            world.wire.add(world.born(world.pairs, pair));
        }
    }

    static Faults foreign(Faults faults, DomainNode domain, Node other, ContextNode context) {
        return faults.argument(context != domain.context, other, " is of another context");
    }

    static void sharedReceiveQueue(World world, Step step) {
        ArenaNode arena = world.need(world.arenas, step.a(), step.actor());
        DomainNode domain = world.need(world.domains, step.b(), step.actor());
        World.skipIf(World.isFull(world.sharedReceives));
        int depth = 4 << step.c() % 3;
        String name = world.name("sharedReceives");
        world.say(step, () -> name + " = " + domain + ".createSharedReceiveQueue(" + depth + ", " + arena + ")");
        SharedReceiveQueue made = world.call(
                new Faults(step.actor()).needs(arena, domain),
                () -> domain.domain.createSharedReceiveQueue(
                        SharedReceiveQueue.basic().depth(depth).sge(2), arena.arena));
        if (made != null) {
            world.born(world.sharedReceives, new SharedReceivesNode(name, arena, domain, depth, made));
        }
    }

    static void addressHandle(World world, Step step) {
        ArenaNode arena = world.need(world.arenas, step.a(), step.actor());
        DomainNode domain = world.need(world.domains, step.b(), step.actor());
        PairNode known = world.need(world.pairs, step.c() | 1, step.actor(), each -> each.datagrams);
        World.skipIf(!known.open || World.isFull(world.paths));
        World.skipIf(!known.isAccessibleBy(step.actor()));
        AddressVector path = known.pair.pathTo(known.pair.endpoint());
        String name = world.name("path");
        world.say(step, () -> name + " = " + domain + ".createAddressHandle(own address, " + arena + ")");
        AddressHandle made = world.call(
                new Faults(step.actor()).needs(arena, domain),
                () -> domain.domain.createAddressHandle(path, arena.arena));
        if (made != null) {
            world.born(world.paths, new PathNode(name, arena, domain, made));
        }
    }

    static void memory(World world, Step step) {
        ArenaNode arena = world.need(world.arenas, step.a(), step.actor());
        World.skipIf(arena.blocks.size() > 5);
        int size = SIZES[step.b() % SIZES.length];
        String name = world.name("memory");
        world.say(step, () -> name + " = " + arena + ".allocate(" + size + ", 8)");
        MemorySegment made =
                world.call(new Faults(step.actor()).needs(arena), () -> arena.arena.allocate(size, Long.BYTES));
        if (made != null) {
            Block block = new Block(name, arena, made);
            arena.blocks.add(block);
            world.blocks.add(block);
        }
    }

    static Set<AccessFlag> access(int operand) {
        if (operand % 4 != 0) {
            return FULL;
        }
        EnumSet<AccessFlag> access = EnumSet.noneOf(AccessFlag.class);
        int bits = operand / 4;
        for (AccessFlag flag : FULL) {
            if ((bits & 1) != 0) {
                access.add(flag);
            }
            bits >>= 1;
        }
        return access;
    }

    static Faults refused(Faults faults, Set<AccessFlag> access) {
        boolean writes = access.contains(AccessFlag.REMOTE_WRITE) || access.contains(AccessFlag.REMOTE_ATOMIC);
        return faults.argument(writes && !access.contains(AccessFlag.LOCAL_WRITE), access, " needs LOCAL_WRITE");
    }

    static void region(World world, Step step) {
        ArenaNode arena = world.need(world.arenas, step.a(), step.actor());
        DomainNode domain = world.need(world.domains, step.b(), step.actor());
        World.skipIf(world.blocks.isEmpty() || World.isFull(world.regions));
        // Wrong threads register now and then.
        Block block = world.blocks.get(step.c() % world.blocks.size());
        Set<AccessFlag> access = access(step.d());
        String name = world.name("region");
        world.say(step, () -> name + " = " + domain + ".register(" + block + ", " + access + ", " + arena + ")");
        Faults faults = refused(new Faults(step.actor()).needs(arena, domain, block.arena), access);
        MemoryRegion made = world.call(faults, () -> domain.domain.register(block.segment, access, arena.arena));
        if (made != null) {
            world.wire.add(world.born(world.regions, new RegionNode(name, arena, domain, block, made)));
        }
    }

    static void reregistered(World world, Step step) {
        RegionNode region = world.need(world.regions, step.a(), step.actor());
        DomainNode other = step.b() % 2 == 0
                ? null
                : world.choose(world.domains, step.c(), step.actor(), each -> each.context == region.domain.context);
        Set<AccessFlag> access = other != null && step.d() % 2 == 0 ? region.access : access(step.d() / 2);
        Supplier<RegionChange> change = () -> other == null
                ? RegionChange.of(access.toArray(new AccessFlag[0]))
                : access == region.access
                        ? RegionChange.of(other.domain)
                        : RegionChange.of(other.domain).access(access);
        String name = world.name("region");
        world.say(
                step,
                () -> name + " = " + region + ".reregister(" + access + (other == null ? "" : ", " + other) + ")");
        Faults faults = refused(new Faults(step.actor()).needs(region).mayUse(region.block.arena), access)
                .state(!region.remembered.isEmpty(), region, " has windows");
        if (other == null) {
            faults.mayUse(region.domain);
        } else {
            faults.needs(other);
            foreign(faults, region.domain, other, other.context);
        }
        MemoryRegion made = world.call(faults, () -> region.region.reregister(change.get()));
        if (made != null) {
            world.died(region);
            RegionNode changed =
                    new RegionNode(name, region.arena, other == null ? region.domain : other, region.block, made);
            world.wire.add(world.born(world.regions, changed));
        }
    }

    static void window(World world, Step step) {
        ArenaNode arena = world.need(world.arenas, step.a(), step.actor());
        DomainNode domain = world.need(world.domains, step.b(), step.actor());
        World.skipIf(World.isFull(world.windows));
        MemoryWindow.Type type = step.c() % 2 == 0 ? MemoryWindow.Type.TYPE_1 : MemoryWindow.Type.TYPE_2;
        String name = world.name("window");
        world.say(step, () -> name + " = " + domain + ".allocateMemoryWindow(" + type + ", " + arena + ")");
        MemoryWindow made = world.call(
                new Faults(step.actor()).needs(arena, domain),
                () -> domain.domain.allocateMemoryWindow(type, arena.arena));
        if (made != null) {
            world.wire.add(world.born(world.windows, new WindowNode(name, arena, domain, made)));
        }
    }

    static void sendBatch(World world, Step step) {
        PairNode pair = world.need(world.pairs, step.a(), step.actor());
        int capacity = 1 + step.b() % 6;
        String name = world.name("sends");
        world.say(step, () -> name + " = " + pair + ".sendBatch(" + capacity + ")");
        SendBatch made = world.call(new Faults(step.actor()).needs(pair), () -> pair.pair.sendBatch(capacity));
        if (made != null) {
            World.addTool(world.sendBatches, new SendBatchNode(name, pair, made));
        }
    }

    static void receiveBatch(World world, Step step) {
        int capacity = 1 + step.b() % 6;
        String name = world.name("receives");
        if (step.c() % 4 == 0) {
            SharedReceivesNode shared = world.need(world.sharedReceives, step.a(), step.actor());
            world.say(step, () -> name + " = " + shared + ".receiveBatch(" + capacity + ")");
            ReceiveBatch made =
                    world.call(new Faults(step.actor()).needs(shared), () -> shared.queue.receiveBatch(capacity));
            if (made != null) {
                World.addTool(
                        world.receiveBatches,
                        new ReceiveBatchNode(name, shared, null, shared.domain, shared.receives, made));
            }
            return;
        }
        PairNode pair = world.need(world.pairs, step.a(), step.actor(), each -> each.shared == null);
        world.say(step, () -> name + " = " + pair + ".receiveBatch(" + capacity + ")");
        ReceiveBatch made = world.call(new Faults(step.actor()).needs(pair), () -> pair.pair.receiveBatch(capacity));
        if (made != null) {
            World.addTool(world.receiveBatches, new ReceiveBatchNode(name, pair, pair, pair.domain, pair.own, made));
        }
    }

    static void cursor(World world, Step step) {
        QueueNode queue = world.need(world.queues, step.a(), step.actor());
        int max = 1 + step.b() % 5;
        boolean extended = (queue.extended || step.c() % 32 == 0) && step.c() % 3 != 0;
        String name = world.name("cursor");
        world.say(
                step, () -> name + " = " + queue + (extended ? ".extendedCompletions(" : ".completions(") + max + ")");
        Faults faults =
                new Faults(step.actor()).needs(queue).state(extended && !queue.extended, queue, " is not extended");
        Completions made = world.call(
                faults, () -> extended ? queue.queue.extendedCompletions(max) : queue.queue.completions(max));
        if (made != null) {
            World.addTool(world.cursors, new CursorNode(name, queue, max, made));
        }
    }

    static void touch(World world, Step step) {
        Thing thing = world.needThing(step.a(), step.actor());
        World.skipIf(thing instanceof Node.EventChannelNode); // looking there takes events
        world.say(step, () -> "look at " + thing);
        world.call(new Faults(step.actor()), thing.object::toString);
        world.call(new Faults(step.actor()).needs(thing), thing.touch);
        world.check(true);
    }
}
