package dev.verbena.internal.link;

import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.device.Mtu;

/**
 * The path of a queue pair whose service level or MTU the program has chosen. The connection manager has no option for
 * them and makes a queue pair of its own id ready with the path that it has found. So the queue pair is not made on the id,
 * and this class does what the connection manager's library would do.
 */
final class ChosenPath {
    private final ConnectionId id;
    private final QueuePair pair;
    private final LinkOptions.Quality chosen;

    ChosenPath(ConnectionId id, QueuePair pair, LinkOptions.Quality chosen) {
        this.id = id;
        this.pair = pair;
        this.chosen = chosen;
        id.bring(pair, QueuePairState.INIT);
    }

    /** Returns the parameters to connect or to accept with. */
    ConnectionParameters with(ConnectionParameters parameters) {
        return parameters.queuePair(pair.number(), false);
    }

    /** Makes the queue pair ready to send and receive, once the peer's request or its answer has come. */
    void makeReady() {
        id.bring(pair, QueuePairState.INIT); // again: only the answer says whether the peer may read
        QueuePairAttributes found = id.attributesFor(QueuePairState.RTR);
        if (chosen.serviceLevel().isPresent()) {
            found = found.addressVector(
                    found.addressVector().serviceLevel(chosen.serviceLevel().getAsInt()));
        }
        Mtu most = chosen.pathMtu();
        if (most != null && found.pathMtu().compareTo(most) > 0) {
            found = found.pathMtu(most);
        }
        pair.modify(found);
        id.bring(pair, QueuePairState.RTS);
    }

    /** Flushes all requests, as the end of a connection does. */
    void end() {
        pair.fail();
    }
}
