package dev.verbena.walk;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import dev.verbena.VerbsArena;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.MulticastMembership;
import dev.verbena.cm.PortSpace;
import dev.verbena.support.Fenced;
import dev.verbena.support.Loopback;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.address.Grh;
import dev.verbena.walk.Node.ArenaNode;
import dev.verbena.walk.Node.EventChannelNode;
import dev.verbena.walk.Node.IdNode;
import dev.verbena.walk.Node.IdPairNode;
import dev.verbena.walk.Node.MembershipNode;
import dev.verbena.walk.Peers.Phase;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.Objects;
import java.util.Set;

/** Steps with ids for datagrams: where they are, their queue pairs, and the multicast groups that they join. */
final class Datagrams {
    private static final InetSocketAddress OWN = new InetSocketAddress("10.9.9.1", 0);
    private static final InetSocketAddress PEER = new InetSocketAddress("10.9.9.1", 9);
    private static final InetSocketAddress[] GROUPS = {
        new InetSocketAddress("239.1.1.1", 0), new InetSocketAddress("239.1.1.2", 0)
    };
    private static final int EINVAL = 22;
    private static final int KEY = 0x01234567; // RDMA_UDP_QKEY

    private Datagrams() {}

    static void id(World world, Step step) {
        EventChannelNode channel = world.need(world.eventChannels, step.a(), step.actor());
        ArenaNode arena = world.need(
                world.arenas, step.b(), step.actor(), each -> !Connecting.mismatch(each, channel) || step.c() % 8 == 0);
        World.skipIf(World.isFull(world.datagramIds));
        String name = world.name("datagramId");
        world.say(step, () -> name + " = " + channel + ".createId(UDP, " + arena + ")");
        Faults faults =
                Connecting.ofArena(new Faults(step.actor()), arena, channel).needs(channel);
        ConnectionId made = world.call(faults, () -> channel.channel.createId(PortSpace.UDP, arena.arena));
        if (made != null) {
            Peers.End end = new Peers.End();
            end.datagrams = true;
            world.born(world.datagramIds, new IdNode(name, arena, channel, end, made));
        }
    }

    /** Gives an id its device: by its own address, or by that of a peer or a group. */
    static void place(World world, Step step) {
        IdNode id = world.need(world.datagramIds, step.a(), step.actor(), each -> each.end.phase == Phase.IDLE);
        World.skipIf(id.end.phase != Phase.IDLE);
        Faults faults = new Faults(step.actor()).needs(id);
        boolean placed;
        if (step.b() % 2 == 0) {
            world.say(step, () -> id + ".bind(" + OWN + ")");
            placed = world.run(faults, () -> id.id.bind(OWN));
        } else {
            boolean group = step.c() % 2 == 0;
            world.say(step, () -> id + ".resolveAddress(" + (group ? "a group" : PEER) + ")");
            if (faults.isEmpty() && group) {
                Peers.takeThoseOfNow(id.channel); // then comes the only event of this call
            } else if (faults.isEmpty()) {
                Peers.take(id.channel);
            }
            placed = world.call(faults, () -> {
                        if (group) {
                            id.id.resolveAddress(OWN, GROUPS[0], Loopback.DEADLINE);
                        } else {
                            id.id.resolveAddress(PEER, Loopback.DEADLINE);
                            id.id.resolveRoute(Loopback.DEADLINE);
                        }
                        return true;
                    })
                    != null;
        }
        if (placed) {
            id.end.phase = Phase.RESOLVED;
        }
    }

    static void pair(World world, Step step) {
        Connecting.pair(world, step, world.datagramIds);
    }

    private static boolean isUsable(IdPairNode pair, int actor) {
        return pair.open
                && pair.id.end.datagrams
                && pair.isAccessibleBy(actor)
                && pair.queue.isAccessibleBy(actor)
                && pair.domain.isAccessibleBy(actor);
    }

    /** Sends a datagram from one id's queue pair to another's. */
    static void send(World world, Step step) {
        IdPairNode from = world.need(world.idPairs, step.a() | 1, step.actor(), each -> isUsable(each, step.actor()));
        IdPairNode to = world.need(
                world.idPairs, step.b() | 1, step.actor(), each -> each != from && isUsable(each, step.actor()));
        World.skipIf(from == to || !isUsable(from, step.actor()) || !isUsable(to, step.actor()));
        world.say(step, () -> "a datagram from " + from + " to " + to);
        world.run(new Faults(step.actor()), () -> {
            from.pair.query(); // so that it knows its state
            to.pair.query();
            VerbsArena arena = to.arena.arena;
            MemorySegment memory = arena.allocate(Grh.BYTES + Long.BYTES, Long.BYTES);
            try (MemoryRegion region = to.domain.domain.register(memory, Set.of(AccessFlag.LOCAL_WRITE), arena);
                    AddressHandle path = from.domain.domain.createAddressHandle(
                            from.pair.pathTo(to.pair.endpoint()), from.arena.arena)) {
                to.pair.receiveBatch(1).receive(step.c(), region).post();
                MemorySegment words =
                        MemorySegment.ofArray(new byte[Long.BYTES]).fill((byte) step.d());
                from.pair
                        .sendBatch(1)
                        .sendInline(step.d(), words)
                        .to(path, to.pair.number(), KEY)
                        .post();
                long sent = Objects.requireNonNull(from.queue.queue.poll())
                        .orThrow()
                        .id();
                long received =
                        Objects.requireNonNull(to.queue.queue.poll()).orThrow().id();
                World.require(
                        sent == step.d() && received == step.c() && memory.get(JAVA_BYTE, Grh.BYTES) == (byte) step.d(),
                        () -> "The completions are of " + sent + " and " + received);
            }
            world.note("datagram");
        });
    }

    /** Joins a group. Now and then the network refuses it, and the id leaves again. */
    static void join(World world, Step step) {
        IdNode id = world.need(world.datagramIds, step.a(), step.actor(), each -> each.end.phase == Phase.RESOLVED);
        ArenaNode arena = world.need(world.arenas, step.b(), step.actor());
        World.skipIf(id.end.phase != Phase.RESOLVED || World.isFull(world.memberships));
        InetSocketAddress group = GROUPS[step.c() % GROUPS.length];
        boolean plain = step.d() % 2 == 0;
        String name = world.name("membership");
        Faults faults = new Faults(step.actor()).needs(id, arena);
        if (faults.isEmpty()) {
            Peers.takeThoseOfNow(id.channel);
        }
        if (id.pair != null) {
            faults.needs(id.pair);
        }
        boolean lost = faults.isEmpty() && step.d() / 2 % 8 == 0;
        faults.when(lost, ConnectionException.class, group, " can't be joined");
        world.say(step, () -> name + " = " + id + ".join(" + group + ", " + arena + ")" + (lost ? ", lost" : ""));
        if (lost) {
            Fenced.fail("joined", 1, EINVAL);
            world.note("group lost");
        }
        MulticastMembership made = world.call(
                faults,
                () -> plain
                        ? id.id.join(group, Loopback.DEADLINE, arena.arena)
                        : id.id.join(group, MulticastMembership.Kind.FULL_MEMBER, Loopback.DEADLINE, arena.arena));
        if (made != null) {
            world.note("group joined");
            world.born(world.memberships, new MembershipNode(name, arena, id, made));
        }
    }

    static void migrate(World world, Step step) {
        int before = world.events().getOrDefault("migrated", 0);
        Connecting.migrate(world, step, world.datagramIds);
        if (world.events().getOrDefault("migrated", 0) > before) {
            world.note("datagram id migrated");
        }
    }
}
