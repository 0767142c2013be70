package dev.verbena.walk;

import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.cm.CmEvent;
import dev.verbena.cm.ConnectRequest;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.PortSpace;
import dev.verbena.cm.PrivateData;
import dev.verbena.support.Loopback;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.walk.Node.ArenaNode;
import dev.verbena.walk.Node.ContextNode;
import dev.verbena.walk.Node.DomainNode;
import dev.verbena.walk.Node.EventChannelNode;
import dev.verbena.walk.Node.IdNode;
import dev.verbena.walk.Node.IdPairNode;
import dev.verbena.walk.Node.QueueNode;
import dev.verbena.walk.Peers.Event;
import dev.verbena.walk.Peers.Phase;
import dev.verbena.walk.Peers.Request;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Steps with the connection manager: event channels, ids, requests, and the queue pairs of ids. */
final class Connecting {
    private static final InetSocketAddress OWN = new InetSocketAddress("10.9.9.1", 0);
    private static final int DEPTH = 8;

    private Connecting() {}

    // --- making ---

    static void channel(World world, Step step) {
        ArenaNode arena = world.need(world.arenas, step.a(), step.actor());
        World.skipIf(World.isFull(world.eventChannels));
        String name = world.name("events");
        world.say(step, () -> name + " = EventChannel.create(" + arena + ")");
        EventChannel made = world.call(new Faults(step.actor()).needs(arena), () -> EventChannel.create(arena.arena));
        if (made != null) {
            world.born(world.eventChannels, new EventChannelNode(name, arena, made));
        }
    }

    /** Returns true if all threads may own an object that needs a channel of one thread. */
    static boolean mismatch(ArenaNode arena, EventChannelNode channel) {
        return arena.owner == Node.ALL && channel.owner != Node.ALL;
    }

    static Faults ofArena(Faults faults, ArenaNode arena, EventChannelNode channel) {
        return faults.needs(arena)
                .argument(mismatch(arena, channel), channel, " belongs to one thread, and the arena does not");
    }

    static void id(World world, Step step) {
        EventChannelNode channel = world.need(world.eventChannels, step.a(), step.actor());
        ArenaNode arena =
                world.need(world.arenas, step.b(), step.actor(), each -> !mismatch(each, channel) || step.c() % 8 == 0);
        World.skipIf(World.isFull(world.ids));
        String name = world.name("id");
        world.say(step, () -> name + " = " + channel + ".createId(TCP, " + arena + ")");
        Faults faults = ofArena(new Faults(step.actor()), arena, channel).needs(channel);
        ConnectionId made = world.call(faults, () -> channel.channel.createId(PortSpace.TCP, arena.arena));
        if (made != null) {
            world.born(world.ids, new IdNode(name, arena, channel, new Peers.End(), made));
        }
    }

    private static boolean mayHavePair(IdNode id) {
        return id.end.phase == Phase.RESOLVED || id.end.isRequest && !id.end.connected;
    }

    /** Makes a queue pair on an id, with a completion queue of its own. */
    static void pair(World world, Step step) {
        pair(world, step, world.ids);
    }

