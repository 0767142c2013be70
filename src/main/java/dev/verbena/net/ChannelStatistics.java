package dev.verbena.net;

/**
 * Counters of a {@link Channel} since it was opened. See {@link Channel#statistics}.
 *
 * @param sent the number of messages sent, with requests, offers, replies and faults
 * @param received the number of messages received, with requests, offers, replies and faults
 * @param sentBytes the bytes of the messages sent, and of the transfers that the peer has confirmed
 * @param receivedBytes the bytes of the messages received, and of the transfers that this side has confirmed
 * @param calls the number of calls, offers and questions for exports that this side has sent
 * @param faults the number of these that have failed at the peer: it has refused them, or its handler has thrown
 * @param abandoned the number of these that this side has given up, because the time was over for example
 * @param served the number of calls, offers and questions for exports of the peer that this side has answered, with a
 *     reply or a fault
 * @param handlerFailures the number of times that the handler has thrown
 * @param transfersSent the number of offers that the peer has confirmed
 * @param transfersReceived the number of transfers that this side has confirmed
 * @param operations the number of reads, writes and atomics that this side has posted, also for pieces of transfers
 * @param operationBytes the bytes of these
 * @param stalls the number of times that there was a message to send, and the peer had no receive for it
 * @param stalledNanos the nanoseconds of the stalls, until a receive or the end came
 * @param reconnects the number of times that the channel has gone on over another connection: see {@link NodeOptions#heal}
 */
public record ChannelStatistics(
        long sent,
        long received,
        long sentBytes,
        long receivedBytes,
        long calls,
        long faults,
        long abandoned,
        long served,
        long handlerFailures,
        long transfersSent,
        long transfersReceived,
        long operations,
        long operationBytes,
        long stalls,
        long stalledNanos,
        long reconnects) {
    static final ChannelStatistics NONE = new ChannelStatistics(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

    ChannelStatistics plus(ChannelStatistics more) {
        return new ChannelStatistics(
                sent + more.sent,
                received + more.received,
                sentBytes + more.sentBytes,
                receivedBytes + more.receivedBytes,
                calls + more.calls,
                faults + more.faults,
                abandoned + more.abandoned,
                served + more.served,
                handlerFailures + more.handlerFailures,
                transfersSent + more.transfersSent,
                transfersReceived + more.transfersReceived,
                operations + more.operations,
                operationBytes + more.operationBytes,
                stalls + more.stalls,
                stalledNanos + more.stalledNanos,
                reconnects + more.reconnects);
    }
}
