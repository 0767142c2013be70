package dev.verbena.walk;

import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.verbs.AsyncEvent;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Operation;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkStatus;
import dev.verbena.walk.Node.ChannelNode;
import dev.verbena.walk.Node.ContextNode;
import dev.verbena.walk.Node.CursorNode;
import dev.verbena.walk.Node.PairNode;
import dev.verbena.walk.Node.QueueNode;
import dev.verbena.walk.Node.Raised;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Steps that take completions and events. */
final class Taking {
    private static final int[] SIZES = {64, 128, 256};
    private static final int MOST_EVENTS = 16;
    private static final AsyncEvent.Type[] RAISED = {
        AsyncEvent.Type.COMM_EST, AsyncEvent.Type.SQ_DRAINED, AsyncEvent.Type.PATH_MIG, AsyncEvent.Type.PORT_ACTIVE
    };

    private Taking() {}

    static void poll(World world, Step step) {
        QueueNode queue =
                world.need(world.queues, step.a(), step.actor(), each -> !each.done.isEmpty() || step.b() % 8 == 0);
        boolean waits = step.c() % 4 == 0;
        Done expected = queue.done.peek();
        if (Settling.ON_DEVICE && expected != null && queue.open && queue.isAccessibleBy(step.actor())) {
            world.say(step, () -> queue + ".poll() for one of " + queue.done);
            compare(queue, Settling.next(queue), false);
            return;
        }
        world.say(step, () -> queue + (waits ? ".await(ZERO)" : ".poll()") + " for " + expected);
        Faults faults = new Faults(step.actor()).needs(queue);
        if (waits) {
            faults.when(queue.open && expected == null, VerbsTimeoutException.class, queue, " is empty");
        }
        Optional<WorkCompletion> taken = world.call(
                faults, () -> Optional.ofNullable(waits ? queue.queue.await(Duration.ZERO) : queue.queue.poll()));
        if (taken == null) {
            return;
        }
        World.require(
                taken.isPresent() == (expected != null), () -> queue + " holds " + expected + " and returned " + taken);
        if (expected != null) {
            queue.done.remove();
            compare(expected, taken.orElseThrow(), false);
        }
    }

    static void pollCursor(World world, Step step) {
        CursorNode cursor = world.needTool(world.cursors, step.a(), step.actor());
        World.skipIf(cursor.queue.done.isEmpty() && step.b() % 8 != 0);
        QueueNode queue = cursor.queue;
        int expected = Math.min(cursor.max, queue.done.size());
        int read = step.c() % 5 == 0 && !Settling.ON_DEVICE ? step.c() / 5 % (expected + 1) : expected;
        world.say(
                step,
                () -> cursor + ".poll() for "
                        + queue.done.stream().limit(expected).toList() + ", reads " + read);
        Faults faults = cursor.faults(step.actor());
        Integer count = world.call(
                faults,
                () -> Settling.ON_DEVICE && faults.isEmpty() && expected > 0
                        ? polled(world, cursor, expected)
                        : cursor.cursor.poll());
        cursor.used(step.actor());
        if (count == null) {
            return;
        }
        cursor.unread.forEach(Taking::known); // polling again notes the failures that were not read
        cursor.unread.clear();
        if (Settling.ON_DEVICE) {
            return;
        }
        World.require(count == expected, () -> "poll() must return " + expected + ", returned " + count);
        for (int i = 0; i < expected; i++) {
            cursor.unread.add(queue.done.remove());
        }
        for (int i = 0; i < read; i++) {
            next(cursor);
        }
    }

    /** Polls until completions have come, and reads all of them. */
    private static int polled(World world, CursorNode cursor, int most) {
        int[] count = new int[1];
        Await.until("one of " + cursor.queue.done, () -> {
            count[0] = cursor.cursor.poll();
            return count[0] > 0;
        });
        World.require(count[0] <= most, () -> "poll() must return at most " + most + ", returned " + count[0]);
        for (int i = 0; i < count[0]; i++) {
            World.require(cursor.cursor.next(), () -> "next() must return true");
            compare(cursor.queue, cursor.cursor.completion(), cursor.queue.extended);
        }
        return count[0];
    }

