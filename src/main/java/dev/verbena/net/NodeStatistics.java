package dev.verbena.net;

import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Counters of a {@link Node} since it was opened, over all of its channels. See {@link Node#statistics}.
 */
public final class NodeStatistics {
    /** The names of the counters, in the order of their values. */
    private static final String[] NAMES = {
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
        "reconnects",
        "opened",
        "ended",
        "strangers",
        "pinnedBytes"
    };

    private final long[] values;

    /** Takes the values in the order of the methods; none if all are 0. */
    NodeStatistics(long... values) {
        this.values = values.length == 0 ? new long[NAMES.length] : values;
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
     * Returns the bytes of the messages sent, and of the transfers that a peer has confirmed.
     *
     * @return the bytes
     */
    public long sentBytes() {
        return values[2];
    }

    /**
     * Returns the bytes of the messages received, and of the transfers that this node has confirmed.
     *
     * @return the bytes
     */
    public long receivedBytes() {
        return values[3];
    }

    /**
     * Returns the number of calls, offers and questions for exports that this node has sent.
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
     * Returns the number of these that this node has given up, because the time was over for example.
     *
     * @return the number
     */
    public long abandoned() {
        return values[6];
    }

    /**
     * Returns the number of calls, offers and questions for exports of peers that this node has answered, with
     * a reply or a fault.
     *
     * @return the number
     */
    public long served() {
        return values[7];
    }

    /**
     * Returns the number of times that a handler has thrown.
     *
     * @return the number
     */
    public long handlerFailures() {
        return values[8];
    }

    /**
     * Returns the number of offers that a peer has confirmed.
     *
     * @return the number
     */
    public long transfersSent() {
        return values[9];
    }

    /**
     * Returns the number of transfers that this node has confirmed.
     *
     * @return the number
     */
    public long transfersReceived() {
        return values[10];
    }

    /**
     * Returns the number of reads, writes and atomics that this node has posted, also for pieces of transfers.
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
     * Returns the number of times that a channel had a message to send, and the peer had no receive for it.
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
     * Returns the number of times that a channel has gone on over another connection: see {@link NodeOptions#heal}.
     *
     * @return the number
     */
    public long reconnects() {
        return values[15];
    }

    /**
     * Returns the number of channels that were opened.
     *
     * @return the number
     */
    public long opened() {
        return values[16];
    }

    /**
     * Returns the number of these channels that have ended or were closed.
     *
     * @return the number
     */
    public long ended() {
        return values[17];
    }

    /**
     * Returns the number of peers that were refused because they do not know the secret, as in {@link Node#attacks}.
     *
     * @return the number
     */
    public long strangers() {
        return values[18];
    }

    /**
     * Returns the bytes of memory that are registered with the device now, for the node's channels and by the
     * program, but for those {@code ON_DEMAND}; 0 for a node without a device.
     *
     * @return the bytes
     */
    public long pinnedBytes() {
        return values[19];
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof NodeStatistics more && Arrays.equals(values, more.values);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(values);
    }

    /** Returns all counters by name. */
    Map<String, Long> byName() {
        Map<String, Long> all = new TreeMap<>();
        for (int i = 0; i < values.length; i++) {
            all.put(NAMES[i], values[i]);
        }
        return all;
    }

    /** Returns the names and the values of all counters. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < values.length; i++) {
            text.append(i == 0 ? "" : ", ").append(NAMES[i]).append(' ').append(values[i]);
        }
        return text.toString();
    }
}
