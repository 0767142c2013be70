package dev.verbena.walk;

import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.Operation;
import dev.verbena.verbs.PostException;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.walk.Node.DomainNode;
import dev.verbena.walk.Node.PairNode;
import dev.verbena.walk.Node.PathNode;
import dev.verbena.walk.Node.QueueNode;
import dev.verbena.walk.Node.Receives;
import dev.verbena.walk.Node.RegionNode;
import dev.verbena.walk.Node.SharedReceivesNode;
import dev.verbena.walk.Node.WindowNode;
import dev.verbena.walk.Request.Piece;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Steps that connect queue pairs and post single requests. */
final class Traffic {
    private static final int QKEY = 0x1111;
    private static final int OTHER_QKEY = 0x2222;
    private static final Operation[] SENDS = {
        Operation.SEND,
        Operation.SEND,
        Operation.SEND_WITH_IMMEDIATE,
        Operation.RDMA_WRITE,
        Operation.RDMA_WRITE,
        Operation.RDMA_WRITE_WITH_IMMEDIATE,
        Operation.RDMA_READ,
        Operation.FETCH_AND_ADD,
        Operation.COMPARE_AND_SWAP,
        Operation.SEND_WITH_INVALIDATE,
        Operation.LOCAL_INVALIDATE
    };

    private Traffic() {}

    // --- states ---

    static void connect(World world, Step step) {
        PairNode pair = world.need(world.pairs, step.a(), step.actor(), each -> each.state == QueuePairState.RESET);
        if (pair.datagrams) {
            ready(world, step, pair);
            return;
        }
        PairNode peer = world.need(
                world.pairs,
                step.b(),
                step.actor(),
                each -> each != pair && isAlike(pair, each) && each.state == QueuePairState.RESET);
        World.skipIf(peer == pair || !isAlike(pair, peer));
        join(world, step, pair, peer);
        if (step.c() % 8 != 0) { // now and then the peer stays unconnected
            join(world, step, peer, pair);
        }
    }

    private static boolean isAlike(PairNode pair, PairNode peer) {
        return !peer.datagrams && peer.unreliable == pair.unreliable;
    }

    private static void join(World world, Step step, PairNode pair, PairNode peer) {
        world.say(step, () -> pair + ".connect(" + peer + ".endpoint())");
        Faults faults = new Faults(step.actor())
                .needs(pair, peer)
                .state(pair.state != QueuePairState.RESET, pair, " is in use");
        if (world.run(faults, () -> pair.pair.connect(peer.pair.endpoint()))) {
            if (pair.unreliable) {
                world.note("unreliable connection");
            }
            pair.peer = peer.number;
            pair.peerEpoch = peer.epoch;
            world.wire.modify(pair, QueuePairState.INIT);
            world.wire.modify(pair, QueuePairState.RTR);
            world.wire.modify(pair, QueuePairState.RTS);
        }
    }

    private static void ready(World world, Step step, PairNode pair) {
        int qkey = step.b() % 8 == 0 ? OTHER_QKEY : QKEY;
        world.say(step, () -> pair + ".toReady(0x" + Integer.toHexString(qkey) + ")");
        Faults faults =
                new Faults(step.actor()).needs(pair).state(pair.state != QueuePairState.RESET, pair, " is in use");
        if (world.run(faults, () -> pair.pair.toReady(qkey))) {
            pair.qkey = qkey;
            world.wire.modify(pair, QueuePairState.INIT);
            world.wire.modify(pair, QueuePairState.RTR);
            world.wire.modify(pair, QueuePairState.RTS);
        }
    }

    static void reset(World world, Step step) {
        PairNode pair = world.need(
                world.pairs, step.a(), step.actor(), each -> each.state == QueuePairState.ERR || step.b() % 8 == 0);
        World.skipIf(!Settling.takeAll(world, step.actor()));
        world.say(step, () -> pair + ".reset()");
        if (world.run(new Faults(step.actor()).needs(pair), pair.pair::reset)) {
            world.wire.modify(pair, QueuePairState.RESET);
        }
    }

