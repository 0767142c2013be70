package dev.verbena.bench;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.Device;
import java.nio.file.Path;
import java.util.List;

/**
 * Measures one row in its own JVM: C and Java alternate on this thread, and each round is checked. Prints the figures
 * as one line.
 *
 * <p>The loop is our own, and not one of JMH, on purpose. What is asked for is a ratio of two figures that differ by a few
 * nanoseconds, on machines whose speed changes by more than that within a second. JMH measures one method for seconds and
 * the other one seconds later. Here a round of C and a round of Java, each of less than a millisecond, follow each other
 * on the same core, and the least figure of many rounds is that of a quiet moment for both. JMH's guards are not needed:
 * every operation calls C, whose effects no compiler removes, and every completion is checked. Each row has fresh JVMs,
 * as JMH's forks are.
 */
final class Measurement {
    private static final int FIXED = 7;

    /** Operations that are posted, and then polled, while posts and polls are measured apart. */
    private static final int BURST = 64;

    private static Row row;
    private static boolean held;

    /**
     * Arguments: row, arena, library of the loops in C, warm-up rounds, rounds, operations in a round, GID index; then,
     * if not 1, the number of frames between loop and library; then "bare" for bare calls in place of Verbena, or "domain"
     * for C with a thread domain; then "held" to measure posts and polls apart, while an adapter without hardware waits.
     */
    public static void main(String[] args) throws Throwable {
        row = Row.of(args[0]).orElseThrow();
        Path library = Path.of(args[2]);
        int gidIndex = Integer.parseInt(args[6]);
        int frames = args.length > FIXED ? Integer.parseInt(args[FIXED]) : 1;
        String of = args.length > FIXED + 1 ? args[FIXED + 1] : "verbena";
        held = args.length > FIXED + 2 && args[FIXED + 2].equals("held");
        Twin twin = new Twin(library, row.function(), row.kinds(), gidIndex);
        try (VerbsArena arena = args[1].equals("shared") ? VerbsArena.ofShared() : VerbsArena.ofConfined()) {
            Loop loop;
            if (of.equals("domain")) {
                int kinds = row.kinds() | Twin.THREAD_DOMAIN;
                loop = new Loop(new InC(new Twin(library, row.function(), kinds, gidIndex)), null, 1);
            } else if (of.equals("bare")) {
                loop = new Loop(new Bare(new Twin(library, row.function(), row.kinds(), gidIndex)), null, frames);
            } else {
                List<Device> devices = Device.list();
                Loop second = row.is(Row.Kind.TWO_DRIVERS)
                        ? new Loop(new Verbena(devices.get(1), arena, gidIndex), null, frames)
                        : null;
                loop = new Loop(new Verbena(devices.getFirst(), arena, gidIndex), second, frames);
            }
            int rounds = Integer.parseInt(args[4]);
            new Measurement(twin, loop, Integer.parseInt(args[5])).run(Integer.parseInt(args[3]), rounds);
        }
    }

    /** Returns the row of this virtual machine. */
    static Row row() {
        return row;
    }

    private final Twin twin;
    private final Loop loop;
    private final int operations;

    private Measurement(Twin twin, Loop loop, int operations) {
        this.twin = twin;
        this.loop = loop;
        this.operations = operations - operations % row.size();
    }

    /** The time of a round's posts and polls, or of one of them, in nanoseconds. */
    private double heldRound(Half half) {
        boolean posts = !row.is(Row.Kind.POLLS_ONLY);
        boolean polls = !row.is(Row.Kind.POSTS_ONLY);
        long time = 0;
        long bad = 0;
        for (int id = 0; id < operations; id += BURST) {
            long start = System.nanoTime();
            bad += half.run(true, id, BURST);
            long end = System.nanoTime();
            time += posts ? end - start : 0;
            twin.step();
            start = System.nanoTime();
            bad += half.run(false, id, BURST);
            end = System.nanoTime();
            time += polls ? end - start : 0;
        }
        check(bad);
        return (double) time / operations;
    }

    /** One half of turns: see {@link Subject#half}. */
    private interface Half {
        long run(boolean posts, long from, int operations);
    }

    private void runHeld(int warm, int rounds) {
        twin.hold();
        Half inC = twin::half; // made once: what a round allocates is measured
        Half inJava = loop::half;
        print(ByTurns.measure(warm, rounds, () -> heldRound(inC), () -> heldRound(inJava)));
    }

    private void run(int warm, int rounds) {
        if (held) {
            runHeld(warm, rounds);
            return;
        }
        print(ByTurns.measure(warm, rounds, this::roundInC, this::roundInJava));
    }

    private double roundInC() {
        long start = System.nanoTime();
        long bad = twin.run(operations);
        long end = System.nanoTime();
        check(bad);
        return (double) (end - start) / operations;
    }

    private double roundInJava() {
        long start = System.nanoTime();
        long bad = loop.run(operations);
        long end = System.nanoTime();
        check(bad);
        return (double) (end - start) / operations;
    }

    private void print(ByTurns turns) {
        System.out.println("measured " + turns.least(0) + " " + turns.median(0) + " " + turns.least(1) + " "
                + turns.median(1) + " " + (double) turns.bytes(1) / operations);
    }

    private void check(long bad) {
        if (bad != 0) {
            throw new AssertionError(row + ": " + bad + " completions were not what was posted");
        }
    }
}
