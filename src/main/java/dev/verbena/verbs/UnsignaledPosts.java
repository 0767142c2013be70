package dev.verbena.verbs;

import dev.verbena.CName;
import java.lang.foreign.MemorySegment;

/**
 * Posts of single requests to a {@link QueuePair} that make no completion if they succeed: requests without
 * {@code IBV_SEND_SIGNALED}. {@link QueuePair#unsignaled} returns them. None of them allocates. A request that fails completes
 * nevertheless.
 *
 * <p>Keep one request in every {@link QueueCapabilities#sendDepth} signaled, because only a completion frees the queue. The
 * completion of a later request tells that all earlier ones are done, and that their memory is free.
 *
 * <p>The threads that may use the queue pair may use its posts.
 */
public final class UnsignaledPosts {
    private final SingleRequestBatches<SendBatch> batches;

    UnsignaledPosts(SingleRequestBatches<SendBatch> batches) {
        this.batches = batches;
    }

    /**
     * Posts a send.
     *
     * @param id comes back with the completion, if the request fails
     * @param local the data
     */
    @CName("ibv_post_send")
    public void postSend(long id, LocalMemory local) {
        try (var one = batches.claim()) {
            one.batch.send(id, local).unsignaled().post();
        }
    }

    /**
     * Posts a send with immediate data.
     *
     * @param id comes back with the completion, if the request fails
     * @param local the data
     * @param immediate arrives as the same {@code int}
     */
    @CName("ibv_post_send")
    public void postSendImmediate(long id, LocalMemory local, int immediate) {
        try (var one = batches.claim()) {
            SendBatch request = one.batch.send(id, local).immediate(immediate);
            request.unsignaled().post();
        }
    }

    /**
     * Posts a send of inline data.
     *
     * @param id comes back with the completion, if the request fails
     * @param data any segment, not longer than {@link QueueCapabilities#inlineSize}
     */
    @CName("ibv_post_send")
    public void postSendInline(long id, MemorySegment data) {
        try (var one = batches.claim()) {
            one.batch.sendInline(id, data).unsignaled().post();
        }
    }

    /**
     * Posts a send of inline data with immediate data.
     *
     * @param id comes back with the completion, if the request fails
     * @param data any segment, not longer than {@link QueueCapabilities#inlineSize}
     * @param immediate arrives as the same {@code int}
     */
    @CName("ibv_post_send")
    public void postSendInline(long id, MemorySegment data, int immediate) {
        try (var one = batches.claim()) {
            SendBatch request = one.batch.sendInline(id, data).immediate(immediate);
            request.unsignaled().post();
        }
    }

    /**
     * Posts an RDMA write.
     *
     * @param id comes back with the completion, if the request fails
     * @param local the data
     * @param remote the destination, at least as long
     */
    @CName("ibv_post_send")
    public void postWrite(long id, LocalMemory local, RemoteMemory remote) {
        try (var one = batches.claim()) {
            one.batch.write(id, local, remote).unsignaled().post();
        }
    }

    /**
     * Posts an RDMA write with immediate data.
     *
     * @param id comes back with the completion, if the request fails
     * @param local the data
     * @param remote the destination, at least as long
     * @param immediate arrives as the same {@code int}
     */
    @CName("ibv_post_send")
    public void postWriteImmediate(long id, LocalMemory local, RemoteMemory remote, int immediate) {
        try (var one = batches.claim()) {
            SendBatch request = one.batch.write(id, local, remote).immediate(immediate);
            request.unsignaled().post();
        }
    }

    /**
     * Posts an RDMA write of inline data.
     *
     * @param id comes back with the completion, if the request fails
     * @param data any segment, not longer than {@link QueueCapabilities#inlineSize}
     * @param remote the destination, at least as long
     */
    @CName("ibv_post_send")
    public void postWriteInline(long id, MemorySegment data, RemoteMemory remote) {
        try (var one = batches.claim()) {
            one.batch.writeInline(id, data, remote).unsignaled().post();
        }
    }

    /**
     * Posts an RDMA write of inline data with immediate data.
     *
     * @param id comes back with the completion, if the request fails
     * @param data any segment, not longer than {@link QueueCapabilities#inlineSize}
     * @param remote the destination, at least as long
     * @param immediate arrives as the same {@code int}
     */
    @CName("ibv_post_send")
    public void postWriteInline(long id, MemorySegment data, RemoteMemory remote, int immediate) {
        try (var one = batches.claim()) {
            SendBatch request = one.batch.writeInline(id, data, remote).immediate(immediate);
            request.unsignaled().post();
        }
    }
}