    /** Makes a queue pair on one of these ids. */
    static void pair(World world, Step step, List<IdNode> ids) {
        IdNode id = world.need(ids, step.a(), step.actor(), each -> mayHavePair(each) && each.pair == null);
        ArenaNode arena = world.need(world.arenas, step.b(), step.actor());
        World.skipIf(!mayHavePair(id) || World.isFull(world.idPairs));
        world.say(step, () -> id + ".context() and protectionDomain()");
        Faults faults = new Faults(step.actor()).needs(id);
        ContextNode context = context(world, id, world.call(faults, id.id::context));
        if (context == null) {
            return;
        }
        DomainNode domain = domain(world, id, context, world.call(faults, id.id::protectionDomain));
        if (domain == null) {
            return;
        }
        String queueName = world.name("queue");
        world.say(step, () -> queueName + " = " + context + ".createCompletionQueue(" + DEPTH + ", " + arena + ")");
        CompletionQueue queue = world.call(
                new Faults(step.actor()).needs(arena, context),
                () -> context.context.createCompletionQueue(CompletionQueueOptions.of(2 * DEPTH), arena.arena));
        if (queue == null) {
            return;
        }
        QueueNode queueNode =
                world.born(world.idQueues, new QueueNode(queueName, arena, context, null, false, 2 * DEPTH, queue));
        String name = world.name("idPair");
        world.say(step, () -> name + " = " + id + ".createQueuePair(" + domain + ", " + queueNode + ", " + arena + ")");
        Faults more = new Faults(step.actor())
                .needs(id, domain, queueNode, arena)
                .state(id.pair != null, id, " has a queue pair")
                .when(id.end.isForgotten(), VerbsException.class, id, " has no peer any more");
        QueuePair made = world.call(
                more,
                () -> id.id.createQueuePair(
                        domain.domain,
                        (id.end.datagrams ? QueuePair.ud(queue) : QueuePair.rc(queue))
                                .sendDepth(DEPTH)
                                .receiveDepth(DEPTH)
                                .inlineSize(16),
                        arena.arena));
        if (made != null) {
            id.pair = world.born(world.idPairs, new IdPairNode(name, arena, domain, queueNode, id, made));
        }
    }

    private static ArenaNode arenaOf(World world, dev.verbena.VerbsObject object) {
        return world.arenas.stream()
                .filter(each -> each.arena == object.arena())
                .findFirst()
                .orElseThrow(() -> new WalkFailure("No arena owns " + object, null));
    }

    private static @Nullable ContextNode context(World world, IdNode id, @Nullable Context found) {
        if (found == null) {
            return null;
        }
        for (ContextNode known : world.idContexts) {
            if (known.context == found) {
                World.require(known.open, () -> known + " is closed and was returned");
                return known;
            }
        }
        ArenaNode arena = arenaOf(world, found);
        World.require(arena == id.channel.arena, () -> "The context of " + id + " must be of " + id.channel.arena);
        ContextNode made = world.born(world.idContexts, new ContextNode(world.name("idContext"), arena, found));
        id.channel.adopted.addFirst(made); // contexts before domains
        return made;
    }

    private static @Nullable DomainNode domain(
            World world, IdNode id, ContextNode context, @Nullable ProtectionDomain found) {
        if (found == null) {
            return null;
        }
        for (DomainNode known : world.idDomains) {
            if (known.domain == found) {
                World.require(known.open, () -> known + " is closed and was returned");
                return known;
            }
        }
        World.require(found.context() == context.context, () -> found + " is of another context than " + context);
        ArenaNode arena = arenaOf(world, found);
        DomainNode made =
                world.born(world.idDomains, new DomainNode(world.name("idDomain"), arena, context, null, found));
        id.channel.adopted.add(made);
        return made;
    }

    // --- the client's and the server's side ---

    static void listen(World world, Step step) {
        IdNode id = world.need(world.ids, step.a(), step.actor(), each -> each.end.phase == Phase.IDLE);
        World.skipIf(id.end.phase != Phase.IDLE);
        int backlog = 1 + step.b() % 3;
        world.say(step, () -> id + ".bind(any port), listen(" + backlog + ")");
        Faults faults = new Faults(step.actor()).needs(id);
        if (!world.run(faults, () -> id.id.bind(OWN)) || !world.run(faults, () -> id.id.listen(backlog))) {
            return;
        }
        id.end.phase = Phase.LISTENING;
        id.end.backlog = backlog;
        Optional<InetSocketAddress> address = world.call(faults, id.id::localAddress);
        id.end.address = address == null ? null : address.orElseThrow();
    }

