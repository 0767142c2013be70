package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Options of a work queue ({@code struct ibv_wq_init_attr}). Begin with {@link #of}. Each option has a method that
 * returns a changed copy, and a method of the same name that reads it. Options never change, so all threads can use
 * them.
 *
 * {@snippet file="ObjectSnippets.java" region="work-queue"}
 */
public final class WorkQueueOptions {
    private final CompletionQueue queue;
    private final int depth;
    private final int sge;
    private final Set<WorkQueueFlag> flags;

    private WorkQueueOptions(CompletionQueue queue, int depth, int sge, Set<WorkQueueFlag> flags) {
        Checks.checkAtLeast("depth of a work queue", depth, 1);
        Checks.checkAtLeast("number of pieces of a receive", sge, 1);
        this.queue = Objects.requireNonNull(queue, "queue");
        this.depth = depth;
        this.sge = sge;
        this.flags = flags;
    }

    /**
     * Returns options for a work queue without flags, for receives of one piece of memory.
     *
     * @param queue the completion queue for the receives
     * @param depth the number of receives that the queue must hold at least
     * @return options for {@link ProtectionDomain#createWorkQueue(WorkQueueOptions)}
     * @throws IllegalArgumentException if the depth is less than 1
     */
    public static WorkQueueOptions of(CompletionQueue queue, int depth) {
        return new WorkQueueOptions(queue, depth, 1, Set.of());
    }

    /**
     * Returns the completion queue for the receives ({@code cq}).
     *
     * @return the completion queue
     */
    public CompletionQueue queue() {
        return queue;
    }

    /**
     * Returns a copy with another completion queue for the receives ({@code cq}).
     *
     * @param completions the completion queue
     * @return a changed copy
     */
    public WorkQueueOptions queue(CompletionQueue completions) {
        return new WorkQueueOptions(completions, depth, sge, flags);
    }

    /**
     * Returns the number of receives that the queue must hold at least ({@code max_wr}).
     *
     * @return the depth
     */
    public int depth() {
        return depth;
    }

    /**
     * Returns a copy with another number of receives that the queue must hold at least ({@code max_wr}).
     *
     * @param receives the depth
     * @return a changed copy
     * @throws IllegalArgumentException if the depth is less than 1
     */
    public WorkQueueOptions depth(int receives) {
        return new WorkQueueOptions(queue, receives, sge, flags);
    }

    /**
     * Returns the number of pieces of memory that a receive must be able to name ({@code max_sge}).
     *
     * @return the number of pieces
     */
    public int sge() {
        return sge;
    }

    /**
     * Returns a copy with another number of pieces of memory that a receive must be able to name ({@code max_sge}).
     *
     * @param pieces the number of pieces; 1 by default
     * @return a changed copy
     * @throws IllegalArgumentException if the number is less than 1
     */
    public WorkQueueOptions sge(int pieces) {
        return new WorkQueueOptions(queue, depth, pieces, flags);
    }

    /**
     * Returns the flags ({@code create_flags}).
     *
     * @return the flags, unmodifiable
     */
    public Set<WorkQueueFlag> flags() {
        return flags;
    }

    /**
     * Returns a copy with these flags and no others ({@code create_flags}).
     *
     * @param flags the flags; none by default
     * @return a changed copy
     */
    public WorkQueueOptions flags(Collection<WorkQueueFlag> flags) {
        EnumSet<WorkQueueFlag> copy = EnumSet.noneOf(WorkQueueFlag.class);
        copy.addAll(flags);
        return new WorkQueueOptions(queue, depth, sge, Collections.unmodifiableSet(copy));
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof WorkQueueOptions options
                && queue == options.queue
                && depth == options.depth
                && sge == options.sge
                && flags.equals(options.flags);
    }

    @Override
    public int hashCode() {
        return Objects.hash(queue, depth, sge, flags);
    }

    /** Returns the options, for example {@code 64x1}. */
    @Override
    public String toString() {
        return depth + "x" + sge + (flags.isEmpty() ? "" : ", flags " + flags);
    }
}
