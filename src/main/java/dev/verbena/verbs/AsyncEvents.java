package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Daemons;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.DescriptorWaits;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.StackRoom;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The asynchronous events of a context: of the device, its ports and the objects that were made in the context.
 *
 * <p>Threads poll or await events, each of which is returned once; or listeners get all events. Events in C are
 * acknowledged before they are returned. Events of a closed object are dropped, so that no object waits for its events to
 * be read.
 *
 * <p>All threads may use the events of a context in a shared arena at once. The events of a context in a confined arena
 * belong to the arena's thread.
 */
public final class AsyncEvents {
    /** The time until a thread that ran out of memory tries again. */
    private static final long PAUSE_NANOS = 10_000_000;

    /** The number of queue pairs of one queue to ask the device about. */
    private static final int MOST_ASKED = 16;

    private final Context context;
    private final AsyncSource source;

    /** The objects that events can be about, by address in C. An entry stays until C has destroyed the object. */
    private final ConcurrentHashMap<Long, VerbsObject> sources = new ConcurrentHashMap<>();

    /** The lock of the source. Guards the fields below. */
    private final Mutex lock;

    private final ArrayDeque<AsyncEvent> taken = new ArrayDeque<>();
    private final List<Consumer<? super AsyncEvent>> listeners = new ArrayList<>();
    private @Nullable Thread listening;

    /** The event that the listeners are told of next; only their thread uses it. */
    private @Nullable AsyncEvent untold;

    private boolean closed;

    AsyncEvents(Context context, int number) {
        this.context = context;
        this.source = AsyncSource.of(context.address(), number, context.name(), this);
        this.lock = source.lock;
    }

    /** Returns the object of this context at an address in C. */
    @Nullable
    VerbsObject find(long address) {
        return sources.get(address);
    }

    /** Adds an object that events can be about, once C has made it. */
    void add(long address, VerbsObject object) {
        sources.put(address, object);
    }

    /** Reads all events, so that completion queues learn what they have lost. Does nothing if the context is closed. */
    void look() {
        boolean some;
        try (var _ = lock.held()) {
            if (closed) {
                return;
            }
            int before = taken.size();
            source.prepare();
            source.takeAll();
            some = taken.size() > before;
        } catch (VerbsException removed) {
            return; // the device was removed, which those who wait for its events are told
        }
        if (some) {
            source.wakeAll(); // listeners, and threads that wait for events
        }
    }

    /** Removes an object and its unread events, once C has destroyed it. */
    void remove(long address, VerbsObject object) {
        sources.remove(address, object);
        try (var _ = lock.held()) {
            if (!taken.isEmpty()) {
                taken.removeIf(waiting -> objectOf(waiting) == object);
            }
        }
    }

    private static @Nullable VerbsObject objectOf(AsyncEvent event) {
        return switch (event) {
            case AsyncEvent.OfQueuePair of -> of.queuePair();
            case AsyncEvent.OfCompletionQueue of -> of.queue();
            case AsyncEvent.OfSharedReceiveQueue of -> of.queue();
            case AsyncEvent.OfWorkQueue of -> of.queue();
            default -> null;
        };
    }

    /**
     * Takes an event, if there is one ({@code ibv_get_async_event}). Each event is returned once.
     *
     * @return the event, or null if there is none
     * @throws IllegalStateException if there is a listener, or the context is closed
     * @throws VerbsException if the device was removed
     */
    @CName({"ibv_get_async_event", "ibv_ack_async_event"})
    public @Nullable AsyncEvent poll() {
        context.device(); // throws if the context is closed, or confined to another thread
        return take(false);
    }

    /**
     * Waits for an event and takes it ({@code ibv_get_async_event}). Each event is returned once.
     *
     * @param timeout the time to wait
     * @return the event
     * @throws VerbsTimeoutException if none came in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if there is a listener, or the context is closed, also while waiting
     * @throws VerbsException if the device was removed
     */
    @CName({"ibv_get_async_event", "ibv_ack_async_event"})
    public AsyncEvent await(Duration timeout) throws InterruptedException {
        StackRoom.forLinking();
        context.device(); // throws if the context is closed, or confined to another thread
        AsyncEvent event = source.await(waits(), () -> take(false), timeout);
        if (event == null) {
            throw new VerbsTimeoutException(Ibv.GET_ASYNC_EVENT.name(), context.name(), timeout, "");
        }
        return event;
    }

