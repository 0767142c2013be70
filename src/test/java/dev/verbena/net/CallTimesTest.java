package dev.verbena.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CallTimesTest {
    private static final long LONG = 1_000_000;
    private final CallTimes times = new CallTimes();

    /** Notes a call that was measured, and that takes a time. */
    private void take(long nanos) {
        times.end(2, 2 + nanos);
    }

    /** Begins a number of calls, and returns how many of them are measured. Each takes a time. */
    private int measured(int calls, long nanos) {
        int measured = 0;
        for (int i = 0; i < calls; i++) {
            long begun = times.begin();
            if (begun != 0) {
                measured++;
                times.end(begun, begun + nanos);
            }
        }
        return measured;
    }

    @Test
    void nothingHasNoTimes() {
        assertThat(times.latency()).isEqualTo(new Latency(0, 0, 0, 0, 0, 0));
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 127, 128, 143, 144, 255, 256, 999, 5_000, 123_456_789, 120_000_000_000L})
    void percentileIsAtMostAnEighthTooLong(long nanos) {
        take(nanos);
        take(200_000_000_000L); // is longer, so that the first time is not the longest
        assertThat(times.latency().p50Nanos()).isBetween(nanos, Math.max(143, nanos + nanos / 8 + 1));
    }

    @Test
    void percentilesOfRandomTimesAreThoseOfTheSortedTimes() {
        Random random = new Random(7);
        long[] all = new long[100_000];
        for (int i = 0; i < all.length; i++) {
            all[i] = (long) Math.exp(8 + 10 * random.nextDouble());
            take(all[i]);
        }
        Arrays.sort(all);
        Latency latency = times.latency();
        assertThat(latency.count()).isEqualTo(all.length);
        assertThat(latency.totalNanos()).isEqualTo(Arrays.stream(all).sum());
        assertThat(latency.maxNanos()).isEqualTo(all[all.length - 1]);
        assertThat(latency.p50Nanos()).isBetween(all[49_999], all[49_999] * 9 / 8 + 1);
        assertThat(latency.p99Nanos()).isBetween(all[98_999], all[98_999] * 9 / 8 + 1);
        assertThat(latency.p999Nanos()).isBetween(all[99_899], all[99_899] * 9 / 8 + 1);
    }

    @Test
    void percentileIsNeverLongerThanTheLongestTime() {
        take(1_000_001);
        assertThat(times.latency().p999Nanos()).isEqualTo(1_000_001);
    }

    @Test
    void timesBeyondTheLastStepAreThoseOfTheLongest() {
        take(Long.MAX_VALUE / 2);
        assertThat(times.latency().p50Nanos()).isEqualTo(Long.MAX_VALUE / 2);
    }

    @Test
    void longCallsAreMeasuredAlways() {
        assertThat(measured(100, LONG)).isEqualTo(100);
        assertThat(times.latency().count()).isEqualTo(100);
    }

    @Test
    void oneOfSixteenShortCallsIsMeasuredAndCountsForAll() {
        assertThat(measured(1 + 16 * 100, 300)).isEqualTo(101);
        assertThat(times.latency().count()).isEqualTo(1 + 16 * 100);
        assertThat(times.latency().totalNanos()).isCloseTo(300L * 1601, within(1601L)); // a mark in the last bit
    }

    @Test
    void callsAreMeasuredAlwaysAgainFromALongOneOn() {
        measured(1 + 16 + 1, 300);
        assertThat(measured(16, LONG)).isEqualTo(1);
        assertThat(measured(10, LONG)).isEqualTo(10);
    }

    /** A short call that ends last does not make those count for more that were all measured. */
    @Test
    void callsThatOverlapCountOnce() {
        long first = times.begin();
        long second = times.begin();
        times.end(first, first + 10);
        times.end(second, second + 10);
        assertThat(times.latency().count()).isEqualTo(2);
    }

    /** Both halves of the counters are kept when there would be too many for their type. */
    @Test
    void sharesStayWhenThereAreVeryManyTimes() {
        CallTimes many = new CallTimes();
        for (int i = 0; i < 4; i++) {
            take(300);
        }
        take(LONG);
        for (int doubled = 0; doubled < 40; doubled++) {
            many.add(times);
            times.add(many);
        }
        Latency latency = times.latency();
        assertThat(latency.count()).isGreaterThan(5L << 40);
        assertThat(latency.p50Nanos()).isBetween(300L, 340L);
        assertThat(latency.p99Nanos()).isEqualTo(LONG);
    }

    @Test
    void sumHasTheTimesOfBoth() {
        CallTimes other = new CallTimes();
        other.end(2, 2 + LONG);
        take(300);
        times.add(other);
        assertThat(times.latency())
                .returns(2L, Latency::count)
                .returns(LONG + 300, Latency::totalNanos)
                .returns(LONG, Latency::maxNanos);
    }
}
