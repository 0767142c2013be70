package dev.verbena.net;

/**
 * The times of calls or of a handler, in nanoseconds. A percentile is at most an eighth too long. Of calls that take less than
 * 5 µs, one of 16 is measured and counts for 16: looking at the clock would take a hundredth of their time. See
 * {@link Channel#latency} and {@link Channel#handlerLatency}.
 *
 * @param count the number of calls
 * @param totalNanos the sum of their times
 * @param p50Nanos the time that a half of them take at most
 * @param p99Nanos the time that 99 of 100 take at most
 * @param p999Nanos the time that 999 of 1,000 take at most
 * @param maxNanos the longest time that was measured
 */
public record Latency(long count, long totalNanos, long p50Nanos, long p99Nanos, long p999Nanos, long maxNanos) {}