    static void fail(World world, Step step) {
        PairNode pair = world.need(world.pairs, step.a(), step.actor(), each -> each.state == QueuePairState.RTS);
        World.skipIf(!Settling.takeAll(world, step.actor()));
        world.say(step, () -> pair + ".fail()");
        Faults faults = new Faults(step.actor())
                .needs(pair)
                .argument(pair.state == QueuePairState.RESET, pair, " can't go from RESET to ERR");
        if (world.run(faults, pair.pair::fail)) {
            world.wire.modify(pair, QueuePairState.ERR);
            pair.failureKnown = true;
        }
    }

    static void query(World world, Step step) {
        PairNode pair = world.need(world.pairs, step.a(), step.actor());
        world.say(step, () -> pair + ".state() and query(), must be " + pair.state);
        Faults faults = new Faults(step.actor()).needs(pair);
        QueuePairState state = world.call(faults, pair.pair::state);
        World.require(
                state == null
                        || state == pair.state
                        || (pair.state == QueuePairState.ERR && !pair.failureKnown && state == pair.before),
                () -> "state() of " + pair + " must be " + pair.state + " and is " + state);
        if (step.b() % 3 == 0) {
            QueuePairState asked = world.call(faults, () -> pair.pair.query().state());
            World.require(
                    asked == null || asked == pair.state,
                    () -> "query() of " + pair + " must find " + pair.state + " and finds " + asked);
            pair.failureKnown |= asked != null;
        }
    }

    // --- requests ---

    private static @Nullable RegionNode region(World world, int operand, int actor, DomainNode domain) {
        return world.choose(world.regions, operand, actor, each -> each.domain.root() == domain.root());
    }

    static @Nullable Piece piece(World world, int operand, int actor, DomainNode domain) {
        RegionNode region = region(world, operand, actor, domain);
        if (region == null) {
            return null;
        }
        int how = operand >>> 12;
        if (how % 4 == 0) {
            return new Piece(region, 0, region.length());
        }
        if (how % 4 == 1 || !region.open || !region.isAccessibleBy(actor)) { // of a closed region there is no new slice
            return new Piece(region, RegionNode.SLICE_START, RegionNode.SLICE_LENGTH);
        }
        int start = how / 4 % 8 * 4;
        return new Piece(region, start, how / 32 % 8 == 0 ? 0 : 4 + how / 32 % 28);
    }

    static LocalMemory local(Piece piece) {
        if (piece.length() == piece.region().length()) {
            return piece.region().region;
        }
        if (piece.start() == RegionNode.SLICE_START && piece.length() == RegionNode.SLICE_LENGTH) {
            return piece.region().slice;
        }
        return piece.region().region.slice(piece.start(), piece.length());
    }

    /** Invents a request for a queue pair; returns null if there is nothing to work with. */
    static @Nullable Request invent(World world, Step step, PairNode pair) {
        int d = step.d();
        Operation operation = SENDS[d % SENDS.length];
        if (pair.datagrams && d / 11 % 16 != 0) {
            operation = d % 2 == 0 ? Operation.SEND : Operation.SEND_WITH_IMMEDIATE;
        }
        Request request = new Request(world.id(), operation);
        request.immediate = d;
        boolean inlines = operation == Operation.SEND
                || operation == Operation.RDMA_WRITE
                || operation == Operation.SEND_WITH_IMMEDIATE;
        if (operation == Operation.LOCAL_INVALIDATE) {
            request.key = key(world, step.c(), step.actor());
            return request;
        }
        if (inlines && d / 176 % 4 == 0) {
            byte[] data = new byte[d / 704 % 40 == 0 ? 65 : d / 704 % 32];
            Arrays.fill(data, (byte) (request.id + 1));
            request.inline = data;
        } else {
            Piece piece = piece(world, step.b(), step.actor(), pair.domain);
            if (piece == null) {
                return null;
            }
            request.pieces.add(
                    request.operation == Operation.FETCH_AND_ADD || request.operation == Operation.COMPARE_AND_SWAP
                            ? atomicPiece(piece)
                            : piece);
        }
        switch (operation) {
            case RDMA_WRITE, RDMA_WRITE_WITH_IMMEDIATE, RDMA_READ, FETCH_AND_ADD, COMPARE_AND_SWAP -> {
                request.remote = remote(world, step, pair);
                if (request.remote == null) {
                    return null;
                }
            }
            case SEND_WITH_INVALIDATE -> request.key = key(world, step.c(), step.actor());
            default -> {}
        }
        request.compareAdd = d % 3;
        request.swap = d;
        boolean sends = operation == Operation.SEND || operation == Operation.SEND_WITH_IMMEDIATE;
        if (sends && pair.datagrams != (d / 2816 % 32 == 0)) {
            if (!address(world, step, pair, request)) {
                return null;
            }
        }
        return request;
    }

