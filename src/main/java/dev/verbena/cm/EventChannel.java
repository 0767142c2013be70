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
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Where the connection manager reports what happens to its ids ({@code struct rdma_event_channel}): one for many ids, or
 * one for each.
 *
 * <p>An event is handed out once: by {@link #await} or {@link #poll}, whomever it is about, or by the id that it is about,
 * whose methods such as {@link ConnectionId#connect} wait for what they need and leave the rest. A program uses the one
 * way or the other for an id, not both at once. Events are acknowledged by themselves, at once.
 */
public final class EventChannel extends VerbsObject {
    private final ObjectLifetime lifetime;
    private final long address;
    private final int descriptor;
    private final WatchedDescriptor events;

    /** By address in C: an entry stays until C has destroyed the id. */
    private final ConcurrentHashMap<Long, IdEvents> inboxes = new ConcurrentHashMap<>();

    /** The contexts of the connection manager, by address in C. */
    private final Map<Long, Context> contexts = new ConcurrentHashMap<>();

    /** The protection domains that C has made of itself, by address in C. */
    private final Map<Long, ProtectionDomain> domains = new ConcurrentHashMap<>();

    /** Those that make ids for this channel. */
    private final Set<BlockingCall<Long>> lookups = ConcurrentHashMap.newKeySet();

    /** Guards all that follows, and the inboxes' entries. Of this package's locks, only another channel's is taken then. */
    private final ReentrantLock lock = new ReentrantLock();

    private final LinkedHashSet<IdEvents.Entry> order = new LinkedHashSet<>();
    private final Set<ConnectRequest> unclaimed = new LinkedHashSet<>();
    /** Not of the arena: also that of a confined one is written and read by the event thread. */
    private final MemorySegment taken = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG);

    private boolean destroying;

    private EventChannel(ObjectLifetime lifetime, long address, int descriptor) {
        super(lifetime);
        this.lifetime = lifetime;
        lifetime.destroyedBy(this::destroy);
        this.address = address;
        this.descriptor = descriptor;
        this.events = new WatchedDescriptor(
                descriptor, this::takeAll, cause -> Failures.cannotWait(toString(), cause), this::failWaitingIds);
    }

    /**
     * Makes an event channel ({@code rdma_create_event_channel}).
     *
     * @param arena what will close it
     * @return a new channel
     * @throws dev.verbena.RdmaUnavailableException if rdma-core is missing or native access is not enabled
     * @throws VerbsException if the connection manager can't be used, most often because this machine has no device
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
            int descriptor =
                    rdma_event_channel.fd(MemorySegment.ofAddress(channel).reinterpret(rdma_event_channel.sizeof()));
            try {
                WatchedDescriptor.makeNonBlocking(descriptor);
                return new EventChannel(lifetime, channel, descriptor);
            } catch (Throwable t) {
                RdmaCm.DESTROY_EVENT_CHANNEL.call(channel);
                if (t instanceof SystemCallException) {
                    throw Failures.cannotWait("event channel", t);
                }
                throw t;
            }
        });
    }

    @CName("rdma_destroy_event_channel")
    private void destroy() {
        lock.lock();
        try {
            destroying = true;
        } finally {
            lock.unlock();
        }
        events.close();
        lookups.forEach(lookup -> lookup.end(closedMeanwhile()));
        unclaimedOf(null).forEach(ConnectRequest::drop);
        RdmaCm.DESTROY_EVENT_CHANNEL.call(address);
        domains.values().forEach(this::closeIfUnused);
        contexts.values().forEach(this::closeIfUnused);
    }

    /** What is still in use stays open until the arena closes. So does what is another arena's: see closeOwnQueues. */
    private void closeIfUnused(VerbsObject object) {
        try {
            if (object.arena() == arena()) {
                object.close();
            }
        } catch (ResourceBusyException inUse) {
            // By what is not this channel's.
        }
    }

    /** The {@code struct rdma_event_channel}. Hold this object while C uses it. */
    long address() {
        return address;
    }

    // Ids

    /**
     * Makes an id, closed by this channel's arena ({@code rdma_create_id}).
     *
     * @param space what it is for
     * @return a new id
     */
    @CName("rdma_create_id")
    public ConnectionId createId(PortSpace space) {
        return createId(space, arena());
    }

    /**
     * Makes an id ({@code rdma_create_id}).
     *
     * @param space what it is for
     * @param arena what will close it
     * @return a new id
     */
    @CName("rdma_create_id")
    public ConnectionId createId(PortSpace space, VerbsArena arena) {
        return ConnectionId.make(this, space, arena);
    }

    /**
     * Makes an id for an address that was looked up, closed by this channel's arena ({@code rdma_create_ep}).
     *
     * @param info what {@link AddressInfo#find} has found
     * @param timeout how long to wait
     * @return a new id
     * @throws VerbsException if C can't make it, also because nobody answers for the address
     * @throws VerbsTimeoutException if it was not made in time
     * @throws InterruptedException if the thread was interrupted
     */
    @CName("rdma_create_ep")
    public ConnectionId createEndpoint(AddressInfo info, Duration timeout) throws InterruptedException {
        return createEndpoint(info, timeout, arena());
    }

    /**
     * Makes an id for an address that was looked up ({@code rdma_create_ep}): with {@link AddressFlag#PASSIVE} it is bound
     * and can {@link ConnectionId#listen}, otherwise its address and route are resolved. It has no queue pair yet:
     * {@link ConnectionId#createQueuePair(dev.verbena.verbs.QueueCapabilities)} makes one as {@code rdma_create_ep} would.
     *
     * <p>In C such an id is synchronous: its calls block. Here it is made by a thread of its own, so that whoever waits can
     * give up, and then migrated to this channel ({@code rdma_migrate_id}), so that its methods wait as those of all ids
     * do.
     *
     * @param info what {@link AddressInfo#find} has found
     * @param timeout how long to wait; C takes four seconds at most
     * @param arena what will close it
     * @return a new id
     * @throws VerbsException if C can't make it, also because nobody answers for the address
     * @throws VerbsTimeoutException if it was not made in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the channel is closed, also while waiting
     */
    @CName("rdma_create_ep")
    public ConnectionId createEndpoint(AddressInfo info, Duration timeout, VerbsArena arena)
            throws InterruptedException {
        lifetime.checkOpen();
        CmFailures.checkOpen(arena);
        BlockingCall<Long> lookup = ConnectionId.lookUp(info);
        lookups.add(lookup);
        long made;
        try {
            lifetime.checkOpen(); // or closing did not see it
            made = lookup.await(timeout);
        } finally {
            lookups.remove(lookup);
            lookup.end(closedMeanwhile());
        }
        return ConnectionId.endpoint(this, info, made, arena);
    }

    private IllegalStateException closedMeanwhile() {
        return new IllegalStateException(this + " was closed meanwhile");
    }

    /** Moves an id here from another channel, with what it was told and nobody has taken. */
    void take(ConnectionId id, long pointer, IdEvents inbox) {
        EventChannel from = inbox.channel;
        lifetime.hold();
        try {
            from.lifetime.hold();
            try {
                // Two locks, always in the same order.
                ReentrantLock first = address < from.address ? lock : from.lock;
                ReentrantLock second = first == lock ? from.lock : lock;
                first.lock();
                second.lock();
                try {
                    take(pointer, inbox, from);
                    id.changeChannel(from, this);
                } finally {
                    second.unlock();
                    first.unlock();
                }
            } finally {
                from.lifetime.release();
            }
            takeAll(); // the kernel has moved what it had for the id, and wakes nobody
        } finally {
            lifetime.release();
        }
        inbox.waiters.wakeAll();
        events.wakeAll();
    }

    /** Both locks are held, so nothing is between its arrival and its acknowledgement, which C would wait for. */
    private void take(long pointer, IdEvents inbox, EventChannel from) {
        from.takeAll();
        if (!from.unclaimedOf(inbox).isEmpty()) {
            throw new IllegalStateException("There are requests to connect that nobody has claimed or rejected: they "
                    + "belong to the " + from);
        }
        inboxes.put(pointer, inbox); // before: events may come at once
        String what = toString(); // before, since it calls C too, which changes errno
        try {
            CmFailures.check(RdmaCm.MIGRATE_ID, RdmaCm.MIGRATE_ID.call(pointer, address), what);
        } catch (Throwable t) {
            inboxes.remove(pointer, inbox);
            throw t;
        }
        from.inboxes.remove(pointer, inbox);
        from.order.removeAll(inbox.entries);
        order.addAll(inbox.entries);
        inbox.channel = this;
    }

    /** Does something while no event is taken, for which C may change a queue pair; false if the id is elsewhere now. */
    boolean withoutEvents(IdEvents inbox, Runnable work) {
        lock.lock();
        try {
            if (inbox.channel != this) {
                return false;
            }
            work.run();
            return true;
        } finally {
            lock.unlock();
        }
    }

    void add(long id, IdEvents inbox) {
        inboxes.put(id, inbox);
    }

    /** C has destroyed an id. */
    void remove(long id, IdEvents inbox) {
        inboxes.remove(id, inbox);
        lock.lock();
        try {
            order.removeAll(inbox.entries);
            inbox.entries.clear();
        } finally {
            lock.unlock();
        }
    }

    /** A request was claimed, so its events can be handed out. */
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

    void dropped(ConnectRequest request) {
        lock.lock();
        try {
            unclaimed.remove(request);
        } finally {
            lock.unlock();
        }
    }

    /** The requests that a listener was told of and nobody has claimed; of all listeners for null. */
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

    /** Whether it has no ids. */
    boolean isUnused() {
        return inboxes.isEmpty();
    }

    // Contexts

    /**
     * The devices that the connection manager uses ({@code rdma_get_devices}), as it has opened them: queue pairs of ids
     * are made in these contexts, and in no others.
     *
     * @return the contexts, which this channel's arena lets go
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

    /** The one Java object of this channel for a context of C's, which stays open while a list of devices is not freed. */
    Context context(long pointer) {
        Context known = contexts.get(pointer);
        if (known != null && known.isOpen()) {
            return known;
        }
        lock.lock();
        try {
            known = contexts.get(pointer);
            if (known == null || !known.isOpen()) {
                known = makeContext(pointer);
                contexts.put(pointer, known);
            }
            return known;
        } finally {
            lock.unlock();
        }
    }

    /** The one Java object of this channel for a domain of C's own, which C keeps as long as the context is open. */
    ProtectionDomain domain(Context context, long pointer) {
        lock.lock();
        try {
            ProtectionDomain known = domains.get(pointer);
            if (known == null || !known.isOpen() || known.context() != context) {
                known = VerbsAccess.get().adoptDomain(context, pointer, context.arena());
                domains.put(pointer, known);
            }
            return known;
        } finally {
            lock.unlock();
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
     * @return the event, acknowledged already
     */
    @CName({"rdma_get_cm_event", "rdma_ack_cm_event"})
    public Optional<CmEvent> poll() {
        return Optional.ofNullable(next());
    }

    /**
     * Waits for the next event of any id, and takes it ({@code rdma_get_cm_event}).
     *
     * @param timeout how long to wait
     * @return the event, acknowledged already
     * @throws VerbsTimeoutException if none came in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the channel is closed, also while waiting
     */
    @CName({"rdma_get_cm_event", "rdma_ack_cm_event"})
    public CmEvent await(Duration timeout) throws InterruptedException {
        CmEvent event = events.await(this::next, timeout);
        if (event == null) {
            throw new VerbsTimeoutException(RdmaCm.GET_CM_EVENT.name(), toString(), timeout, "");
        }
        return event;
    }

    private @Nullable CmEvent next() {
        lifetime.hold();
        try {
            takeAll();
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

    /** Takes the first event of an id that somebody wants, if there is one. */
    @Nullable
    CmEvent next(ConnectionId id, IdEvents inbox, Predicate<CmEventType> wanted) {
        lifetime.hold();
        try {
            takeAll();
            lock.lock();
            try {
                if (inbox.channel != this) {
                    return null; // moved meanwhile
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

    private void takeAll() {
        lock.lock();
        try {
            while (!destroying && takeOne()) {
                events.wake();
            }
        } finally {
            lock.unlock();
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
        try {
            copy = RawEvent.read(event);
            // Looked up first: once it is acknowledged, C may destroy the id, and make another one there.
            inbox = inboxes.get(copy.about());
        } finally {
            // At once, and nothing before it may block: a thread may be destroying the id, and wait for this in C.
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
            deliver(new IdEvents.Entry(inbox, copy.type(), copy::value));
        }
        return true;
    }

    private static void record(RawEvent taken) {
        ConnectionEvent event = new ConnectionEvent();
        if (event.shouldCommit()) {
            event.type = taken.type().toString();
            event.status = taken.status();
            event.commit();
        }
    }

    /** The lock is held. */
    private void deliver(IdEvents.Entry entry) {
        entry.inbox.entries.add(entry);
        if (entry.inbox.owner != null) {
            order.add(entry);
        }
        entry.inbox.waiters.wake();
    }

    private void addRequest(RawEvent event, @Nullable IdEvents listener) {
        ConnectionId owner = listener == null ? null : listener.owner;
        if (listener == null || owner == null || hasEnough(listener, owner.backlog())) {
            RdmaCm.DESTROY_ID.call(event.id()); // this refuses
            return;
        }
        IdEvents inbox = new IdEvents(listener.space, this);
        inboxes.put(event.id(), inbox);
        ConnectRequest request = new ConnectRequest(this, listener, inbox, owner, event);
        unclaimed.add(request);
        deliver(new IdEvents.Entry(listener, event.type(), id -> event.requestValue(id, request)));
    }

    /** Whether it has as many requests that nobody takes as the kernel would let wait. */
    private boolean hasEnough(IdEvents listener, int backlog) {
        return unclaimed.size() >= backlog
                && listener.entries.stream()
                                .filter(entry -> entry.type == CmEventType.CONNECT_REQUEST)
                                .count()
                        >= backlog;
    }

    /** Makes the event thread take the events from now on. */
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
