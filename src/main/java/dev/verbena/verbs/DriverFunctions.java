package dev.verbena.verbs;

import dev.verbena.internal.FirstDriver;
import dev.verbena.internal.RdmaCoreVersion;
import dev.verbena.internal.raw.ibv_context;
import dev.verbena.internal.raw.ibv_context_ops;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The functions of a driver's library that C's inline verbs call, and the way that they may be called. They are read once
 * for each context, and never change.
 *
 * @param pollCq {@code ops.poll_cq}
 * @param requestNotification {@code ops.req_notify_cq}
 * @param postSend {@code ops.post_send}
 * @param postReceive {@code ops.post_recv}
 * @param postSharedReceive {@code ops.post_srq_recv}
 * @param criticalCalls whether any call may do without a change of thread state
 * @param criticalPoll whether a poll may do so unless the queue's options say otherwise
 * @param criticalPost whether a post may do so: only if the library rings the doorbell from user space
 * @param software whether the device is software, such as soft-RoCE
 * @param equalPieces whether an extended queue pair takes all pieces of a request to be as long as the first
 */
record DriverFunctions(
        long pollCq,
        long requestNotification,
        long postSend,
        long postReceive,
        long postSharedReceive,
        boolean criticalCalls,
        boolean criticalPoll,
        boolean criticalPost,
        boolean software,
        boolean equalPieces) {
    /** The drivers whose libraries post without a system call. */
    private static final Set<String> POSTS_IN_USER_SPACE = Set.of(
            "mlx4_core", "mlx5_core", "bnxt_en", "efa", "hns_roce", "ice", "irdma", "i40e", "mana", "qede", "erdma");

    /** The drivers whose polls may block: see {@link CompletionQueueOptions.PollingCalls}. */
    private static final Set<String> POLLS_MAY_BLOCK = Set.of("mlx5_core");

    /** The system property that overrides the choice: {@code none}, {@code poll}, or {@code post} for both. */
    private static final String CRITICAL = "dev.verbena.critical";

    static DriverFunctions of(Device device, long context) {
        MemorySegment ops = ibv_context.ops(MemorySegment.ofAddress(context).reinterpret(ibv_context.sizeof()));
        FirstDriver.is(
                ibv_context_ops.poll_cq(ops).address(),
                ibv_context_ops.post_send(ops).address(),
                ibv_context_ops.post_recv(ops).address());
        String driver = device.driver();
        String wanted = System.getProperty(CRITICAL);
        return new DriverFunctions(
                ibv_context_ops.poll_cq(ops).address(),
                ibv_context_ops.req_notify_cq(ops).address(),
                ibv_context_ops.post_send(ops).address(),
                ibv_context_ops.post_recv(ops).address(),
                ibv_context_ops.post_srq_recv(ops).address(),
                !"none".equals(wanted),
                pollsCritically(driver, wanted),
                postsCritically(driver, wanted),
                driver.isEmpty(),
                driver.isEmpty() && !RdmaCoreVersion.V64.isInstalled()); // soft-RoCE of older releases
    }

    /** Returns true if polls are critical calls with a driver ("" for software), and a value of the property or null. */
    static boolean pollsCritically(String driver, @Nullable String wanted) {
        return wanted == null ? !POLLS_MAY_BLOCK.contains(driver) : !wanted.equals("none");
    }

    /** Returns true if posts are critical calls with a driver ("" for software), and a value of the property or null. */
    static boolean postsCritically(String driver, @Nullable String wanted) {
        return wanted == null ? POSTS_IN_USER_SPACE.contains(driver) : wanted.equals("post");
    }

    /** Returns true if the fields of a completion that was polled are read by critical calls, which never block. */
    boolean readsCritically(CompletionQueueOptions.PollingCalls wanted) {
        return criticalCalls && wanted != CompletionQueueOptions.PollingCalls.PLAIN;
    }

    /** Returns true if a completion queue is polled by critical calls. */
    boolean pollsCritically(CompletionQueueOptions.PollingCalls wanted) {
        return switch (wanted) {
            case BY_DRIVER -> criticalPoll;
            case CRITICAL -> criticalCalls;
            case PLAIN -> false;
        };
    }
}
