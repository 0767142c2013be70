package dev.verbena.walk;

import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.Operation;
import dev.verbena.verbs.PostException;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.ReceiveBatch;
import dev.verbena.verbs.SendBatch;
import dev.verbena.walk.Node.PairNode;
import dev.verbena.walk.Node.PathNode;
import dev.verbena.walk.Node.ReceiveBatchNode;
import dev.verbena.walk.Node.Receives;
import dev.verbena.walk.Node.SendBatchNode;
import dev.verbena.walk.Node.WindowNode;
import dev.verbena.walk.Request.Piece;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Steps that fill and post batches. */
final class Batching {
    private Batching() {}

    static void add(World world, Step step) {
        SendBatchNode batch = world.needTool(world.sendBatches, step.a(), step.actor());
        PairNode pair = batch.pair;
        Request request = step.d() / 5 % 8 == 0 ? inventBind(world, step, pair) : Traffic.invent(world, step, pair);
        World.skipIf(request == null || pair.datagrams && request.operation == Operation.SEND_WITH_INVALIDATE);
        PathNode path = request.path;
        request.path = null; // the address is given by a call of its own
        request.signaled = step.b() % 5 != 0;
        request.solicited = step.b() % 3 == 0;
        Piece other = request.inline != null
                        || request.isAtomic()
                        || request.pieces.isEmpty()
                        || request.window != null
                        || step.c() % 5 != 0
                ? null
                : Traffic.piece(world, step.c(), step.actor(), pair.domain);
        // The library posts a batch with pieces of unequal length in parts, for a driver that takes them for equal.
        Piece more = other != null && pair.extended && other.length() != request.length() ? null : other;
        world.say(
                step,
                () -> batch + " adds " + request + (path == null ? "" : " by " + path)
                        + (more == null ? "" : " and " + more));
        Faults faults = batch.faults(step.actor());
        Traffic.check(faults, pair, request);
        faults.state(batch.requests.size() == batch.batch.capacity(), batch, " is full");
        boolean added = world.run(faults, () -> add(batch.batch, request));
        batch.used(step.actor());
        if (added) {
            batch.requests.add(request);
            if (path != null) {
                Faults another = batch.faults(step.actor());
                Traffic.check(another, pair, path);
                if (world.run(another, () -> batch.batch.to(path.path, request.target, request.qkey))) {
                    request.path = path;
                }
            }
        }
        if (added && more != null) {
            Faults another = batch.faults(step.actor());
            Traffic.check(another, pair.domain, more);
            another.bounds(
                    request.remote != null && request.length() + more.length() > request.remote.length(),
                    more,
                    " is too long");
            another.bounds(pair.datagrams && request.length() + more.length() > 4096, more, " is too long");
            if (world.run(another, () -> batch.batch.and(Traffic.local(more)))) {
                request.pieces.add(more);
            }
        }
        World.require(
                batch.batch.size() == batch.requests.size(),
                () -> batch + " must hold " + batch.requests + " and holds " + batch.batch.size());
    }

    private static @Nullable Request inventBind(World world, Step step, PairNode pair) {
        WindowNode window = world.choose(
                world.windows, step.b(), step.actor(), each -> each.second && each.domain.root() == pair.domain.root());
        Piece piece = Traffic.piece(world, step.c(), step.actor(), pair.domain);
        if (window == null || piece == null) {
            return null;
        }
        Request request = new Request(world.id(), Operation.BIND_MW);
        request.window = window;
        request.pieces.add(piece);
        request.access = Making.access(step.d() / 40).stream()
                .filter(flag -> flag != AccessFlag.LOCAL_WRITE && flag != AccessFlag.MW_BIND)
                .collect(Collectors.toUnmodifiableSet());
        return request;
    }

