package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import dev.verbena.internal.Options;
import dev.verbena.internal.raw.ibv_qp_cap;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * The sizes of a queue pair's queues ({@code struct ibv_qp_cap}): asked for, or granted. A device grants at least the
 * sizes asked for, and often more. Each size has a method that returns a changed copy, and a method of the same name
 * that reads it. Sizes never change, so all threads can use them.
 *
 * {@snippet file="ObjectSnippets.java" region="capabilities"}
 */
public final class QueueCapabilities extends Options<QueueCapabilities> {
    private int sendDepth;
    private int receiveDepth;
    private int sendSge;
    private int receiveSge;
    private int inlineSize;

    private QueueCapabilities() {}

    /**
     * Returns sizes for requests of one piece of memory, without inline data.
     *
     * @param sendDepth the number of work requests that the send queue holds
     * @param receiveDepth the number of work requests that the receive queue holds
     * @return the sizes
     * @throws IllegalArgumentException if a size is negative
     */
    public static QueueCapabilities of(int sendDepth, int receiveDepth) {
        QueueCapabilities sizes = new QueueCapabilities();
        sizes.sendDepth = Checks.checkAtLeast("send depth", sendDepth, 0);
        sizes.receiveDepth = Checks.checkAtLeast("receive depth", receiveDepth, 0);
        sizes.sendSge = 1;
        sizes.receiveSge = 1;
        return sizes.frozen();
    }

    /** Returns the sizes of a queue pair without queues of its own. */
    static QueueCapabilities none() {
        return new QueueCapabilities().frozen();
    }

    static QueueCapabilities read(MemorySegment cap) {
        QueueCapabilities sizes = new QueueCapabilities();
        sizes.sendDepth = ibv_qp_cap.max_send_wr(cap);
        sizes.receiveDepth = ibv_qp_cap.max_recv_wr(cap);
        sizes.sendSge = ibv_qp_cap.max_send_sge(cap);
        sizes.receiveSge = ibv_qp_cap.max_recv_sge(cap);
        sizes.inlineSize = ibv_qp_cap.max_inline_data(cap);
        return sizes.frozen();
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
        return with(copy -> copy.sendDepth = Checks.checkAtLeast("send depth", depth, 0));
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
        return with(copy -> copy.receiveDepth = Checks.checkAtLeast("receive depth", depth, 0));
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
        return with(copy -> copy.sendSge = Checks.checkAtLeast("number of pieces of a send", pieces, 0));
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
        return with(copy -> copy.receiveSge = Checks.checkAtLeast("number of pieces of a receive", pieces, 0));
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
        return with(copy -> copy.inlineSize = Checks.checkAtLeast("inline size", bytes, 0));
    }

    @Override
    protected List<Option> options() {
        return List.of(
                option("send", sendDepth + "x" + sendSge, null),
                option("receive", receiveDepth + "x" + receiveSge, null),
                option("inline", inlineSize, null));
    }
}
