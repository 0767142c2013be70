package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.internal.raw.ibv_ops_wr;
import dev.verbena.internal.raw.ibv_sge;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * The list of tagged receives of a shared receive queue ({@code ibv_post_srq_ops}). A message carries a tag, and the
 * adapter stores the message in the first receive of the list with a matching tag. An unexpected message matches no tag
 * and uses a plain receive. The program counts unexpected messages, and tells the adapter their number with each
 * operation.
 *
 * <p>The threads that can use the shared receive queue can use the list, one at a time. The list ends with the queue.
 *
 * {@snippet file="ObjectSnippets.java" region="tags"}
 */
public final class TagMatching {
    private final SharedReceiveQueue queue;

    TagMatching(SharedReceiveQueue queue) {
        this.queue = queue;
    }

    /**
     * Adds a receive to the list ({@code IBV_WR_TAG_ADD}).
     *
     * @param id the id of the completion of this operation
     * @param receiveId the id of the completion of the receive
     * @param local the memory for the message
     * @param tag the tag to match
     * @param mask the bits of the tag that must match
     * @param unexpected the number of unexpected messages that the program has handled
     * @return the handle, for {@link #remove}
     */
    @CName("ibv_post_srq_ops")
    public int add(long id, long receiveId, LocalMemory local, long tag, long mask, int unexpected) {
        MemoryRegion region = local.region();
        int way = region.checkUsableIn(queue.domain()) ? region.beginPost() : RequestPart.NOT_BEGUN;
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment piece = ibv_sge.allocate(scratch);
            WorkBatch.checkPiece(local.length());
            ibv_sge.addr(piece, local.address());
            ibv_sge.length(piece, (int) local.length());
            ibv_sge.lkey(piece, region.keyWhenOpen());
            MemorySegment request = request(scratch, id, rdma_h.IBV_WR_TAG_ADD, unexpected);
            MemorySegment add = ibv_ops_wr.tm.add(ibv_ops_wr.tm(request));
            ibv_ops_wr.tm.add.recv_wr_id(add, receiveId);
            ibv_ops_wr.tm.add.sg_list(add, piece);
            ibv_ops_wr.tm.add.num_sge(add, 1);
            ibv_ops_wr.tm.add.tag(add, tag);
            ibv_ops_wr.tm.add.mask(add, mask);
            post(scratch, request, "adding tag 0x" + Long.toHexString(tag));
            return ibv_ops_wr.tm.handle(ibv_ops_wr.tm(request));
        } finally {
            region.endPost(way);
        }
    }

    /**
     * Removes a receive from the list ({@code IBV_WR_TAG_DEL}).
     *
     * @param id the id of the completion of this operation
     * @param handle the handle that {@link #add} returned
     * @param unexpected the number of unexpected messages that the program has handled
     */
    @CName("ibv_post_srq_ops")
    public void remove(long id, int handle, int unexpected) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment request = request(scratch, id, rdma_h.IBV_WR_TAG_DEL, unexpected);
            ibv_ops_wr.tm.handle(ibv_ops_wr.tm(request), handle);
            post(scratch, request, "removing tag handle " + handle);
        }
    }

    /**
     * Tells the adapter the number of unexpected messages that the program has handled ({@code IBV_WR_TAG_SYNC}). Until
     * both numbers are equal, the adapter adds no receives to the list.
     *
     * @param id the id of the completion of this operation
     * @param unexpected the number of messages
     */
    @CName("ibv_post_srq_ops")
    public void synchronize(long id, int unexpected) {
        try (Arena scratch = Arena.ofConfined()) {
            post(scratch, request(scratch, id, rdma_h.IBV_WR_TAG_SYNC, unexpected), "synchronising");
        }
    }

    private static MemorySegment request(Arena arena, long id, int opcode, int unexpected) {
        MemorySegment request = ibv_ops_wr.allocate(arena);
        ibv_ops_wr.wr_id(request, id);
        ibv_ops_wr.opcode(request, opcode);
        ibv_ops_wr.flags(request, rdma_h.IBV_OPS_SIGNALED | rdma_h.IBV_OPS_TM_SYNC);
        ibv_ops_wr.tm.unexpected_cnt(ibv_ops_wr.tm(request), unexpected);
        return request;
    }

    private void post(Arena arena, MemorySegment request, String what) {
        queue.callTagOperation(request, arena.allocate(ValueLayout.ADDRESS), what);
    }

    /** Returns for example {@code tags of} a shared receive queue. */
    @Override
    public String toString() {
        return "tags of " + queue;
    }
}
