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
 * Where completion queues report that something has completed ({@code struct ibv_comp_channel}): one for many queues.
 *
 * <p>Whoever waits for one queue makes it with a channel and calls {@link CompletionQueue#await}, which does all that
 * follows. Whoever serves many queues with one thread asks the channel which of them has news:
 *
 * <pre>{@code
 * cq.requestNotification(false);                 // each queue, once
 * for (;;) {
 *     CompletionQueue cq = channel.await(timeout);
 *     cq.requestNotification(false);             // ask anew first, then poll: so nothing is missed
 *     while (done(cq).poll() > 0) handle(done(cq));
 * }
 * }</pre>
 *
 * <p>Both ways can be mixed, and any number of threads can wait. Events are acknowledged by themselves.
 */
public final class CompletionChannel extends VerbsObject {
    private final ObjectLifetime lifetime;
    private final Context context;
    private final long address;
    private final WatchedDescriptor descriptor;

    /** The queues by their address in C: an entry stays until C has destroyed the queue, as events may come till then. */
    private final ConcurrentHashMap<Long, CompletionQueue> queues = new ConcurrentHashMap<>();

    /** Guards all that follows. */
    private final ReentrantLock taking = new ReentrantLock();

    private final LinkedHashSet<CompletionQueue> ready = new LinkedHashSet<>();
    /** Not of the arena: also that of a confined one is written and read by the event thread. */
    private final MemorySegment event = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG, 2);

    private boolean destroying;

    private CompletionChannel(ObjectLifetime lifetime, Context context, long address, int descriptor) {
        super(lifetime);
        this.lifetime = lifetime;
        lifetime.destroyedBy(this::destroy);
        this.context = context;
        this.address = address;
        this.descriptor = new WatchedDescriptor(
                descriptor, this::takeAll, cause -> Failures.cannotWait(toString(), cause), this::failWaitingQueues);
    }

    static CompletionChannel make(Context context, VerbsArena arena) {
        return ObjectLifetime.create(
                arena,
                lifetime -> {
                    long channel = VerbFailures.pointer(
                            Ibv.CREATE_COMP_CHANNEL, Ibv.CREATE_COMP_CHANNEL.call(context.address()), context.name());
                    int descriptor = ibv_comp_channel.fd(
                            MemorySegment.ofAddress(channel).reinterpret(ibv_comp_channel.sizeof()));
                    try {
                        WatchedDescriptor.makeNonBlocking(descriptor);
                        return new CompletionChannel(lifetime, context, channel, descriptor);
                    } catch (Throwable t) {
                        Ibv.DESTROY_COMP_CHANNEL.call(channel);
                        if (t instanceof SystemCallException) {
                            throw Failures.cannotWait(context.name(), t);
                        }
                        throw t;
                    }
                },
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
     * The context that it was made from.
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

    /** The {@code struct ibv_comp_channel}. Hold this object while C uses it. */
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
     * Takes a queue that reported an event, if there is one ({@code ibv_get_cq_event}). Each is handed out once for the
     * events it had until then. It may turn out to be empty, when its completions were polled meanwhile.
     *
     * @return a queue with news
     * @throws VerbsException if the device was removed
     */
    @CName({"ibv_get_cq_event", "ibv_ack_cq_events"})
    public Optional<CompletionQueue> poll() {
        return Optional.ofNullable(next());
    }

    /**
     * Waits until a queue reports an event, and takes it ({@code ibv_get_cq_event}). Queues report only what they were
     * asked for with {@link CompletionQueue#requestNotification}.
     *
     * @param timeout how long to wait
     * @return a queue with news, as of {@link #poll}
     * @throws VerbsTimeoutException if none came in time
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
                    "Was requestNotification called, before the work completed?");
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

    /** Takes what the queues have reported, and tells those who wait for it. Any thread may do so. */
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
            Ibv.ACK_CQ_EVENTS.call(cq, 1); // not ours, and alive until it is acknowledged
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
