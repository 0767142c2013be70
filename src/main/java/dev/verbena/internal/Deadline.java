package dev.verbena.internal;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.TimeUnit;

/**
 * The moment at which a wait ends. A timeout of more nanoseconds than a {@code long} holds never ends. All waits convert
 * their timeouts here, because the methods of {@code Duration} throw when a result is too large.
 */
public final class Deadline {
    /** The longest duration: no limit. */
    public static final Duration FOREVER = ChronoUnit.FOREVER.getDuration();

    private final long start = System.nanoTime();
    private final long limit;

    private Deadline(long limit) {
        this.limit = limit;
    }

    /** Makes the deadline that is a timeout ahead of now. It is over at once if the timeout is 0 or negative. */
    public static Deadline after(Duration timeout) {
        return new Deadline(Math.max(0, TimeUnit.NANOSECONDS.convert(timeout)));
    }

    /** Returns the sum of a timeout and a grace, which is not negative: the longest duration if the sum is longer. */
    public static Duration sum(Duration timeout, Duration grace) {
        return timeout.compareTo(FOREVER.minus(grace)) > 0 ? FOREVER : timeout.plus(grace);
    }

    /** Returns the nanoseconds of a time: the largest or smallest {@code long} if a {@code long} is too small. */
    public static long nanoseconds(Duration time) {
        return TimeUnit.NANOSECONDS.convert(time);
    }

    /** Returns the milliseconds of a timeout: the largest or smallest {@code long} if a {@code long} is too small. */
    public static long milliseconds(Duration timeout) {
        return TimeUnit.MILLISECONDS.convert(timeout);
    }

    /** Returns the number of nanoseconds that are left: 0 or less when the time is over. */
    public long remaining() {
        return limit - (System.nanoTime() - start);
    }

    /** Returns the time that is left: 0 when the time is over. */
    public Duration left() {
        return Duration.ofNanos(Math.max(0, remaining()));
    }

    /** Returns whether the time is over. */
    public boolean isOver() {
        return remaining() <= 0;
    }
}
