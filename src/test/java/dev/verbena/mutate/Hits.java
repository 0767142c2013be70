package dev.verbena.mutate;

import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;

/** The lines that have run. The probes of {@link Probes} call this class from the library's code. */
public final class Hits {
    private static final int MOST = 1 << 16;
    private static final boolean[] RUN = new boolean[MOST];
    private static final boolean[] RUN_IN_INITIALIZER = new boolean[MOST];
    private static final Map<String, Integer> NUMBERS = new HashMap<>();
    private static volatile int initializers;

    private Hits() {}

    static String key(String type, String method, String descriptor, int line) {
        return type + "#" + method + descriptor + ":" + line;
    }

    /** Returns the number of a key. */
    static synchronized int number(String key) {
        int number = NUMBERS.computeIfAbsent(key, any -> NUMBERS.size());
        if (number >= MOST) {
            throw new IllegalStateException("more than " + MOST + " lines");
        }
        return number;
    }

    /** Returns all keys and their numbers. */
    static synchronized Map<String, Integer> numbers() {
        return new HashMap<>(NUMBERS);
    }

    /** Remembers that a line runs. Allocates nothing. */
    public static void hit(int number) {
        (initializers > 0 ? RUN_IN_INITIALIZER : RUN)[number] = true;
    }

    /** Remembers that a static initializer runs. */
    public static void enterInitializer() {
        count(1);
    }

    /** Remembers that a static initializer has run. */
    public static void leaveInitializer() {
        count(-1);
    }

    private static synchronized void count(int change) {
        initializers += change;
    }

    /** Returns the lines that have run since the last call, without those that ran in a static initializer. */
    static BitSet take() {
        return take(RUN);
    }

    /** Returns the lines that have run in a static initializer since the last call. */
    static BitSet takeOfInitializers() {
        return take(RUN_IN_INITIALIZER);
    }

    private static BitSet take(boolean[] from) {
        BitSet set = new BitSet();
        for (int i = 0; i < from.length; i++) {
            if (from[i]) {
                set.set(i);
                from[i] = false;
            }
        }
        return set;
    }
}
