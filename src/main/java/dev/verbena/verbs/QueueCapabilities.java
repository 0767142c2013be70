package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import dev.verbena.internal.raw.ibv_qp_cap;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The sizes of a queue pair's queues ({@code struct ibv_qp_cap}): asked for, or granted. A device grants at least the
 * sizes asked for, and often more. Each size has a method that returns a changed copy, and a method of the same name
 * that reads it. Sizes never change, so all threads can use them.
 *
 * {@snippet file="ObjectSnippets.java" region="capabilities"}
 */
public final class QueueCapabilities {
    private final int sendDepth;
    private final int receiveDepth;
    private final int sendSge;
    private final int receiveSge;
    private final int inlineSize;

    private QueueCapabilities(int sendDepth, int receiveDepth, int sendSge, int receiveSge, int inlineSize) {
        this.sendDepth = sendDepth;
        this.receiveDepth = receiveDepth;
        this.sendSge = sendSge;
        this.receiveSge = receiveSge;
        this.inlineSize = inlineSize;
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
        return checked(sendDepth, receiveDepth, 1, 1, 0);
    }

    /** Returns the sizes of a queue pair without queues of its own. */
    static QueueCapabilities none() {
        return new QueueCapabilities(0, 0, 0, 0, 0);
    }

    private static QueueCapabilities checked(
            int sendDepth, int receiveDepth, int sendSge, int receiveSge, int inlineSize) {
        Checks.checkAtLeast("send depth", sendDepth, 0);
        Checks.checkAtLeast("receive depth", receiveDepth, 0);
        Checks.checkAtLeast("number of pieces of a send", sendSge, 0);
        Checks.checkAtLeast("number of pieces of a receive", receiveSge, 0);
        Checks.checkAtLeast("inline size", inlineSize, 0);
        return new QueueCapabilities(sendDepth, receiveDepth, sendSge, receiveSge, inlineSize);
    }

    static QueueCapabilities read(MemorySegment cap) {
        return new QueueCapabilities(
                ibv_qp_cap.max_send_wr(cap),
                ibv_qp_cap.max_recv_wr(cap),
                ibv_qp_cap.max_send_sge(cap),
                ibv_qp_cap.max_recv_sge(cap),
                ibv_qp_cap.max_inline_data(cap));
    }

    void write(MemorySegment cap) {
        ibv_qp_cap.max_send_wr(cap, sendDepth);
        ibv_qp_cap.max_recv_wr(cap, receiveDepth);
        ibv_qp_cap.max_send_sge(cap, sendSge);
        ibv_qp_cap.max_recv_sge(cap, receiveSge);
        ibv_qp_cap.max_inline_data(cap, inlineSize);
    }

    /**
     * Returns the number of work requests that the send queue holds ({@code max_send_wr}).
     *
     * @return the depth
     */
    public int sendDepth() {
        return sendDepth;
    }

    /**
     * Returns a copy with another number of work requests that the send queue holds ({@code max_send_wr}).
     *
     * @param depth the depth
     * @return a changed copy
     */
    public QueueCapabilities sendDepth(int depth) {
        return checked(depth, receiveDepth, sendSge, receiveSge, inlineSize);
    }

    /**
     * Returns the number of work requests that the receive queue holds ({@code max_recv_wr}).
     *
     * @return the depth
     */
    public int receiveDepth() {
        return receiveDepth;
    }

    /**
     * Returns a copy with another number of work requests that the receive queue holds ({@code max_recv_wr}).
     *
     * @param depth the depth
     * @return a changed copy
     */
    public QueueCapabilities receiveDepth(int depth) {
        return checked(sendDepth, depth, sendSge, receiveSge, inlineSize);
    }

    /**
     * Returns the number of pieces of memory that a send can name ({@code max_send_sge}).
     *
     * @return the number of pieces
     */
    public int sendSge() {
        return sendSge;
    }

    /**
     * Returns a copy with another number of pieces of memory that a send can name ({@code max_send_sge}).
     *
     * @param pieces the number of pieces
     * @return a changed copy
     */
    public QueueCapabilities sendSge(int pieces) {
        return checked(sendDepth, receiveDepth, pieces, receiveSge, inlineSize);
    }

    /**
     * Returns the number of pieces of memory that a receive can name ({@code max_recv_sge}).
     *
     * @return the number of pieces
     */
    public int receiveSge() {
        return receiveSge;
    }

    /**
     * Returns a copy with another number of pieces of memory that a receive can name ({@code max_recv_sge}).
     *
     * @param pieces the number of pieces
     * @return a changed copy
     */
    public QueueCapabilities receiveSge(int pieces) {
        return checked(sendDepth, receiveDepth, sendSge, pieces, inlineSize);
    }

    /**
     * Returns the number of bytes that a send can carry inline ({@code max_inline_data}).
     *
     * @return the number of bytes
     */
    public int inlineSize() {
        return inlineSize;
    }

    /**
     * Returns a copy with another number of bytes that a send can carry inline ({@code max_inline_data}).
     *
     * @param bytes the number of bytes
     * @return a changed copy
     */
    public QueueCapabilities inlineSize(int bytes) {
        return checked(sendDepth, receiveDepth, sendSge, receiveSge, bytes);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof QueueCapabilities sizes
                && sendDepth == sizes.sendDepth
                && receiveDepth == sizes.receiveDepth
                && sendSge == sizes.sendSge
                && receiveSge == sizes.receiveSge
                && inlineSize == sizes.inlineSize;
    }

    @Override
    public int hashCode() {
        return Objects.hash(sendDepth, receiveDepth, sendSge, receiveSge, inlineSize);
    }

    /** Returns the sizes, for example {@code send 64x1, receive 64x1, inline 0}. */
    @Override
    public String toString() {
        return "send " + sendDepth + "x" + sendSge + ", receive " + receiveDepth + "x" + receiveSge + ", inline "
                + inlineSize;
    }
}
