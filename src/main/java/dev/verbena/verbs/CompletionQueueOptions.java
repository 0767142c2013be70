package dev.verbena.verbs;

import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a completion queue is to be like: begin with {@link #of} and change what is to differ. Each method answers a
 * changed copy.
 *
 * @param capacity how many completions it must hold at least ({@code cqe})
 * @param channel where it reports events, or null for a queue that is only polled
 * @param completionVector which interrupt its events come by ({@code comp_vector})
 * @param extended whether it is to be an extended queue ({@code ibv_create_cq_ex})
 * @param fields what the completions of an extended queue are to tell ({@code wc_flags})
 * @param flags what is special about an extended queue
 * @param domain whose allocators and thread domain an extended queue uses, or null ({@code parent_domain})
 */
public record CompletionQueueOptions(
        int capacity,
        @Nullable CompletionChannel channel,
        int completionVector,
        boolean extended,
        Set<CompletionField> fields,
        Set<CompletionQueueFlag> flags,
        @Nullable ParentDomain domain) {
    /**
     * Checks what C would refuse with a bare number, and copies the sets.
     *
     * @throws IllegalArgumentException if the capacity is less than 1 or the vector negative
     */
    public CompletionQueueOptions {
        if (capacity < 1) {
            throw new IllegalArgumentException("A completion queue holds at least one completion, not " + capacity);
        }
        if (completionVector < 0) {
            throw new IllegalArgumentException("Completion vectors are numbered from 0: " + completionVector);
        }
        fields = copy(CompletionField.class, fields);
        flags = copy(CompletionQueueFlag.class, flags);
    }

    private static <E extends Enum<E>> Set<E> copy(Class<E> type, Collection<E> set) {
        EnumSet<E> copy = EnumSet.noneOf(type);
        copy.addAll(set);
        return Collections.unmodifiableSet(copy);
    }

    /**
     * A completion queue without a channel, on the first completion vector.
     *
     * @param capacity how many completions it must hold at least
     * @return options for {@link Context#createCompletionQueue(CompletionQueueOptions)}
     */
    public static CompletionQueueOptions of(int capacity) {
        return new CompletionQueueOptions(capacity, null, 0, false, Set.of(), Set.of(), null);
    }

    /**
     * Where the queue reports events: waiting for completions then costs nothing while there are none.
     *
     * @param channel a channel of the same context
     * @return a changed copy
     */
    public CompletionQueueOptions channel(CompletionChannel channel) {
        return new CompletionQueueOptions(capacity, channel, completionVector, extended, fields, flags, domain);
    }

    /**
     * Which interrupt, and so most often which processor, the queue's events come by; 0 if not said.
     *
     * @param number less than {@link Context#completionVectors}
     * @return a changed copy
     */
    public CompletionQueueOptions completionVector(int number) {
        return new CompletionQueueOptions(capacity, channel, number, extended, fields, flags, domain);
    }

    /**
     * Makes it an extended queue ({@code ibv_create_cq_ex}), whose completions tell these things and no others through
     * {@link CompletionQueue#extendedCompletions}.
     *
     * @param fields what they are to tell: {@link CompletionField#standard} and more, or less
     * @return a changed copy
     */
    public CompletionQueueOptions fields(Collection<CompletionField> fields) {
        return new CompletionQueueOptions(
                capacity, channel, completionVector, true, copy(CompletionField.class, fields), flags, domain);
    }

    /**
     * As {@link #fields(Collection)}.
     *
     * @param fields what the completions are to tell
     * @return a changed copy
     */
    public CompletionQueueOptions fields(CompletionField... fields) {
        return fields(List.of(fields));
    }

    /**
     * Makes it an extended queue that one thread only uses: its arena, and the arenas of the queue pairs that report to
     * it, are confined.
     *
     * @return a changed copy
     */
    public CompletionQueueOptions singleThreaded() {
        return with(CompletionQueueFlag.SINGLE_THREADED);
    }

    /**
     * Makes it an extended queue that goes on when more completions come than it holds: some are lost.
     *
     * @return a changed copy
     */
    public CompletionQueueOptions ignoreOverrun() {
        return with(CompletionQueueFlag.IGNORE_OVERRUN);
    }

    /**
     * Makes it an extended queue that belongs to a parent domain: with a {@link ThreadDomain}, the driver may leave the
     * queue's lock out.
     *
     * @param domain a parent domain of the same context
     * @return a changed copy
     */
    public CompletionQueueOptions domain(ParentDomain domain) {
        return new CompletionQueueOptions(capacity, channel, completionVector, true, fields, flags, domain);
    }

    private CompletionQueueOptions with(CompletionQueueFlag flag) {
        EnumSet<CompletionQueueFlag> more = EnumSet.of(flag);
        more.addAll(flags);
        return new CompletionQueueOptions(capacity, channel, completionVector, true, fields, more, domain);
    }
}
