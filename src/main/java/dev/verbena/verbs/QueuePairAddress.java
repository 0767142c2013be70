package dev.verbena.verbs;

import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GlobalRoute;
import dev.verbena.verbs.device.Port;
import java.util.concurrent.ThreadLocalRandom;

/** The address of one queue pair: its port, its GID, its number and the number of its first packet. */
final class QueuePairAddress {
    private static final int MAX_PSN = 0xffffff;

    private final Context context;
    private final QueuePairOptions options;
    private final int number;
    private final int packetSequenceNumber = ThreadLocalRandom.current().nextInt(MAX_PSN + 1);

    QueuePairAddress(Context context, QueuePairOptions options, int number) {
        this.context = context;
        this.options = options;
        this.number = number;
    }

    int packetSequenceNumber() {
        return packetSequenceNumber;
    }

    Port port() {
        return context.port(options.port());
    }

    int gidIndex() {
        return options.gidIndex() == QueuePairOptions.BEST_GID
                ? context.bestGid(options.port()).index()
                : options.gidIndex();
    }

    Endpoint endpoint() {
        return new Endpoint(number, packetSequenceNumber, port().lid(), context.gid(options.port(), gidIndex()));
    }

    AddressVector pathTo(Gid destination, int lid) {
        boolean global = lid == 0 || port().needsGlobalRouting();
        return AddressVector.of(options.port())
                .destinationLid(lid)
                .globalRoute(global ? GlobalRoute.to(destination, gidIndex()) : null);
    }
}
