package dev.verbena.cm;

import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.StackRoom;
import dev.verbena.internal.Waiters;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The events of one {@code struct rdma_cm_id} that no thread has taken yet. The lock of the channel guards the entries. The
 * owner's methods take events from here and wait for them here.
 */
final class IdEvents {
    static {
        Life.Event _ = Life.Event.CLOSE; // closing must not be the first to need the class: memory may be missing then
    }

    final LinkedHashSet<Entry> entries = new LinkedHashSet<>();
    final Waiters waiters = new Waiters();
    final PortSpace space;

    /** The channel to which C reports the events. */
    volatile EventChannel channel;

    /** Null until the program claims the request that the id came with. */
    volatile @Nullable ConnectionId owner;

    /** True if the connection has ended: C reports this once. */
    volatile boolean disconnected;

    /** The event that has ended the connection; null while there is none. */
    volatile @Nullable End end;

    /** Called when an event ends the connection; null for an id that is not part of a {@link Connection}. */
    volatile @Nullable Runnable atEnd;

    /** The number of requests that may wait to be taken; 0 while the id does not listen. */
    volatile int backlog;

    /** The device; null while the id has none, or none that could be seen to go. */
    volatile @Nullable DeviceFile device;

    /** True once the removal of the device was reported, by C or not. The lock of the channel guards this. */
    boolean deviceRemoved;

    /** The address of the {@code struct ibv_context} of the {@link #device}; written before that. */
    volatile long context;

    /** The state of the id. The lock of the channel guards changes. */
    private volatile Life life = Life.OPEN;

    /** The states of an id in C. */
    enum Life {
        OPEN,

        /** The id is being closed: requests are refused. */
        CLOSING,

        /** C has destroyed the id, and events are dropped. */
        DESTROYED;

        /** The events that change the state of an id. */
        enum Event {
            CLOSE,

            /** C has refused to destroy the id. */
            REFUSED,

            DESTROYED
        }

        /** Returns the state after an event, which may be the same. */
        Life after(Event event) {
            return switch (event) {
                case CLOSE -> this == OPEN ? CLOSING : this;
                case REFUSED -> this == CLOSING ? OPEN : this;
                case DESTROYED -> DESTROYED;
            };
        }
    }

    IdEvents(PortSpace space, EventChannel channel) {
        this.space = space;
        this.channel = channel;
    }

    Life life() {
        return life;
    }

    /** Changes the state of the id. The caller holds the lock of the channel. */
    void happen(Life.Event event) {
        life = life.after(event);
    }

    /** The type and the status of an event that ended a connection. */
    record End(CmEvent.Type type, int status) {}

    /** Notes an event that C reports. Returns true if the event ends a {@link Connection}. */
    boolean ends(RawEvent event) {
        if (!event.type().isEnd()) {
            return false;
        }
        if (end == null) {
            end = new End(event.type(), event.status());
        }
        return atEnd != null;
    }

    /** An event that becomes a value when a thread takes it. */
    static final class Entry {
        final IdEvents inbox;
        final CmEvent.Type type;
        private final Function<ConnectionId, CmEvent> value;

        Entry(IdEvents inbox, CmEvent.Type type, Function<ConnectionId, CmEvent> value) {
            this.inbox = inbox;
            this.type = type;
            this.value = value;
        }

        CmEvent valueFor(ConnectionId id) {
            return value.apply(id);
        }
    }

    /** Returns the number of requests that wait to be taken. The caller holds the lock of the channel. */
    int waitingRequests() {
        int count = 0;
        for (Entry entry : entries) {
            if (entry.type == CmEvent.Type.CONNECT_REQUEST) {
                count++;
            }
        }
        return count;
    }

    /** Takes the oldest event of a wanted type, also if the id moves to another channel meanwhile; null if none is there. */
    @Nullable
    CmEvent take(Predicate<CmEvent.Type> wanted) {
        return take(wanted, null);
    }