    static void nextOfCursor(World world, Step step) {
        CursorNode cursor = world.needTool(world.cursors, step.a() | 1, step.actor());
        World.skipIf(cursor.claimant != step.actor());
        world.say(step, () -> cursor + ".next() of " + cursor.unread);
        next(cursor);
    }

    private static void next(CursorNode cursor) {
        if (!cursor.of.open) {
            cursor.unread.clear();
        }
        boolean more = !cursor.unread.isEmpty();
        World.require(cursor.cursor.next() == more, () -> "next() must return " + more);
        if (!more) {
            return;
        }
        Done expected = cursor.unread.remove();
        World.require(
                cursor.cursor.id() == expected.id()
                        && cursor.cursor.status() == expected.status()
                        && cursor.cursor.queuePairNumber() == expected.pair().number
                        && cursor.cursor.isSuccess() == (expected.status() == WorkStatus.SUCCESS)
                        && (expected.status() != WorkStatus.SUCCESS
                                || cursor.cursor.opcode() == expected.opcode()
                                        && cursor.cursor.byteLength() == expected.length()),
                () -> "The cursor must be at " + expected + " and is at " + cursor.cursor);
        compare(expected, cursor.cursor.completion(), cursor.queue.extended);
    }

    /** Compares a completion with one of the expected ones. */
    static void compare(QueueNode queue, WorkCompletion actual, boolean extended) {
        compare(Settling.expected(queue, actual.id()), actual, extended);
    }

    private static void compare(Done expected, WorkCompletion actual, boolean extended) {
        known(expected);
        boolean success = expected.status() == WorkStatus.SUCCESS;
        boolean same = actual.id() == expected.id()
                && actual.status() == expected.status()
                && actual.queuePairNumber() == expected.pair().number
                && (!success || isSameSuccess(expected, actual));
        World.require(same, () -> "The completion must be " + expected + " and is " + actual);
        if (!success && expected.pair().open && expected.epoch() == expected.pair().epoch) {
            World.require(
                    actual.operation() == expected.operation() || actual.operation() == null && mayBeUnknown(expected),
                    () -> "The operation must be " + expected.operation() + " and is " + actual.operation() + " of "
                            + actual);
        }
    }

    /** Returns true if the library may not know a request: of a long log, or perhaps from before a reset. */
    private static boolean mayBeUnknown(Done done) {
        return done.younger() >= done.depth() || mayBeOld(done);
    }

    /**
     * Returns true if the library may take a failure for one from before a reset. It asks the device for the state of the
     * queue pair; datagrams fail without a change of the state, and a thread that may not use the queue pair cannot ask.
     */
    private static boolean mayBeOld(Done done) {
        PairNode pair = done.pair();
        return pair.epoch > 0 && (pair.datagrams || pair.owner != Node.ALL);
    }

    private static boolean isSameSuccess(Done expected, WorkCompletion actual) {
        @Nullable Integer immediate = expected.immediate();
        if (Settling.ON_DEVICE && expected.operation() != Operation.RECEIVE) {
            return actual.opcode() == expected.opcode(); // the rest is not defined
        }
        return actual.opcode() == expected.opcode()
                && actual.byteLength() == expected.length()
                && (expected.source() == 0
                        || actual.sourceQueuePair() == expected.source()
                        || Settling.ON_DEVICE && !expected.pair().datagrams) // not defined for connections
                && actual.hasImmediate() == (immediate != null)
                && (immediate == null || actual.immediate() == immediate);
    }

    /** Notes that the program has seen a completion. */
    private static void known(Done done) {
        PairNode pair = done.pair();
        if (done.status() != WorkStatus.SUCCESS && done.epoch() == pair.epoch && !mayBeOld(done)) {
            pair.failureKnown = true;
        }
    }

