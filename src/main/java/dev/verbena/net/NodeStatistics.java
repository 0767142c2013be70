package dev.verbena.net;

/**
 * Counters of a {@link Node} since it was opened, over all of its channels. See {@link Node#statistics}.
 *
 * @param sent the number of messages sent, with requests, offers, replies and faults
 * @param received the number of messages received, with requests, offers, replies and faults
 * @param calls the number of calls and offers that this node has made
 * @param stalls the number of times that a channel had a message to send, and the peer had no receive for it
 * @param opened the number of channels that were opened
 * @param ended the number of these channels that have ended or were closed
 */
public record NodeStatistics(long sent, long received, long calls, long stalls, long opened, long ended) {
    NodeStatistics plus(NodeStatistics more) {
        return new NodeStatistics(
                sent + more.sent,
                received + more.received,
                calls + more.calls,
                stalls + more.stalls,
                opened + more.opened,
                ended + more.ended);
    }
}
