package dev.verbena.verbs;

import dev.verbena.VerbsObject;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.DescriptorWaits;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.Recorder;
import dev.verbena.internal.SystemCall;
import dev.verbena.internal.SystemCallException;
import dev.verbena.internal.Waiters;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.raw.ibv_async_event;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The source of the asynchronous events of a {@code struct ibv_context}. Several contexts may stand for the same struct,
 * because the connection manager opens a device once for all its event channels. The thread that reads an event hands it
 * to the context of the event's object. Events of the device or a port go to all contexts.
 *
 * <p>All threads may use a source at once.
 */
final class AsyncSource {
    /** The sources by address in C. An entry stays as long as a context uses it. */
    private static final Map<Long, AsyncSource> OPEN = new HashMap<>();

    /** Guards the map. Held while a reader joins or leaves, so that a source ends before the next one of its descriptor. */
    private static final Mutex OPENING = new Mutex();

    /** Guards the fields below, and the events that were handed to readers. */
    final Mutex lock = new Mutex();

    private final long address;
    private final int number;
    private final String device;
    private final Set<AsyncEvents> readers = new LinkedHashSet<>(); // as many as clients have connections

    /** Memory for one event. It is not of an arena, because other threads use it too. */
    private final MemorySegment event = ibv_async_event.allocate(Arena.ofAuto());

    private final Waiters waiters = new Waiters();
    private @Nullable DescriptorWaits waits;

    private AsyncSource(long address, int number, String device) {
        this.address = address;
        this.number = number;
        this.device = device;
    }

    /** Returns the source of a context in C, with one more reader. */
    static AsyncSource of(long address, int number, String device, AsyncEvents reader) {
        try (var _ = OPENING.held()) {
            AsyncSource known = OPEN.get(address);
            AsyncSource source = known == null ? new AsyncSource(address, number, device) : known;
            source.join(reader);
            if (known == null) { // else this would allocate, and a failure would leave the reader in a source in use
                OPEN.put(address, source);
            }
            return source;
        }
    }

    /** Adds a reader again, after C refused to close its context: contexts that come later share this source. */
    void rejoin(AsyncEvents reader) {
        try (var _ = OPENING.held()) {
            join(reader);
            OPEN.putIfAbsent(address, this);
        }
    }

    private void join(AsyncEvents reader) {
        try (var _ = lock.held()) {
            readers.add(reader);
            if (waits != null) {
                waits.reopen();
            }
        }
    }

    /** Removes a reader whose context is about to close, and wakes the threads that wait for its events. */
    void leave(AsyncEvents reader) {
        try (var _ = OPENING.held()) {
            if (isLastToLeave(reader)) {
                OPEN.remove(address, this);
            }
        }
    }

    private boolean isLastToLeave(AsyncEvents reader) {
        DescriptorWaits open;
        boolean last;
        try (var _ = lock.held()) {
            readers.remove(reader);
            last = readers.isEmpty();
            open = waits;
        }
        if (open != null && last) {
            open.close();
        } else {
            wakeAll();
        }
        return last;
    }

    /** Makes reads of events answer at once. The caller holds the lock. */
    DescriptorWaits prepare() {
        if (waits == null) {
            try {
                SystemCall.makeNonBlocking(number);
            } catch (SystemCallException e) {
                throw Failures.cannotWait(device, e);
            }
            Ibv.ACK_ASYNC_EVENT.find();
            waits = new DescriptorWaits(number, (owner, cause) -> Failures.cannotWait(device, cause));
        }
        return waits;
    }

    /** Waits until an attempt finds an event, and returns it; null on timeout. */
    <T> @Nullable T await(DescriptorWaits at, Supplier<? extends @Nullable T> attempt, Duration timeout)
            throws InterruptedException {
        try (DescriptorWaits.Wait wait = at.begin(waiters, device)) {
            return waiters.await(attempt, attempt, wait, timeout);
        }
    }

    /** Has all waiting threads try again. */
    void wakeAll() {
        waiters.wakeAll();
    }

    /** Takes all events, and hands them to the readers. The caller holds the lock. */
    void takeAll() {
        boolean some = false;
        int errno = get();
        while (errno == 0 || errno == Errno.EINTR) {
            if (errno == 0) {
                some = true;
                takeOne();
            }
            errno = get();
        }
        if (some && readers.size() > 1) {
            wakeAll();
        }
        if (errno != Errno.EAGAIN) {
            throw Failures.failure(
                    Ibv.GET_ASYNC_EVENT.name(), errno, device, errno == Errno.EIO ? "The device was removed" : "");
        }
    }

    /** Gets an event. Returns 0 or an error number. */
    private int get() {
        event.fill((byte) 0); // C writes only a part of the element if it is a port
        return (int) Ibv.GET_ASYNC_EVENT.call(address, event.address()) == 0 ? 0 : CFunction.errno();
    }

    private void takeOne() {
        int code = ibv_async_event.event_type(event);
        long element = ibv_async_event.element(event).get(ValueLayout.JAVA_LONG, 0);
        // Before the acknowledgement: after it, C may destroy the object and make another one at its address.
        AsyncEvents owner = null;
        VerbsObject object = null;
        try {
            for (AsyncEvents reader : readers) {
                object = reader.find(element);
                if (object != null) {
                    owner = reader;
                    break;
                }
            }
        } finally {
            // Nothing before this may block: a thread that destroys the object may wait in C for the acknowledgement.
            Ibv.ACK_ASYNC_EVENT.callQuietly(event.address(), 0, 0, 0);
        }
        AsyncEvent.Type type = AsyncEvent.Type.of(code);
        if (object == null || owner == null) {
            readers.forEach(reader -> reader.add(type, code, element, null));
        } else if (object.isOpen()) {
            owner.add(type, code, element, object);
        } else {
            return;
        }
        record(type, code);
    }

    private void record(AsyncEvent.Type type, int code) {
        try {
            if (Recorder.isPresent()) {
                DeviceEvent recorded = new DeviceEvent();
                if (recorded.shouldCommit()) {
                    recorded.device = device;
                    recorded.type = type == AsyncEvent.Type.UNKNOWN ? "event " + code : type.toString();
                    recorded.commit();
                }
            }
        } catch (OutOfMemoryError | LinkageError lost) {
            return; // the program has the event
        }
    }
}
