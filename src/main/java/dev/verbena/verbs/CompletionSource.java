package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.DescriptorWaits;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.SystemCall;
import dev.verbena.internal.SystemCallException;
import dev.verbena.internal.Waiters;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.raw.ibv_comp_channel;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * A {@code struct ibv_comp_channel}, and the events that completion queues report to it. Several completion channels of one
 * context in C can share a source, and so a descriptor. The thread that takes an event hands it to the channel of the
 * queue. The last channel to leave a source closes it.
 *
 * <p>All threads may use a source at once.
 */
final class CompletionSource {
    /** The sources that channels share, by the address of the context in C. */
    private static final ConcurrentHashMap<Long, CompletionSource> SHARED = new ConcurrentHashMap<>();

    private final String device;
    private final long context;
    private final long address;
    private final DescriptorWaits waits;

    /** Memory for one event. It is not of an arena, because all threads use it. */
    private final MemorySegment event;

    /** The queues by their address in C. An entry stays until C has destroyed the queue, as events may come till then. */
    private final ConcurrentHashMap<Long, CompletionQueue> queues = new ConcurrentHashMap<>();

    /** Guards the fields below, and the queues of channels that are ready. */
    final Mutex taking = new Mutex();

    private final Runnable lookForLosses = this::lookForLosses;
    private int users = 1;

    /** The address of a queue whose event could not be handed on for want of memory; 0 if there is none. */
    private long missed;

    private boolean destroying;

    private CompletionSource(String device, long context, long address, int number, MemorySegment event) {
        this.device = device;
        this.context = context;
        this.address = address;
        this.event = event;
        this.waits = new DescriptorWaits(number, new Events());
    }

    /** Makes the source of a channel that stands alone. */
    static CompletionSource own(Context context) {
        MemorySegment event = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG, 2);
        Ibv.ACK_CQ_EVENTS.find();
        long made = Calls.pointer(Ibv.CREATE_COMP_CHANNEL, context.name(), context.address());
        try {
            int number = ibv_comp_channel.fd(MemorySegment.ofAddress(made).reinterpret(ibv_comp_channel.sizeof()));
            SystemCall.makeNonBlocking(number);
            return new CompletionSource(context.name(), context.address(), made, number, event);
        } catch (SystemCallException refused) {
            Ibv.DESTROY_COMP_CHANNEL.call(made);
            throw Failures.cannotWait(context.name(), refused);
        } catch (Throwable t) {
            Ibv.DESTROY_COMP_CHANNEL.call(made);
            throw t;
        }
    }

    /** Returns the source that channels of a context in C share, with one more user. Holds no lock while C makes one. */
    static CompletionSource shared(Context context) {
        CompletionSource known = SHARED.get(context.address());
        if (known != null && known.join()) {
            return known;
        }
        CompletionSource made = own(context);
        CompletionSource faster = SHARED.putIfAbsent(context.address(), made);
        if (faster != null && faster.join()) {
            made.leave();
            return faster;
        }
        return made; // not for others if the faster one is about to close
    }

    private boolean join() {
        try (var _ = taking.held()) {
            if (users == 0) {
                return false;
            }
            users++;
            return true;
        }
    }

    /**
     * Removes a user. The last one has C destroy the {@code struct ibv_comp_channel}.
     *
     * @throws VerbsException if C refuses: the user stays
     */
    void leave() {
        try (var _ = taking.held()) {
            users--;
            if (users > 0) {
                return;
            }
            destroying = true;
        }
        SHARED.remove(context, this);
        waits.close();
        try {
            Calls.run(Ibv.DESTROY_COMP_CHANNEL, this, address);
        } catch (VerbsException refused) {
            stay();
            throw refused;
        }
    }

    private void stay() {
        try (var _ = taking.held()) {
            users++;
            destroying = false;
        }
        waits.reopen();
    }

    /** Returns the address of the {@code struct ibv_comp_channel}. */
    long address() {
        return address;
    }

    void add(CompletionQueue queue) {
        queues.put(queue.address(), queue);
    }

    void remove(CompletionQueue queue) {
        queues.remove(queue.address(), queue);
    }

    /** Takes all events, and wakes the threads that wait for them. Any thread may do so. */
    void takeAll() {
        try (var _ = taking.held()) {
            while (!destroying) {
                if (!takeOne()) {
                    return;
                }
            }
        }
    }

    private final class Events implements DescriptorWaits.Events {
        /** Takes events until the waiting thread is woken by one, because each further attempt costs a system call. */
        @Override
        public void take(DescriptorWaits.Wait wait) {
            try (var _ = taking.held()) {
                while (!destroying && wait.goesOn() && takeOne()) {
                    // as long as there are events of others
                }
            }
        }

        @Override
        public void takeAll() {
            CompletionSource.this.takeAll();
        }

        @Override
        public boolean mayBlock() {
            return false;
        }

        /** A queue that has lost completions may raise no event any more: the device reports the loss elsewhere. */
        @Override
        public Runnable ticker() {
            return lookForLosses;
        }

        @Override
        public RuntimeException cannotWait(Object owner, Throwable cause) {
            return Failures.cannotWait(owner.toString(), cause);
        }
    }

    private void lookForLosses() {
        for (CompletionQueue any : queues.values()) {
            any.context.events.look(); // all contexts of the source have one descriptor
            return;
        }
    }

    private boolean takeOne() {
        if (missed != 0) {
            CompletionEvents events = eventsOf(missed);
            missed = 0;
            if (events != null) {
                events.report();
            }
        }
        event.set(ValueLayout.JAVA_LONG, 0, 0);
        boolean counted = false;
        try {
            if (!get()) {
                return false;
            }
            CompletionEvents events = eventsOf(event.get(ValueLayout.JAVA_LONG, 0));
            if (events != null) {
                events.taken();
                counted = true;
                events.report();
            }
            return true;
        } catch (OutOfMemoryError shortage) {
            missed = event.get(ValueLayout.JAVA_LONG, 0);
            waits.wakeAll(); // another thread hands it on
            throw shortage;
        } finally {
            long cq = event.get(ValueLayout.JAVA_LONG, 0);
            if (cq != 0 && !counted) {
                // Of an unknown queue, or one that could not be found for lack of memory. It lives until then.
                Ibv.ACK_CQ_EVENTS.callQuietly(cq, 1, 0, 0);
            }
        }
    }

    private @Nullable CompletionEvents eventsOf(long cq) {
        CompletionQueue queue = queues.get(cq);
        return queue == null ? null : queue.events();
    }

    /** Gets an event, if there is one. */
    private boolean get() {
        while ((int) Ibv.GET_CQ_EVENT.call(address, event.address(), event.address() + Long.BYTES) != 0) {
            int errno = CFunction.errno();
            if (errno == Errno.EAGAIN) {
                return false;
            }
            if (errno != Errno.EINTR) {
                throw Failures.failure(
                        Ibv.GET_CQ_EVENT.name(), errno, toString(), errno == Errno.EIO ? "The device was removed" : "");
            }
        }
        return true;
    }

    /** Begins a wait of the calling thread, which sleeps at these waiters. */
    DescriptorWaits.Wait begin(Waiters waiters, Object owner) {
        return waits.begin(waiters, owner);
    }

    @Override
    public String toString() {
        return "completion channel of " + device;
    }
}