    private static Piece atomicPiece(Piece piece) {
        return piece.length() == RegionNode.SLICE_LENGTH
                        || piece.length() == piece.region().length()
                ? piece
                : new Piece(piece.region(), RegionNode.SLICE_START, RegionNode.SLICE_LENGTH);
    }

    private static boolean address(World world, Step step, PairNode pair, Request request) {
        PathNode path =
                world.choose(world.paths, step.c(), step.actor(), each -> each.domain.root() == pair.domain.root());
        PairNode target = world.choose(world.pairs, step.a() / 3 | 1, step.actor(), each -> each.datagrams);
        if (path == null || target == null || !target.datagrams) {
            return false;
        }
        request.path = path;
        request.target = target.number;
        request.qkey = step.d() % 16 == 0 ? OTHER_QKEY : QKEY;
        return true;
    }

    private static int key(World world, int operand, int actor) {
        WindowNode window = world.choose(world.windows, operand, actor, each -> each.bound != null);
        return window == null ? operand : window.key;
    }

    private static @Nullable RemoteMemory remote(World world, Step step, PairNode pair) {
        DomainNode domain = pair.domain;
        for (PairNode peer : world.pairs) {
            if (peer.open && peer.number == pair.peer) {
                domain = peer.domain;
            }
        }
        RemoteMemory all = null;
        if (step.c() % 4 == 0) {
            WindowNode window = world.choose(world.windows, step.c() / 4, step.actor(), each -> each.remote != null);
            all = window == null ? null : window.remote;
        }
        if (all == null) {
            // Regions of other threads too: peers need no object.
            DomainNode theirs = domain;
            List<RegionNode> good = world.regions.stream()
                    .filter(each -> step.c() % 64 == 1 || each.open && each.domain.root() == theirs.root())
                    .toList();
            if (good.isEmpty()) {
                return null;
            }
            all = good.get(step.c() / 64 % good.size()).remote;
        }
        int how = step.c() >>> 16;
        long start = Math.min(how % 8 * 8L, all.length());
        return how / 8 % 3 == 0 ? all : all.slice(start, all.length() - start);
    }

    /** Adds the faults of naming memory and others in a request. */
    static void check(Faults faults, PairNode pair, Request request) {
        boolean offered = switch (request.operation) {
            case SEND, SEND_WITH_IMMEDIATE -> true;
            case RDMA_READ, FETCH_AND_ADD, COMPARE_AND_SWAP -> !pair.datagrams && !pair.unreliable;
            default -> !pair.datagrams;
        };
        faults.state(!offered, pair, " has no " + request.operation);
        request.pieces.forEach(piece -> check(faults, pair.domain, piece));
        if (request.inline != null) {
            faults.bounds(request.inline.length > pair.inlineSize, pair, " inlines less");
        }
        if (request.remote != null) {
            faults.bounds(
                    !request.isAtomic() && request.length() > request.remote.length(),
                    request,
                    " is longer than the remote memory");
            faults.bounds(
                    request.isAtomic() && request.remote.length() < Long.BYTES,
                    request,
                    " has no room for an atomic operation");
            faults.argument(request.isAtomic() && (request.remote.address() & 7) != 0, request, " is not aligned");
        }
        if (request.path != null) {
            check(faults, pair, request.path);
        }
        if (request.window != null) {
            faults.needs(request.window);
            foreign(faults, pair.domain, request.window, request.window.domain);
            faults.argument(!request.window.second, request.window, " is of TYPE_1");
        }
        if (request.operation == Operation.BIND_MW) {
            checkCover(faults, request);
        }
    }

