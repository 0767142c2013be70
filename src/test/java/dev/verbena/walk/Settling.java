package dev.verbena.walk;

import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.Operation;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.walk.Node.Block;
import dev.verbena.walk.Node.PairNode;
import dev.verbena.walk.Node.QueueNode;
import dev.verbena.walk.Node.Receives;
import dev.verbena.walk.Request.Piece;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Walks on a real device, which carries out requests in its own time. There, a walk posts only requests that succeed, or
 * that a failed queue pair flushes: how a device fails differs from driver to driver. After a step, it waits until memory
 * is what it must be; and takes the completions if that does not tell the end of the requests.
 */
final class Settling {
    /** True if the walk is not on the provider for tests. */
    static final boolean ON_DEVICE = !Fenced.isLoaded();

    /** What soft-RoCE refuses, or does in another way than the specification. */
    static final Set<Action> NOT_ON_DEVICE = EnumSet.of(
            Action.ALLOCATE_PARENT_DOMAIN,
            Action.REREGISTER,
            Action.ALLOCATE_WINDOW,
            Action.BIND,
            Action.UNBIND,
            Action.NOTIFY,
            Action.RAISE,
            Action.EVENTS_POLL,
            Action.CREATE_WORK_QUEUE,
            Action.MODIFY_WORK_QUEUE,
            Action.WORK_QUEUE_RECEIVE,
            Action.CREATE_TABLE,
            Action.OPEN_XRC_DOMAIN,
            Action.CREATE_XRC_RECEIVES,
            Action.XRC_RECEIVE,
            Action.CREATE_HALF_PAIR,
            Action.ATTACH_GROUP,
            Action.DETACH_GROUP);

    /** The number of requests to think of, until one can be posted. */
    static final int TRIES = ON_DEVICE ? 24 : 1;

    private static final Duration ARRIVAL = Duration.ofSeconds(30);

    private Settling() {}

    /** Returns a step with other operands, except for the first try. */
    static Step vary(Step step, int tries) {
        if (tries == 0) {
            return step;
        }
        SplittableRandom random = new SplittableRandom(step.a() * 31L + step.d() + tries);
        return new Step(
                step.action(),
                step.actor(),
                random.nextInt() & Integer.MAX_VALUE,
                random.nextInt() & Integer.MAX_VALUE,
                random.nextInt() & Integer.MAX_VALUE,
                random.nextInt() & Integer.MAX_VALUE);
    }

    /** Returns true if these requests can be posted now. */
    static boolean mayPost(World world, PairNode pair, List<Request> requests, int actor) {
        if (!ON_DEVICE) {
            return true;
        }
        if (!pair.sendQueue.open || !pair.sendQueue.isAccessibleBy(actor) || !pair.sends.isEmpty()) {
            return false;
        }
        if (pair.state == QueuePairState.ERR) {
            return true;
        }
        if (!requests.isEmpty() && !requests.getLast().signaled) {
            return false; // nothing would tell its end
        }
        Map<Receives, Integer> taken = new IdentityHashMap<>(); // the datagrams of a batch go to several pairs
        for (Request request : requests) {
            PairNode to = world.wire.pair(pair.datagrams ? request.target : pair.peer);
            if (pair.extended && request.pieces.size() > 1) {
                return false; // rdma-core before version 64 sends other lengths
            }
            int already = to == null ? 0 : taken.getOrDefault(to.receives(), 0);
            if (!opensLocally(world, pair, request) || !arrives(world, pair, to, request, already, actor)) {
                return false;
            }
            if (to != null && consumes(request) && (!pair.datagrams || isMeant(to, request))) {
                taken.put(to.receives(), already + 1);
            }
        }
        return true;
    }

    /** Returns true if a pair takes a datagram, given a receive. */
    private static boolean isMeant(PairNode to, Request request) {
        return to.state == QueuePairState.RTS && to.qkey == request.qkey;
    }

    private static boolean consumes(Request request) {
        return switch (request.operation) {
            case SEND, SEND_WITH_IMMEDIATE, RDMA_WRITE_WITH_IMMEDIATE -> true;
            default -> false;
        };
    }

    private static boolean opensLocally(World world, PairNode pair, Request request) {
        boolean writes = request.operation == Operation.RDMA_READ || request.isAtomic();
        return world.wire.checksLocally(pair, request, writes);
    }

    private static boolean arrives(
            World world, PairNode pair, @Nullable PairNode to, Request request, int taken, int actor) {
        if (pair.datagrams) {
            return to == null || !isMeant(to, request) || takes(world, to, request, taken, actor);
        }
        if (to == null
                || to.state != QueuePairState.RTS
                || to.peer != pair.number
                || pair.peerEpoch != to.epoch
                || to.peerEpoch != pair.epoch) {
            return false;
        }
        return switch (request.operation) {
            case SEND, SEND_WITH_IMMEDIATE -> takes(world, to, request, taken, actor);
            case RDMA_WRITE -> opens(world, to, request, AccessFlag.REMOTE_WRITE);
            case RDMA_WRITE_WITH_IMMEDIATE ->
                opens(world, to, request, AccessFlag.REMOTE_WRITE) && hasReceive(to, taken, actor) != null;
            case RDMA_READ -> opens(world, to, request, AccessFlag.REMOTE_READ);
            case FETCH_AND_ADD, COMPARE_AND_SWAP -> opens(world, to, request, AccessFlag.REMOTE_ATOMIC);
            default -> false;
        };
    }

