package dev.verbena.cm;

import dev.verbena.CName;
import dev.verbena.Rdma;
import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.StackRoom;
import dev.verbena.internal.Waiters;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.access.VerbsAccess;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
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
 * {@snippet file="ConnectionSnippets.java" region="find"}
 *
 * <p>All threads may use a channel of a shared arena at once. A channel of a confined arena belongs to the arena's thread.
 */
public final class EventChannel extends VerbsObject {
    private final ObjectLifetime lifetime;
    private final EventReader reader;
    private final Waiters waiters = new Waiters();

    /** The events of this channel's ids. An entry stays until C has destroyed the id. */
    private final Set<IdEvents> inboxes = ConcurrentHashMap.newKeySet();

    /** The contexts of the connection manager, by address in C. */
    private final Map<Long, Context> contexts = new ConcurrentHashMap<>();

    /** The protection domains that C makes, by context: an id that moved here has a context of another channel. */
    private final Map<Context, ProtectionDomain> domains = new ConcurrentHashMap<>();

    /** The calls that make ids for this channel. */
    private final Set<BlockingCall<Long>> lookups = ConcurrentHashMap.newKeySet();

    /** Held while this channel's object for a context or a domain is made: C may take long to open a device. */
    private final Mutex opening = new Mutex();

    /** The events of all ids that no thread has taken, the oldest first. The reader's lock guards this. */
    private final LinkedHashSet<IdEvents.Entry> order = new LinkedHashSet<>();

    /** The requests that were neither claimed nor dropped. The reader's lock guards this. */
    final Set<ConnectRequest> unclaimed = new LinkedHashSet<>();

    private EventChannel(ObjectLifetime lifetime, EventReader reader) {
        super(lifetime);
        this.lifetime = lifetime;
        this.reader = reader;
        lifetime.destroyedBy(this::destroy);
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
        return ObjectLifetime.create(arena, lifetime -> new EventChannel(lifetime, EventReader.own()));
    }

    /** Makes a channel for one connection. All such channels of this process share a descriptor. */
    static EventChannel createShared(VerbsArena arena) {
        Rdma.requireConnectionManager();
        return ObjectLifetime.create(arena, lifetime -> new EventChannel(lifetime, EventReader.shared()));
    }

    @CName("rdma_destroy_event_channel")
    private void destroy() {
        waiters.wakeAll();
        lookups.forEach(lookup -> lookup.end(closedMeanwhile()));
        reader.leave();
        lifetime.noteDestroyed();
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
        return reader.address();
    }

    /** Throws if this channel is closed or confined to another thread. */
    void checkUsable() {
        lifetime.checkOpen();
    }

