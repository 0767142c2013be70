package dev.verbena.cm;

import dev.verbena.internal.Waiters;
import java.util.LinkedHashSet;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The events of one {@code struct rdma_cm_id} that nobody has taken yet. The lock of its channel guards it. */
final class IdEvents {
    final LinkedHashSet<Entry> entries = new LinkedHashSet<>();
    final Waiters waiters = new Waiters();
    final PortSpace space;

    /** Where C reports its events. */
    volatile EventChannel channel;

    /** Null until somebody has claimed the request that the id came with. */
    volatile @Nullable ConnectionId owner;

    /** Whether the connection has ended: C tells this once. */
    volatile boolean disconnected;

    IdEvents(PortSpace space, EventChannel channel) {
        this.space = space;
        this.channel = channel;
    }

    /** An event that becomes a value when somebody takes it. */
    static final class Entry {
        final IdEvents inbox;
        final CmEventType type;
        private final Function<ConnectionId, CmEvent> value;

        Entry(IdEvents inbox, CmEventType type, Function<ConnectionId, CmEvent> value) {
            this.inbox = inbox;
            this.type = type;
            this.value = value;
        }

        CmEvent valueFor(ConnectionId id) {
            return value.apply(id);
        }
    }
}
