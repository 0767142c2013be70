package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.internal.raw.ibv_ops_wr;
import dev.verbena.internal.raw.ibv_sge;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Receives that are found by tag ({@code ibv_post_srq_ops}): a message carries a tag, and the adapter stores it in the
 * first receive of the list whose tag fits. A message that fits none uses up a plain receive: it was unexpected, and the
 * program counts it and says how many it has seen.
 */
public final class TagMatching {
    private final SharedReceiveQueue queue;

    TagMatching(SharedReceiveQueue queue) {
        this.queue = queue;
    }

    /**
     * Adds a receive to the list ({@code IBV_WR_TAG_ADD}).
     *
     * @param id comes back with the completion that says it was added
     * @param receiveId comes back with the completion of the receive
     * @param local where the message is stored
     * @param tag the tag to match
     * @param mask which bits of it must match
     * @param unexpected how many unexpected messages the program has handled
     * @return the handle, for {@link #remove}
     */
    @CName("ibv_post_srq_ops")
    public int add(long id, long receiveId, LocalMemory local, long tag, long mask, int unexpected) {
        local.region().checkUsableIn(queue.domain());
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment piece = scratch.allocate(ibv_sge.layout());
            WorkBatch.checkPiece(local.length());
            ibv_sge.addr(piece, local.address());
            ibv_sge.length(piece, (int) local.length());
            ibv_sge.lkey(piece, local.region().keyWhenOpen());
            MemorySegment request = request(scratch, id, rdma_h.IBV_WR_TAG_ADD(), unexpected);
            MemorySegment add = ibv_ops_wr.tm.add(ibv_ops_wr.tm(request));
            ibv_ops_wr.tm.add.recv_wr_id(add, receiveId);
            ibv_ops_wr.tm.add.sg_list(add, piece);
            ibv_ops_wr.tm.add.num_sge(add, 1);
            ibv_ops_wr.tm.add.tag(add, tag);
            ibv_ops_wr.tm.add.mask(add, mask);
            post(scratch, request, "adding tag 0x" + Long.toHexString(tag));
            return ibv_ops_wr.tm.handle(ibv_ops_wr.tm(request));
        }
    }

    /**
     * Removes a receive from the list ({@code IBV_WR_TAG_DEL}).
     *
     * @param id comes back with the completion
     * @param handle what {@link #add} answered
     * @param unexpected how many unexpected messages the program has handled
     */
    @CName("ibv_post_srq_ops")
    public void remove(long id, int handle, int unexpected) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment request = request(scratch, id, rdma_h.IBV_WR_TAG_DEL(), unexpected);
            ibv_ops_wr.tm.handle(ibv_ops_wr.tm(request), handle);
            post(scratch, request, "removing tag handle " + handle);
        }
    }

    /**
     * Tells the adapter how many unexpected messages the program has handled ({@code IBV_WR_TAG_SYNC}): until both agree,
     * it adds no receives to its list.
     *
     * @param id comes back with the completion
     * @param unexpected the count
     */
    @CName("ibv_post_srq_ops")
    public void synchronize(long id, int unexpected) {
        try (Arena scratch = Arena.ofConfined()) {
            post(scratch, request(scratch, id, rdma_h.IBV_WR_TAG_SYNC(), unexpected), "synchronising");
        }
    }

    private static MemorySegment request(Arena arena, long id, int opcode, int unexpected) {
        MemorySegment request = arena.allocate(ibv_ops_wr.layout());
        ibv_ops_wr.wr_id(request, id);
        ibv_ops_wr.opcode(request, opcode);
        ibv_ops_wr.flags(request, rdma_h.IBV_OPS_SIGNALED() | rdma_h.IBV_OPS_TM_SYNC());
        ibv_ops_wr.tm.unexpected_cnt(ibv_ops_wr.tm(request), unexpected);
        return request;
    }

    private void post(Arena arena, MemorySegment request, String what) {
        queue.callTagOperation(request, arena.allocate(ValueLayout.ADDRESS), what);
    }

    @Override
    public String toString() {
        return "tags of " + queue;
    }
}
