package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Chain;
import dev.verbena.internal.DescriptorWaits;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.Waiters;
import dev.verbena.internal.lifetime.ObjectLifetime;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A completion channel ({@code struct ibv_comp_channel}): many completion queues can report events to it.
 *
 * <p>To wait for one queue, make the queue with a channel and call {@link CompletionQueue#await}. To serve many queues
 * with one thread, wait at the channel, which returns the queues that reported an event:
 *
 * {@snippet file="CompletionSnippets.java" region="channel"}
 *
 * {@snippet file="CompletionSnippets.java" region="serve"}
 *
 * <p>Both ways can be mixed. The channel acknowledges all events.
 *
 * <p>All threads may use a channel of a shared arena at once. A channel of a confined arena belongs to the arena's thread.
 */
public final class CompletionChannel extends ContextObject {
    private final CompletionSource source;
    private final Waiters waiters = new Waiters();

    /** The queues that reported an event, the first to report first. The source's lock guards the chain. */
    private final Chain<CompletionEvents> ready = new Chain<>();

    private CompletionChannel(ObjectLifetime lifetime, Context context, CompletionSource source) {
        super(lifetime, context, source.address());
        this.source = source;
    }

    /** Makes a channel with a descriptor of its own. */
    static CompletionChannel make(Context context, VerbsArena arena) {
        return ObjectLifetime.create(
                arena, lifetime -> new CompletionChannel(lifetime, context, CompletionSource.own(context)), context);
    }

    /** Makes a channel that shares a descriptor with other channels of the same context in C. */
    static CompletionChannel makeShared(Context context, VerbsArena arena) {
        return ObjectLifetime.create(
                arena, lifetime -> new CompletionChannel(lifetime, context, CompletionSource.shared(context)), context);
    }

    @CName("ibv_destroy_comp_channel")
    @Override
    void destroy() {
        source.leave();
        lifetime.noteDestroyed();
        waiters.wakeAll();
    }

    void add(CompletionQueue queue) {
        source.add(queue);
    }

    void remove(CompletionQueue queue) {
        source.remove(queue);
    }

    /** Adds a queue that reported an event. The caller holds the source's lock. Allocates nothing: the event is lost else. */
    void report(CompletionEvents events) {
        ready.add(events);
        waiters.wake();
    }

    private @Nullable CompletionQueue takeReady() {
        CompletionEvents events = ready.poll();
        return events == null ? null : events.queue;
    }

    /** Forgets the events of a queue that C has destroyed. */
    void forget(CompletionEvents gone) {
        try (var _ = source.taking.held()) {
            ready.remove(gone);
        }
    }

    /**
     * Takes a queue that reported an event, if there is one ({@code ibv_get_cq_event}). A queue is returned once for all
     * its events until then. The queue may be empty, if its completions were polled meanwhile.
     *
     * @return a queue that reported an event, or null if there is none
     * @throws VerbsException if the device was removed
     */
    @CName({"ibv_get_cq_event", "ibv_ack_cq_events"})
    public @Nullable CompletionQueue poll() {
        try (var _ = lifetime.held()) {
            source.takeAll();
            try (var _ = source.taking.held()) {
                return takeReady();
            }
        }
    }

    /**
     * Waits until a queue reports an event, and takes the queue ({@code ibv_get_cq_event}). Queues report only the events
     * that {@link CompletionQueue#requestNotification} asked for.
     *
     * @param timeout the time to wait
     * @return a queue that reported an event, as by {@link #poll}
     * @throws VerbsTimeoutException if none reported an event in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the channel is closed, also while waiting
     * @throws VerbsException if the device was removed
     */
    @CName({"ibv_get_cq_event", "ibv_ack_cq_events"})
    public CompletionQueue await(Duration timeout) throws InterruptedException {
        CompletionQueue queue;
        try (DescriptorWaits.Wait wait = source.begin(waiters, this)) {
            queue = waiters.await(this::poll, this::poll, wait, timeout);
        }
        if (queue == null) {
            throw new VerbsTimeoutException(
                    Ibv.GET_CQ_EVENT.name(),
                    toString(),
                    timeout,
                    "Was requestNotification called before the work completed?");
        }
        return queue;
    }

    /** Begins a wait of the calling thread, which sleeps at these waiters. */
    DescriptorWaits.Wait begin(Waiters sleeping, CompletionQueue queue) {
        return source.begin(sleeping, queue);
    }

    @Override
    public String toString() {
        return "completion channel of " + context.name();
    }
}