    static void check(Faults faults, PairNode pair, PathNode path) {
        faults.state(!pair.datagrams, pair, " is connected");
        faults.needs(path);
        foreign(faults, pair.domain, path, path.domain);
    }

    static void check(Faults faults, DomainNode domain, Piece piece) {
        faults.needs(piece.region());
        foreign(faults, domain, piece.region(), piece.region().domain);
    }

    private static void checkCover(Faults faults, Request request) {
        Piece part = request.pieces.get(0);
        boolean writes =
                request.access.contains(AccessFlag.REMOTE_WRITE) || request.access.contains(AccessFlag.REMOTE_ATOMIC);
        faults.argument(part.length() == 0, part, " is empty")
                .argument(!part.region().access.contains(AccessFlag.MW_BIND), part, " lacks MW_BIND")
                .argument(writes && !part.region().access.contains(AccessFlag.LOCAL_WRITE), part, " lacks LOCAL_WRITE");
    }

    private static void foreign(Faults faults, DomainNode domain, Node other, DomainNode of) {
        faults.argument(of.root() != domain.root(), other, " is of another domain");
    }

    /** Returns true if the completion queues of a queue pair hold the completions of so many more requests. */
    static boolean hasRoom(World world, QueueNode queue, int more) {
        return world.wire.outstanding(queue) + more <= queue.capacity;
    }

    static void send(World world, Step step) {
        for (int i = 0; !send(world, Settling.vary(step, i), i); i++) {
            World.skipIf(i + 1 == Settling.TRIES);
        }
    }

    /** Posts a request; returns false if there is nothing to work with. */
    private static boolean send(World world, Step step, int tries) {
        PairNode pair = world.choose(
                world.pairs,
                step.a(),
                step.actor(),
                each -> each.state == QueuePairState.RTS || each.state == QueuePairState.ERR && step.a() % 5 == 0);
        Request request = pair == null ? null : invent(world, step, pair);
        if (request == null || !hasRoom(world, pair.sendQueue, 1)) {
            return false;
        }
        Faults faults = new Faults(step.actor()).needs(pair);
        check(faults, pair, request);
        faults.state(!pair.takesSends(), pair, " is not connected")
                .state(pair.datagrams && request.path == null, request, " has no destination")
                .when(pair.sends.size() >= pair.sendDepth, PostException.class, pair, " is full");
        if (request.inline != null && request.operation == Operation.SEND_WITH_IMMEDIATE // only a batch has this
                || faults.isEmpty() && !Settling.mayPost(world, pair, List.of(request), step.actor())) {
            return false;
        }
        if (tries > 0 && !faults.isEmpty()) {
            return false; // a call that is refused teaches less than one that is not
        }
        world.say(step, () -> pair + " posts " + request);
        if (world.run(faults, () -> post(pair.pair, request))) {
            int before = Settling.state(world);
            world.wire.post(pair, List.of(request.posted(pair.epoch)));
            Settling.posted(world, pair, List.of(request), Settling.state(world) != before);
        }
        return true;
    }

