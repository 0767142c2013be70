package dev.verbena.walk;

import dev.verbena.VerbsException;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.IndirectionTable;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.ReceiveHash;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkQueue;
import dev.verbena.verbs.WorkQueueOptions;
import dev.verbena.verbs.WorkStatus;
import dev.verbena.verbs.XrcDomain;
import dev.verbena.verbs.address.Gid;
import dev.verbena.walk.Node.ArenaNode;
import dev.verbena.walk.Node.ContextNode;
import dev.verbena.walk.Node.DomainNode;
import dev.verbena.walk.Node.HalfPairNode;
import dev.verbena.walk.Node.PairNode;
import dev.verbena.walk.Node.QueueNode;
import dev.verbena.walk.Node.RegionNode;
import dev.verbena.walk.Node.TableNode;
import dev.verbena.walk.Node.Thing;
import dev.verbena.walk.Node.WorkQueueNode;
import dev.verbena.walk.Node.XrcDomainNode;
import dev.verbena.walk.Node.XrcReceivesNode;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Steps with objects that few devices have: work queues and tables of them, XRC domains, and multicast groups. */
final class Rare {
    private static final int CAPACITY = 64;
    private static final WorkQueue.State[] STATES = {
        WorkQueue.State.READY, WorkQueue.State.READY, WorkQueue.State.ERROR, WorkQueue.State.RESET
    };
    private static final Gid[] GROUPS = {
        Gid.parse("::ffff:239.1.1.1"), Gid.parse("::ffff:239.1.1.2"), Gid.parse("ff0e::1")
    };

    private Rare() {}

    /** Chooses a completion queue that no other step uses, or makes one. */
    private static @Nullable QueueNode completions(World world, Step step, ArenaNode arena, DomainNode domain) {
        QueueNode known =
                world.choose(world.rareQueues, step.c(), step.actor(), each -> each.context == domain.context);
        if (known != null && step.d() % 3 != 0 || World.isFull(world.rareQueues)) {
            return known;
        }
        ContextNode context = domain.context;
        String name = world.name("queue");
        world.say(step, () -> name + " = " + context + ".createCompletionQueue(" + CAPACITY + ", " + arena + ")");
        CompletionQueue made = world.call(
                new Faults(step.actor()).needs(arena, context),
                () -> context.context.createCompletionQueue(CompletionQueueOptions.of(CAPACITY), arena.arena));
        return made == null
                ? null
                : world.born(world.rareQueues, new QueueNode(name, arena, context, null, false, CAPACITY, made));
    }

    // --- work queues ---

    static void workQueue(World world, Step step) {
        ArenaNode arena = world.need(world.arenas, step.a(), step.actor());
        DomainNode domain = world.need(world.domains, step.b(), step.actor());
        World.skipIf(World.isFull(world.workQueues));
        QueueNode completions = completions(world, step, arena, domain);
        World.skipIf(completions == null);
        int depth = 2 << step.d() / 3 % 3;
        String name = world.name("workQueue");
        world.say(
                step,
                () -> name + " = " + domain + ".createWorkQueue(" + completions + ", " + depth + ", " + arena + ")");
        Faults faults = new Faults(step.actor()).needs(arena, domain, completions);
        WorkQueue made = world.call(
                Making.foreign(faults, domain, completions, completions.context),
                () -> domain.domain.createWorkQueue(WorkQueueOptions.of(completions.queue, depth), arena.arena));
        if (made != null) {
            world.born(world.workQueues, new WorkQueueNode(name, arena, domain, completions, depth, made));
        }
    }

    /** Changes the state of a work queue. One that fails flushes its receives, which are taken at once. */
    static void modify(World world, Step step) {
        WorkQueueNode queue = world.need(world.workQueues, step.a(), step.actor());
        World.skipIf(!queue.completions.isAccessibleBy(step.actor()));
        WorkQueue.State to = STATES[step.b() % STATES.length];
        world.say(step, () -> queue + ".modify(" + to + ") with the receives " + queue.pending);
        if (!world.run(new Faults(step.actor()).needs(queue), () -> queue.queue.modify(to))) {
            return;
        }
        queue.state = to;
        if (to == WorkQueue.State.ERROR) {
            for (long id : queue.pending) {
                WorkCompletion done = world.call(new Faults(step.actor()), () -> queue.completions.queue.poll());
                World.require(
                        done != null && done.id() == id && done.status() == WorkStatus.WORK_REQUEST_FLUSHED,
                        () -> "The receive " + id + " of " + queue + " must be flushed, there is " + done);
                world.note("work queue flushed");
            }
        }
        if (to != WorkQueue.State.READY) {
            queue.pending.clear();
        }
        if (queue.completions.open) {
            WorkCompletion more = queue.completions.queue.poll();
            World.require(more == null, () -> queue.completions + " must be empty and has " + more);
        }
    }

