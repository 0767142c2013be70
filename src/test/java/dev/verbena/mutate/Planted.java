package dev.verbena.mutate;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/** Code with known mutants: {@link PlantedTest} notices those of the first methods, and no test those of the last ones. */
final class Planted {
    private static final int FACTOR = factor();

    private final List<String> log = new ArrayList<>();
    private final int small;
    private final int large;

    Planted(int small, int large) {
        this.small = small;
        this.large = large;
    }

    private static int factor() {
        return Integer.parseInt("6");
    }

    /** Each change is noticed. */
    int clamp(int value) {
        if (value < small) {
            return small;
        }
        return value > large ? large : value;
    }

    /** Keeps an object that was made before a change, and makes others. */
    record Kept(int number) {
        static final Kept FIRST = new Kept();

        Kept() {
            this(one() + 6);
        }

        private static int one() {
            return Integer.parseInt("1");
        }
    }

    /** Each change is noticed; the order of equal arguments is no change. */
    static int largest(int one, int other) {
        return Math.max(one, other);
    }

    /** Each change is noticed. */
    static int half(int value) {
        assert value >= 2 : "at least 2, got " + value;
        return value / 2;
    }

    /** More memory is not noticed, and is no change. */
    static MemorySegment memory(Arena arena) {
        arena.allocate(ValueLayout.JAVA_LONG, 2);
        return arena.allocate(ValueLayout.JAVA_LONG, 1);
    }

    /** Each change is noticed. */
    void put(String key, String value) {
        if (key.isEmpty()) {
            throw new IllegalArgumentException("empty");
        }
        write(key, value);
    }

    private void write(String key, String value) {
        log.add(key + "=" + value);
    }

    List<String> log() {
        return log;
    }

    /** Runs once in a JVM, when the class is initialized. */
    static int scaled(int value) {
        return value * FACTOR;
    }

    /** Never ends without its call of {@code set}. */
    static int countDown(int from) {
        AtomicBoolean over = new AtomicBoolean();
        int steps = 0;
        do {
            steps++;
            over.set(steps == from);
        } while (!over.get());
        return steps;
    }

    /** Ends the JVM if its condition is negated. */
    static void haltIf(boolean broken) {
        if (broken) {
            Runtime.getRuntime().halt(1);
        }
    }

    /** Leaves the JVM broken if its check never throws, so that other tests fail too. */
    static final class Fuse {
        static boolean blown;

        private Fuse() {}

        static void blow(boolean allowed) {
            if (!allowed) {
                throw new IllegalStateException("not allowed");
            }
            blown = true;
        }
    }

    /** Has stack frames with an object whose constructor has not run. */
    static String chosen(boolean first) {
        return new StringBuilder(first ? "first" : "second").toString();
    }

    /** Has two copies of its finally block. */
    void putAndCount(String key) {
        try {
            put(key, "");
        } finally {
            log.add("done");
        }
    }

    /** Returns the same in its only way: another result would be the same constant. */
    boolean putAndSucceed(String key) {
        try {
            put(key, "");
            return true;
        } finally {
            log.add("done");
        }
    }

    /** No test looks at the result. */
    int unseen(int value) {
        return value + 1;
    }

    /** No test calls this. */
    int uncovered(int value) {
        return value - 1;
    }
}
