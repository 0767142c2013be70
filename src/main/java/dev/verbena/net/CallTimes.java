package dev.verbena.net;

import java.util.Arrays;

/**
 * The times of calls or of a handler, as a histogram: eight steps for each power of two, so that a percentile is at most an
 * eighth too long. Two looks at the clock take 45 ns (2026-11-28). So of what takes less than 5 us, one of 16 is measured,
 * and counts for 16. The channel's lock guards an instance, but for {@link #begin} of a handler, which its thread calls.
 *
 * <p>There is memory for the powers of two from the shortest to the longest time only, because a node may have very many
 * channels: 96 bytes after the first call. It grows a few times, and then nothing is allocated any more.
 */
final class CallTimes {
    private static final long SHORT_NANOS = 5_000;
    private static final int SAMPLE = 16;
    private static final int STEP_BITS = 3;
    private static final int STEPS = 1 << STEP_BITS;

    /** The powers of two: times of less than 256 ns have one, and the last one begins at 68 s. */
    private static final int LOWEST = 7;

    private static final int HIGHEST = 36;
    private static final int LAST = (HIGHEST - LOWEST + 1) * STEPS - 1;
    private static final int[] NONE = {};

    /** The number of times of each step, or a half of it for all steps, once there would be too many. */
    private int[] steps = NONE;

    /** The number of the first of these steps, in a histogram of all. */
    private int first;

    private long count;
    private long total;
    private long longest;

    /** True while one of {@link #SAMPLE} is measured. */
    private boolean sampled;

    /** The number that begin until one is measured. */
    private int left;

    /** Begins a call. Returns the time, with a mark in its last bit; 0 if this call is not measured. */
    long begin() {
        if (--left > 0) {
            return 0;
        }
        left = sampled ? SAMPLE : 0;
        return (System.nanoTime() & ~1L) | (sampled ? 1 : 0);
    }

    /** Ends a call that is measured. */
    void end(long begun) {
        end(begun, System.nanoTime());
    }

    void end(long begun, long now) {
        long nanos = Math.max(0, now - begun);
        sampled = nanos < SHORT_NANOS;
        if (!sampled) {
            left = 0;
        }
        int times = (begun & 1) == 0 ? 1 : SAMPLE;
        count += times;
        total += nanos * times;
        longest = Math.max(longest, nanos);
        add(step(nanos), times);
    }

    private static int step(long nanos) {
        long within = Math.clamp(nanos, 1L << LOWEST, (2L << HIGHEST) - 1);
        int power = Long.SIZE - 1 - Long.numberOfLeadingZeros(within);
        return (power - LOWEST) * STEPS + (int) (within >>> (power - STEP_BITS)) - STEPS;
    }

    /** Returns the longest time of a step. */
    private static long end(int step) {
        int power = step / STEPS + LOWEST;
        return ((step % STEPS + STEPS + 1L) << (power - STEP_BITS)) - 1;
    }

    private void add(int step, int times) {
        if (step < first || step >= first + steps.length) {
            try {
                reach(step - step % STEPS);
            } catch (OutOfMemoryError shortage) { // a time is not worth the end of the node, which makes progress here
                return;
            }
        }
        int at = step - first;
        while (steps[at] > Integer.MAX_VALUE - times) {
            for (int i = 0; i < steps.length; i++) {
                steps[i] >>= 1;
            }
        }
        steps[at] += times;
    }

    /** Makes room for the steps of one more power of two, and for those between. */
    private void reach(int power) {
        if (steps.length == 0) {
            steps = new int[STEPS];
            first = power;
        } else if (power >= first) {
            steps = Arrays.copyOf(steps, power + STEPS - first);
        } else {
            int[] more = new int[first - power + steps.length];
            System.arraycopy(steps, 0, more, first - power, steps.length);
            steps = more;
            first = power;
        }
    }

    /** Adds all times of another instance. */
    void add(CallTimes more) {
        count += more.count;
        total += more.total;
        longest = Math.max(longest, more.longest);
        for (int i = 0; i < more.steps.length; i++) {
            if (more.steps[i] != 0) {
                add(more.first + i, more.steps[i]);
            }
        }
    }

    Latency latency() {
        return new Latency(count, total, percentile(0.5), percentile(0.99), percentile(0.999), longest);
    }

    private long percentile(double share) {
        double wanted = share * Arrays.stream(steps).asLongStream().sum();
        long before = 0;
        for (int i = 0; i < steps.length; i++) {
            before += steps[i];
            if (before > 0 && before >= wanted) {
                return first + i == LAST ? longest : Math.min(end(first + i), longest);
            }
        }
        return 0;
    }
}