    static void receive(World world, Step step) {
        WorkQueueNode queue =
                world.need(world.workQueues, step.a(), step.actor(), each -> each.state == WorkQueue.State.READY);
        RegionNode region = step.b() % 2 == 0
                ? null
                : world.choose(world.regions, step.c(), step.actor(), each -> each.domain == queue.domain);
        LocalMemory[] pieces =
                region == null || region.domain != queue.domain ? new LocalMemory[0] : new LocalMemory[] {region.slice};
        long id = world.id();
        world.say(step, () -> queue + ".postReceive(" + id + (pieces.length == 0 ? "" : ", " + region) + ")");
        Faults faults = new Faults(step.actor())
                .needs(queue)
                .state(queue.state != WorkQueue.State.READY, queue, " is in " + queue.state)
                .when(queue.pending.size() == queue.depth, VerbsException.class, queue, " is full");
        if (pieces.length > 0 && region != null) {
            faults.needs(region);
        }
        if (world.run(faults, () -> queue.queue.postReceive(id, pieces))) {
            queue.pending.add(id);
        }
    }

    static void table(World world, Step step) {
        ArenaNode arena = world.need(world.arenas, step.a(), step.actor());
        WorkQueueNode first = world.need(world.workQueues, step.b(), step.actor());
        World.skipIf(World.isFull(world.tables));
        ContextNode context = first.domain.context;
        List<WorkQueueNode> entries = new ArrayList<>(List.of(first));
        int size = 1 << step.d() % 3;
        for (int i = 1; i < size; i++) {
            WorkQueueNode next = world.choose(
                    world.workQueues, step.c() / (i * i), step.actor(), each -> each.domain.context == context);
            entries.add(next == null ? first : next);
        }
        String name = world.name("table");
        world.say(step, () -> name + " = " + context + ".createIndirectionTable(" + entries + ", " + arena + ")");
        Faults faults = new Faults(step.actor()).needs(arena, context);
        for (WorkQueueNode entry : entries) {
            faults.needs(entry).argument(entry.domain.context != context, entry, " is of another context");
        }
        IndirectionTable made = world.call(
                faults,
                () -> context.context.createIndirectionTable(
                        entries.stream().map(each -> each.queue).toList(), arena.arena));
        if (made != null) {
            world.note("table");
            world.born(world.tables, new TableNode(name, arena, context, new LinkedHashSet<>(entries), made));
        }
    }

    // --- XRC ---

    static void xrcDomain(World world, Step step) {
        ArenaNode arena = world.need(world.arenas, step.a(), step.actor());
        ContextNode context = world.need(world.contexts, step.b(), step.actor());
        World.skipIf(World.isFull(world.xrcDomains));
        String name = world.name("xrcDomain");
        world.say(step, () -> name + " = " + context + ".openXrcDomain(" + arena + ")");
        XrcDomain made = world.call(
                new Faults(step.actor()).needs(arena, context), () -> context.context.openXrcDomain(arena.arena));
        if (made != null) {
            world.born(world.xrcDomains, new XrcDomainNode(name, arena, context, made));
        }
    }

    static void xrcReceives(World world, Step step) {
        ArenaNode arena = world.need(world.arenas, step.a(), step.actor());
        DomainNode domain = world.need(world.domains, step.b(), step.actor());
        World.skipIf(World.isFull(world.xrcReceives));
        XrcDomainNode of = world.need(world.xrcDomains, step.c(), step.actor(), each -> each.context == domain.context);
        QueueNode completions = of == null ? null : completions(world, step, arena, domain);
        World.skipIf(completions == null);
        int depth = 2 << step.d() / 3 % 3;
        String name = world.name("xrcReceives");
        world.say(
                step,
                () -> name + " = " + domain + ".createSharedReceiveQueue(xrc(" + of + ", " + completions + "), " + arena
                        + ")");
        Faults faults = new Faults(step.actor()).needs(arena, domain, of, completions);
        Making.foreign(faults, domain, of, of.context);
        SharedReceiveQueue made = world.call(
                Making.foreign(faults, domain, completions, completions.context),
                () -> domain.domain.createSharedReceiveQueue(
                        SharedReceiveQueue.xrc(of.domain, completions.queue).depth(depth), arena.arena));
        if (made != null) {
            world.born(world.xrcReceives, new XrcReceivesNode(name, arena, domain, of, completions, depth, made));
        }
    }

