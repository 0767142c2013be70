package dev.verbena.verbs;

/**
 * A kind of call into C that polls a completion queue: see {@link CompletionQueueOptions#pollingCalls}.
 *
 * <p>A <em>critical</em> call does not change the thread's state, which saves about 5 ns. The virtual machine cannot stop
 * the thread meanwhile. If the driver blocks in a critical poll, all Java threads stand still at the next garbage
 * collection. A <em>plain</em> call may block.
 *
 * <p>Nearly all drivers poll in a bounded time. The driver of the mlx5 family does not. It writes failed completions to the
 * standard error stream, except flushes and exceeded retries, or to the file that {@code MLX5_DEBUG_FILE} names. The write
 * blocks if the stream is a pipe that nobody reads. With {@code MLX5_FREEZE_ON_ERROR_CQE} the driver sleeps for ever.
 */
public enum PollingCalls {
    /** Critical calls, but plain calls for drivers that may block in a poll, such as mlx5. */
    BY_DRIVER,
    /**
     * Critical calls, also if the driver may block: for mlx5 where something always reads the standard error stream. An
     * extended queue of a shared arena uses plain calls nevertheless, because polls wait there for the queue's lock.
     */
    CRITICAL,
    /** Plain calls. */
    PLAIN
}