    private static void post(QueuePair pair, Request request) {
        long id = request.id;
        RemoteMemory remote = request.remote;
        if (request.inline != null) {
            MemorySegment data = MemorySegment.ofArray(request.inline);
            if (remote != null) {
                pair.postWriteInline(id, data, remote);
            } else if (request.path != null) {
                pair.postSendInline(id, data, request.path.path, request.target, request.qkey);
            } else {
                pair.postSendInline(id, data);
            }
            return;
        }
        if (request.operation == Operation.LOCAL_INVALIDATE) {
            pair.postLocalInvalidate(id, request.key);
            return;
        }
        LocalMemory local = local(request.pieces.get(0));
        switch (request.operation) {
            case SEND -> {
                if (request.path != null) {
                    pair.postSend(id, local, request.path.path, request.target, request.qkey);
                } else {
                    pair.postSend(id, local);
                }
            }
            case SEND_WITH_IMMEDIATE -> {
                if (request.path != null) {
                    pair.postSendImmediate(
                            id, local, request.immediate, request.path.path, request.target, request.qkey);
                } else {
                    pair.postSendImmediate(id, local, request.immediate);
                }
            }
            case SEND_WITH_INVALIDATE -> pair.postSendInvalidate(id, local, request.key);
            case RDMA_WRITE -> pair.postWrite(id, local, remote);
            case RDMA_WRITE_WITH_IMMEDIATE -> pair.postWriteImmediate(id, local, remote, request.immediate);
            case RDMA_READ -> pair.postRead(id, local, remote);
            case FETCH_AND_ADD -> pair.postFetchAndAdd(id, local, remote, request.compareAdd);
            case COMPARE_AND_SWAP -> pair.postCompareAndSwap(id, local, remote, request.compareAdd, request.swap);
            default -> throw new AssertionError(request);
        }
    }

    static void receive(World world, Step step) {
        if (step.d() % 3 == 0) {
            SharedReceivesNode shared = world.choose(world.sharedReceives, step.a(), step.actor());
            if (shared != null) {
                receiveShared(world, step, shared);
                return;
            }
        }
        PairNode pair = world.need(
                world.pairs, step.a(), step.actor(), each -> each.shared == null && each.state != QueuePairState.RESET);
        Piece piece = piece(world, step.b(), step.actor(), pair.domain);
        World.skipIf(piece == null || !hasRoom(world, pair.receiveQueue, 1) || !Settling.mayReceive(pair, pair.own, 1));
        Request request = new Request(world.id(), Operation.RECEIVE);
        request.pieces.add(piece);
        world.say(step, () -> pair + " posts " + request);
        Faults faults = new Faults(step.actor()).needs(pair);
        check(faults, pair.domain, piece);
        faults.state(pair.shared != null, pair, " shares its receives")
                .state(pair.state == QueuePairState.RESET, pair, " is not connected")
                .when(pair.own.room() == 0, PostException.class, pair, " is full");
        if (world.run(faults, () -> pair.pair.postReceive(request.id, local(piece)))) {
            world.wire.postReceives(pair, pair.own, List.of(request.posted(pair.epoch)));
        }
    }

    /** Returns true if the completion queues of all queue pairs with these receives hold so many more completions. */
    static boolean sharersHaveRoom(World world, Receives receives, int more) {
        return world.pairs.stream()
                .filter(each -> each.open && each.receives() == receives)
                .allMatch(each -> hasRoom(world, each.receiveQueue, more));
    }

    private static void receiveShared(World world, Step step, SharedReceivesNode shared) {
        Piece piece = piece(world, step.b(), step.actor(), shared.domain);
        World.skipIf(piece == null
                || !sharersHaveRoom(world, shared.receives, 1)
                || !Settling.mayReceive(null, shared.receives, 1));
        Request request = new Request(world.id(), Operation.RECEIVE);
        request.pieces.add(piece);
        world.say(step, () -> shared + " posts " + request);
        Faults faults = new Faults(step.actor()).needs(shared);
        check(faults, shared.domain, piece);
        faults.when(shared.receives.room() == 0, PostException.class, shared, " is full");
        if (world.run(faults, () -> shared.queue.postReceive(request.id, local(piece)))) {
            world.wire.postReceives(null, shared.receives, List.of(request));
        }
    }

    // --- windows ---