    static void xrcReceive(World world, Step step) {
        XrcReceivesNode queue = world.need(world.xrcReceives, step.a(), step.actor());
        world.say(step, () -> queue + ".receiveBatch(1).receive().post()");
        Faults faults = new Faults(step.actor())
                .needs(queue)
                .when(queue.pending == queue.depth, VerbsException.class, queue, " is full");
        if (world.run(
                faults, () -> queue.queue.receiveBatch(1).receive(world.id()).post())) {
            queue.pending++;
            world.wire.progressAll(); // the provider tries all sends again that wait for a receive
        }
    }

    /** Makes a queue pair of an XRC domain, or with a table. */
    static void halfPair(World world, Step step) {
        ArenaNode arena = world.need(world.arenas, step.a(), step.actor());
        DomainNode domain = world.need(world.domains, step.b(), step.actor());
        World.skipIf(World.isFull(world.halfPairs));
        int kind = step.d() % 3;
        Thing other = switch (kind) {
            case 0 -> world.choose(world.xrcDomains, step.c(), step.actor(), each -> each.context == domain.context);
            case 1 -> world.choose(world.tables, step.c(), step.actor(), each -> each.context == domain.context);
            default -> completions(world, step, arena, domain);
        };
        World.skipIf(other == null);
        String name = world.name("halfPair");
        world.say(step, () -> name + " = " + domain + ".createQueuePair(" + other + ", " + arena + ")");
        Faults faults = new Faults(step.actor()).needs(arena, domain, other);
        QueuePairOptions options = switch (other) {
            case XrcDomainNode xrc -> {
                Making.foreign(faults, domain, xrc, xrc.context);
                yield QueuePair.xrcReceive(xrc.domain);
            }
            case TableNode table -> {
                Making.foreign(faults, domain, table, table.context);
                yield QueuePair.hashed(ReceiveHash.of(table.table, new byte[40], Set.of()));
            }
            case QueueNode queue -> {
                Making.foreign(faults, domain, queue, queue.context);
                yield QueuePair.xrcSend(queue.queue).sendDepth(4);
            }
            default -> throw new WalkFailure("no queue pair is made of " + other, null);
        };
        QueuePair made = world.call(faults, () -> domain.domain.createQueuePair(options, arena.arena));
        if (made != null) {
            world.note(kind == 0 ? "XRC receiver" : kind == 1 ? "table with a queue pair" : "XRC sender");
            world.born(world.halfPairs, new HalfPairNode(name, arena, domain, other, made));
        }
    }

    // --- groups ---

    private static Faults ofPair(Step step, PairNode pair) {
        return new Faults(step.actor()).needs(pair).state(!pair.datagrams, pair, " is not for datagrams");
    }

    /** Attaches a queue pair to a group. To attach it again changes nothing. */
    static void attach(World world, Step step) {
        PairNode pair = world.need(world.pairs, step.a(), step.actor(), each -> each.datagrams);
        Gid group = GROUPS[step.b() % GROUPS.length];
        world.say(step, () -> pair + ".attachMulticast(" + group + ")");
        if (world.run(ofPair(step, pair), () -> pair.pair.attachMulticast(group))) {
            pair.groups.add(group);
            world.note("group attached");
        }
    }

    static void detach(World world, Step step) {
        PairNode pair =
                world.need(world.pairs, step.a(), step.actor(), each -> !each.groups.isEmpty() || step.c() % 8 == 0);
        Gid group = GROUPS[step.b() % GROUPS.length];
        world.say(step, () -> pair + ".detachMulticast(" + group + ") of " + pair.groups);
        Faults faults = ofPair(step, pair)
                .when(!pair.groups.contains(group), VerbsException.class, pair, " is not in the group");
        if (world.run(faults, () -> pair.pair.detachMulticast(group))) {
            pair.groups.remove(group);
            world.note("group detached");
        }
    }
}