    private static void add(SendBatch batch, Request request) {
        long id = request.id;
        LocalMemory local = request.pieces.isEmpty() ? null : Traffic.local(request.pieces.get(0));
        MemorySegment data = request.inline == null ? null : MemorySegment.ofArray(request.inline);
        switch (request.operation) {
            case SEND, SEND_WITH_IMMEDIATE, SEND_WITH_INVALIDATE -> {
                if (data != null) {
                    batch.sendInline(id, data);
                } else {
                    batch.send(id, local);
                }
            }
            case RDMA_WRITE, RDMA_WRITE_WITH_IMMEDIATE -> {
                if (data != null) {
                    batch.writeInline(id, data, request.remote);
                } else {
                    batch.write(id, local, request.remote);
                }
            }
            case RDMA_READ -> batch.read(id, local, request.remote);
            case FETCH_AND_ADD -> batch.fetchAndAdd(id, local, request.remote, request.compareAdd);
            case COMPARE_AND_SWAP -> batch.compareAndSwap(id, local, request.remote, request.compareAdd, request.swap);
            case LOCAL_INVALIDATE -> batch.localInvalidate(id, request.key);
            case BIND_MW -> batch.bind(id, request.window.window, local, request.access);
            default -> throw new AssertionError(request);
        }
        if (request.hasImmediate()) {
            batch.immediate(request.immediate);
        }
        if (request.operation == Operation.SEND_WITH_INVALIDATE) {
            batch.invalidate(request.key);
        }
        if (!request.signaled) {
            batch.unsignaled();
        }
        if (request.solicited) {
            batch.solicited();
        }
    }

    static void clear(World world, Step step) {
        if (step.b() % 2 == 0) {
            ReceiveBatchNode batch = world.needTool(world.receiveBatches, step.a(), step.actor());
            clear(world, step, batch, batch.batch::clear, batch.requests);
        } else {
            SendBatchNode batch = world.needTool(world.sendBatches, step.a(), step.actor());
            clear(world, step, batch, batch.batch::clear, batch.requests);
        }
    }

    private static void clear(World world, Step step, Node.Tool batch, Runnable call, List<Request> requests) {
        world.say(step, () -> batch + ".clear()");
        if (world.run(batch.faults(step.actor()), call)) {
            requests.clear();
        }
        batch.used(step.actor());
    }

    static void post(World world, Step step) {
        SendBatchNode batch = world.needTool(world.sendBatches, step.a(), step.actor());
        World.skipIf(batch.requests.isEmpty() && step.b() % 8 != 0
                || !Traffic.hasRoom(world, batch.pair.sendQueue, batch.requests.size()));
        PairNode pair = batch.pair;
        List<Request> requests = batch.requests;
        int room = pair.sendDepth - pair.sends.size();
        world.say(step, () -> batch + ".post() " + requests);
        Faults faults = batch.faults(step.actor());
        Set<WindowNode> windows = new HashSet<>();
        for (Request request : requests) {
            if (request.path != null) {
                faults.needs(request.path);
            } else {
                faults.state(pair.datagrams, request, " has no destination");
            }
            if (request.window != null) {
                faults.needs(request.window, request.pieces.get(0).region());
                faults.state(!windows.add(request.window), batch, " binds a window twice");
            }
        }
        faults.state(!requests.isEmpty() && !pair.takesSends(), pair, " is not connected");
        boolean refused = !faults.isEmpty();
        faults.when(requests.size() > room, PostException.class, pair, " has room for " + room);
        int most = refused || pair.extended ? 0 : Math.min(requests.size(), room);
        World.skipIf(!refused && !Settling.hasRoom(room, requests.size())
                || faults.isEmpty() && !Settling.mayPost(world, pair, requests, step.actor()));
        int before = Settling.state(world);
        int taken = post(world, step, batch, faults, batch.batch::post, requests.size(), most);
        List<Request> copies = new ArrayList<>();
        for (Request request : requests.subList(0, taken)) {
            Request copy = request.posted(pair.epoch);
            if (copy.window != null) {
                copy.key = after(copy.window.key);
            }
            copies.add(copy);
        }
        if (taken > 0) {
            world.wire.post(pair, copies);
            Settling.posted(world, pair, copies, Settling.state(world) != before);
        }
        for (Request copy : copies) {
            if (copy.window != null) {
                Traffic.bound(copy.window, copy);
            }
        }
    }

