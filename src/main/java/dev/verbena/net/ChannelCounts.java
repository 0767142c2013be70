package dev.verbena.net;

import org.jspecify.annotations.Nullable;

/** The counters of a channel, and the times of its calls: see {@link ChannelStatistics}. The channel's lock guards them. */
final class ChannelCounts {
    long sent;
    long received;
    long sentBytes;
    long receivedBytes;
    long calls;
    long faults;
    long abandoned;
    long served;
    long handlerFailures;
    long transfersSent;
    long transfersReceived;
    long operations;
    long operationBytes;
    long reconnects;

    /** The times of this side's calls; null before the first one, because a channel may have none. */
    @Nullable
    CallTimes ofCalls;

    /** The times of the handler; null before its first message. */
    @Nullable
    CallTimes ofHandler;

    /** Returns the times of this side's calls, for one that begins. */
    CallTimes beginCall() {
        CallTimes times = ofCalls;
        if (times == null) {
            ofCalls = times = new CallTimes();
        }
        return times;
    }

    /** Makes room for the times of the handler. */
    void beginHandling() {
        if (ofHandler == null) {
            ofHandler = new CallTimes();
        }
    }

    /** Adds the times to others. */
    void addTimes(CallTimes calls, CallTimes handlers) {
        if (ofCalls != null) {
            calls.add(ofCalls);
        }
        if (ofHandler != null) {
            handlers.add(ofHandler);
        }
    }

    ChannelStatistics statistics(Stalls stalls) {
        return new ChannelStatistics(
                sent,
                received,
                sentBytes,
                receivedBytes,
                calls,
                faults,
                abandoned,
                served,
                handlerFailures,
                transfersSent,
                transfersReceived,
                operations,
                operationBytes,
                stalls.count(),
                stalls.nanos(),
                reconnects);
    }
}
