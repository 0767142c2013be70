package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.access.ObjectLifetime;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.SystemCallException;
import dev.verbena.internal.WatchedDescriptor;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.raw.ibv_comp_channel;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
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
public final class CompletionChannel extends VerbsObject {
    private final ObjectLifetime lifetime;
    private final Context context;
    private final long address;
    private final WatchedDescriptor descriptor;

    /** The queues by their address in C. An entry stays until C has destroyed the queue, as events may come till then. */
    private final ConcurrentHashMap<Long, CompletionQueue> queues = new ConcurrentHashMap<>();

    /** Guards the fields below. */
    private final ReentrantLock taking = new ReentrantLock();

    private final LinkedHashSet<CompletionQueue> ready = new LinkedHashSet<>();
    /** Memory for one event. It is not of the arena, because the event thread uses it too. */
    private final MemorySegment event;

    private boolean destroying;

    private CompletionChannel(ObjectLifetime lifetime, Context context, long address) {
        super(lifetime);
        this.lifetime = lifetime;
        this.context = context;
        this.address = address;
        int number = ibv_comp_channel.fd(MemorySegment.ofAddress(address).reinterpret(ibv_comp_channel.sizeof()));
        this.descriptor = new WatchedDescriptor(
                number, this::takeAll, cause -> Failures.cannotWait(toString(), cause), this::failWaitingQueues);
        lifetime.destroyedBy(this::destroy);
        this.event = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG, 2);
        try {
            WatchedDescriptor.makeNonBlocking(number);
        } catch (SystemCallException refused) {
            throw Failures.cannotWait(context.name(), refused);
        }
    }

    static CompletionChannel make(Context context, VerbsArena arena) {
        return ObjectLifetime.create(
                arena,
                lifetime -> new CompletionChannel(
                        lifetime,
                        context,
                        VerbFailures.pointer(
                                Ibv.CREATE_COMP_CHANNEL,
                                Ibv.CREATE_COMP_CHANNEL.call(context.address()),
                                context.name())),
                context);
    }

    @CName("ibv_destroy_comp_channel")
    private void destroy() {
        setDestroying(true);
        descriptor.close();
        try {
            VerbFailures.check(Ibv.DESTROY_COMP_CHANNEL, Ibv.DESTROY_COMP_CHANNEL.call(address), toString());
        } catch (VerbsException refused) {
            setDestroying(false);
            descriptor.reopen();
            throw refused;
        }
    }

    private void setDestroying(boolean now) {
        taking.lock();
        try {
            destroying = now;
        } finally {
            taking.unlock();
        }
    }

    /**
     * Returns the context that the channel was made from.
     *
     * @return the context
     */
    public Context context() {
        lifetime.checkOpen();
        return context;
    }

    Context contextEvenIfClosed() {
        return context;
    }

    /** Returns the address of the {@code struct ibv_comp_channel}. Hold this object while C uses it. */
    long address() {
        return address;
    }

    void add(CompletionQueue queue) {
        queues.put(queue.address(), queue);
    }

    void remove(CompletionQueue queue) {
        queues.remove(queue.address(), queue);
        taking.lock();
        try {
            ready.remove(queue);
        } finally {
            taking.unlock();
        }
    }

    /**
     * Takes a queue that reported an event, if there is one ({@code ibv_get_cq_event}). A queue is returned once for all
     * its events until then. The queue may be empty, if its completions were polled meanwhile.
     *
     * @return a queue that reported an event; empty if there is none
     * @throws VerbsException if the device was removed
     */
    @CName({"ibv_get_cq_event", "ibv_ack_cq_events"})
    public Optional<CompletionQueue> poll() {
        return Optional.ofNullable(next());
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
        CompletionQueue queue = descriptor.await(this::next, timeout);
        if (queue == null) {
            throw new VerbsTimeoutException(
                    Ibv.GET_CQ_EVENT.name(),
                    toString(),
                    timeout,
                    "Was requestNotification called before the work completed?");
        }
        return queue;
    }

    private @Nullable CompletionQueue next() {
        lifetime.hold();
        try {
            takeAll();
            taking.lock();
            try {
                return ready.isEmpty() ? null : ready.removeFirst();
            } finally {
                taking.unlock();
            }
        } finally {
            lifetime.release();
        }
    }

    /** Takes all events, and wakes the threads that wait for them. Any thread may do so. */
    private void takeAll() {
        taking.lock();
        try {
            while (!destroying && takeOne()) {
                descriptor.wake();
            }
        } finally {
            taking.unlock();
        }
    }

    private boolean takeOne() {
        while ((int) Ibv.GET_CQ_EVENT.call(address, event.address(), event.address() + Long.BYTES) != 0) {
            int errno = CFunction.errno();
            if (errno == Errno.EAGAIN) {
                return false;
            }
            if (errno != Errno.EINTR) {
                throw VerbFailures.failure(
                        Ibv.GET_CQ_EVENT.name(), errno, toString(), errno == Errno.EIO ? "The device was removed" : "");
            }
        }
        long cq = event.get(ValueLayout.JAVA_LONG, 0);
        CompletionQueue queue = queues.get(cq);
        CompletionEvents events = queue == null ? null : queue.events();
        if (queue == null || events == null) {
            Ibv.ACK_CQ_EVENTS.call(cq, 1); // an unknown queue, which lives until its event is acknowledged
            return true;
        }
        events.taken();
        ready.add(queue);
        events.wake();
        return true;
    }

    /** Makes the event thread take the events from now on. */
    void watch() {
        descriptor.watch();
    }

    private void failWaitingQueues(Throwable cause) {
        for (CompletionQueue queue : queues.values()) {
            CompletionEvents events = queue.events();
            if (events != null) {
                events.fail(cause);
            }
        }
    }

    @Override
    public String toString() {
        return "completion channel of " + context.name();
    }
}
