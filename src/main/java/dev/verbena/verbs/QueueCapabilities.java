package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import dev.verbena.internal.Options;
import dev.verbena.internal.raw.ibv_qp_cap;
import java.lang.foreign.MemorySegment;

/**
 * The sizes of a queue pair's queues ({@code struct ibv_qp_cap}): asked for, or granted. A device grants at least the
 * sizes asked for, and often more. Each size has a method that returns a changed copy, and a method of the same name
 * that reads it. Sizes never change, so all threads can use them.
 *
 * {@snippet file="ObjectSnippets.java" region="capabilities"}
 */
public final class QueueCapabilities extends Options<QueueCapabilities> {
    private static final Keys<QueueCapabilities> KEYS = new Keys<>();
    private static final Key<QueueCapabilities, Integer> SEND_DEPTH = KEYS.always("send depth", 0);
    private static final Key<QueueCapabilities, Integer> RECEIVE_DEPTH = KEYS.always("receive depth", 0);
    private static final Key<QueueCapabilities, Integer> SEND_SGE = KEYS.always("send SGE", 0);
    private static final Key<QueueCapabilities, Integer> RECEIVE_SGE = KEYS.always("receive SGE", 0);
    private static final Key<QueueCapabilities, Integer> INLINE_SIZE = KEYS.always("inline size", 0);

    private QueueCapabilities() {
        super(KEYS);
    }

    /**
     * Returns sizes for requests of one piece of memory, without inline data.
     *
     * @param sendDepth the number of work requests that the send queue holds
     * @param receiveDepth the number of work requests that the receive queue holds
     * @return the sizes
     * @throws IllegalArgumentException if a size is negative
     */
    public static QueueCapabilities of(int sendDepth, int receiveDepth) {
        return new QueueCapabilities()
                .sendDepth(sendDepth)
                .receiveDepth(receiveDepth)
                .sendSge(1)
                .receiveSge(1);
    }

    /** Returns the sizes of a queue pair without queues of its own. */
    static QueueCapabilities none() {
        return new QueueCapabilities();
    }

    static QueueCapabilities read(MemorySegment cap) {
        return new QueueCapabilities()
                .with(SEND_DEPTH, ibv_qp_cap.max_send_wr(cap))
                .with(RECEIVE_DEPTH, ibv_qp_cap.max_recv_wr(cap))
                .with(SEND_SGE, ibv_qp_cap.max_send_sge(cap))
                .with(RECEIVE_SGE, ibv_qp_cap.max_recv_sge(cap))
                .with(INLINE_SIZE, ibv_qp_cap.max_inline_data(cap));
    }

    void write(MemorySegment cap) {
        ibv_qp_cap.max_send_wr(cap, sendDepth());
        ibv_qp_cap.max_recv_wr(cap, receiveDepth());
        ibv_qp_cap.max_send_sge(cap, sendSge());
        ibv_qp_cap.max_recv_sge(cap, receiveSge());
        ibv_qp_cap.max_inline_data(cap, inlineSize());
    }

    /**
     * Returns the number of work requests that the send queue holds ({@code max_send_wr}).
     *
     * @return the depth
     */
    public int sendDepth() {
        return SEND_DEPTH.of(this);
    }

    /**
     * Returns a copy with another number of work requests that the send queue holds ({@code max_send_wr}).
     *
     * @param depth the depth
     * @return a changed copy
     */
    public QueueCapabilities sendDepth(int depth) {
        return with(SEND_DEPTH, Checks.checkAtLeast("send depth", depth, 0));
    }

    /**
     * Returns the number of work requests that the receive queue holds ({@code max_recv_wr}).
     *
     * @return the depth
     */
    public int receiveDepth() {
        return RECEIVE_DEPTH.of(this);
    }

    /**
     * Returns a copy with another number of work requests that the receive queue holds ({@code max_recv_wr}).
     *
     * @param depth the depth
     * @return a changed copy
     */
    public QueueCapabilities receiveDepth(int depth) {
        return with(RECEIVE_DEPTH, Checks.checkAtLeast("receive depth", depth, 0));
    }

    /**
     * Returns the number of pieces of memory that a send can name ({@code max_send_sge}).
     *
     * @return the number of pieces
     */
    public int sendSge() {
        return SEND_SGE.of(this);
    }

    /**
     * Returns a copy with another number of pieces of memory that a send can name ({@code max_send_sge}).
     *
     * @param pieces the number of pieces
     * @return a changed copy
     */
    public QueueCapabilities sendSge(int pieces) {
        return with(SEND_SGE, Checks.checkAtLeast("number of pieces of a send", pieces, 0));
    }

    /**
     * Returns the number of pieces of memory that a receive can name ({@code max_recv_sge}).
     *
     * @return the number of pieces
     */
    public int receiveSge() {
        return RECEIVE_SGE.of(this);
    }

    /**
     * Returns a copy with another number of pieces of memory that a receive can name ({@code max_recv_sge}).
     *
     * @param pieces the number of pieces
     * @return a changed copy
     */
    public QueueCapabilities receiveSge(int pieces) {
        return with(RECEIVE_SGE, Checks.checkAtLeast("number of pieces of a receive", pieces, 0));
    }

    /**
     * Returns the number of bytes that a send can carry inline ({@code max_inline_data}).
     *
     * @return the number of bytes
     */
    public int inlineSize() {
        return INLINE_SIZE.of(this);
    }

    /**
     * Returns a copy with another number of bytes that a send can carry inline ({@code max_inline_data}).
     *
     * @param bytes the number of bytes
     * @return a changed copy
     */
    public QueueCapabilities inlineSize(int bytes) {
        return with(INLINE_SIZE, Checks.checkAtLeast("inline size", bytes, 0));
    }

    /** Returns the sizes, for example {@code send 64x1, receive 64x1, inline 0}. */
    @Override
    public String toString() {
        return "send " + sendDepth() + "x" + sendSge() + ", receive " + receiveDepth() + "x" + receiveSge()
                + ", inline " + inlineSize();
    }
}
