package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.WatchedDescriptor;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The asynchronous events of a context: what happens to the device, its ports and the objects made in the context without
 * being asked for.
 *
 * <p>They are polled or awaited, by any number of threads, each of which gets other events; or listeners are told, each
 * of all events. C's events are acknowledged before they are handed out, and those of an object that was closed are
 * dropped, so that no object waits for its events to be read.
 */
public final class AsyncEvents {
    private static final Duration FOR_EVER = Duration.ofSeconds(Long.MAX_VALUE);

    private final Context context;
    private final AsyncSource source;

    /** What events can be about, by address in C: an entry stays until C has destroyed the object. */
    private final ConcurrentHashMap<Long, VerbsObject> sources = new ConcurrentHashMap<>();

    /** That of the source. Guards all that follows. */
    private final ReentrantLock lock;

    private final ArrayDeque<AsyncEvent> taken = new ArrayDeque<>();
    private final Map<CompletionQueue, Integer> brokenQueues = new HashMap<>();
    private final List<Consumer<? super AsyncEvent>> listeners = new ArrayList<>();
    private @Nullable Thread listening;
    private boolean closed;

    /** Those of a context; another one in Java may stand for the same one in C if it is shared. */
    AsyncEvents(Context context, int number, boolean shared) {
        this.context = context;
        if (shared) {
            source = AsyncSource.shared(context.address(), number, context.name(), this);
        } else {
            source = AsyncSource.own(context.address(), number, context.name());
            source.join(this);
        }
        lock = source.lock;
    }

    /** What of this context is at an address in C. */
    @Nullable
    VerbsObject find(long address) {
        return sources.get(address);
    }

    /** C has made an object that events can be about. */
    void add(long address, VerbsObject object) {
        sources.put(address, object);
    }