    static void bind(World world, Step step) {
        PairNode pair = world.need(
                world.pairs, step.a(), step.actor(), each -> !each.datagrams && each.state == QueuePairState.RTS);
        WindowNode window =
                world.need(world.windows, step.b(), step.actor(), each -> each.domain.root() == pair.domain.root());
        Piece piece = piece(world, step.c(), step.actor(), pair.domain);
        World.skipIf(piece == null || !hasRoom(world, pair.sendQueue, 1));
        Request request = new Request(world.id(), Operation.BIND_MW);
        request.window = window;
        request.pieces.add(piece);
        request.access = Making.access(step.d()).stream()
                .filter(flag -> flag != AccessFlag.LOCAL_WRITE && flag != AccessFlag.MW_BIND)
                .collect(Collectors.toUnmodifiableSet());
        request.epoch = pair.epoch;
        world.say(step, () -> pair + " posts " + request);
        Faults faults = new Faults(step.actor())
                .needs(pair, window)
                .state(pair.datagrams, pair, " has no windows")
                .state(!pair.takesSends(), pair, " is not connected");
        check(faults, pair.domain, piece);
        foreign(faults, pair.domain, window, window.domain);
        checkCover(faults, request);
        if (window.second) {
            faults.when(pair.sends.size() >= pair.sendDepth, PostException.class, pair, " is full");
        } else {
            faults.when(pair.state == QueuePairState.ERR, PostException.class, pair, " has failed");
        }
        int before = window.key;
        if (!world.run(faults, () -> pair.pair.postBind(request.id, window.window, local(piece), request.access))) {
            return;
        }
        request.key = window.window.remoteKey();
        World.require(request.key != before, () -> "The key of " + window + " must change");
        if (window.second) {
            Request posted = request.posted(pair.epoch);
            posted.key = request.key;
            world.wire.post(pair, List.of(posted));
        } else {
            window.bound = null;
            world.wire.bound(request);
            world.wire.bindAtOnce(pair, request);
        }
        bound(window, request);
    }

    /** Notes what the library has noted after a bind was posted. */
    static void bound(WindowNode window, Request request) {
        Piece piece = request.pieces.get(0);
        window.key = request.key;
        window.wanted = piece.region();
        window.remote = new RemoteMemory(piece.region().remote.address() + piece.start(), request.key, piece.length());
        piece.region().remembered.add(window);
        World.require(
                window.window.remote().equals(window.remote),
                () -> "remote() of " + window + " must be " + window.remote + " and is " + window.window.remote());
    }

    static void unbind(World world, Step step) {
        PairNode pair = world.need(
                world.pairs, step.a(), step.actor(), each -> !each.datagrams && each.state == QueuePairState.RTS);
        WindowNode window = world.need(
                world.windows,
                step.b(),
                step.actor(),
                each -> each.domain.root() == pair.domain.root() && each.wanted != null && !each.second);
        World.skipIf(!hasRoom(world, pair.sendQueue, 1));
        Request request = new Request(world.id(), Operation.BIND_MW);
        request.epoch = pair.epoch;
        world.say(step, () -> pair + ".postUnbind(#" + request.id + ", " + window + ")");
        RegionNode region = window.wanted;
        Faults faults = new Faults(step.actor())
                .needs(pair, window)
                .state(pair.datagrams, pair, " has no windows")
                .state(!pair.takesSends(), pair, " is not connected")
                .when(pair.state == QueuePairState.ERR, PostException.class, pair, " has failed")
                .argument(window.second, window, " is of TYPE_2")
                .state(region == null, window, " is not bound");
        foreign(faults, pair.domain, window, window.domain);
        if (region != null) {
            faults.needs(region);
        }
        if (world.run(faults, () -> pair.pair.postUnbind(request.id, window.window))) {
            window.key = window.window.remoteKey();
            window.bound = null;
            window.wanted = null;
            world.wire.bindAtOnce(pair, request);
        }
    }

    static void fill(World world, Step step) {
        RegionNode region = world.need(world.regions, step.a(), step.actor());
        byte value = (byte) step.b();
        world.say(step, () -> region + ".fill(" + value + ")");
        if (world.run(new Faults(step.actor()).needs(region), () -> region.region.fill(value))) {
            Arrays.fill(region.block.mirror, value);
        }
    }
}
