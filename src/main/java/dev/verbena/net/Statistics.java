package dev.verbena.net;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Counters of a channel, or of all channels of a node, and more behind them. */
abstract sealed class Statistics permits ChannelStatistics, NodeStatistics {
    /** The names of the counters of a channel, in the order of their values. */
    static final List<String> OF_CHANNELS = List.of(
            "sent",
            "received",
            "sentBytes",
            "receivedBytes",
            "calls",
            "faults",
            "abandoned",
            "served",
            "handlerFailures",
            "transfersSent",
            "transfersReceived",
            "operations",
            "operationBytes",
            "stalls",
            "stalledNanos",
            "reconnects");

    private final List<String> names;
    final long[] values;

    /** Takes the values in the order of the names. */
    Statistics(List<String> names, long[] values) {
        this.names = names;
        this.values = values;
    }

    /**
     * Returns the number of messages sent, with requests, offers, replies and faults.
     *
     * @return the number
     */
    public long sent() {
        return values[0];
    }

    /**
     * Returns the number of messages received, with requests, offers, replies and faults.
     *
     * @return the number
     */
    public long received() {
        return values[1];
    }

    /**
     * Returns the bytes of the messages sent, and of the transfers that the peer has confirmed.
     *
     * @return the bytes
     */
    public long sentBytes() {
        return values[2];
    }

    /**
     * Returns the bytes of the messages received, and of the transfers that this side has confirmed.
     *
     * @return the bytes
     */
    public long receivedBytes() {
        return values[3];
    }

    /**
     * Returns the number of calls, offers and questions for exports that this side has sent.
     *
     * @return the number
     */
    public long calls() {
        return values[4];
    }

    /**
     * Returns the number of these that have failed at the peer: it has refused them, or its handler has thrown.
     *
     * @return the number
     */
    public long faults() {
        return values[5];
    }

    /**
     * Returns the number of these that this side has given up, because the time was over for example.
     *
     * @return the number
     */
    public long abandoned() {
        return values[6];
    }

    /**
     * Returns the number of calls, offers and questions for exports of the peer that this side has answered, with a
     * reply or a fault.
     *
     * @return the number
     */
    public long served() {
        return values[7];
    }

    /**
     * Returns the number of times that the handler has thrown.
     *
     * @return the number
     */
    public long handlerFailures() {
        return values[8];
    }

    /**
     * Returns the number of offers that the peer has confirmed.
     *
     * @return the number
     */
    public long transfersSent() {
        return values[9];
    }

    /**
     * Returns the number of transfers that this side has confirmed.
     *
     * @return the number
     */
    public long transfersReceived() {
        return values[10];
    }

    /**
     * Returns the number of reads, writes and atomics that this side has posted, also for pieces of transfers.
     *
     * @return the number
     */
    public long operations() {
        return values[11];
    }

    /**
     * Returns the bytes of these.
     *
     * @return the bytes
     */
    public long operationBytes() {
        return values[12];
    }

    /**
     * Returns the number of times that there was a message to send, and the peer had no receive for it.
     *
     * @return the number
     */
    public long stalls() {
        return values[13];
    }

    /**
     * Returns the nanoseconds of the stalls, until a receive or the end came.
     *
     * @return the nanoseconds
     */
    public long stalledNanos() {
        return values[14];
    }

    /**
     * Returns the number of times that the channel has gone on over another connection: see {@link NodeOptions#heal}.
     *
     * @return the number
     */
    public long reconnects() {
        return values[15];
    }

    /** Returns all counters by name. */
    final Map<String, Long> byName() {
        Map<String, Long> all = new TreeMap<>();
        for (int i = 0; i < values.length; i++) {
            all.put(names.get(i), values[i]);
        }
        return all;
    }

    @Override
    public final boolean equals(@Nullable Object other) {
        return other instanceof Statistics more && Arrays.equals(values, more.values);
    }

    @Override
    public final int hashCode() {
        return Arrays.hashCode(values);
    }

    /** Returns the names and the values of all counters. */
    @Override
    public final String toString() {
        return byName().toString();
    }
}
