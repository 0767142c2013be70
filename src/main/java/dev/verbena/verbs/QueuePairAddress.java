package dev.verbena.verbs;

import dev.verbena.access.ObjectLifetime;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GlobalRoute;
import dev.verbena.verbs.device.DeviceAttributes;
import dev.verbena.verbs.device.Port;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;

/** The address of one queue pair: its port, its GID, its number and the number of its first packet. */
final class QueuePairAddress {
    private static final int MAX_PSN = 0xffffff;

    private final ObjectLifetime lifetime;
    private final ContextQueries queries;
    private final QueuePairOptions options;
    private final int number;
    private final int packetSequenceNumber = ThreadLocalRandom.current().nextInt(MAX_PSN + 1);

    /** Makes the address of a queue pair that has this lifetime. The queue pair keeps its context open. */
    QueuePairAddress(ObjectLifetime lifetime, ContextQueries queries, QueuePairOptions options, int number) {
        this.lifetime = lifetime;
        this.queries = queries;
        this.options = options;
        this.number = number;
    }

    private <T> T ask(Supplier<T> query) {
        lifetime.hold();
        try {
            return query.get();
        } finally {
            lifetime.release();
        }
    }

    int packetSequenceNumber() {
        return packetSequenceNumber;
    }

    DeviceAttributes device() {
        return ask(queries::attributes);
    }

    Port port() {
        return ask(() -> queries.port(options.port()));
    }

    int gidIndex() {
        return options.gidIndex() == QueuePairOptions.BEST_GID
                ? ask(() -> queries.bestGid(options.port())).index()
                : options.gidIndex();
    }

    Endpoint endpoint() {
        return ask(() ->
                new Endpoint(number, packetSequenceNumber, port().lid(), queries.gid(options.port(), gidIndex())));
    }

    AddressVector pathTo(Gid destination, int lid) {
        boolean global = lid == 0 || port().needsGlobalRouting();
        return AddressVector.of(options.port())
                .destinationLid(lid)
                .globalRoute(global ? GlobalRoute.to(destination, gidIndex()) : null);
    }
}
