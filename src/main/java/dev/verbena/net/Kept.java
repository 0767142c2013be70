package dev.verbena.net;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The messages that this side has sent and that the peer has not said to have received. A channel that has lost its
 * connection sends them again over the next one, with the numbers that they had. An acknowledgement of the peer's adapter
 * is no receipt: the peer's program may never see the message. The channel's lock guards an instance.
 *
 * <p>A message with bytes keeps its buffer, and there is a place for each buffer. Messages without bytes, which are about
 * pieces, have at least as many places. A peer that says less than it has gets no more messages once its places are taken.
 */
final class Kept {
    /** A request to post again, with its place in the order of all requests. */
    record Again(long order, Runnable post) {}

    private final @Nullable Buffer[] buffers;

    /** The kinds of the messages without bytes, and the numbers of their calls. */
    private final int[] kinds;

    private final int[] calls;
    private final long[] orders;
    private final int mask;

    /** The number of the oldest message. */
    private int oldest = 1;

    private long requests;

    Kept(NodeOptions options) {
        int size = Integer.highestOneBit(options.sizes().buffers() + 2 * options.calls()) << 2;
        mask = size - 1;
        buffers = new Buffer[size];
        kinds = new int[size];
        calls = new int[size];
        orders = new long[size];
    }

    /** Returns true if there is no place for one more message: the peer asks for pieces, and does not say what it has. */
    boolean isFull(int newest) {
        return newest - oldest + 1 >= buffers.length;
    }

    /** Returns the place of the next request, message or operation, in the order of all. */
    long nextOrder() {
        return requests++;
    }

    /**
     * Keeps a message.
     *
     * @param number the number of the message
     * @param buffer its memory; null if it has no bytes
     */
    void add(int number, @Nullable Buffer buffer, int kind, int call) {
        int at = number & mask;
        buffers[at] = buffer;
        kinds[at] = kind;
        calls[at] = call;
        orders[at] = nextOrder();
    }

    /** Lets go of all messages up to a number, which the peer has. */
    void receivedByPeer(int number, Messages messages) {
        while (number - oldest >= 0) {
            int at = oldest & mask;
            Buffer buffer = buffers[at];
            oldest++;
            if (buffer != null) {
                buffers[at] = null;
                messages.letGo(buffer);
            }
        }
    }

    /**
     * Returns how to send the messages again.
     *
     * @param newest the number of the newest message
     */
    List<Again> again(int newest, Rail over) {
        List<Again> all = new ArrayList<>();
        for (int number = oldest; newest - number >= 0; number++) {
            int at = number & mask;
            int sequence = number;
            Buffer buffer = buffers[at];
            int kind = kinds[at];
            int call = calls[at];
            all.add(new Again(orders[at], () -> {
                if (buffer == null) {
                    over.sendAgain(kind, call, sequence);
                } else {
                    over.sendAgain(buffer, sequence);
                }
            }));
        }
        return all;
    }
}
