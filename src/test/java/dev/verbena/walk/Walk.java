package dev.verbena.walk;

import dev.verbena.support.Fenced;
import dev.verbena.support.TestDevice;
import dev.verbena.walk.Node.ArenaNode;
import dev.verbena.walk.Node.Thing;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A random walk through the public calls of the library, by 1 to 4 threads that take turns. The seed determines all of it.
 * A walk that fails is shortened: see {@link #explain}.
 */
final class Walk {
    /** The number of steps of a walk. At its end all closes, in random order. */
    static final int STEPS = 400;

    private static final int ACTORS = 4;
    private static final int SECONDS = 60;
    private static final int STICKY = 8;
    private static final int TRIALS = 3000;

    private static final Action[] PROLOGUE = {
        Action.NEW_ARENA, Action.NEW_ARENA, Action.OPEN_CONTEXT, Action.ALLOCATE_DOMAIN, Action.CREATE_CHANNEL,
        Action.CREATE_QUEUE, Action.CREATE_QUEUE, Action.CREATE_PAIR, Action.CREATE_PAIR, Action.CREATE_PAIR,
        Action.CREATE_PAIR, Action.CONNECT, Action.CONNECT, Action.CREATE_PATH, Action.ALLOCATE_MEMORY,
        Action.ALLOCATE_MEMORY, Action.REGISTER, Action.REGISTER, Action.REGISTER, Action.MAKE_SEND_BATCH,
        Action.MAKE_CURSOR
    };

    private static final Action[] CONNECTING_PROLOGUE = {
        Action.NEW_ARENA, Action.NEW_ARENA, Action.CM_CHANNEL, Action.CM_CHANNEL, Action.CM_ID, Action.CM_ID,
        Action.CM_ID, Action.CM_LISTEN, Action.CM_RESOLVE, Action.CM_CONNECT, Action.CM_CHANNEL_POLL, Action.CM_CLAIM
    };

    /** The actions that walks of both kinds take. */
    private static final Set<Action> COMMON =
            EnumSet.of(Action.NEW_ARENA, Action.CLOSE, Action.CLOSE_ARENA, Action.TOUCH);

    /** One walk in so many is with the connection manager. */
    private static final int CONNECTING = 4;

    private final long seed;
    private final boolean connects;
    private final int actors;
    private final boolean[] isVirtual = new boolean[ACTORS];
    private final long closingSeed;
    private final List<Step> steps;

    /** The numbers of a run. */
    record Result(int steps, int skipped, int refused, Map<String, Integer> events) {}

    /** The end of a run that failed. */
    private record Failed(
            Throwable failure, int steps, @Nullable Action action, List<String> story) {
        /** Returns true if another program probably fails for the same reason. */
        boolean isLike(@Nullable Failed other) {
            return other != null
                    && other.action == action
                    && other.failure.getClass() == failure.getClass()
                    && beginning(other.failure).equals(beginning(failure));
        }

        private static String beginning(Throwable failure) {
            String message = String.valueOf(failure.getMessage()).replaceAll("[0-9]+", "");
            return message.substring(0, Math.min(message.length(), 40));
        }
    }

    Walk(long seed) {
        this.seed = seed;
        SplittableRandom random = new SplittableRandom(seed);
        this.actors = 1 + random.nextInt(ACTORS);
        for (int i = 0; i < ACTORS; i++) {
            isVirtual[i] = random.nextBoolean();
        }
        this.closingSeed = random.nextLong();
        this.connects = random.nextInt(CONNECTING) == 0 && !Settling.ON_DEVICE;
        this.steps = steps(random);
    }

    private List<Step> steps(SplittableRandom random) {
        List<Action> urn = new ArrayList<>();
        Action[] prologue = connects ? CONNECTING_PROLOGUE : PROLOGUE;
        for (Action action : Action.values()) { // each walk has its own mixture
            if (action.connects != connects && !COMMON.contains(action)
                    || Settling.ON_DEVICE && Settling.NOT_ON_DEVICE.contains(action)) {
                continue;
            }
            boolean closes = action == Action.CLOSE || action == Action.CLOSE_ARENA;
            int times = (connects && closes ? (action.weight + 3) / 4 : action.weight)
                    * new int[] {0, 1, 1, 3}[random.nextInt(4)];
            urn.addAll(Collections.nCopies(times, action));
        }
        urn.addAll(Collections.nCopies(2, Action.NEW_ARENA));
        List<Step> made = new ArrayList<>();
        int actor = 0;
        for (int i = 0; i < STEPS; i++) {
            if (random.nextInt(STICKY) == 0) {
                actor = random.nextInt(actors);
            }
            Action action = i < prologue.length ? prologue[i] : urn.get(random.nextInt(urn.size()));
            made.add(new Step(action, actor, operand(random), operand(random), operand(random), operand(random)));
        }
        return made;
    }

    private static int operand(SplittableRandom random) {
        return random.nextInt() & Integer.MAX_VALUE;
    }

    /** Runs the walk; throws an error with the shortest program that fails. */
    Result run() {
        World world = new World(TestDevice.get(), false);
        Failed failed = run(world, steps);
        if (failed != null) {
            throw explain(failed);
        }
        return new Result(steps.size(), world.skipped(), world.refusals(), world.events());
    }

    private @Nullable Failed run(World world, List<Step> program) {
        int before = Settling.ON_DEVICE ? 0 : Fenced.liveObjects();
        List<ExecutorService> threads = new ArrayList<>();
        for (int i = 0; i < actors; i++) {
            threads.add(Executors.newSingleThreadExecutor(
                    isVirtual[i]
                            ? Thread.ofVirtual().name("virtual actor " + i).factory()
                            : Thread.ofPlatform().daemon().name("actor " + i).factory()));
        }
        int[] done = new int[1];
        try {
            List<Turn> turns = new ArrayList<>();
            for (int from = 0; from < program.size(); ) {
                int to = from;
                int actor = program.get(from).actor();
                while (to < program.size() && program.get(to).actor() == actor) {
                    to++;
                }
                List<Step> own = program.subList(from, to);
                turns.add(new Turn(actor, () -> {
                    for (Step step : own) {
                        world.run(step);
                        done[0]++;
                    }
                }));
                from = to;
            }
            takeTurns(threads, turns);
            closeAll(world, threads);
            int left = Settling.ON_DEVICE ? 0 : Fenced.liveObjects() - before;
            World.require(left == 0, () -> left + " objects of C are left");
            return null;
        } catch (Throwable failure) {
            closeWhatCloses(world, threads);
            Action last = done[0] < program.size() ? program.get(done[0]).action() : null;
            return new Failed(failure, done[0], last, world.story());
        } finally {
            threads.forEach(ExecutorService::shutdown);
        }
    }

    /** The work of one thread while the others wait. */
    private record Turn(int actor, Runnable work) {}

    /** Has each thread begin the next turn at the end of its own: a hand-over costs as much as several steps. */
    private static void takeTurns(List<ExecutorService> threads, List<Turn> turns) throws Throwable {
        AtomicInteger next = new AtomicInteger();
        CompletableFuture<Void> end = new CompletableFuture<>();
        beginNext(threads, turns, next, end);
        for (int begun = -1; !end.isDone(); ) {
            try {
                end.get(SECONDS, TimeUnit.SECONDS);
            } catch (ExecutionException e) {
                throw e.getCause();
            } catch (TimeoutException e) {
                if (begun == next.get()) {
                    throw new WalkFailure("A turn has taken more than " + SECONDS + " s", e);
                }
                begun = next.get();
            }
        }
        end.get();
    }

    private static void beginNext(
            List<ExecutorService> threads, List<Turn> turns, AtomicInteger next, CompletableFuture<Void> end) {
        if (next.get() == turns.size()) {
            end.complete(null);
            return;
        }
        Turn turn = turns.get(next.getAndIncrement());
        threads.get(turn.actor()).execute(() -> {
            try {
                turn.work().run();
                beginNext(threads, turns, next, end);
            } catch (Throwable failure) {
                end.completeExceptionally(failure);
            }
        });
    }

    /** Closes all objects and arenas in random order; busy ones are refused, and closed later. */
    private void closeAll(World world, List<ExecutorService> threads) throws Throwable {
        Random random = new Random(closingSeed);
        List<Turn> taking = new ArrayList<>();
        for (int actor = 0; actor < actors; actor++) {
            int each = actor;
            taking.add(new Turn(actor, () -> Settling.takeAll(world, each)));
        }
        takeTurns(threads, taking);
        boolean objectsToo = random.nextBoolean();
        for (int round = 0; round < 100; round++) {
            List<Node> open = new ArrayList<>(objectsToo || round > 2 ? world.things : List.of());
            world.arenas.stream().filter(each -> each.open).forEach(open::add);
            if (open.isEmpty()) {
                return;
            }
            Collections.shuffle(open, random);
            List<Turn> turns = new ArrayList<>();
            for (Node node : open) {
                int actor = node.owner == Node.ALL || random.nextInt(16) == 0 ? random.nextInt(actors) : node.owner;
                Step step = new Step(Action.CLOSE, actor, 0, 0, 0, 0);
                turns.add(new Turn(actor, () -> {
                    if (node.open) {
                        switch (node) {
                            case ArenaNode arena -> Closing.close(world, step, arena);
                            case Thing thing -> Closing.close(world, step, thing);
                        }
                        world.check(true);
                    }
                }));
            }
            takeTurns(threads, turns);
        }
        throw new WalkFailure("Not all can be closed, left are " + world.things + " and " + world.arenas, null);
    }

    /** Closes after a failure, so that memory and objects do not pile up while a walk is shortened. */
    private static void closeWhatCloses(World world, List<ExecutorService> threads) {
        for (int round = 0; round < 10; round++) {
            for (Thing thing : world.things.reversed()) {
                closeQuietly(threads.get(Math.max(0, thing.owner)), thing.object);
            }
            for (ArenaNode arena : world.arenas) {
                closeQuietly(threads.get(Math.max(0, arena.owner)), arena.arena);
            }
        }
    }

    private static void closeQuietly(ExecutorService thread, AutoCloseable object) {
        try {
            thread.submit(() -> {
                        object.close();
                        return null;
                    })
                    .get(SECONDS, TimeUnit.SECONDS);
        } catch (Exception refused) {
            assert refused != null; // it has failed before: that is reported
        }
    }

    /** Shortens the program as long as it fails, and returns an error that tells it in words. */
    private AssertionError explain(Failed first) {
        List<Step> program = new ArrayList<>(steps.subList(0, Math.min(first.steps() + 1, steps.size())));
        Failed last = run(new World(TestDevice.get(), true), program);
        if (last == null) { // it fails at the end only, or with less checks
            program = new ArrayList<>(steps);
            last = run(new World(TestDevice.get(), true), program);
        }
        if (last == null) {
            return new AssertionError(
                    "The walk with the seed " + seed + " failed once, and not again", first.failure());
        }
        int trials = 0;
        for (int chunk = Math.max(1, program.size() / 2); chunk > 0; ) {
            boolean shorter = false;
            for (int from = 0; from < program.size() && trials < TRIALS; ) {
                List<Step> candidate = new ArrayList<>(program);
                candidate
                        .subList(from, Math.min(from + chunk, candidate.size()))
                        .clear();
                trials++;
                Failed failed = run(new World(TestDevice.get(), true), candidate);
                if (last.isLike(failed)) {
                    program = candidate;
                    last = failed;
                    shorter = true;
                } else {
                    from += chunk;
                }
            }
            if (!shorter || chunk > program.size()) {
                chunk = chunk == 1 ? 0 : Math.max(1, chunk / 2);
            }
            if (trials >= TRIALS) {
                break;
            }
        }
        return new AssertionError(
                "The walk with the seed " + seed + " fails; -Ddev.verbena.walk.seed=" + seed + " repeats it. First: "
                        + first.failure() + "\nThe shortest program that fails has " + program.size()
                        + " steps, then closes all:\n    " + String.join("\n    ", last.story()) + "\n"
                        + last.failure(),
                last.failure());
    }
}
