package dev.verbena.verbs;

import static dev.verbena.verbs.QueuePairOptions.GID_INDEX;
import static dev.verbena.verbs.QueuePairOptions.PORT;
import static dev.verbena.verbs.QueuePairOptions.TYPE;

import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GidEntry;
import dev.verbena.verbs.address.GlobalRoute;
import dev.verbena.verbs.device.DeviceAttributes;
import dev.verbena.verbs.device.Port;
import java.security.SecureRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** The address of one queue pair: its port, its GID, its number and the number of its first packet. */
final class QueuePairAddress {
    private static final int MAX_PSN = 0xffffff;

    /** Loaded by the first use. */
    private static final class Generator {
        private static final SecureRandom RANDOM = new SecureRandom();
    }

    private final ObjectLifetime lifetime;
    private final ContextQueries queries;
    private final QueuePairOptions options;
    private final int number;

    /** The number of the first packet; negative until it is asked for: the generator takes 75 ms to start (2026-11-25). */
    private final AtomicInteger packetSequenceNumber = new AtomicInteger(-1);

    /** The GID of the endpoint that peers have, in its table; null before anybody asked for the endpoint. */
    private volatile @Nullable GidEntry told;

    /** Makes the address of a queue pair that has this lifetime. The queue pair keeps its context open. */
    QueuePairAddress(ObjectLifetime lifetime, ContextQueries queries, QueuePairOptions options, int number) {
        this.lifetime = lifetime;
        this.queries = queries;
        this.options = options;
        this.number = number;
    }

    /** Returns the number of the first packet. Who can't see the packets can't guess it, and so can't forge one. */
    int packetSequenceNumber() {
        if (packetSequenceNumber.get() < 0) {
            packetSequenceNumber.compareAndSet(-1, Generator.RANDOM.nextInt() & MAX_PSN);
        }
        return packetSequenceNumber.get();
    }

    DeviceAttributes device() {
        try (var _ = lifetime.held()) {
            return queries.attributes();
        }
    }

    Port port() {
        try (var _ = lifetime.held()) {
            return queries.port(PORT.of(options));
        }
    }

    /** Returns the length of the longest message that the queue pair can send. */
    long longestMessage() {
        try (var _ = lifetime.held()) {
            return queries.longestMessage(TYPE.of(options), PORT.of(options));
        }
    }

    /** Returns the index that the GID of the {@link #endpoint} has now: over RoCE, a link that flaps moves its GIDs. */
    int gidIndex() {
        GidEntry known = told;
        try (var _ = lifetime.held()) {
            if (known != null) {
                for (GidEntry entry : queries.gids()) {
                    if (isSame(entry, known)) {
                        return entry.index();
                    }
                }
            }
            return GID_INDEX.of(options) == QueuePairOptions.BEST_GID
                    ? queries.bestGid(PORT.of(options)).index()
                    : GID_INDEX.of(options);
        }
    }

    /** Compares by hand: a program's first call of a record's method takes 32 ms of processor time (2026-11-25). */
    private static boolean isSame(GidEntry entry, GidEntry known) {
        return entry.port() == known.port()
                && entry.type() == known.type()
                && entry.gid().subnetPrefix() == known.gid().subnetPrefix()
                && entry.gid().interfaceId() == known.gid().interfaceId();
    }

    Endpoint endpoint() {
        try (var _ = lifetime.held()) {
            int port = PORT.of(options);
            int index = gidIndex();
            for (GidEntry entry : queries.gids()) {
                if (entry.port() == port && entry.index() == index) {
                    told = entry;
                }
            }
            return new Endpoint(number, packetSequenceNumber(), port().lid(), queries.gid(port, index));
        }
    }

    /** Returns the path to a peer, with a global route where packets need one. */
    AddressVector pathTo(Endpoint peer) {
        return path(peer.gid(), peer.lid(), port().needsGlobalRouting());
    }

    AddressVector pathTo(Gid destination, int lid) {
        return path(destination, lid, lid == 0 || port().needsGlobalRouting());
    }

    private AddressVector path(Gid destination, int lid, boolean global) {
        return AddressVector.of(PORT.of(options), lid, global ? GlobalRoute.to(destination, gidIndex()) : null);
    }
}