    /** C has destroyed an object, and with it the events that were not read. */
    void remove(long address, VerbsObject object) {
        sources.remove(address, object);
        lock.lock();
        try {
            taken.removeIf(waiting -> objectOf(waiting) == object);
            if (object instanceof CompletionQueue queue) {
                brokenQueues.remove(queue);
            }
        } finally {
            lock.unlock();
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
     * Takes an event, if there is one ({@code ibv_get_async_event}). Each is handed out once.
     *
     * @return the event
     * @throws IllegalStateException if the events go to a listener, or the context is closed
     * @throws VerbsException if the device was removed
     */
    @CName({"ibv_get_async_event", "ibv_ack_async_event"})
    public Optional<AsyncEvent> poll() {
        context.device(); // refuses when it is closed, or another thread's
        return Optional.ofNullable(take(false));
    }

    /**
     * Waits for an event and takes it ({@code ibv_get_async_event}). Each is handed out once.
     *
     * @param timeout how long to wait
     * @return the event
     * @throws VerbsTimeoutException if none came in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the events go to a listener, or the context is closed, also while waiting
     * @throws VerbsException if the device was removed
     */
    @CName({"ibv_get_async_event", "ibv_ack_async_event"})
    public AsyncEvent await(Duration timeout) throws InterruptedException {
        context.device(); // refuses when it is closed, or another thread's
        AsyncEvent event = descriptor().await(() -> take(false), timeout);
        if (event == null) {
            throw new VerbsTimeoutException(Ibv.GET_ASYNC_EVENT.name(), context.name(), timeout, "");
        }
        return event;
    }

    /**
     * Has a listener told of all events from now on, by a daemon thread of this context that is there while it has
     * listeners. What a listener throws goes to the thread's handler of uncaught exceptions. Meanwhile, {@link #poll} and
     * {@link #await} refuse.
     *
     * @param listener what to call; it should not take long, because others wait
     * @return what ends it; closing the context ends it too
     * @throws IllegalStateException if the context is closed
     */
    @CName({"ibv_get_async_event", "ibv_ack_async_event"})
    public Subscription subscribe(Consumer<? super AsyncEvent> listener) {
        context.device(); // refuses when it is closed, or another thread's
        // One of its own for each subscription, as the same listener may be subscribed twice.
        Consumer<? super AsyncEvent> own = listener::accept;
        WatchedDescriptor events = descriptor();
        lock.lock();
        try {
            checkNotClosed();
            listeners.add(own);
            if (listening == null) {
                listening = Thread.ofPlatform()
                        .daemon()
                        .name("verbena-async-events-" + context.name())
                        .inheritInheritableThreadLocals(false)
                        .start(() -> listen(events));
            }
        } finally {
            lock.unlock();
        }
        events.wakeAll(); // who waits elsewhere learns that the events go to a listener now
        return () -> {
            lock.lock();
            try {
                listeners.remove(own);
            } finally {
                lock.unlock();
            }
            events.wakeAll();
        };
    }

    /** A listener's registration. */
    public interface Subscription extends AutoCloseable {
        /** Ends it. The listener may still be told of one event while this is called. Closing twice does nothing. */
        @Override
        void close();
    }

    private WatchedDescriptor descriptor() {
        lock.lock();
        try {
            checkNotClosed();
            return source.descriptor();
        } finally {
            lock.unlock();
        }
    }

    private @Nullable AsyncEvent take(boolean byListener) {
        descriptor();
        lock.lock();
        try {
            checkNotClosed();
            if (!byListener && !listeners.isEmpty()) {
                throw new IllegalStateException("The events of " + context.name()
                        + " go to the listeners of subscribe(), as long as there is one");
            }
            source.takeAll();
            AsyncEvent next = taken.poll();
            return next instanceof AsyncEvent.OfCompletionQueue of && of.type() == AsyncEventType.CQ_ERR
                    ? counted(of)
                    : next;
        } finally {
            lock.unlock();
        }
    }

    private void checkNotClosed() {
        if (closed) {
            throw new IllegalStateException(context + " is closed");
        }
    }

    private AsyncEvent counted(AsyncEvent.OfCompletionQueue event) {
        Integer count = brokenQueues.remove(event.queue());
        return new AsyncEvent.OfCompletionQueue(
                event.context(), event.type(), event.typeCode(), event.queue(), count == null ? 1 : count);
    }

    /** Takes down an event that was read for this context. The lock is held. */
    void add(AsyncEventType type, int code, long element, @Nullable VerbsObject object) {
        switch (type.source()) {
            case DEVICE -> taken.add(new AsyncEvent.OfDevice(context, type, code));
            case PORT -> taken.add(new AsyncEvent.OfPort(context, type, code, (int) element));
            default -> {
                switch (object) {
                    case QueuePair queuePair -> taken.add(new AsyncEvent.OfQueuePair(context, type, code, queuePair));
                    case CompletionQueue queue -> {
                        if (type != AsyncEventType.CQ_ERR || brokenQueues.merge(queue, 1, Integer::sum) == 1) {
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

    static String describe(AsyncEvent event, String source) {
        AsyncEventType type = event.type();
        return (type == AsyncEventType.UNKNOWN ? "event " + event.typeCode() : type.toString()) + " of " + source + ": "
                + type.meaning();
    }

    // Listeners

    private void listen(WatchedDescriptor events) {
        try {
            while (!endWithoutListeners()) {
                Optional<AsyncEvent> next = events.await(this::takeForListeners, FOR_EVER);
                if (next != null && next.isPresent()) {
                    tellListeners(next.get());
                }
            }
        } catch (IllegalStateException contextClosed) {
            end();
        } catch (Throwable t) {
            end();
            report(t);
        }
    }

    /** Empty, to look whether there are listeners still, and null when there is nothing. */
    private @Nullable Optional<AsyncEvent> takeForListeners() {
        lock.lock();
        try {
            AsyncEvent next = listeners.isEmpty() ? null : take(true);
            return next != null ? Optional.of(next) : listeners.isEmpty() ? Optional.empty() : null;
        } finally {
            lock.unlock();
        }
    }

    private boolean endWithoutListeners() {
        lock.lock();
        try {
            if (listeners.isEmpty()) {
                listening = null;
            }
            return listeners.isEmpty();
        } finally {
            lock.unlock();
        }
    }

    private void end() {
        lock.lock();
        try {
            listeners.clear();
            listening = null;
        } finally {
            lock.unlock();
        }
    }

    private void tellListeners(AsyncEvent event) {
        List<Consumer<? super AsyncEvent>> all;
        lock.lock();
        try {
            all = List.copyOf(listeners);
        } finally {
            lock.unlock();
        }
        for (Consumer<? super AsyncEvent> listener : all) {
            try {
                listener.accept(event);
            } catch (Throwable t) {
                report(t);
            }
        }
    }

    /** What a listener throws concerns neither the other listeners nor later events. */
    private static void report(Throwable t) {
        Thread thread = Thread.currentThread();
        thread.getUncaughtExceptionHandler().uncaughtException(thread, t);
    }

    // Closing

    void closing() {
        lock.lock();
        try {
            closed = true;
        } finally {
            lock.unlock();
        }
        source.leave(this);
    }

    /** C refused to close the context. */
    void notClosed() {
        lock.lock();
        try {
            closed = false;
        } finally {
            lock.unlock();
        }
        source.join(this);
    }
}