    /** Returns the reader of this channel's events. */
    EventReader reader() {
        return reader;
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
     * Makes an id for an address that was looked up ({@code rdma_create_ep}). With {@link AddressInfo.Flag#PASSIVE} the
     * id is bound and can {@link ConnectionId#listen}; otherwise its address and route are resolved. It has no queue
     * pair yet: {@link ConnectionId#createQueuePair(dev.verbena.verbs.QueueCapabilities)} makes one as
     * {@code rdma_create_ep} would.
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
        long made;
        try {
            lookups.add(lookup);
            lifetime.checkOpen(); // a thread may have closed the channel before the lookup was added
            made = lookup.await(timeout);
        } finally {
            lookups.remove(lookup);
            lookup.giveUp();
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
        if (from.reader != reader) {
            from.reader.takeAll();
        }
        EventReader.withoutEvents(reader, from.reader, () -> takeAlone(pointer, inbox, from));
    }

    private void takeAlone(long pointer, IdEvents inbox, EventChannel from) {
        if (!from.unclaimedOf(inbox).isEmpty()) {
            throw new IllegalStateException("The id can't leave the " + from
                    + " while it has requests to connect: accept or reject them first");
        }
        if (from.reader != reader) {
            reader.add(pointer, inbox); // before the call, because events may come at once
            try {
                CmFailures.run(RdmaCm.MIGRATE_ID, this, pointer, address());
            } catch (Throwable t) {
                reader.remove(pointer, inbox);
                throw t;
            }
            from.reader.remove(pointer, inbox);
        }
        inboxes.add(inbox);
        EventReader.locked(reader, from.reader, () -> {
            from.order.removeAll(inbox.entries);
            order.addAll(inbox.entries);
            inbox.channel = this;
        });
        from.inboxes.remove(inbox);
    }

    /** Takes the events that have come with an id, and wakes the threads that wait for them. */
    void takeEventsOf(IdEvents inbox) {
        reader.takeAll(); // the kernel has moved the id's events, and wakes no thread for them
        if (inbox.atEnd != null) {
            reader.watchEnds();
        }
        inbox.waiters.wakeAll();
        waiters.wakeAll();
    }

    /** Adds an id that C has made. */
    void add(long id, IdEvents inbox) {
        inboxes.add(inbox);
        reader.add(id, inbox);
    }

    /** Removes an id that C has destroyed, and its events. */
    void remove(long id, IdEvents inbox) {
        reader.remove(id, inbox);
        inboxes.remove(inbox);
        try (var _ = reader.lock.held()) {
            inbox.happen(IdEvents.Life.Event.DESTROYED); // a thread may be adding an event that it has just taken
            order.removeAll(inbox.entries);
            inbox.entries.clear();
        }
    }

    /** Adds an event of an id. The caller holds the reader's lock. */
    void deliver(IdEvents.Entry entry) {
        order.add(entry);
        waiters.wake();
    }

    /** Gives the events of a request to the id that claimed it. */
    void claimed(ConnectRequest request, IdEvents inbox, ConnectionId owner) {
        try (var _ = reader.lock.held()) {
            unclaimed.remove(request);
            inbox.owner = owner;
            order.addAll(inbox.entries);
        }
    }

    /** Forgets a request that was dropped. */
    void dropped(ConnectRequest request) {
        try (var _ = reader.lock.held()) {
            unclaimed.remove(request);
        }
    }

    /** Changes the state of an id. Its requests are refused unless it is open. */
    void happen(IdEvents inbox, IdEvents.Life.Event event) {
        try (var _ = reader.lock.held()) {
            inbox.happen(event);
        }
    }

    /** Returns the unclaimed requests of a listener. */
    List<ConnectRequest> unclaimedOf(IdEvents listener) {
        try (var _ = reader.lock.held()) {
            if (unclaimed.isEmpty()) { // of nearly all ids that close
                return List.of();
            }
            return unclaimed.stream()
                    .filter(request -> request.listener() == listener)
                    .toList();
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
        try (var _ = lifetime.held()) {
            long list = OpenDevices.list();
            try {
                List<Context> found = new ArrayList<>();
                MemorySegment array = MemorySegment.ofAddress(list).reinterpret(Long.MAX_VALUE);
                for (long i = 0; array.getAtIndex(ValueLayout.JAVA_LONG, i) != 0; i++) {
                    found.add(context(array.getAtIndex(ValueLayout.JAVA_LONG, i)));
                }
                return List.copyOf(found);
            } finally {
                RdmaCm.FREE_DEVICES.callQuietly(list, 0, 0, 0); // last: C may close contexts that nothing else uses
            }
        }
    }

    /** Returns this channel's object for a context in C. C keeps the context open until a list of devices is freed. */
    Context context(long pointer) {
        Context known = contexts.get(pointer);
        if (known != null && known.isOpen()) {
            return known;
        }
        try (var _ = opening.held()) {
            known = contexts.get(pointer);
            if (known == null || !known.isOpen()) {
                known = makeContext(pointer);
                contexts.put(pointer, known);
            }
            return known;
        }
    }

    /** Returns this channel's object for a protection domain of C, which C keeps as long as the context is open. */
    ProtectionDomain domain(Context context, long pointer) {
        try (var _ = opening.held()) {
            ProtectionDomain known = domains.get(context);
            if (known == null || !known.isOpen()) {
                domains.keySet().removeIf(each -> !each.isOpen());
                known = VerbsAccess.get().adoptDomain(context, pointer, context.arena());
                domains.put(context, known);
            }
            return known;
        }
    }

    private Context makeContext(long pointer) {
        OpenDevices held = OpenDevices.hold(pointer);
        try {
            return VerbsAccess.get().adoptContext(pointer, arena(), held::release);
        } catch (Throwable t) {
            held.release();
            throw t;
        }
    }

    // Events

    /**
     * Takes the next event of any id, if there is one ({@code rdma_get_cm_event}).
     *
     * @return the event, or null if there is none
     */
    @CName({"rdma_get_cm_event", "rdma_ack_cm_event"})
    public @Nullable CmEvent pollEvent() {
        return next(null);
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
        StackRoom.forLinking();
        try (EventReader.Wait wait = new EventReader.Wait(waiters, () -> reader, timeout)) {
            CmEvent event = wait.await(() -> next(wait), this::look, timeout);
            if (event == null) {
                throw new VerbsTimeoutException(RdmaCm.GET_CM_EVENT.name(), toString(), timeout, "");
            }
            return event;
        }
    }

    /** Takes the first event of any id; without a wait, also if it must wait for a thread that works on the channel in C. */
    private @Nullable CmEvent next(EventReader.@Nullable Wait wait) {
        try (var _ = lifetime.held()) {
            return reader.take(this::first, wait);
        }
    }

    private @Nullable CmEvent first() {
        try (var _ = reader.lock.held()) {
            if (order.isEmpty()) {
                return null;
            }
            IdEvents.Entry entry = order.removeFirst();
            entry.inbox.entries.remove(entry);
            ConnectionId owner = entry.inbox.owner;
            return owner == null ? null : entry.valueFor(owner);
        }
    }

    private @Nullable CmEvent look() {
        lifetime.checkOpen();
        return first();
    }

    /**
     * Takes the first event of an id that has a wanted type, if there is one.
     *
     * @param wait the wait of the calling thread; null to wait for a thread that works on the channel in C
     */
    @Nullable
    CmEvent next(ConnectionId id, IdEvents inbox, Predicate<CmEvent.Type> wanted, EventReader.@Nullable Wait wait) {
        try (var _ = lifetime.held()) {
            return reader.take(() -> look(id, inbox, wanted), wait);
        }
    }

    /** Takes the first event of an id that has a wanted type among those that were taken of C. */
    @Nullable
    CmEvent look(ConnectionId id, IdEvents inbox, Predicate<CmEvent.Type> wanted) {
        try (var _ = reader.lock.held()) {
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
        }
    }

    @Override
    public String toString() {
        int count = inboxes.size();
        return reader + " (" + count + (count == 1 ? " id)" : " ids)");
    }
}
