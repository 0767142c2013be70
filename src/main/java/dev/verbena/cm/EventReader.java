package dev.verbena.cm;

import dev.verbena.internal.CFunction;
import dev.verbena.internal.DescriptorWaits;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.Recorder;
import dev.verbena.internal.SystemCall;
import dev.verbena.internal.SystemCallException;
import dev.verbena.internal.Waiters;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.raw.rdma_cm_id;
import dev.verbena.internal.raw.rdma_event_channel;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A {@code struct rdma_event_channel}, and the events that C reports to it. Several event channels can share a reader, and
 * so a descriptor: the channels of connections do. The thread that takes an event hands it to the id that the event is
 * about. The last channel to leave a reader closes it.
 *
 * <p>A thread that waits takes events itself. For a virtual thread, the event thread wakes one waiting thread for each
 * event. While no thread waits, a thread of the reader's own takes the events, if one of them may end a {@link Connection}.
 *
 * <p>All threads may use a reader at once.
 */
final class EventReader {
    /** The number of events that a thread takes for others before it looks at its own deadline. */
    private static final int MOST_AT_ONCE = 64;

    /** Guards {@link #shared}, and the users of all readers. */
    private static final Mutex SHARING = new Mutex();

    /** The reader that channels of connections share; null while there is none. */
    private static @Nullable EventReader shared;

    private final long address;
    private final int descriptor;

    /** The events of each id, by address in C. An entry stays until C has destroyed the id. */
    private final ConcurrentHashMap<Long, IdEvents> inboxes = new ConcurrentHashMap<>();

    /**
     * Held while C takes events, or does what excludes that, for as long as C needs. Waiting threads do not wait for it.
     * The same lock of another reader, and {@link #lock}, may be taken under it.
     */
    private final Mutex taking = new Mutex();

    /** Guards what ids and channels have of events, never during a call of C. */
    final Mutex lock = new Mutex();

    private final DescriptorWaits waits;
    private final Runnable reportRemovals = this::reportRemovals;

    /** The devices of the ids. A device stays until it is gone. */
    private final Set<DeviceFile> devices = ConcurrentHashMap.newKeySet();

    /** An id whose device is in {@link #devices}; null if there is none. */
    private volatile @Nullable IdEvents lastWithDevice;

    /** Memory for the pointer to one event. It is not of an arena, because all threads use it. */
    private final MemorySegment taken;

    /** True once an id is part of a {@link Connection}: its end is to be seen although no thread waits for it. */
    private volatile boolean watchesEnds;

    /** True once C destroys the channel. {@link #taking} guards this. */
    private boolean destroying;

    private int users = 1;

    private EventReader(long address, int descriptor, MemorySegment taken) {
        this.address = address;
        this.descriptor = descriptor;
        this.taken = taken;
        this.waits = new DescriptorWaits(descriptor, new Events());
    }

