package dev.verbena;

import dev.verbena.internal.Barrier;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.NativeLibraries;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.support.SystemCallFilter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Threads that use an object as fast as they can, in the manner of the data path, while another closes it and makes the
 * next, thousands of times: no thread may be inside a call when the object is destroyed.
 *
 * <p>A call is made of a few reads, so that threads are on their way in or out most of the time; and writes nothing,
 * since a write could make up for a fence that the guard has forgotten.
 */
final class GuardHammer {
    private static final int OBJECTS_AN_ARENA = 20; // closing a shared arena takes long
    private static final int READS_A_CALL = 20;
    private static final int MAX_SPINS_BEFORE_CLOSE = 300;

    /** On a busy processor a round takes some slices of time: the rounds end early then. */
    private static final Duration ENOUGH = Duration.ofSeconds(3);

    private final int rounds;
    private final AtomicReference<@Nullable String> wrong = new AtomicReference<>();
    private volatile @Nullable Target target;
    private volatile boolean stop;

    /** What is used: the flag stands for memory that must not be touched once it is set. */
    private static final class Target extends VerbsObject {
        private volatile boolean used;
        private volatile boolean destroyed;

        private final ObjectLifetime lifetime;

        private Target(ObjectLifetime lifetime) {
            super(lifetime);
            this.lifetime = lifetime;
            lifetime.destroyedBy(() -> destroyed = true);
        }

        static Target in(VerbsArena arena) {
            return ObjectLifetime.create(arena, Target::new);
        }

        /** Whether the object was destroyed during the call. */
        boolean call() {
            int way = lifetime.enter();
            boolean seen = false;
            for (int i = 0; i < READS_A_CALL; i++) {
                seen |= destroyed;
            }
            lifetime.exit(way);
            if (!used) {
                used = true;
            }
            return seen;
        }
    }

    GuardHammer(int rounds) {
        this.rounds = rounds;
    }

    /** Hammers; throws an AssertionError if an object was destroyed under a call. */
    void run(int users) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        try {
            for (int i = 0; i < users; i++) {
                threads.add(Thread.ofPlatform().daemon().name("user " + i).start(this::use));
            }
            openAndClose();
        } finally {
            stop = true;
            for (Thread thread : threads) {
                thread.join();
            }
        }
        if (wrong.get() != null) {
            throw new AssertionError(wrong.get());
        }
    }

    private void use() {
        while (!stop) {
            Target current = target;
            if (current == null) {
                Thread.onSpinWait();
                continue;
            }
            try {
                if (current.call()) {
                    wrong.set(Thread.currentThread().getName() + " was in a call when the object was destroyed");
                    return;
                }
            } catch (IllegalStateException closed) {
                while (target == current && !stop) {
                    Thread.yield();
                }
            }
        }
    }

    private void openAndClose() {
        long end = System.nanoTime() + ENOUGH.toNanos();
        for (int round = 0; round < rounds && wrong.get() == null && System.nanoTime() - end < 0; ) {
            VerbsArena arena = VerbsArena.ofShared();
            for (int i = 0; i < OBJECTS_AN_ARENA; i++, round++) {
                Target current = Target.in(arena);
                target = current;
                while (!current.used && wrong.get() == null) {
                    Thread.yield();
                }
                for (int spins = ThreadLocalRandom.current().nextInt(MAX_SPINS_BEFORE_CLOSE); spins > 0; spins--) {
                    Thread.onSpinWait();
                }
                if (i == OBJECTS_AN_ARENA - 1) {
                    arena.close();
                } else {
                    current.close();
                }
            }
        }
    }

    /** Arguments: the most rounds, users, and any third one to forbid {@code membarrier} once it is in use. */
    public static void main(String[] arguments) throws InterruptedException {
        int rounds = Integer.parseInt(arguments[0]);
        new CFunction(NativeLibraries.C, "getpid").find(); // processes that call C use the system call
        if (arguments.length > 2) {
            SystemCallFilter.forbidMembarrierInUse();
            System.out.println("membarrier is refused: " + SystemCallFilter.membarrier());
        }
        new GuardHammer(rounds).run(Integer.parseInt(arguments[1]));
        System.out.println("survived, membarrier " + (Barrier.isSystemCall() ? "in use" : "not in use"));
    }
}
