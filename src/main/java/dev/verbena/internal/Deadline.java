package dev.verbena.internal;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** The moment at which a wait ends. A timeout of more nanoseconds than a {@code long} holds never ends. */
public final class Deadline {
    private final long start = System.nanoTime();
    private final long limit;

    private Deadline(long limit) {
        this.limit = limit;
    }

    /** Makes the deadline that is a timeout ahead of now. It is over at once if the timeout is 0 or negative. */
    public static Deadline after(Duration timeout) {
        return new Deadline(Math.max(0, TimeUnit.NANOSECONDS.convert(timeout)));
    }

    /** Returns the number of nanoseconds that are left: 0 or less when the time is over. */
    public long remaining() {
        return limit - (System.nanoTime() - start);
    }

    /** Returns whether the time is over. */
    public boolean isOver() {
        return remaining() <= 0;
    }
}
