package dev.verbena.cm;

import dev.verbena.CName;
import dev.verbena.Rdma;
import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.access.ObjectLifetime;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Errno;
import dev.verbena.internal.RdmaCm;
import dev.verbena.internal.SystemCallException;
import dev.verbena.internal.WatchedDescriptor;
import dev.verbena.internal.failures.Failures;
import dev.verbena.internal.jfr.ConnectionEvent;
import dev.verbena.internal.raw.rdma_cm_id;
import dev.verbena.internal.raw.rdma_event_channel;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.access.VerbsAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * An event channel ({@code struct rdma_event_channel}): the connection manager reports the events of one id or of many ids
 * to it.
 *
 * <p>Each event is returned once. {@link #awaitEvent} and {@link #pollEvent} return the events of all ids. The methods of an id,
 * such as {@link ConnectionId#connect}, take the events of that id which they need. Use one way or the other for an id, not
 * both at once. The channel acknowledges all events.
 *
 * <p>All threads may use a channel of a shared arena at once. A channel of a confined arena belongs to the arena's thread.
 */
public final class EventChannel extends VerbsObject {
    private final ObjectLifetime lifetime;
    private final long address;
    private final int descriptor;
    private final WatchedDescriptor events;

    /** The events of each id, by address in C. An entry stays until C has destroyed the id. */
    private final ConcurrentHashMap<Long, IdEvents> inboxes = new ConcurrentHashMap<>();

    /** The contexts of the connection manager, by address in C. */
    private final Map<Long, Context> contexts = new ConcurrentHashMap<>();

    /** The protection domains that C makes for each device, by address in C. */
    private final Map<Long, ProtectionDomain> domains = new ConcurrentHashMap<>();

    /** The calls that make ids for this channel. */
    private final Set<BlockingCall<Long>> lookups = ConcurrentHashMap.newKeySet();

    /** Held while this channel's object for a context or a domain is made: C may take long to open a device. */
    private final ReentrantLock opening = new ReentrantLock();

    /**
     * Held while C takes events, or does what excludes that, for as long as C needs. Waiting threads do not wait for it.
     * The same lock of another channel, and {@link #lock}, may be taken under it.
     */
    private final ReentrantLock taking = new ReentrantLock();

    /** Guards the fields below and the inboxes' entries, never during a call of C. */
    private final ReentrantLock lock = new ReentrantLock();

    private final LinkedHashSet<IdEvents.Entry> order = new LinkedHashSet<>();
    private final Set<ConnectRequest> unclaimed = new LinkedHashSet<>();

    /** Memory for the pointer to one event. It is not of the arena, because the channel's reader uses it too. */
    private final MemorySegment taken;

    /** True once the channel is being destroyed. {@link #taking} guards this. */
    private boolean destroying;

    private EventChannel(ObjectLifetime lifetime, long address) {
        super(lifetime);
        this.lifetime = lifetime;
        this.address = address;
        this.descriptor =
                rdma_event_channel.fd(MemorySegment.ofAddress(address).reinterpret(rdma_event_channel.sizeof()));
        this.events = WatchedDescriptor.readApart(
                descriptor, this::takeAll, cause -> Failures.cannotWait(toString(), cause), this::failWaitingIds);
        lifetime.destroyedBy(this::destroy);
        this.taken = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG);
        try {
            WatchedDescriptor.makeNonBlocking(descriptor);
        } catch (SystemCallException refused) {
            throw Failures.cannotWait("event channel", refused);
        }
    }

    /**
     * Makes an event channel ({@code rdma_create_event_channel}).
     *
     * @param arena the arena that will close the channel
     * @return a new channel
     * @throws dev.verbena.RdmaUnavailableException if rdma-core is missing or native access is not enabled
     * @throws VerbsException if the connection manager can't be used, most often because the machine has no device
     */
    @CName("rdma_create_event_channel")
    public static EventChannel create(VerbsArena arena) {
        Rdma.requireConnectionManager();
        return ObjectLifetime.create(arena, lifetime -> {
            long channel = RdmaCm.CREATE_EVENT_CHANNEL.call();
            if (channel == 0) {
                throw CmFailures.failure(
                        RdmaCm.CREATE_EVENT_CHANNEL,
                        CFunction.errno(),
                        "",
                        "The connection manager needs an RDMA device, the module rdma_ucm and /dev/infiniband/rdma_cm");
            }
            return new EventChannel(lifetime, channel);
        });
    }

    @CName("rdma_destroy_event_channel")
    private void destroy() {
        withoutEvents(() -> destroying = true);
        events.close();
        lookups.forEach(lookup -> lookup.end(closedMeanwhile()));
        unclaimedOf(null).forEach(ConnectRequest::drop);
        RdmaCm.DESTROY_EVENT_CHANNEL.call(address);
        domains.values().forEach(this::closeIfUnused);
        contexts.values().forEach(this::closeIfUnused);
    }

    /** Closes an object unless it is in use, or belongs to another arena. It then stays open until its arena closes. */
    private void closeIfUnused(VerbsObject object) {
        try {
            if (object.arena() == arena()) {
                object.close();
            }
        } catch (ResourceBusyException inUse) {
            // the arena closes it
        }
    }

    /** Returns the address of the {@code struct rdma_event_channel}. Hold this object while C uses it. */
    long address() {
        return address;
    }

    // Ids

    /**
     * Makes an id in this channel's arena ({@code rdma_create_id}).
     *
     * @param space the port space
     * @return a new id
     */
    @CName("rdma_create_id")
    public ConnectionId createId(PortSpace space) {
        return createId(space, arena());
    }

    /**
     * Makes an id ({@code rdma_create_id}).
     *
     * @param space the port space
     * @param arena the arena that will close the id
     * @return a new id
     * @throws IllegalArgumentException if the arena is shared, and the channel's arena is not
     */
    @CName("rdma_create_id")
    public ConnectionId createId(PortSpace space, VerbsArena arena) {
        return IdFactory.make(this, space, arena);
    }

    /**
     * Makes an id for an address that was looked up, in this channel's arena ({@code rdma_create_ep}).
     *
     * @param info the result of {@link AddressInfo#find}
     * @param timeout the time to wait
     * @return a new id
     * @throws VerbsException if C can't make the id, for example because the address does not answer
     * @throws VerbsTimeoutException if the id was not made in time
     * @throws InterruptedException if the thread was interrupted
     */
    @CName("rdma_create_ep")
    public ConnectionId createEndpoint(AddressInfo info, Duration timeout) throws InterruptedException {
        return createEndpoint(info, timeout, arena());
    }

    /**
     * Makes an id for an address that was looked up ({@code rdma_create_ep}). With {@link AddressFlag#PASSIVE} the id is
     * bound and can {@link ConnectionId#listen}; otherwise its address and route are resolved. It has no queue pair yet:
     * {@link ConnectionId#createQueuePair(dev.verbena.verbs.QueueCapabilities)} makes one as {@code rdma_create_ep} would.
     *
     * <p>In C such an id is synchronous: its calls block. Here a thread of its own calls C, so that the wait can end early.
     * The id is then migrated to this channel ({@code rdma_migrate_id}), and its methods wait as those of all ids do.
     *
     * @param info the result of {@link AddressInfo#find}
     * @param timeout the time to wait; C takes four seconds at most
     * @param arena the arena that will close the id
     * @return a new id
     * @throws VerbsException if C can't make the id, for example because the address does not answer
     * @throws VerbsTimeoutException if the id was not made in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the channel is closed, also while waiting
     * @throws IllegalArgumentException if the arena is shared, and the channel's arena is not
     */
    @CName("rdma_create_ep")
    public ConnectionId createEndpoint(AddressInfo info, Duration timeout, VerbsArena arena)
            throws InterruptedException {
        Objects.requireNonNull(timeout, "timeout"); // before C looks up anything
        lifetime.checkOpen();
        IdFactory.checkMakesIn(this, arena);
        BlockingCall<Long> lookup = IdFactory.lookUp(info);
        lookups.add(lookup);
        long made;
        try {
            lifetime.checkOpen(); // a thread may have closed the channel before the lookup was added
            made = lookup.await(timeout);
        } finally {
            lookups.remove(lookup);
            lookup.end(closedMeanwhile());
        }
        return IdFactory.endpoint(this, info, made, arena);
    }

    private IllegalStateException closedMeanwhile() {
        return new IllegalStateException(this + " was closed meanwhile");
    }

    /**
     * Moves an id here from another channel, with its events that were not taken. The caller holds the id, both channels,
     * and the lock of the id's calls.
     */
    void take(long pointer, IdEvents inbox) {
        EventChannel from = inbox.channel;
        // Two locks, always in the same order. Nothing is unacknowledged meanwhile: C would wait for that.
        ReentrantLock first = address < from.address ? taking : from.taking;
        ReentrantLock second = first == taking ? from.taking : taking;
        first.lock();
        second.lock();
        try {
            from.takeAll();
            if (!from.unclaimedOf(inbox).isEmpty()) {
                throw new IllegalStateException("The id can't leave the " + from
                        + " while it has requests to connect: accept or reject them first");
            }
            inboxes.put(pointer, inbox); // before the call, because events may come at once
            String what = toString(); // before the call, because toString() may change errno
            try {
                CmFailures.check(RdmaCm.MIGRATE_ID, RdmaCm.MIGRATE_ID.call(pointer, address), what);
            } catch (Throwable t) {
                inboxes.remove(pointer, inbox);
                throw t;
            }
            from.inboxes.remove(pointer, inbox);
            moveEntries(inbox, from);
        } finally {
            second.unlock();
            first.unlock();
        }
    }

    private void moveEntries(IdEvents inbox, EventChannel from) {
        ReentrantLock first = address < from.address ? lock : from.lock;
        ReentrantLock second = first == lock ? from.lock : lock;
        first.lock();
        second.lock();
        try {
            from.order.removeAll(inbox.entries);
            order.addAll(inbox.entries);
            inbox.channel = this;
        } finally {
            second.unlock();
            first.unlock();
        }
    }

    /** Takes the events that have come with an id, and wakes the threads that wait for them. */
    void takeEventsOf(IdEvents inbox) {
        takeAll(); // the kernel has moved the id's events, and wakes no thread for them
        if (inbox.atEnd != null) {
            watch();
        }
        inbox.waiters.wakeAll();
        events.wakeAll();
    }

    /** Runs work while no event is taken, because C may change a queue pair for an event. */
    void withoutEvents(Runnable work) {
        taking.lock();
        try {
            work.run();
        } finally {
            taking.unlock();
        }
    }

    /** Adds an id that C has made. */
    void add(long id, IdEvents inbox) {
        inboxes.put(id, inbox);
    }

    /** Removes an id that C has destroyed, and its events. */
    void remove(long id, IdEvents inbox) {
        inboxes.remove(id, inbox);
        withoutEvents(() -> forgetEntries(inbox)); // a thread may be adding one that it has just taken
    }

    private void forgetEntries(IdEvents inbox) {
        lock.lock();
        try {
            order.removeAll(inbox.entries);
            inbox.entries.clear();
        } finally {
            lock.unlock();
        }
    }

    /** Gives the events of a request to the id that claimed it. */
    void claimed(ConnectRequest request, IdEvents inbox, ConnectionId owner) {
        lock.lock();
        try {
            unclaimed.remove(request);
            inbox.owner = owner;
            order.addAll(inbox.entries);
        } finally {
            lock.unlock();
        }
    }

    /** Forgets a request that was dropped. */
    void dropped(ConnectRequest request) {
        lock.lock();
        try {
            unclaimed.remove(request);
        } finally {
            lock.unlock();
        }
    }

    /** Refuses the requests of a listener from now on, or takes them again after C refused to destroy the listener. */
    void refuseRequests(IdEvents listener, boolean refusing) {
        lock.lock();
        try {
            listener.refusing = refusing;
        } finally {
            lock.unlock();
        }
    }

    /** Returns the unclaimed requests of a listener; of all listeners for null. */
    List<ConnectRequest> unclaimedOf(@Nullable IdEvents listener) {
        lock.lock();
        try {
            return unclaimed.stream()
                    .filter(request -> listener == null || request.listener() == listener)
                    .toList();
        } finally {
            lock.unlock();
        }
    }

    /** Returns whether the channel has no ids. */
    boolean isUnused() {
        return inboxes.isEmpty();
    }

    // Contexts

    /**
     * Returns the contexts of the devices that the connection manager has opened ({@code rdma_get_devices}). Queue pairs
     * of ids are made in these contexts, and in no others.
     *
     * @return the contexts, which this channel's arena closes
     */
    @CName({"rdma_get_devices", "rdma_free_devices"})
    public List<Context> contexts() {
        lifetime.hold();
        try {
            long list = devices();
            List<Long> addresses = new ArrayList<>();
            MemorySegment array = MemorySegment.ofAddress(list).reinterpret(Long.MAX_VALUE);
            for (long i = 0; array.getAtIndex(ValueLayout.JAVA_LONG, i) != 0; i++) {
                addresses.add(array.getAtIndex(ValueLayout.JAVA_LONG, i));
            }
            RdmaCm.FREE_DEVICES.call(list);
            return addresses.stream().map(this::context).toList();
        } finally {
            lifetime.release();
        }
    }

    private static long devices() {
        long list = RdmaCm.GET_DEVICES.call(0);
        if (list == 0) {
            throw CmFailures.failure(RdmaCm.GET_DEVICES, CFunction.errno(), "", "");
        }
        return list;
    }

    /** Returns this channel's object for a context in C. C keeps the context open until a list of devices is freed. */
    Context context(long pointer) {
        Context known = contexts.get(pointer);
        if (known != null && known.isOpen()) {
            return known;
        }
        opening.lock();
        try {
            known = contexts.get(pointer);
            if (known == null || !known.isOpen()) {
                known = makeContext(pointer);
                contexts.put(pointer, known);
            }
            return known;
        } finally {
            opening.unlock();
        }
    }

    /** Returns this channel's object for a protection domain of C, which C keeps as long as the context is open. */
    ProtectionDomain domain(Context context, long pointer) {
        opening.lock();
        try {
            ProtectionDomain known = domains.get(pointer);
            if (known == null || !known.isOpen() || known.context() != context) {
                known = VerbsAccess.get().adoptDomain(context, pointer, context.arena());
                domains.put(pointer, known);
            }
            return known;
        } finally {
            opening.unlock();
        }
    }

    private Context makeContext(long pointer) {
        long list = devices();
        try {
            return VerbsAccess.get().adoptContext(pointer, arena(), () -> RdmaCm.FREE_DEVICES.call(list));
        } catch (Throwable t) {
            RdmaCm.FREE_DEVICES.call(list);
            throw t;
        }
    }

    // Events

    /**
     * Takes the next event of any id, if there is one ({@code rdma_get_cm_event}).
     *
     * @return the event; empty if there is none
     */
    @CName({"rdma_get_cm_event", "rdma_ack_cm_event"})
    public Optional<CmEvent> pollEvent() {
        return Optional.ofNullable(next(true));
    }

    /**
     * Waits for the next event of any id, and takes it ({@code rdma_get_cm_event}).
     *
     * @param timeout the time to wait
     * @return the event
     * @throws VerbsTimeoutException if none came in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the channel is closed, also while waiting
     */
    @CName({"rdma_get_cm_event", "rdma_ack_cm_event"})
    public CmEvent awaitEvent(Duration timeout) throws InterruptedException {
        CmEvent event = events.await(() -> next(false), timeout);
        if (event == null) {
            throw new VerbsTimeoutException(RdmaCm.GET_CM_EVENT.name(), toString(), timeout, "");
        }
        return event;
    }

    private @Nullable CmEvent next(boolean patient) {
        lifetime.hold();
        try {
            takeAll(patient);
            lock.lock();
            try {
                if (order.isEmpty()) {
                    return null;
                }
                IdEvents.Entry entry = order.removeFirst();
                entry.inbox.entries.remove(entry);
                ConnectionId owner = entry.inbox.owner;
                return owner == null ? null : entry.valueFor(owner);
            } finally {
                lock.unlock();
            }
        } finally {
            lifetime.release();
        }
    }

    /**
     * Takes the first event of an id that has a wanted type, if there is one.
     *
     * @param patient true to wait for a thread that works on the channel in C
     */
    @Nullable
    CmEvent next(ConnectionId id, IdEvents inbox, Predicate<CmEventType> wanted, boolean patient) {
        lifetime.hold();
        try {
            takeAll(patient);
            lock.lock();
            try {
                if (inbox.channel != this) {
                    return null; // the id has moved meanwhile
                }
                for (IdEvents.Entry entry : inbox.entries) {
                    if (wanted.test(entry.type)) {
                        inbox.entries.remove(entry);
                        order.remove(entry);
                        return entry.valueFor(id);
                    }
                }
                return null;
            } finally {
                lock.unlock();
            }
        } finally {
            lifetime.release();
        }
    }

    /**
     * Takes all events of C. A waiting thread is not patient: it does not wait while C works on the channel for another
     * thread. The channel's reader takes the events then, and wakes the waiting thread.
     */
    private void takeAll(boolean patient) {
        if (patient) {
            takeAll();
        } else if (taking.tryLock()) {
            try {
                takeAll();
            } finally {
                taking.unlock();
            }
        }
    }

    private void takeAll() {
        taking.lock();
        try {
            while (!destroying && takeOne()) {
                events.wake();
            }
        } finally {
            taking.unlock();
        }
    }

    private boolean takeOne() {
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
        try {
            copy = RawEvent.read(event);
            // Before the acknowledgement: after it, C may destroy the id and make another one at its address.
            inbox = inboxes.get(copy.about());
            if (inbox != null && inbox.ends(copy)) {
                failed = failQueuePair(copy.id());
            }
        } finally {
            // Nothing before this may block: a thread that destroys the id may wait in C for the acknowledgement.
            RdmaCm.ACK_CM_EVENT.call(event);
        }
        record(copy);
        if (copy.isRequest()) {
            addRequest(copy, inbox);
        } else if (inbox != null) {
            ConnectionId owner = inbox.owner;
            if (copy.type() == CmEventType.DISCONNECTED) {
                inbox.disconnected = true;
            } else if (copy.type() == CmEventType.ESTABLISHED && owner != null) {
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
     * Has C flush the requests of an id's queue pair, so that they end. The caller holds the lock under which C destroys
     * queue pairs of ids, and an event that keeps the id.
     */
    private static boolean failQueuePair(long id) {
        long pair = rdma_cm_id
                .qp(MemorySegment.ofAddress(id).reinterpret(rdma_cm_id.sizeof()))
                .address();
        return pair != 0 && VerbsAccess.get().fail(pair) == 0; // a device that was removed refuses
    }

    private static void record(RawEvent taken) {
        ConnectionEvent event = new ConnectionEvent();
        if (event.shouldCommit()) {
            event.type = taken.type().toString();
            event.status = taken.status();
            event.commit();
        }
    }

    /** Adds an event, and wakes a thread that waits for it. */
    private void deliver(IdEvents.Entry entry) {
        lock.lock();
        try {
            entry.inbox.entries.add(entry);
            if (entry.inbox.owner != null) {
                order.add(entry);
            }
        } finally {
            lock.unlock();
        }
        entry.inbox.waiters.wake();
    }

    private void addRequest(RawEvent event, @Nullable IdEvents listener) {
        ConnectionId owner = listener == null ? null : listener.owner;
        if (listener == null || owner == null || !addUnlessRefused(event, listener, owner)) {
            RdmaCm.DESTROY_ID.call(event.id()); // this rejects the request
        }
    }

    /** Adds a request, unless the listener closes or its backlog is full. */
    private boolean addUnlessRefused(RawEvent event, IdEvents listener, ConnectionId owner) {
        IdEvents inbox = new IdEvents(listener.space, this);
        ConnectRequest request = new ConnectRequest(this, listener, inbox, owner, event);
        lock.lock();
        try {
            if (listener.refusing || hasEnough(listener, listener.backlog)) {
                return false;
            }
            inboxes.put(event.id(), inbox);
            unclaimed.add(request);
            deliver(new IdEvents.Entry(listener, event.type(), id -> event.requestValue(id, request)));
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Returns whether a listener has as many unclaimed requests as its backlog allows. The caller holds the lock. */
    private boolean hasEnough(IdEvents listener, int backlog) {
        return unclaimed.size() >= backlog
                && listener.entries.stream()
                                .filter(entry -> entry.type == CmEventType.CONNECT_REQUEST)
                                .count()
                        >= backlog;
    }

    /** Makes a thread take the events from now on. */
    void watch() {
        events.watch();
    }

    private void failWaitingIds(Throwable cause) {
        String channel = toString();
        inboxes.values().forEach(inbox -> inbox.waiters.fail(() -> Failures.cannotWait(channel, cause)));
    }

    @Override
    public String toString() {
        return "event channel " + descriptor + " (" + inboxes.size() + (inboxes.size() == 1 ? " id)" : " ids)");
    }
}
