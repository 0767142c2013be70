package dev.verbena.net;

/**
 * Counters of a {@link Node} since it was opened, over all of its channels. See {@link Node#statistics}.
 *
 * @param sent the number of messages sent, with requests, offers, replies and faults
 * @param received the number of messages received, with requests, offers, replies and faults
 * @param sentBytes the bytes of the messages sent, and of the transfers that a peer has confirmed
 * @param receivedBytes the bytes of the messages received, and of the transfers that this node has confirmed
 * @param calls the number of calls, offers and questions for exports that this node has sent
 * @param faults the number of these that have failed at the peer: it has refused them, or its handler has thrown
 * @param abandoned the number of these that this node has given up, because the time was over for example
 * @param served the number of calls, offers and questions for exports of peers that this node has answered, with a
 *     reply or a fault
 * @param handlerFailures the number of times that a handler has thrown
 * @param transfersSent the number of offers that a peer has confirmed
 * @param transfersReceived the number of transfers that this node has confirmed
 * @param operations the number of reads, writes and atomics that this node has posted, also for pieces of transfers
 * @param operationBytes the bytes of these
 * @param stalls the number of times that a channel had a message to send, and the peer had no receive for it
 * @param stalledNanos the nanoseconds of the stalls, until a receive or the end came
 * @param reconnects the number of times that a channel has gone on over another connection: see {@link NodeOptions#heal}
 * @param opened the number of channels that were opened
 * @param ended the number of these channels that have ended or were closed
 * @param strangers the number of peers that were refused because they do not know the secret, as in {@link Node#attacks}
 * @param pinnedBytes the bytes of memory that are registered with the device now, for the node's channels and by the
 *     program, but for those {@code ON_DEMAND}; 0 for a node without a device
 */
public record NodeStatistics(
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
        long reconnects,
        long opened,
        long ended,
        long strangers,
        long pinnedBytes) {}
