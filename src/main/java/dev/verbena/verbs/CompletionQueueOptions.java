package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.Options;
import dev.verbena.internal.raw.rdma_h;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Options of a completion queue ({@code struct ibv_cq_init_attr_ex}). Begin with {@link #of}. Each option has a method
 * that returns a changed copy. Options never change, so all threads can use them.
 *
 * {@snippet file="CompletionSnippets.java" region="channel"}
 */
public final class CompletionQueueOptions extends Options<CompletionQueueOptions> {
    private static final Keys<CompletionQueueOptions> KEYS = new Keys<>();
    static final Key<CompletionQueueOptions, Integer> CAPACITY = KEYS.always("capacity", 0);
    static final Key<CompletionQueueOptions, @Nullable CompletionChannel> CHANNEL = KEYS.key("channel", null);
    static final Key<CompletionQueueOptions, Integer> COMPLETION_VECTOR = KEYS.key("vector", 0);
    static final Key<CompletionQueueOptions, Boolean> EXTENDED = KEYS.key("extended", false);
    static final Key<CompletionQueueOptions, Set<CompletionField>> FIELDS = KEYS.key("fields", Set.of());
    static final Key<CompletionQueueOptions, Set<Flag>> FLAGS = KEYS.key("flags", Set.of());
    static final Key<CompletionQueueOptions, @Nullable ProtectionDomain> PARENT_DOMAIN =
            KEYS.key("parent domain", null);
    static final Key<CompletionQueueOptions, PollingCalls> POLLING_CALLS =
            KEYS.key("polling calls", PollingCalls.BY_DRIVER);

    private CompletionQueueOptions() {
        super(KEYS);
    }

    /**
     * Returns options for a completion queue without a channel, on the first completion vector.
     *
     * @param capacity the number of completions that the queue must hold at least
     * @return options for {@link Context#createCompletionQueue(CompletionQueueOptions)}
     * @throws IllegalArgumentException if the capacity is less than 1
     */
    public static CompletionQueueOptions of(int capacity) {
        return new CompletionQueueOptions().capacity(capacity);
    }

    /**
     * Returns a copy with another capacity ({@code cqe}).
     *
     * @param completions the number of completions that the queue must hold at least
     * @return a changed copy
     * @throws IllegalArgumentException if the capacity is less than 1
     */
    public CompletionQueueOptions capacity(int completions) {
        return with(CAPACITY, Checks.checkAtLeast("capacity of a completion queue", completions, 1));
    }

    /**
     * Returns a copy with another channel for the queue's events ({@code channel}). Waiting for completions then costs
     * nothing while there are none.
     *
     * @param events a channel of the same context; null for a queue that is only polled
     * @return a changed copy
     */
    public CompletionQueueOptions channel(@Nullable CompletionChannel events) {
        return with(CHANNEL, events);
    }

    /**
     * Returns a copy with another interrupt that announces the queue's events ({@code comp_vector}). Most often each interrupt
     * belongs to one processor.
     *
     * @param number less than {@link Context#completionVectors}; 0 by default
     * @return a changed copy
     * @throws IllegalArgumentException if the number is negative
     */
    public CompletionQueueOptions completionVector(int number) {
        return with(COMPLETION_VECTOR, Checks.checkAtLeast("completion vector", number, 0));
    }

    /**
     * Returns a copy for an extended queue ({@code ibv_create_cq_ex}), whose completions have these fields and no
     * others. {@link CompletionQueue#extendedCompletions} reads them.
     *
     * @param fields {@link CompletionField#standard}, with more or less
     * @return a changed copy
     */
    public CompletionQueueOptions fields(Collection<CompletionField> fields) {
        return with(EXTENDED, true).with(FIELDS, EnumCodec.copy(CompletionField.class, fields));
    }

    /**
     * Returns a copy for an extended queue with these fields: see {@link #fields(Collection)}.
     *
     * @param fields the fields of the completions
     * @return a changed copy
     */
    public CompletionQueueOptions fields(CompletionField... fields) {
        return fields(List.of(fields));
    }

    /**
     * Returns a copy for an extended queue that only one thread uses ({@code IBV_CREATE_CQ_ATTR_SINGLE_THREADED}). The
     * arena of the queue must be confined, and the arenas of the queue pairs that report to the queue too.
     *
     * @return a changed copy
     */
    public CompletionQueueOptions singleThreaded() {
        return with(Flag.SINGLE_THREADED);
    }

    /**
     * Returns a copy for an extended queue that loses completions when it is full, and goes on
     * ({@code IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN}).
     *
     * @return a changed copy
     */
    public CompletionQueueOptions ignoreOverrun() {
        return with(Flag.IGNORE_OVERRUN);
    }

    /**
     * Returns a copy for an extended queue of a parent domain ({@code parent_domain}). If the domain has a
     * {@link ThreadDomain}, the driver may leave out the queue's lock.
     *
     * @param domain a {@linkplain ProtectionDomain#allocateParentDomain parent domain} of the same context; null for
     *     none
     * @return a changed copy
     */
    public CompletionQueueOptions parentDomain(@Nullable ProtectionDomain domain) {
        return with(EXTENDED, true).with(PARENT_DOMAIN, domain);
    }

    /**
     * Returns a copy whose queue is polled by another kind of calls. The system property {@code dev.verbena.critical=none}
     * makes all calls plain, whatever the options say.
     *
     * @param calls the kind, {@link PollingCalls#BY_DRIVER} by default; {@link PollingCalls#PLAIN} for a driver that may block in a poll
     * @return a changed copy
     */
    public CompletionQueueOptions pollingCalls(PollingCalls calls) {
        return with(POLLING_CALLS, Objects.requireNonNull(calls, "pollingCalls"));
    }

    private CompletionQueueOptions with(Flag flag) {
        EnumSet<Flag> more = EnumSet.of(flag);
        more.addAll(FLAGS.of(this));
        return with(EXTENDED, true).with(FLAGS, EnumCodec.copy(Flag.class, more));
    }

    /** A property of an extended completion queue ({@code enum ibv_create_cq_attr_flags}). */
    enum Flag {
        /**
         * Only one thread uses the queue and the queue pairs that report to it, so that the driver needs no locks. All of
         * them belong to confined arenas ({@code IBV_CREATE_CQ_ATTR_SINGLE_THREADED}).
         */
        SINGLE_THREADED(rdma_h.IBV_CREATE_CQ_ATTR_SINGLE_THREADED),
        /**
         * The queue goes on, and loses completions, when more come than it holds
         * ({@code IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN}).
         */
        IGNORE_OVERRUN(rdma_h.IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN);

        final int bit;

        Flag(int bit) {
            this.bit = bit;
        }
    }

    /**
     * A kind of call into C that polls a completion queue: see {@link CompletionQueueOptions#pollingCalls}.
     *
     * <p>A <em>critical</em> call does not change the thread's state, which saves about 5 ns. The virtual machine cannot stop
     * the thread meanwhile. If the driver blocks in a critical poll, all Java threads stand still at the next garbage
     * collection. A <em>plain</em> call may block.
     *
     * <p>Nearly all drivers poll in a bounded time. The driver of the mlx4 family writes some failed completions to the
     * standard output stream, which blocks if that is a pipe that nobody reads. The driver of the mlx5 family writes failed
     * completions to the file that the environment variable {@code MLX5_DEBUG_FILE} names, and sleeps for ever after one with
     * {@code MLX5_FREEZE_ON_ERROR_CQE}. Without these variables, its polls are bounded.
     */
    public enum PollingCalls {
        /** Critical calls, but plain calls for drivers that may block in a poll, such as mlx4. */
        BY_DRIVER,
        /**
         * Critical calls, also if the driver may block: for mlx4 where something always reads the standard output stream. An
         * extended queue of a shared arena uses plain calls nevertheless, because polls wait there for the queue's lock.
         */
        CRITICAL,
        /** Plain calls. */
        PLAIN
    }
}