    private static boolean opens(World world, PairNode to, Request request, AccessFlag right) {
        Node.RegionNode region = world.wire.remoteRegion(to, request, right);
        return region != null && request.pieces.stream().noneMatch(piece -> piece.region().block == region.block);
    }

    private static @Nullable Request hasReceive(PairNode to, int taken, int actor) {
        if (!to.receiveQueue.open || !to.receiveQueue.isAccessibleBy(actor)) {
            return null;
        }
        return to.receives().pending.stream().skip(taken).findFirst().orElse(null);
    }

    private static boolean takes(World world, PairNode to, Request request, int taken, int actor) {
        Request receive = hasReceive(to, taken, actor);
        if (receive == null) {
            return to.datagrams && to.receives().pending.size() <= taken;
        }
        Set<Block> blocks = new HashSet<>();
        request.pieces.forEach(piece -> blocks.add(piece.region().block));
        long header = to.datagrams ? Wire.HEADER : 0;
        return receive.length() >= header + request.length()
                && receive.pieces.stream().noneMatch(piece -> blocks.contains(piece.region().block))
                && world.wire.checksLocally(to, receive, true);
    }

    /** Returns true if it is sure how many of some requests a queue takes: soft-RoCE has more room than it says. */
    static boolean hasRoom(int room, int requests) {
        return !ON_DEVICE || room >= requests;
    }

    /** Returns true if receives can be posted now: soft-RoCE may keep late ones. */
    static boolean mayReceive(@Nullable PairNode pair, Receives receives, int more) {
        return hasRoom(receives.room(), more) && (!ON_DEVICE || pair == null || pair.state != QueuePairState.ERR);
    }

    /** Waits for the end of requests that were posted. */
    static void posted(World world, PairNode pair, List<Request> requests, boolean changed) {
        if (!ON_DEVICE) {
            return;
        }
        requests.forEach(request -> world.note(request.operation.name()));
        if (requests.size() == 1 && changed && !pair.datagrams && pair.state == QueuePairState.RTS) {
            return; // the memory tells
        }
        take(pair.sendQueue);
        if (pair.state == QueuePairState.RTS) {
            for (Request request : requests) {
                PairNode to = world.wire.pair(pair.datagrams ? request.target : pair.peer);
                if (to != null && to.state == QueuePairState.RTS && consumes(request)) {
                    take(to.receiveQueue);
                }
            }
        }
        world.wire.takeHeaders().forEach(Settling::adoptHeader);
    }

    /** The bytes before a datagram are those of its IP header, which the model does not know. */
    private static void adoptHeader(Request receive) {
        long left = Wire.HEADER;
        for (Piece piece : receive.pieces) {
            Block block = piece.region().block;
            for (long i = 0; i < piece.length() && left > 0; i++, left--) {
                int at = (int) (piece.start() + i);
                block.mirror[at] = block.view.get(java.lang.foreign.ValueLayout.JAVA_BYTE, at);
            }
        }
    }

    /** Waits until a block contains the bytes that it must contain. The caller reports those that never come. */
    static void await(Block block) {
        long end = System.nanoTime() + ARRIVAL.toNanos();
        while (Wire.mismatch(block) >= 0 && end - System.nanoTime() > 0) {
            Thread.yield();
        }
    }

    /** Returns a number that changes when the mirrors of memory do. */
    static int state(World world) {
        int hash = 0;
        for (Block block : ON_DEVICE ? world.blocks : List.<Block>of()) {
            hash = 31 * hash + Arrays.hashCode(block.mirror);
        }
        return hash;
    }

    /**
     * Takes all completions, before a step that would prevent some.
     *
     * @return false if the thread may not take some
     */
    static boolean takeAll(World world, int actor) {
        boolean all = true;
        for (QueueNode queue : ON_DEVICE ? world.queues : List.<QueueNode>of()) {
            if (queue.open && queue.isAccessibleBy(actor)) {
                take(queue);
            }
            all &= queue.done.isEmpty();
        }
        return all;
    }

    private static void take(QueueNode queue) {
        while (!queue.done.isEmpty()) {
            Taking.compare(queue, next(queue), false);
        }
    }

    /** Waits for the next completion, which must come. */
    static WorkCompletion next(QueueNode queue) {
        AtomicReference<@Nullable WorkCompletion> next = new AtomicReference<>();
        Await.until("one of " + queue.done, () -> {
            next.set(queue.queue.poll());
            return next.get() != null;
        });
        return Objects.requireNonNull(next.get());
    }

    /** Removes the completion of a request from the expected ones. Those of different queues may come in any order. */
    static Done expected(QueueNode queue, long id) {
        if (!ON_DEVICE) {
            return queue.done.remove();
        }
        Done found = queue.done.stream()
                .filter(each -> each.id() == id)
                .findFirst()
                .orElseThrow(() -> new WalkFailure("#" + id + " completed, and not one of " + queue.done, null));
        for (Done earlier : queue.done) {
            if (earlier == found) {
                break;
            }
            World.require(
                    earlier.pair() != found.pair()
                            || (earlier.operation() == Operation.RECEIVE) != (found.operation() == Operation.RECEIVE),
                    () -> found + " completed before " + earlier);
        }
        queue.done.remove(found);
        return found;
    }
}