    static void resolve(World world, Step step) {
        IdNode id = world.need(world.ids, step.a(), step.actor(), each -> each.end.phase == Phase.IDLE);
        IdNode listener = world.choose(world.ids, step.b() | 1, step.actor(), each -> each.end.address != null);
        World.skipIf(id.end.phase != Phase.IDLE);
        boolean nobody = listener == null || listener.end.address == null || step.c() % 16 == 0;
        InetSocketAddress address = nobody ? new InetSocketAddress("10.9.9.1", 9) : listener.end.address;
        world.say(step, () -> id + ".resolveAddress(" + address + "), resolveRoute()");
        Faults faults = new Faults(step.actor()).needs(id);
        if (faults.isEmpty()) {
            Peers.take(id.channel);
        }
        boolean resolved = world.call(faults, () -> {
                    id.id.resolveAddress(address, Loopback.DEADLINE);
                    id.id.resolveRoute(Loopback.DEADLINE);
                    return true;
                })
                != null;
        if (resolved) {
            id.end.phase = Phase.RESOLVED;
            id.end.target = address;
        }
    }

    static void connect(World world, Step step) {
        IdNode id = world.need(world.ids, step.a(), step.actor(), each -> each.end.phase == Phase.RESOLVED);
        World.skipIf(id.end.phase != Phase.RESOLVED);
        world.say(step, () -> id + ".beginConnect() to " + id.end.target);
        if (world.run(new Faults(step.actor()).needs(id), () -> id.id.beginConnect(data(step)))) {
            world.note(Peers.connect(world.ids, id));
        }
    }

    private static ConnectionParameters data(Step step) {
        return ConnectionParameters.defaults().privateData(PrivateData.of(new byte[step.c() % 40]));
    }

    // --- events ---

    private static void compare(World world, @Nullable Event expected, @Nullable CmEvent actual) {
        World.require(
                (expected == null) == (actual == null), () -> "The event must be " + expected + " and is " + actual);
        if (expected == null || actual == null) {
            return;
        }
        World.require(
                actual.type() == expected.type() && actual.id() == expected.end().id.id,
                () -> "The event must be " + expected + " and is " + actual);
        Request request = expected.request();
        if (request != null) {
            ConnectRequest made = ((CmEvent.Request) actual).request();
            World.require(request.request == null, () -> request + " came twice");
            request.request = made;
            world.requests.add(request);
            if (world.requests.size() > 12) {
                world.requests.removeFirst();
            }
        }
    }

    static void pollChannel(World world, Step step) {
        EventChannelNode channel = world.need(
                world.eventChannels,
                step.a(),
                step.actor(),
                each -> !each.order.isEmpty() || !each.inC.isEmpty() || step.b() % 8 == 0);
        boolean waits = step.c() % 3 == 0;
        world.say(
                step,
                () -> channel + (waits ? ".awaitEvent(ZERO)" : ".pollEvent()") + " of " + channel.order + " and then "
                        + channel.inC);
        Faults faults = new Faults(step.actor()).needs(channel);
        if (channel.open && faults.isEmpty()) {
            Peers.takeFor(channel, null);
        }
        Event expected = channel.order.isEmpty() ? null : channel.order.getFirst();
        if (waits) {
            faults.when(channel.open && expected == null, VerbsTimeoutException.class, channel, " is empty");
        }
        Optional<CmEvent> taken = world.call(
                faults,
                () -> Optional.ofNullable(
                        waits ? channel.channel.awaitEvent(Duration.ZERO) : channel.channel.pollEvent()));
        if (taken != null) {
            channel.order.remove(expected);
            compare(world, expected, taken.orElse(null));
        }
    }

    static void pollId(World world, Step step) {
        IdNode id = world.need(
                world.ids,
                step.a(),
                step.actor(),
                each -> each.open && each.channel.holds(each.end) || step.b() % 8 == 0);
        world.say(step, () -> id + ".pollEvent() of " + id.channel.order + " and then " + id.channel.inC);
        Faults faults = new Faults(step.actor()).needs(id);
        if (faults.isEmpty()) {
            Peers.takeFor(id.channel, id.end);
        }
        Event expected = id.channel.first(id.end);
        Optional<CmEvent> taken = world.call(faults, () -> Optional.ofNullable(id.id.pollEvent()));
        if (taken != null) {
            id.channel.order.remove(expected);
            compare(world, expected, taken.orElse(null));
            Peers.take(id.channel); // the next call does that
            World.require(
                    id.id.isDisconnected() == id.end.disconnected,
                    () -> "isDisconnected() of " + id + " must be " + id.end.disconnected);
        }
    }

