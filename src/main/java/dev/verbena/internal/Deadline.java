package dev.verbena.internal;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** The moment at which a wait ends. A timeout that is longer than a {@code long} of nanoseconds has room for never ends. */
public final class Deadline {
    private final long start = System.nanoTime();
    private final long limit;

    private Deadline(long limit) {
        this.limit = limit;
    }

    /** The moment that lies so far ahead; one that is not ahead of now is over. */
    public static Deadline after(Duration timeout) {
        return new Deadline(Math.max(0, TimeUnit.NANOSECONDS.convert(timeout)));
    }

    /** How many nanoseconds are left: none or less when it is over. */
    public long remaining() {
        return limit - (System.nanoTime() - start);
    }

    public boolean isOver() {
        return remaining() <= 0;
    }
}
