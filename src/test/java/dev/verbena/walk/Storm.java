package dev.verbena.walk;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionField;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RegionChange;
import dev.verbena.verbs.SendBatch;
import dev.verbena.verbs.SharedReceiveQueue;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Threads that make, use and close the same objects at once. Each call succeeds or throws an exception that its
 * documentation names; at the end all closes. The seed chooses the calls; the threads' interleaving differs from run to run.
 */
final class Storm {
    private static final Duration DEADLINE = Duration.ofSeconds(120);
    private static final Duration SHORT = Duration.ofMillis(1);
    private static final List<AccessFlag> ACCESS = List.of(
            AccessFlag.LOCAL_WRITE,
            AccessFlag.REMOTE_WRITE,
            AccessFlag.REMOTE_READ,
            AccessFlag.REMOTE_ATOMIC,
            AccessFlag.MW_BIND);

    /** Objects of one kind that all threads may choose. */
    private static final class Pool<T> {
        private final AtomicReferenceArray<@Nullable T> slots;

        Pool(int size) {
            slots = new AtomicReferenceArray<>(size);
        }

        @Nullable
        T any(SplittableRandom random) {
            return slots.get(random.nextInt(slots.length()));
        }

        @Nullable
        T put(SplittableRandom random, T object) {
            return slots.getAndSet(random.nextInt(slots.length()), object);
        }
    }

    private final long seed;
    private final int steps;
    private final Pool<VerbsArena> arenas = new Pool<>(2);
    private final Pool<Context> contexts = new Pool<>(2);
    private final Pool<ProtectionDomain> domains = new Pool<>(2);
    private final Pool<CompletionChannel> channels = new Pool<>(2);
    private final Pool<CompletionQueue> queues = new Pool<>(3);
    private final Pool<QueuePair> pairs = new Pool<>(4);
    private final Pool<SharedReceiveQueue> shared = new Pool<>(2);
    private final Pool<MemoryRegion> regions = new Pool<>(4);
    private final Pool<MemoryWindow> windows = new Pool<>(2);
    private final List<VerbsArena> made = new ArrayList<>();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private final AtomicInteger done = new AtomicInteger();

    Storm(long seed, int steps) {
        this.seed = seed;
        this.steps = steps;
    }

    /** Runs all threads to their end and closes all arenas; returns the number of calls that were not refused. */
    int run() throws InterruptedException {
        SplittableRandom random = new SplittableRandom(seed);
        newArena(random);
        newArena(random);
        List<Thread> threads = new ArrayList<>();
        for (int i = 2 + random.nextInt(3); i > 0; i--) {
            SplittableRandom own = random.split();
            Runnable work = () -> work(own);
            threads.add(random.nextBoolean() ? Thread.ofVirtual().unstarted(work) : daemon(work));
        }
        threads.forEach(Thread::start);
        long end = System.nanoTime() + DEADLINE.toNanos();
        for (Thread thread : threads) {
            if (!thread.join(Duration.ofNanos(Math.max(1, end - System.nanoTime())))) {
                throw new WalkFailure("A thread of the storm with the seed " + seed + " is stuck" + stacks(), null);
            }
        }
        closeAll();
        Throwable thrown = failure.get();
        if (thrown != null) {
            throw new WalkFailure("In a storm with the seed " + seed + ": " + thrown, thrown);
        }
        return done.get();
    }

    private static Thread daemon(Runnable work) {
        return Thread.ofPlatform().daemon().name("storm").unstarted(work);
    }

    private static String stacks() {
        StringBuilder text = new StringBuilder();
        for (Map.Entry<Thread, StackTraceElement[]> each :
                Thread.getAllStackTraces().entrySet()) {
            text.append("\n").append(each.getKey());
            for (StackTraceElement frame : each.getValue()) {
                text.append("\n    at ").append(frame);
            }
        }
        return text.toString();
    }

    private void work(SplittableRandom random) {
        for (int i = 0; i < steps && failure.get() == null; i++) {
            try {
                step(random);
                done.incrementAndGet();
            } catch (WrongThreadException wrong) {
                failure.compareAndSet(null, wrong); // all is shared
            } catch (IllegalStateException
                    | IllegalArgumentException
                    | IndexOutOfBoundsException
                    | VerbsException refused) {
                Thread.onSpinWait(); // as documented: another thread was first
            } catch (Throwable other) {
                failure.compareAndSet(null, other);
            }
        }
    }

    private void closeAll() {
        for (int round = 0; round < 20 && !made.isEmpty(); round++) {
            for (VerbsArena arena : List.copyOf(made)) {
                try {
                    if (!ArenaLifetime.of(arena).isClosed()) {
                        arena.close();
                    }
                    made.remove(arena);
                } catch (VerbsException busy) {
                    for (VerbsObject object : ArenaLifetime.of(arena).objects()) {
                        closeIfFree(object);
                    }
                }
            }
        }
        World.require(made.isEmpty(), () -> "Arenas of a storm with the seed " + seed + " do not close: " + made);
    }

    private static void closeIfFree(VerbsObject object) {
        try {
            object.close();
        } catch (VerbsException busy) {
            Thread.onSpinWait(); // a later round closes it
        }
    }

    private void newArena(SplittableRandom random) {
        VerbsArena arena = VerbsArena.ofShared();
        synchronized (made) {
            made.add(arena);
        }
        arenas.put(random, arena);
    }

    private static <T> T need(@Nullable T object) {
        if (object == null) {
            throw new IllegalStateException("nothing there yet");
        }
        return object;
    }

    private VerbsArena arena(SplittableRandom random) {
        return need(arenas.any(random));
    }