    static void requestNotification(World world, Step step) {
        QueueNode queue =
                world.need(world.queues, step.a(), step.actor(), each -> each.channel != null || step.b() % 8 == 0);
        boolean solicited = step.c() % 2 == 0;
        world.say(step, () -> queue + ".requestNotification(" + solicited + ")");
        Faults faults = new Faults(step.actor()).needs(queue).state(queue.channel == null, queue, " has no channel");
        if (world.run(faults, () -> queue.queue.requestNotification(solicited)) && queue.asked != 1) {
            queue.asked = solicited ? 2 : 1;
        }
    }

    static void pollChannel(World world, Step step) {
        ChannelNode channel = world.need(world.channels, step.a(), step.actor());
        world.say(step, () -> channel + ".poll() with events of " + channel.events + ", ready " + channel.ready);
        Optional<CompletionQueue> taken =
                world.call(new Faults(step.actor()).needs(channel), () -> Optional.ofNullable(channel.channel.poll()));
        if (taken == null) {
            return;
        }
        channel.ready.addAll(channel.events);
        channel.events.clear();
        QueueNode expected = channel.ready.isEmpty() ? null : channel.ready.removeFirst();
        World.require(
                taken.orElse(null) == (expected == null ? null : expected.queue),
                () -> "The event must be of " + expected + " and is of " + taken);
    }

    /** Lets the provider raise an asynchronous event. */
    static void raise(World world, Step step) {
        PairNode pair = world.need(world.pairs, step.a() | 1, step.actor());
        World.skipIf(!pair.open
                || !pair.isAccessibleBy(step.actor())
                || !pair.domain.context.isAccessibleBy(step.actor())
                || pair.domain.context.raised.size() >= MOST_EVENTS);
        ContextNode context = pair.domain.context;
        AsyncEvent.Type type = RAISED[step.b() % RAISED.length];
        boolean ofPort = type == AsyncEvent.Type.PORT_ACTIVE;
        world.say(step, () -> type + " of " + (ofPort ? context : pair));
        if (ofPort) {
            Fenced.raise(context.context, type.code());
        } else {
            Fenced.raise(context.context, type.code(), pair.pair);
        }
        context.raised.add(new Raised(type, ofPort ? null : pair));
    }

    static void pollEvents(World world, Step step) {
        ContextNode context =
                world.need(world.contexts, step.a(), step.actor(), each -> !each.raised.isEmpty() || step.b() % 8 == 0);
        world.say(step, () -> context + ".events().poll() of " + context.raised);
        Optional<AsyncEvent> taken = world.call(
                new Faults(step.actor()).needs(context),
                () -> Optional.ofNullable(context.context.events().poll()));
        if (taken == null) {
            return;
        }
        Raised expected = context.raised.poll();
        boolean same = expected == null
                ? taken.isEmpty()
                : taken.isPresent()
                        && taken.get().type() == expected.type()
                        && switch (taken.get()) {
                            case AsyncEvent.OfQueuePair of ->
                                expected.pair() != null && of.queuePair() == expected.pair().pair;
                            case AsyncEvent.OfPort of -> expected.pair() == null && of.port() == 1;
                            default -> false;
                        };
        World.require(same, () -> "The event must be " + expected + " and is " + taken);
        if (expected != null) {
            world.note("asynchronous event");
        }
    }

    static void resize(World world, Step step) {
        QueueNode queue = world.need(world.queues, step.a(), step.actor());
        int capacity = SIZES[step.b() % SIZES.length];
        World.skipIf(world.wire.outstanding(queue) > capacity);
        world.say(step, () -> queue + ".resize(" + capacity + ")");
        if (world.run(new Faults(step.actor()).needs(queue), () -> queue.queue.resize(capacity))) {
            queue.capacity = capacity;
            World.require(
                    queue.queue.capacity() == capacity || Settling.ON_DEVICE && queue.queue.capacity() > capacity,
                    () -> "capacity is " + queue.queue.capacity());
        }
    }
}