    // --- requests ---

    private static Request request(World world, int operand) {
        List<Request> all = world.requests;
        World.skipIf(all.isEmpty());
        List<Request> there = all.stream().filter(each -> !each.gone).toList();
        return there.isEmpty() || operand % 16 == 0
                ? all.get(operand / 16 % all.size())
                : there.get(operand / 16 % there.size());
    }

    private static Faults faults(Step step, Request request) {
        return new Faults(step.actor()).needs(request.listener).state(request.gone, request, " is gone");
    }

    static void claim(World world, Step step) {
        Request request = request(world, step.a());
        ArenaNode arena = world.need(
                world.arenas,
                step.b(),
                step.actor(),
                each -> !mismatch(each, request.listener.channel) || step.c() % 8 == 0);
        World.skipIf(World.isFull(world.ids));
        String name = world.name("id");
        world.say(step, () -> name + " = " + request + ".claim(" + arena + ")");
        Faults faults = ofArena(faults(step, request), arena, request.listener.channel);
        faults.needs(request.listener.channel);
        ConnectionId made = world.call(faults, () -> request.handle().claim(arena.arena));
        if (made != null) {
            request.gone = true;
            world.note("claimed");
            world.born(world.ids, new IdNode(name, arena, request.listener.channel, request.end, made));
        }
    }

    static void rejectRequest(World world, Step step) {
        Request request = request(world, step.a());
        world.say(step, () -> request + ".reject()");
        Faults faults = faults(step, request);
        boolean there = faults.isEmpty();
        faults.when(request.end.isForgotten(), VerbsException.class, request, " has no peer any more");
        world.run(faults, () -> request.handle().reject(PrivateData.of("no")));
        if (there) {
            world.note("rejected");
            Peers.reject(request.end);
            request.gone = true;
        }
    }

    // --- answers ---

    static void accept(World world, Step step) {
        IdNode id = world.need(
                world.ids,
                step.a(),
                step.actor(),
                each -> each.end.isRequest && !each.end.connected && (each.pair != null || step.b() % 8 == 0));
        world.say(step, () -> id + ".beginAccept()");
        Faults faults = new Faults(step.actor())
                .needs(id)
                .state(id.pair == null, id, " has no queue pair")
                .when(!id.end.canBeAnswered(), VerbsException.class, id, " has nothing to answer");
        if (id.pair != null) {
            faults.mayUse(id.pair); // accepting changes its state
        }
        if (world.run(faults, () -> id.id.beginAccept(data(step)))) {
            Peers.accept(id.end);
            world.note("accepted");
        }
    }

    static void reject(World world, Step step) {
        IdNode id = world.need(world.ids, step.a(), step.actor(), each -> each.end.isRequest && !each.end.connected);
        world.say(step, () -> id + ".reject()");
        Faults faults = new Faults(step.actor())
                .needs(id)
                .when(!id.end.canBeAnswered(), VerbsException.class, id, " has nothing to answer");
        if (world.run(faults, () -> id.id.reject(PrivateData.NONE))) {
            Peers.reject(id.end);
        }
    }

    static void establish(World world, Step step) {
        IdNode id = world.need(
                world.ids,
                step.a(),
                step.actor(),
                each -> each.end.connected && !each.end.isRequest && each.pair == null && !each.end.established);
        World.skipIf(!id.end.connected || id.end.isRequest || id.pair != null || id.end.established);
        world.say(step, () -> id + ".establish()");
        if (world.run(new Faults(step.actor()).needs(id), id.id::establish)) {
            id.end.established = true;
            world.note("established");
            Peers.raise(id.end.peer, CmEvent.Type.ESTABLISHED);
        }
    }

