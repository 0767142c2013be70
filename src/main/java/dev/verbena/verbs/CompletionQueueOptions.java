package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Options of a completion queue ({@code struct ibv_cq_init_attr_ex}). Begin with {@link #of}. Each option has a method
 * that returns a changed copy, and a method of the same name that reads it. Options never change, so all threads can
 * use them.
 *
 * {@snippet file="CompletionSnippets.java" region="channel"}
 */
public final class CompletionQueueOptions {
    private final int capacity;
    private final @Nullable CompletionChannel channel;
    private final int completionVector;
    private final boolean extended;
    private final Set<CompletionField> fields;
    private final Set<CompletionQueueFlag> flags;
    private final @Nullable ProtectionDomain parentDomain;
    private final PollingCalls pollingCalls;

    private CompletionQueueOptions(
            int capacity,
            @Nullable CompletionChannel channel,
            int completionVector,
            boolean extended,
            Set<CompletionField> fields,
            Set<CompletionQueueFlag> flags,
            @Nullable ProtectionDomain parentDomain,
            PollingCalls pollingCalls) {
        Checks.checkAtLeast("capacity of a completion queue", capacity, 1);
        Checks.checkAtLeast("completion vector", completionVector, 0);
        this.capacity = capacity;
        this.channel = channel;
        this.completionVector = completionVector;
        this.extended = extended;
        this.fields = fields;
        this.flags = flags;
        this.parentDomain = parentDomain;
        this.pollingCalls = Objects.requireNonNull(pollingCalls, "pollingCalls");
    }

    private static <E extends Enum<E>> Set<E> copy(Class<E> type, Collection<E> set) {
        EnumSet<E> copy = EnumSet.noneOf(type);
        copy.addAll(set);
        return Collections.unmodifiableSet(copy);
    }

    /**
     * Returns options for a completion queue without a channel, on the first completion vector.
     *
     * @param capacity the number of completions that the queue must hold at least
     * @return options for {@link Context#createCompletionQueue(CompletionQueueOptions)}
     * @throws IllegalArgumentException if the capacity is less than 1
     */
    public static CompletionQueueOptions of(int capacity) {
        return new CompletionQueueOptions(capacity, null, 0, false, Set.of(), Set.of(), null, PollingCalls.BY_DRIVER);
    }

    /**
     * Returns the number of completions that the queue must hold at least ({@code cqe}).
     *
     * @return the capacity
     */
    public int capacity() {
        return capacity;
    }

    /**
     * Returns a copy with another capacity ({@code cqe}).
     *
     * @param completions the number of completions that the queue must hold at least
     * @return a changed copy
     * @throws IllegalArgumentException if the capacity is less than 1
     */
    public CompletionQueueOptions capacity(int completions) {
        return new CompletionQueueOptions(
                completions, channel, completionVector, extended, fields, flags, parentDomain, pollingCalls);
    }

    /**
     * Returns the channel that gets the queue's events ({@code channel}).
     *
     * @return the channel; null for a queue that is only polled
     */
    public @Nullable CompletionChannel channel() {
        return channel;
    }

    /**
     * Returns a copy with another channel for the queue's events ({@code channel}). Waiting for completions then costs
     * nothing while there are none.
     *
     * @param events a channel of the same context; null for a queue that is only polled
     * @return a changed copy
     */
    public CompletionQueueOptions channel(@Nullable CompletionChannel events) {
        return new CompletionQueueOptions(
                capacity, events, completionVector, extended, fields, flags, parentDomain, pollingCalls);
    }

    /**
     * Returns the interrupt that announces the queue's events ({@code comp_vector}).
     *
     * @return the number of the completion vector, from 0
     */
    public int completionVector() {
        return completionVector;
    }

    /**
     * Returns a copy with another interrupt for the queue's events ({@code comp_vector}). Most often each interrupt
     * belongs to one processor.
     *
     * @param number less than {@link Context#completionVectors}; 0 by default
     * @return a changed copy
     * @throws IllegalArgumentException if the number is negative
     */
    public CompletionQueueOptions completionVector(int number) {
        return new CompletionQueueOptions(
                capacity, channel, number, extended, fields, flags, parentDomain, pollingCalls);
    }

    /**
     * Returns true if the options are for an extended queue ({@code ibv_create_cq_ex}).
     *
     * @return true once fields, a flag or a parent domain was set
     */
    public boolean extended() {
        return extended;
    }

    /**
     * Returns the fields of an extended queue's completions ({@code wc_flags}).
     *
     * @return the fields, unmodifiable
     */
    public Set<CompletionField> fields() {
        return fields;
    }

    /**
     * Returns a copy for an extended queue ({@code ibv_create_cq_ex}), whose completions have these fields and no
     * others. {@link CompletionQueue#extendedCompletions} reads them.
     *
     * @param fields {@link CompletionField#standard}, with more or less
     * @return a changed copy
     */
    public CompletionQueueOptions fields(Collection<CompletionField> fields) {
        return new CompletionQueueOptions(
                capacity,
                channel,
                completionVector,
                true,
                copy(CompletionField.class, fields),
                flags,
                parentDomain,
                pollingCalls);
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
     * Returns the flags of an extended queue ({@code flags}).
     *
     * @return the flags, unmodifiable
     */
    public Set<CompletionQueueFlag> flags() {
        return flags;
    }

    /**
     * Returns a copy for an extended queue with these flags and no others ({@code flags}).
     *
     * @param flags the flags
     * @return a changed copy
     */
    public CompletionQueueOptions flags(Collection<CompletionQueueFlag> flags) {
        return new CompletionQueueOptions(
                capacity,
                channel,
                completionVector,
                true,
                fields,
                copy(CompletionQueueFlag.class, flags),
                parentDomain,
                pollingCalls);
    }

    /**
     * Returns a copy for an extended queue that only one thread uses ({@code IBV_CREATE_CQ_ATTR_SINGLE_THREADED}). The
     * arena of the queue must be confined, and the arenas of the queue pairs that report to the queue too.
     *
     * @return a changed copy
     */
    public CompletionQueueOptions singleThreaded() {
        return with(CompletionQueueFlag.SINGLE_THREADED);
    }

    /**
     * Returns a copy for an extended queue that loses completions when it is full, and goes on
     * ({@code IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN}).
     *
     * @return a changed copy
     */
    public CompletionQueueOptions ignoreOverrun() {
        return with(CompletionQueueFlag.IGNORE_OVERRUN);
    }

    /**
     * Returns the parent domain of an extended queue ({@code parent_domain}).
     *
     * @return the parent domain; null for a queue without one
     */
    public @Nullable ProtectionDomain parentDomain() {
        return parentDomain;
    }

    /**
     * Returns a copy for an extended queue of a parent domain ({@code parent_domain}). If the domain has a
     * {@link ThreadDomain}, the driver may leave out the queue's lock.
     *
     * @param domain a {@linkplain ProtectionDomain#allocateParentDomain() parent domain} of the same context; null for
     *     none
     * @return a changed copy
     */
    public CompletionQueueOptions parentDomain(@Nullable ProtectionDomain domain) {
        return new CompletionQueueOptions(
                capacity, channel, completionVector, true, fields, flags, domain, pollingCalls);
    }

    /**
     * Returns the kind of calls that poll the queue.
     *
     * @return the kind; {@link PollingCalls#BY_DRIVER} by default
     */
    public PollingCalls pollingCalls() {
        return pollingCalls;
    }

    /**
     * Returns a copy whose queue is polled by another kind of calls. The system property {@code dev.verbena.critical=none}
     * makes all calls plain, whatever the options say.
     *
     * @param calls the kind; {@link PollingCalls#PLAIN} for a driver that may block in a poll
     * @return a changed copy
     */
    public CompletionQueueOptions pollingCalls(PollingCalls calls) {
        return new CompletionQueueOptions(
                capacity, channel, completionVector, extended, fields, flags, parentDomain, calls);
    }

    private CompletionQueueOptions with(CompletionQueueFlag flag) {
        EnumSet<CompletionQueueFlag> more = EnumSet.of(flag);
        more.addAll(flags);
        return flags(more);
    }

    private List<@Nullable Object> all() {
        return Arrays.asList(capacity, channel, completionVector, extended, fields, flags, parentDomain, pollingCalls);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof CompletionQueueOptions options && all().equals(options.all());
    }

    @Override
    public int hashCode() {
        return all().hashCode();
    }

    /** Returns the options, for example {@code 128 completions, vector 0, extended with [BYTE_LENGTH]}. */
    @Override
    public String toString() {
        return capacity + " completions, vector " + completionVector
                + (channel == null ? "" : ", " + channel)
                + (extended ? ", extended with " + fields : "")
                + (flags.isEmpty() ? "" : ", flags " + flags)
                + (parentDomain == null ? "" : ", " + parentDomain)
                + (pollingCalls == PollingCalls.BY_DRIVER ? "" : ", " + pollingCalls + " polling calls");
    }
}