    /**
     * Posts a batch.
     *
     * @param all the number of requests
     * @param most the number of requests that are taken if the post is refused
     * @return the number of requests that were taken
     */
    private static int post(
            World world, Step step, Node.Tool batch, Faults faults, IntSupplier call, int all, int most) {
        int[] partly = new int[1];
        boolean posted = world.run(faults, () -> {
            try {
                int count = call.getAsInt();
                World.require(count == all, () -> "post() returned " + count);
            } catch (PostException full) {
                partly[0] = full.posted();
                throw full;
            }
        });
        batch.used(step.actor());
        World.require(posted || partly[0] == most, () -> "posted() must be " + most + " and is " + partly[0]);
        return posted ? all : most;
    }

    private static int after(int key) {
        return key & ~0xff | key + 1 & 0xff;
    }

    static void addReceive(World world, Step step) {
        ReceiveBatchNode batch = world.needTool(world.receiveBatches, step.a(), step.actor());
        Piece piece = Traffic.piece(world, step.b(), step.actor(), batch.domain);
        World.skipIf(piece == null);
        Request request = new Request(world.id(), Operation.RECEIVE);
        request.pieces.add(piece);
        Piece more = step.c() % 4 != 0 ? null : Traffic.piece(world, step.c(), step.actor(), batch.domain);
        world.say(step, () -> batch + " adds " + request + (more == null ? "" : " and " + more));
        Faults faults = batch.faults(step.actor());
        Traffic.check(faults, batch.domain, piece);
        faults.state(batch.requests.size() == batch.batch.capacity(), batch, " is full");
        ReceiveBatch target = batch.batch;
        boolean added = world.run(faults, () -> target.receive(request.id, Traffic.local(piece)));
        batch.used(step.actor());
        if (!added) {
            return;
        }
        batch.requests.add(request);
        if (more != null) {
            Faults another = batch.faults(step.actor());
            Traffic.check(another, batch.domain, more);
            another.state(
                    batch.pair != null && batch.pair.shared != null,
                    batch,
                    " is of a queue pair that has no receives of its own");
            if (world.run(another, () -> target.and(Traffic.local(more)))) {
                request.pieces.add(more);
            }
        }
    }

    static void postReceives(World world, Step step) {
        ReceiveBatchNode batch = world.needTool(world.receiveBatches, step.a(), step.actor());
        World.skipIf(batch.requests.isEmpty());
        PairNode pair = batch.pair;
        List<Request> requests = batch.requests;
        Receives receives = batch.receives;
        World.skipIf(
                pair == null
                        ? !Traffic.sharersHaveRoom(world, receives, requests.size())
                                || !Settling.mayReceive(null, receives, requests.size())
                        : !Traffic.hasRoom(world, pair.receiveQueue, requests.size())
                                || !Settling.mayReceive(pair, receives, requests.size()));
        int room = receives.room();
        world.say(step, () -> batch + ".post() " + requests);
        Faults faults = batch.faults(step.actor());
        if (pair != null) {
            faults.state(pair.state == QueuePairState.RESET, pair, " is not connected");
            faults.state(pair.shared != null, pair, " shares its receives");
        }
        boolean refused = !faults.isEmpty();
        faults.when(requests.size() > room, PostException.class, batch.of, " has room for " + room);
        int most = refused ? 0 : Math.min(requests.size(), room);
        int taken = post(world, step, batch, faults, batch.batch::post, requests.size(), most);
        if (taken > 0) {
            int epoch = pair == null ? 0 : pair.epoch;
            world.wire.postReceives(
                    pair,
                    receives,
                    requests.subList(0, taken).stream()
                            .map(each -> each.posted(epoch))
                            .toList());
        }
    }
}