    static void disconnect(World world, Step step) {
        IdNode id = world.need(world.ids, step.a(), step.actor(), each -> each.end.connected);
        // C then fails the queue pair of an id without a connection
        World.skipIf(id.open && !id.end.connected && id.pair != null);
        world.say(step, () -> id + ".beginDisconnect()");
        Faults faults = new Faults(step.actor())
                .needs(id)
                .when(!id.end.connected, VerbsException.class, id, " is not connected");
        if (world.run(faults, id.id::beginDisconnect)) {
            Peers.disconnect(id.end);
            world.note("disconnected");
            if (id.pair != null) {
                id.pair.state = QueuePairState.ERR;
            }
        }
    }

    static void migrate(World world, Step step) {
        migrate(world, step, world.ids);
    }

    /** Moves one of these ids to another channel. */
    static void migrate(World world, Step step, List<IdNode> ids) {
        IdNode id = world.need(ids, step.a(), step.actor());
        EventChannelNode to = world.need(
                world.eventChannels, step.b(), step.actor(), each -> !mismatch(id.arena, each) || step.c() % 8 == 0);
        EventChannelNode from = id.channel;
        world.say(step, () -> id + ".migrate(" + to + ") from " + from);
        Faults faults = new Faults(step.actor())
                .needs(id)
                .argument(mismatch(id.arena, to), to, " belongs to one thread, and the id does not");
        if (to != from) {
            faults.needs(to, from);
        }
        if (faults.isEmpty() && to != from) {
            Peers.take(from);
            faults.state(id.end.hasUnclaimed(), id, " has requests");
        }
        if (world.run(faults, () -> id.id.migrate(to.channel)) && to != from) {
            id.move(to);
            world.note("migrated");
            Peers.take(to);
        }
    }

    /** Goes from a listener to a connection, as far as what is there allows. */
    static void meet(World world, Step step) {
        Step any = new Step(step.action(), step.actor(), step.a() | 1, step.b() | 1, step.c() | 1, step.d());
        world.run(Connecting::listen, any);
        world.run(Connecting::id, any);
        world.run(Connecting::resolve, any);
        if (step.d() % 3 != 0) {
            world.run(Connecting::pair, any);
        }
        world.run(Connecting::connect, any);
        world.run(Connecting::pollChannel, any);
        world.run(Connecting::claim, any);
        world.run(Connecting::pair, any);
        world.run(Connecting::accept, any);
        world.run(Connecting::pollId, any);
        world.run(Connecting::send, any);
    }

    /** Sends a message over a connection, and asks C for the states of the queue pairs. */
    static void send(World world, Step step) {
        IdPairNode pair = world.need(
                world.idPairs,
                step.a(),
                step.actor(),
                each -> each.state == QueuePairState.RTS && each.id.end.peer != null || step.d() % 8 == 0);
        world.say(step, () -> pair + ".query() must find " + pair.state);
        QueuePairState asked = world.call(
                new Faults(step.actor()).needs(pair), () -> pair.pair.query().state());
        World.require(
                asked == null || asked == pair.state,
                () -> "query() of " + pair + " must find " + pair.state + " and finds " + asked);
        World.skipIf(asked != QueuePairState.RTS);
        Peers.End peer = pair.id.end.peer;
        IdPairNode other = peer == null || peer.id == null ? null : peer.id.pair;
        World.skipIf(other == null
                || other.state != QueuePairState.RTS
                || !other.isAccessibleBy(step.actor())
                || !pair.queue.isAccessibleBy(step.actor())
                || !other.queue.isAccessibleBy(step.actor()));
        world.say(step, () -> "a message from " + pair + " to " + other);
        world.run(new Faults(step.actor()), () -> {
            other.pair.query(); // so that it knows its state
            other.pair.receiveBatch(1).receive(step.c()).post();
            pair.pair
                    .sendBatch(1)
                    .sendInline(step.d(), java.lang.foreign.MemorySegment.ofArray(new byte[0]))
                    .post();
            long sent =
                    Objects.requireNonNull(pair.queue.queue.poll()).orThrow().id();
            long received =
                    Objects.requireNonNull(other.queue.queue.poll()).orThrow().id();
            World.require(
                    sent == step.d() && received == step.c(),
                    () -> "The completions are of " + sent + " and " + received);
            world.note("message");
        });
    }
}
