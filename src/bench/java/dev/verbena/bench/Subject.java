package dev.verbena.bench;

import dev.verbena.bench.Row.Change;
import dev.verbena.bench.Row.Kind;

/**
 * What is compared with C: a way to do in Java what a row describes. A virtual machine measures one row of one subject, so
 * that C2 knows the target of each call.
 */
abstract class Subject {
    // What the row of this virtual machine does. They are constants for C2, as in a program that is written for the
    // row.
    static final Row ROW = Measurement.row();
    static final Change CHANGE = ROW.change();
    static final int SIZE = ROW.size();
    static final int SLICES = ROW.slices();
    static final boolean READS = ROW.is(Kind.READ);
    static final boolean RANGES = ROW.is(Kind.RANGE);
    static final boolean RECEIVES = ROW.is(Kind.RECEIVE);
    static final boolean EXTENDED_QUEUE = ROW.is(Kind.EXTENDED_QUEUE);
    static final boolean EXTENDED_PAIR = ROW.is(Kind.EXTENDED_PAIR);

    static final boolean INLINE = ROW.is(Kind.INLINE);

    /** Requests that are posted before the completion of the first of them is polled. */
    static final int AHEAD = ROW == Row.STEADY_64 ? 63 : 0;

    static final int LENGTH = INLINE ? 32 : 64;
    static final int DEPTH = 128;

    /** Takes a turn whose requests have ids from this one on, and returns the number of errors. */
    abstract long turn(long id);

    /** Posts what a turn posts, and returns the number of errors. */
    abstract long posts(long id);

    /** Polls what a turn polls, and returns the number of errors. */
    abstract long takes(long id);

    /** Takes turns of a number of operations, with all objects in local variables, and returns the number of errors. */
    abstract long run(int operations);

    /** Does one half of the turns, as {@link #run} does. */
    abstract long half(boolean posts, long from, int operations);
}