    /**
     * Calls a listener for all events from now on. A daemon thread of this context calls the listeners, and ends with the
     * last subscription. Exceptions of a listener go to the thread's handler of uncaught exceptions. While there is a
     * listener, {@link #poll} and {@link #await} throw.
     *
     * @param listener the listener, which should return soon, because the others wait
     * @return the subscription; closing it ends the calls, as closing the context does
     * @throws IllegalStateException if the context is closed
     */
    @CName({"ibv_get_async_event", "ibv_ack_async_event"})
    public Subscription subscribe(Consumer<? super AsyncEvent> listener) {
        context.device(); // throws if the context is closed, or confined to another thread
        @SuppressWarnings("UnnecessaryMethodReference") // a new object each time: a listener may subscribe twice
        Consumer<? super AsyncEvent> own = listener::accept;
        DescriptorWaits events = waits();
        try (var _ = lock.held()) {
            checkNotClosed();
            listeners.add(own);
            if (listening == null) {
                listening = Daemons.named("async-events-" + context.name()).start(() -> listen(events));
            }
        }
        source.wakeAll(); // waiting threads throw, because there is a listener now
        return () -> {
            try (var _ = lock.held()) {
                listeners.remove(own);
            }
            source.wakeAll();
        };
    }

    /** The subscription of a listener. */
    public interface Subscription extends AutoCloseable {
        /** Ends the subscription. The listener may be called once more meanwhile. Closing twice does nothing. */
        @Override
        void close();
    }

    private DescriptorWaits waits() {
        try (var _ = lock.held()) {
            checkNotClosed();
            return source.prepare();
        }
    }

    private @Nullable AsyncEvent take(boolean byListener) {
        try (var _ = lock.held()) {
            checkNotClosed();
            if (!byListener && !listeners.isEmpty()) {
                throw new IllegalStateException("The events of " + context.name()
                        + " go to the listeners of subscribe(): close the subscriptions to poll or await events");
            }
            source.prepare();
            source.takeAll();
            AsyncEvent next = taken.poll();
            return next instanceof AsyncEvent.OfCompletionQueue of && of.type() == AsyncEvent.Type.CQ_ERR
                    ? counted(of)
                    : next;
        }
    }

    private void checkNotClosed() {
        if (closed) {
            throw new IllegalStateException(context + " is closed");
        }
    }

    private AsyncEvent counted(AsyncEvent.OfCompletionQueue event) {
        return new AsyncEvent.OfCompletionQueue(
                event.context(),
                event.type(),
                event.typeCode(),
                event.queue(),
                event.queue().takeReports());
    }

    /** Adds an event that was read for this context. The caller holds the lock. */
    void add(AsyncEvent.Type type, int code, long element, @Nullable VerbsObject object) {
        switch (type.source()) {
            case DEVICE -> taken.add(new AsyncEvent.OfDevice(context, type, code));
            case PORT -> taken.add(new AsyncEvent.OfPort(context, type, code, (int) element));
            default -> {
                switch (object) {
                    case QueuePair queuePair -> taken.add(new AsyncEvent.OfQueuePair(context, type, code, queuePair));
                    case CompletionQueue queue -> {
                        if (type == AsyncEvent.Type.CQ_ERR) {
                            noteLoss(queue);
                        }
                        if (type != AsyncEvent.Type.CQ_ERR || queue.addReport() == 1) {
                            taken.add(new AsyncEvent.OfCompletionQueue(context, type, code, queue, 1));
                        }
                    }
                    case SharedReceiveQueue queue ->
                        taken.add(new AsyncEvent.OfSharedReceiveQueue(context, type, code, queue));
                    case WorkQueue queue -> taken.add(new AsyncEvent.OfWorkQueue(context, type, code, queue));
                    case null, default -> taken.add(new AsyncEvent.OfSomethingElse(context, type, code, element));
                }
            }
        }
    }

    private void noteLoss(CompletionQueue queue) {
        boolean first = !queue.hasLost();
        queue.noteLoss();
        if (first && queue.hasLost()) {
            for (VerbsObject object : sources.values()) {
                if (object instanceof QueuePair pair) {
                    pair.states.openPaths();
                }
            }
        }
    }