    /**
     * Takes the oldest event of a wanted type; null if none is there.
     *
     * @param wait the wait of the calling thread; null to wait for a thread that works on the channel in C
     */
    private @Nullable CmEvent take(Predicate<CmEvent.Type> wanted, EventReader.@Nullable Wait wait) {
        ConnectionId id = Objects.requireNonNull(owner);
        while (true) {
            EventChannel at = channel;
            try {
                CmEvent event = at.next(id, this, wanted, wait);
                if (event != null || at == channel) {
                    return event;
                }
            } catch (IllegalStateException closed) {
                if (at == channel) {
                    throw closed;
                }
            }
        }
    }

    /**
     * Waits for an event of a wanted type, and takes it.
     *
     * @param verb the C function, for the exception
     * @param hint a hint for the exception when the time is over
     */
    CmEvent await(String verb, Duration timeout, String hint, Predicate<CmEvent.Type> wanted)
            throws InterruptedException {
        StackRoom.forLinking();
        return await(verb, timeout, hint, wanted, () -> null);
    }

    /**
     * Waits for an event of a wanted type, and takes it. All threads that wait end when the device is removed.
     *
     * @throws ConnectionException if there is no such event, and the device was removed
     */
    CmEvent awaitUntilRemoval(String verb, Duration timeout, Predicate<CmEvent.Type> wanted)
            throws InterruptedException {
        StackRoom.forLinking();
        return await(verb, timeout, "", wanted, () -> {
            End known = end;
            if (known == null || known.type() != CmEvent.Type.DEVICE_REMOVAL) {
                return null;
            }
            ConnectionId id = Objects.requireNonNull(owner);
            CmEvent event = new CmEvent.Failure(id, known.type(), known.type().code(), known.status());
            throw new ConnectionException(verb, event, null, "Close it");
        });
    }

    /** Waits as above. The end returns null, or throws if no other event can come. */
    private CmEvent await(
            String verb,
            Duration timeout,
            String hint,
            Predicate<CmEvent.Type> wanted,
            Supplier<? extends @Nullable CmEvent> atEnd)
            throws InterruptedException {
        ConnectionId id = Objects.requireNonNull(owner);
        try (EventReader.Wait wait = new EventReader.Wait(waiters, () -> channel.reader(), timeout)) {
            CmEvent event = wait.await(
                    () -> {
                        id.checkUsable();
                        CmEvent taken = take(wanted, wait);
                        return taken == null ? atEnd.get() : taken;
                    },
                    () -> {
                        id.checkUsable();
                        CmEvent found = channel.look(id, this, wanted);
                        return found == null ? atEnd.get() : found;
                    },
                    timeout);
            if (event == null) {
                throw new VerbsTimeoutException(verb, id.toString(), timeout, hint);
            }
            return event;
        }
    }

    /**
     * Waits until a step that C has begun ends, and takes the event that ends it.
     *
     * @param function the C function that began the step
     * @param success the types of events that end the step well
     * @throws ConnectionException if another event ended the step
     */
    CmEvent awaitEnd(CFunction function, Duration timeout, CmEvent.Type... success) throws InterruptedException {
        return awaitEnd(function, timeout, errno -> "", success);
    }

    /**
     * Waits until a step that C has begun ends, and takes the event that ends it.
     *
     * @param hints returns the hint for an error number that the event reports; may be empty
     */
    CmEvent awaitEnd(CFunction function, Duration timeout, IntFunction<String> hints, CmEvent.Type... success)
            throws InterruptedException {
        List<CmEvent.Type> wanted = List.of(success);
        CmEvent event = await(
                function.name(),
                timeout,
                "The peer may be slow, or no program there accepts",
                type -> wanted.contains(type) || type.isEnd() || type == CmEvent.Type.MULTICAST_ERROR);
        if (!wanted.contains(event.type()) || event.status() != 0) {
            throw new ConnectionException(
                    function.name(),
                    event,
                    event.id().peerAddress().orElse(null),
                    hints.apply(Math.max(0, -event.status())));
        }
        return event;
    }
}
