package dev.verbena.verbs;

import dev.verbena.VerbsObject;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.SystemCallException;
import dev.verbena.internal.WatchedDescriptor;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.jfr.DeviceEvent;
import dev.verbena.internal.raw.ibv_async_event;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Where C reports the asynchronous events of a {@code struct ibv_context}. Several contexts may stand for the same one, as
 * the connection manager opens a device once for all its event channels: whoever reads an event hands it to the context of
 * the object that it is about, and what is about the device or a port to all.
 */
final class AsyncSource {
    /** Those that several contexts may have, by address in C: one stays as long as a context has it. */
    private static final ConcurrentHashMap<Long, AsyncSource> SHARED = new ConcurrentHashMap<>();

    /** Guards all that follows, and what was handed to its readers. */
    final ReentrantLock lock = new ReentrantLock();

    private final long address;
    private final int number;
    private final String device;
    private final List<AsyncEvents> readers = new ArrayList<>();

    /** Not of an arena: also that of a confined one is written and read by other threads. */
    private final MemorySegment event = Arena.ofAuto().allocate(ibv_async_event.layout());

    private @Nullable WatchedDescriptor descriptor;

    private AsyncSource(long address, int number, String device) {
        this.address = address;
        this.number = number;
        this.device = device;
    }

    /** That of a context of which there is but one in Java. */
    static AsyncSource own(long address, int number, String device) {
        return new AsyncSource(address, number, device);
    }

    /** That of a context which another library has opened, for one more reader. */
    static AsyncSource shared(long address, int number, String device, AsyncEvents reader) {
        return SHARED.compute(address, (at, known) -> {
            AsyncSource source = known == null ? new AsyncSource(address, number, device) : known;
            source.join(reader);
            return source;
        });
    }

    /** One more context hands out its events; or the same one again, since C refused to close it. */
    void join(AsyncEvents reader) {
        lock.lock();
        try {
            readers.add(reader);
            if (descriptor != null) {
                descriptor.reopen();
            }
        } finally {
            lock.unlock();
        }
    }

    /** A context is about to close: who waits for its events tries again. */
    void leave(AsyncEvents reader) {
        SHARED.compute(address, (at, known) -> {
            boolean last = isLastToLeave(reader);
            return last && known == this ? null : known;
        });
    }

    private boolean isLastToLeave(AsyncEvents reader) {
        WatchedDescriptor open;
        boolean last;
        lock.lock();
        try {
            readers.remove(reader);
            last = readers.isEmpty();
            open = descriptor;
        } finally {
            lock.unlock();
        }
        if (open != null && last) {
            open.close();
        } else if (open != null) {
            open.wakeAll();
        }
        return last;
    }

    /** What to wait on. */
    WatchedDescriptor descriptor() {
        lock.lock();
        try {
            if (descriptor == null) {
                WatchedDescriptor.makeNonBlocking(number);
                descriptor = new WatchedDescriptor(number, cause -> Failures.cannotWait(device, cause));
            }
            return descriptor;
        } catch (SystemCallException e) {
            throw Failures.cannotWait(device, e);
        } finally {
            lock.unlock();
        }
    }

    /** Takes all that C has, and hands it to whom it concerns. The lock is held. */
    void takeAll() {
        boolean some = false;
        event.fill((byte) 0); // C writes a part of the element only, when it is a port
        while ((int) Ibv.GET_ASYNC_EVENT.call(address, event.address()) == 0) {
            some = true;
            takeOne();
            event.fill((byte) 0);
        }
        int errno = CFunction.errno();
        if (some && readers.size() > 1) {
            descriptor().wakeAll();
        }
        if (errno != Errno.EAGAIN && errno != Errno.EINTR) {
            throw VerbFailures.failure(
                    Ibv.GET_ASYNC_EVENT.name(), errno, device, errno == Errno.EIO ? "The device was removed" : "");
        }
    }

    private void takeOne() {
        int code = ibv_async_event.event_type(event);
        long element = ibv_async_event.element(event).get(ValueLayout.JAVA_LONG, 0);
        // Looked up first: once it is acknowledged, C may destroy the object, and make another one there.
        AsyncEvents owner = null;
        VerbsObject object = null;
        for (AsyncEvents reader : readers) {
            object = reader.find(element);
            if (object != null) {
                owner = reader;
                break;
            }
        }
        // At once, and nothing before it may block: a thread may be destroying the object, and wait for this in C.
        Ibv.ACK_ASYNC_EVENT.call(event.address());
        AsyncEventType type = AsyncEventType.of(code);
        if (object == null || owner == null) {
            readers.forEach(reader -> reader.add(type, code, element, null));
        } else if (object.isOpen()) {
            owner.add(type, code, element, object);
        } else {
            return;
        }
        record(type, code);
    }

    private void record(AsyncEventType type, int code) {
        DeviceEvent recorded = new DeviceEvent();
        if (recorded.shouldCommit()) {
            recorded.device = device;
            recorded.type = type == AsyncEventType.UNKNOWN ? "event " + code : type.toString();
            recorded.commit();
        }
    }
}