    /** Returns a queue pair that has failed, and whose requests complete in a queue; null if the first few have not. */
    @Nullable
    QueuePair failedPair(CompletionQueue queue) {
        int left = MOST_ASKED;
        for (VerbsObject object : sources.values()) {
            if (object instanceof QueuePair pair
                    && (QueuePairOptions.RECEIVE_QUEUE.of(pair.options) == queue
                            || QueuePairOptions.SEND_QUEUE.of(pair.options) == queue)) {
                if (pair.states.hasFailed()) {
                    return pair;
                }
                if (--left == 0) {
                    return null;
                }
            }
        }
        return null;
    }

    static String describe(AsyncEvent event, String source) {
        AsyncEvent.Type type = event.type();
        return (type == AsyncEvent.Type.UNKNOWN ? "event " + event.typeCode() : type.toString()) + " of " + source
                + ": " + type.meaning();
    }

    // Listeners

    /** Tells the listeners of events until there are no listeners any more. A lack of memory ends no more than a turn. */
    private void listen(DescriptorWaits events) {
        Throwable failure = null;
        boolean goesOn = true;
        while (goesOn) {
            try {
                goesOn = failure == null || survives(failure);
                failure = null;
                while (goesOn) {
                    goesOn = tellNext(events);
                }
            } catch (Throwable t) { // calls nothing: without heap, nearly all that is called for the first time fails
                failure = t;
                goesOn = true;
            }
        }
    }

    /** Waits for an event and tells the listeners of it. Returns false if there are no listeners any more. */
    private boolean tellNext(DescriptorWaits events) throws InterruptedException {
        if (endWithoutListeners()) {
            return false;
        }
        if (untold == null) {
            Optional<AsyncEvent> next = source.await(events, this::takeForListeners, Deadline.FOREVER);
            untold = next == null ? null : next.orElse(null);
        }
        if (untold != null) {
            tellListeners(untold);
            untold = null;
        }
        return true;
    }

    /** Returns false if the thread of the listeners ends, because the context is closed or the device was removed. */
    private boolean survives(Throwable failure) {
        if (failure instanceof InterruptedException) {
            Daemons.interrupted(); // the thread ends with its listeners, or with the context
            return true;
        }
        if (failure instanceof OutOfMemoryError) { // it may be over soon
            LockSupport.parkNanos(PAUSE_NANOS);
            report(failure);
            return true;
        }
        end();
        if (!(failure instanceof IllegalStateException)) {
            report(failure);
        }
        return false;
    }

    /** Returns an event; null if there is none; empty if there are no listeners any more. */
    @SuppressWarnings("NullableOptional") // three results
    private @Nullable Optional<AsyncEvent> takeForListeners() {
        try (var _ = lock.held()) {
            AsyncEvent next = listeners.isEmpty() ? null : take(true);
            return next != null ? Optional.of(next) : listeners.isEmpty() ? Optional.empty() : null;
        }
    }

    private boolean endWithoutListeners() {
        try (var _ = lock.held()) {
            if (listeners.isEmpty()) {
                listening = null;
            }
            return listeners.isEmpty();
        }
    }

    private void end() {
        try (var _ = lock.held()) {
            listeners.clear();
            listening = null;
        }
    }

    private void tellListeners(AsyncEvent event) {
        List<Consumer<? super AsyncEvent>> all;
        try (var _ = lock.held()) {
            all = List.copyOf(listeners);
        }
        for (Consumer<? super AsyncEvent> listener : all) {
            try {
                listener.accept(event);
            } catch (Throwable t) {
                report(t);
            }
        }
    }

    /** Reports an exception of a listener, which concerns neither the other listeners nor later events. */
    private static void report(Throwable t) {
        Thread thread = Thread.currentThread();
        try {
            thread.getUncaughtExceptionHandler().uncaughtException(thread, t);
        } catch (Throwable ignored) {
            // As the virtual machine does: the handler failed, perhaps for lack of memory, and this thread must go on.
        }
    }

    // Closing

    /** Ends all waits before C closes the context. */
    void closing() {
        try (var _ = lock.held()) {
            closed = true;
        }
        source.leave(this);
    }

    /** Allows waits again after C refused to close the context. */
    void notClosed() {
        try (var _ = lock.held()) {
            closed = false;
        }
        source.rejoin(this);
    }
}
