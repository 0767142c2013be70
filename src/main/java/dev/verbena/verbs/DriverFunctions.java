package dev.verbena.verbs;

import dev.verbena.internal.raw.ibv_context;
import dev.verbena.internal.raw.ibv_context_ops;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * The functions of a device's provider that C's inline verbs call, read once a context, and how they may be called.
 *
 * @param pollCq {@code ops.poll_cq}
 * @param requestNotification {@code ops.req_notify_cq}
 * @param postSend {@code ops.post_send}
 * @param postReceive {@code ops.post_recv}
 * @param postSharedReceive {@code ops.post_srq_recv}
 * @param criticalPoll whether a poll may leave out the change of thread state
 * @param criticalPost whether a post may: only where the provider rings the doorbell from user space
 * @param software whether no hardware driver is below: soft-RoCE and its like
 */
record DriverFunctions(
        long pollCq,
        long requestNotification,
        long postSend,
        long postReceive,
        long postSharedReceive,
        boolean criticalPoll,
        boolean criticalPost,
        boolean software) {
    /** Drivers whose providers post without a system call. */
    private static final Set<String> POSTS_IN_USER_SPACE = Set.of(
            "mlx4_core", "mlx5_core", "bnxt_en", "efa", "hns_roce", "ice", "irdma", "i40e", "mana", "qede", "erdma");

    /** {@code none}, {@code poll} or {@code post} (both) instead of what the driver suggests. */
    private static final String CRITICAL = "dev.verbena.critical";

    static DriverFunctions of(Device device, long context) {
        MemorySegment ops = ibv_context.ops(MemorySegment.ofAddress(context).reinterpret(ibv_context.sizeof()));
        String wanted = System.getProperty(CRITICAL, POSTS_IN_USER_SPACE.contains(device.driver()) ? "post" : "poll");
        return new DriverFunctions(
                ibv_context_ops.poll_cq(ops).address(),
                ibv_context_ops.req_notify_cq(ops).address(),
                ibv_context_ops.post_send(ops).address(),
                ibv_context_ops.post_recv(ops).address(),
                ibv_context_ops.post_srq_recv(ops).address(),
                !wanted.equals("none"),
                wanted.equals("post"),
                device.driver().isEmpty());
    }
}