    /** Makes the reader of a channel that stands alone. */
    static EventReader own() {
        MemorySegment taken = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG);
        RdmaCm.ACK_CM_EVENT.find();
        RdmaCm.DESTROY_ID.find();
        long channel = RdmaCm.CREATE_EVENT_CHANNEL.call();
        if (channel == 0) {
            throw CmFailures.failure(
                    RdmaCm.CREATE_EVENT_CHANNEL,
                    CFunction.errno(),
                    "",
                    "The connection manager needs an RDMA device, the module rdma_ucm and /dev/infiniband/rdma_cm");
        }
        try {
            int number =
                    rdma_event_channel.fd(MemorySegment.ofAddress(channel).reinterpret(rdma_event_channel.sizeof()));
            SystemCall.makeNonBlocking(number);
            return new EventReader(channel, number, taken);
        } catch (SystemCallException refused) {
            RdmaCm.DESTROY_EVENT_CHANNEL.call(channel);
            throw Failures.cannotWait("event channel", refused);
        } catch (Throwable t) {
            RdmaCm.DESTROY_EVENT_CHANNEL.call(channel);
            throw t;
        }
    }

    /** Returns the reader that the channels of connections share, with one more user. Holds no lock while C makes one. */
    static EventReader shared() {
        EventReader known = joinShared(null);
        if (known != null) {
            return known;
        }
        EventReader made = own();
        EventReader used = joinShared(made);
        if (used == null) {
            return made;
        }
        made.leave(); // another thread was faster
        return used;
    }

    /** Adds a user to the shared reader. Without one, makes another reader the shared one, and returns null. */
    private static @Nullable EventReader joinShared(@Nullable EventReader otherwise) {
        try (var _ = SHARING.held()) {
            if (shared == null) {
                shared = otherwise;
                return null;
            }
            shared.users++;
            return shared;
        }
    }

    /** Removes a user. The last one has C destroy the {@code struct rdma_event_channel}. */
    void leave() {
        try (var _ = SHARING.held()) {
            users--;
            if (users > 0) {
                return;
            }
            if (shared == this) {
                shared = null;
            }
        }
        try (var _ = taking.held()) {
            destroying = true;
        }
        waits.close();
        RdmaCm.DESTROY_EVENT_CHANNEL.call(address);
    }

    /** Returns the address of the {@code struct rdma_event_channel}. */
    long address() {
        return address;
    }

    // Ids

    /** Adds an id that C has made. */
    void add(long id, IdEvents inbox) {
        if (inbox.device != null) {
            devices.add(inbox.device);
        }
        inboxes.put(id, inbox);
    }

    /** Removes an id that C has destroyed, or that has moved away. */
    void remove(long id, IdEvents inbox) {
        inboxes.remove(id, inbox);
    }

    /** Has the ends of connections seen from now on, although no thread waits for them. */
    void watchEnds() {
        watchesEnds = true;
        waits.released();
    }

    // Waits

    /** Returns the waits for events of C: another descriptor's wait can see them too. */
    DescriptorWaits waits() {
        return waits;
    }

    /** A wait of the calling thread for an event of a reader. The reader changes if an id moves. */
    static final class Wait implements Waiters.Asking, AutoCloseable {
        private final Waiters waiters;
        private final Supplier<EventReader> reader;

        /** True if the thread polls the descriptor before C takes an event: C would take one in vain most often. */
        private boolean polls;

        private @Nullable EventReader at;
        private DescriptorWaits.@Nullable Wait wait;

        /** Makes the wait of a thread that sleeps at these waiters. */
        Wait(Waiters waiters, Supplier<EventReader> reader, Duration timeout) {
            this.waiters = waiters;
            this.reader = reader;
            this.polls = timeout.isPositive()
                    && !Thread.currentThread().isVirtual()
                    && !Thread.currentThread().isInterrupted();
        }

        @Override
        public DescriptorWaits.Wait ask() {
            EventReader now = reader.get();
            if (wait == null || at != now) {
                close();
                at = now;
                wait = now.waits.begin(waiters, now);
            }
            return wait.ask();
        }

        /** Waits until an attempt finds something: see {@link Waiters#await(Supplier, Supplier, Waiters.Asking, Duration)}. */
        <T> @Nullable T await(
                Supplier<? extends @Nullable T> attempt, Supplier<? extends @Nullable T> look, Duration timeout)
                throws InterruptedException {
            T found = waiters.await(attempt, look, this, timeout);
            if (found == null && polls) {
                polls = false; // the time may have been over before the thread polled
                found = attempt.get();
            }
            return found;
        }

        /** Returns whether the thread takes events when it has seen one, and not before. */
        private boolean polls() {
            return polls && (wait == null || wait.leads());
        }

        /** Ends the wait: other threads are woken for events from now on. */
        @Override
        public void close() {
            DescriptorWaits.Wait before = wait;
            at = null;
            wait = null;
            if (before != null) {
                before.close();
            }
        }
    }

    /** Takes events for threads that wait. */
    private final class Events implements DescriptorWaits.Events {
        @Override
        public void take(DescriptorWaits.Wait wait) {
            if (!taking.tryLock()) {
                return; // the other thread hands this thread's event on
            }
            try {
                for (int i = 0; i < MOST_AT_ONCE && wait.goesOn() && takeOne(); i++) {
                    // as long as there are events of others
                }
            } finally {
                taking.unlock();
                waits.heard();
            }
        }

        @Override
        public void takeAll() {
            EventReader.this.takeAll();
        }

        @Override
        public RuntimeException cannotWait(Object owner, Throwable cause) {
            return Failures.cannotWait(owner.toString(), cause);
        }

        @Override
        public boolean isBusy() {
            return taking.isLocked();
        }

        @Override
        public Runnable ticker() {
            return reportRemovals;
        }

        @Override
        public boolean areWanted() {
            return watchesEnds;
        }
    }

    // Taking

    /**
     * Finds an event among those that were taken, or takes events of C until there is one.
     *
     * @param finder returns an event that was taken; null if there is none
     * @param wait the wait of the calling thread; null to wait for a thread that works on the channel in C
     */
    <T> @Nullable T take(Supplier<? extends @Nullable T> finder, @Nullable Wait wait) {
        T found = finder.get();
        if (found != null || (wait != null && wait.polls())) {
            return found;
        }
        if (wait == null) {
            taking.lock();
        } else if (!taking.tryLock()) {
            return null; // the other thread hands this thread's event on
        }
        try {
            found = finder.get();
            for (int i = 0; found == null && (wait == null || i < MOST_AT_ONCE) && takeOne(); i++) {
                found = finder.get();
            }
            return found;
        } finally {
            taking.unlock();
            if (wait == null || wait.at == null) {
                waits.released();
            } else {
                waits.heard();
            }
        }
    }

    /** Takes all events of C. */
    void takeAll() {
        take(() -> null, null);
    }

    /** Runs work while no thread takes events. */
    void withoutEvents(Runnable work) {
        taking.lock();
        try {
            work.run();
        } finally {
            taking.unlock();
            waits.released();
        }
    }

    /** Runs work while no thread takes events of two readers, or of one that is both. */
    static void withoutEvents(EventReader one, EventReader other, Runnable work) {
        // Always in the same order. No event is unacknowledged meanwhile: C would wait for that.
        EventReader first = one.address < other.address ? one : other;
        EventReader second = first == one ? other : one;
        first.withoutEvents(() -> second.withoutEvents(work));
    }

    /** Runs work while no thread looks at events of two readers, or of one that is both. */
    static void locked(EventReader one, EventReader other, Runnable work) {
        EventReader first = one.address < other.address ? one : other;
        EventReader second = first == one ? other : one;
        first.lock.lock();
        second.lock.lock();
        try {
            work.run();
        } finally {
            second.lock.unlock();
            first.lock.unlock();
        }
    }

    private boolean takeOne() {
        if (destroying) {
            return false;
        }
        while ((int) RdmaCm.GET_CM_EVENT.call(address, taken.address()) != 0) {
            int errno = CFunction.errno();
            if (errno == Errno.EAGAIN) {
                return false;
            }
            if (errno != Errno.EINTR) {
                throw CmFailures.failure(RdmaCm.GET_CM_EVENT, errno, toString(), "");
            }
        }
        long event = taken.get(ValueLayout.JAVA_LONG, 0);
        RawEvent copy;
        IdEvents inbox;
        boolean failed = false;
        String device = "";
        String local = "";
        String peer = "";
        try {
            copy = RawEvent.read(event);
            if (Recorder.isPresent()) {
                local = CmId.addressText(copy.id(), true);
                peer = CmId.addressText(copy.id(), false);
            }
            // Before the acknowledgement: after it, C may destroy the id and make another one at its address.
            inbox = inboxes.get(copy.about());
            if (inbox != null && inbox.device == null && !copy.isRequest()) {
                device = newDevicePath(copy.id(), inbox);
            }
            if (inbox != null && inbox.ends(copy)) {
                failed = failQueuePair(copy.id());
            }
        } finally {
            // Nothing before this may block: a thread that destroys the id may wait in C for the acknowledgement.
            RdmaCm.ACK_CM_EVENT.callQuietly(event, 0, 0, 0);
        }
        record(copy, local, peer);
        if (inbox != null && !device.isEmpty()) {
            noteDevice(inbox, device);
        }
        if (copy.isRequest()) {
            addRequest(copy, inbox);
        } else if (inbox != null) {
            ConnectionId owner = inbox.owner;
            if (copy.type() == CmEvent.Type.DISCONNECTED) {
                inbox.disconnected = true;
            } else if (copy.type() == CmEvent.Type.ESTABLISHED && owner != null) {
                owner.established();
            }
            if (failed && owner != null) {
                owner.failed();
            }
            deliver(new IdEvents.Entry(inbox, copy.type(), copy::value));
            Runnable atEnd = inbox.atEnd;
            if (atEnd != null && inbox.end != null) {
                atEnd.run();
            }
        }
        return true;
    }

    /**
     * Has C flush the requests of an id's queue pair, so that they end. The caller holds the lock under which queue pairs
     * are taken from their ids, and an event that keeps the id.
     */
    private static boolean failQueuePair(long id) {
        long pair = Memory.getLong(id + rdma_cm_id.qp$offset());
        return pair != 0 && Ibv.failQueuePair(pair) == 0; // a device that was removed refuses
    }

    private static void record(RawEvent taken, String local, String peer) {
        try {
            if (Recorder.isPresent()) {
                ConnectionEvent event = new ConnectionEvent();
                if (event.shouldCommit()) {
                    event.type = taken.type().toString();
                    event.id = Long.toHexString(taken.id());
                    event.status = taken.status();
                    event.local = local;
                    event.peer = peer;
                    event.commit();
                }
            }
        } catch (OutOfMemoryError | LinkageError lost) {
            return; // the connection manager's event was acknowledged, and is not lost
        }
    }

    /** Adds an event, and wakes a thread that waits for it. */
    private void deliver(IdEvents.Entry entry) {
        IdEvents inbox = entry.inbox;
        try (var _ = lock.held()) {
            if (inbox.life() == IdEvents.Life.DESTROYED
                    || (entry.type == CmEvent.Type.DEVICE_REMOVAL && inbox.deviceRemoved)) {
                return;
            }
            inbox.deviceRemoved |= entry.type == CmEvent.Type.DEVICE_REMOVAL;
            inbox.entries.add(entry);
            if (inbox.owner != null) {
                inbox.channel.deliver(entry);
            }
        }
        inbox.waiters.wake();
    }

    // Devices

    /**
     * Notes the device of an id, if another id has the same one: to look at the files of a device takes long. Otherwise
     * returns the path of the device's folder; empty if the id has no device. The caller keeps the id.
     */
    private String newDevicePath(long id, IdEvents inbox) {
        long context = Memory.getLong(id + rdma_cm_id.verbs$offset());
        if (context == 0) {
            return "";
        }
        inbox.context = context;
        String path = DeviceFile.path(context);
        IdEvents other = lastWithDevice;
        // C keeps the context while there is an id that has it. So another device can't have its address.
        if (other != null && other.context == context && other.life() != IdEvents.Life.DESTROYED) {
            DeviceFile known = other.device;
            if (known != null && path.equals(known.path().toString())) {
                note(inbox, known);
                return "";
            }
        }
        return path;
    }

    /** Notes the device of an id, if it has one. The caller keeps the id. */
    void noteDevice(long id, IdEvents inbox) {
        if (inbox.device == null) {
            noteDevice(inbox, newDevicePath(id, inbox));
        }
    }

    private void noteDevice(IdEvents inbox, String path) {
        DeviceFile found = DeviceFile.at(path);
        if (found != null) {
            note(inbox, found);
        }
    }

    private void note(IdEvents inbox, DeviceFile device) {
        inbox.device = device; // first: the device may go at once
        devices.add(device);
        lastWithDevice = inbox;
    }

    /**
     * Reports the removal of devices that are gone to their ids. The kernel reports it itself, unless its module
     * {@code ib_uverbs} was loaded after {@code rdma_cm}.
     */
    private void reportRemovals() {
        for (DeviceFile device : List.copyOf(devices)) {
            if (device.isGone()) {
                devices.remove(device);
                inboxes.forEach((id, inbox) -> {
                    if (device.equals(inbox.device)) {
                        removed(id, inbox);
                    }
                });
            }
        }
    }

    private void removed(long id, IdEvents inbox) {
        RawEvent event = RawEvent.removal(id);
        inbox.ends(event);
        record(event, "", ""); // the id may be destroyed meanwhile
        deliver(new IdEvents.Entry(inbox, event.type(), event::value));
        Runnable atEnd = inbox.atEnd;
        if (atEnd != null) {
            atEnd.run();
        }
    }

    private void addRequest(RawEvent event, @Nullable IdEvents listener) {
        ConnectionId owner = listener == null ? null : listener.owner;
        boolean added = false;
        try {
            added = listener != null && owner != null && addUnlessRefused(event, listener, owner);
        } finally {
            if (!added) {
                RdmaCm.DESTROY_ID.callQuietly(event.id(), 0, 0, 0); // this rejects the request
            }
        }
    }

    /** Adds a request, unless the listener closes or its backlog is full. */
    private boolean addUnlessRefused(RawEvent event, IdEvents listener, ConnectionId owner) {
        EventChannel channel = listener.channel;
        IdEvents inbox = new IdEvents(listener.space, channel);
        ConnectRequest request = new ConnectRequest(channel, listener, inbox, owner, event);
        IdEvents.Entry entry = new IdEvents.Entry(listener, event.type(), id -> event.requestValue(id, request));
        try (var _ = lock.held()) {
            if (listener.life() != IdEvents.Life.OPEN || listener.waitingRequests() >= listener.backlog) {
                return false;
            }
            try {
                channel.add(event.id(), inbox);
                channel.unclaimed.add(request);
                deliver(entry);
            } catch (Throwable shortage) {
                channel.unclaimed.remove(request);
                channel.remove(event.id(), inbox);
                throw shortage;
            }
            return true;
        }
    }

    @Override
    public String toString() {
        return "event channel " + descriptor;
    }
}
