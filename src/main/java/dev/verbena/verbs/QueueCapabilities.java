package dev.verbena.verbs;

import dev.verbena.internal.raw.ibv_qp_cap;
import java.lang.foreign.MemorySegment;

/**
 * The sizes of a queue pair's queues ({@code struct ibv_qp_cap}). What is granted is never less than what was asked for,
 * and often more.
 *
 * @param sendDepth how many work requests the send queue holds ({@code max_send_wr})
 * @param receiveDepth how many the receive queue holds ({@code max_recv_wr})
 * @param sendSge how many pieces of memory a send can name ({@code max_send_sge})
 * @param receiveSge how many pieces of memory a receive can name ({@code max_recv_sge})
 * @param inlineSize how many bytes a send can carry inline ({@code max_inline_data})
 */
public record QueueCapabilities(int sendDepth, int receiveDepth, int sendSge, int receiveSge, int inlineSize) {
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

    @Override
    public String toString() {
        return "send " + sendDepth + "x" + sendSge + ", receive " + receiveDepth + "x" + receiveSge + ", inline "
                + inlineSize;
    }
}