    /** Puts a new object into a pool, and closes the one that was in its place, if it is free. */
    private static <T extends VerbsObject> void replace(Pool<T> pool, SplittableRandom random, T object) {
        T before = pool.put(random, object);
        if (before != null) {
            before.close();
        }
    }

    private void step(SplittableRandom random) throws InterruptedException {
        long id = random.nextLong();
        switch (random.nextInt(40)) {
            case 0 -> openOrClose(random);
            case 1 -> replace(contexts, random, TestDevice.get().open(arena(random)));
            case 2, 3 -> replace(domains, random, need(contexts.any(random)).allocateProtectionDomain(arena(random)));
            case 4 -> replace(channels, random, need(contexts.any(random)).createCompletionChannel(arena(random)));
            case 5, 6 -> replace(queues, random, queue(random));
            case 7, 8 -> replace(pairs, random, pair(random));
            case 9 ->
                replace(
                        shared,
                        random,
                        need(domains.any(random)).createSharedReceiveQueue(SharedReceiveQueue.basic(), arena(random)));
            case 10, 11 -> {
                VerbsArena owner = arena(random);
                replace(
                        regions,
                        random,
                        need(domains.any(random)).register(owner.allocate(256, 8), ACCESS, arena(random)));
            }
            case 12 ->
                replace(
                        windows,
                        random,
                        need(domains.any(random))
                                .allocateMemoryWindow(
                                        random.nextBoolean() ? MemoryWindow.Type.TYPE_1 : MemoryWindow.Type.TYPE_2,
                                        arena(random)));
            case 13 -> closeAny(random);
            case 14, 15, 16 -> connect(random);
            case 17 -> need(pairs.any(random)).reset();
            case 18 -> need(regions.any(random)).reregister(RegionChange.of(need(domains.any(random))));
            case 19 ->
                need(pairs.any(random))
                        .postBind(
                                id,
                                need(windows.any(random)),
                                need(regions.any(random)).slice(0, 64),
                                List.of(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE));
            case 20, 21 ->
                need(pairs.any(random)).postSend(id, need(regions.any(random)).slice(0, 64));
            case 22, 23, 24 -> need(pairs.any(random)).postReceive(id, need(regions.any(random)));
            case 25 -> need(shared.any(random)).postReceive(id, need(regions.any(random)));
            case 26 ->
                need(pairs.any(random))
                        .postWrite(
                                id,
                                need(regions.any(random)).slice(0, 64),
                                need(regions.any(random)).remote());
            case 27 ->
                need(pairs.any(random))
                        .postRead(
                                id,
                                need(regions.any(random)).slice(0, 64),
                                need(windows.any(random)).remote());
            case 28, 29 -> batch(random);
            case 30, 31 -> need(queues.any(random)).poll();
            case 32, 33 -> read(random);
            case 34 -> need(queues.any(random)).await(SHORT);
            case 35 -> need(queues.any(random)).requestNotification(random.nextBoolean());
            case 36 -> need(channels.any(random)).poll();
            case 37 -> need(regions.any(random)).fill((byte) id);
            case 38 -> need(queues.any(random)).resize(64 << random.nextInt(3));
            default -> need(pairs.any(random)).query().state();
        }
    }

    private void openOrClose(SplittableRandom random) {
        if (random.nextInt(8) == 0) {
            VerbsArena before = arena(random);
            newArena(random);
            try {
                before.close();
            } catch (ResourceBusyException busy) {
                Thread.onSpinWait(); // closed at the end
            }
        }
    }

    private void closeAny(SplittableRandom random) {
        List<Pool<? extends VerbsObject>> all =
                List.of(contexts, domains, channels, queues, pairs, shared, regions, windows);
        need(all.get(random.nextInt(all.size())).any(random)).close();
    }

    private CompletionQueue queue(SplittableRandom random) {
        CompletionQueueOptions options = CompletionQueueOptions.of(256);
        if (random.nextBoolean()) {
            options = options.channel(channels.any(random));
        }
        if (random.nextInt(3) == 0) {
            options = options.fields(CompletionField.BYTE_LENGTH, CompletionField.QUEUE_PAIR_NUMBER);
        }
        return need(contexts.any(random)).createCompletionQueue(options, arena(random));
    }

    private QueuePair pair(SplittableRandom random) {
        SharedReceiveQueue receives = random.nextInt(3) == 0 ? shared.any(random) : null;
        var options = QueuePair.rc(need(queues.any(random)), need(queues.any(random)));
        return need(domains.any(random))
                .createQueuePair(receives == null ? options : options.sharedReceiveQueue(receives), arena(random));
    }

    private void connect(SplittableRandom random) {
        QueuePair one = need(pairs.any(random));
        QueuePair other = need(pairs.any(random));
        if (one != other) {
            one.connect(other.endpoint());
            other.connect(one.endpoint());
        }
    }

    private void batch(SplittableRandom random) {
        SendBatch batch = need(pairs.any(random)).sendBatch(3);
        batch.send(1, need(regions.any(random)).slice(0, 16));
        batch.write(
                2,
                need(regions.any(random)).slice(0, 16),
                need(regions.any(random)).remote());
        MemoryWindow window = windows.any(random);
        if (window != null && window.type() == MemoryWindow.Type.TYPE_2) {
            batch.bind(3, window, need(regions.any(random)), List.of(AccessFlag.REMOTE_READ));
        }
        batch.post();
    }

    private void read(SplittableRandom random) {
        CompletionQueue queue = need(queues.any(random));
        Completions cursor = queue.isExtended() ? queue.extendedCompletions(4) : queue.completions(4);
        cursor.poll();
        while (cursor.next()) {
            cursor.completion();
        }
    }
}
