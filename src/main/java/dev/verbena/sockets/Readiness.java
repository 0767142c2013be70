package dev.verbena.sockets;

import static java.nio.channels.SelectionKey.OP_ACCEPT;
import static java.nio.channels.SelectionKey.OP_CONNECT;
import static java.nio.channels.SelectionKey.OP_READ;
import static java.nio.channels.SelectionKey.OP_WRITE;

import dev.verbena.internal.PollSet;
import dev.verbena.sockets.SocketDescriptor.Phase;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * The part of a channel that selectors see: its descriptor and its keys.
 *
 * <p>All threads may use it at once.
 */
final class Readiness {
    final SocketDescriptor descriptor;
    private final @Nullable SocketInput input;
    private final @Nullable SocketOutput output;
    private final CopyOnWriteArrayList<RdmaSelectionKey> keys = new CopyOnWriteArrayList<>();

    /** Makes the readiness of a channel. A server channel has no input and no output. */
    Readiness(SocketDescriptor descriptor, @Nullable SocketInput input, @Nullable SocketOutput output) {
        this.descriptor = descriptor;
        this.input = input;
        this.output = output;
    }

    void add(RdmaSelectionKey key) {
        keys.add(key);
    }

    void remove(RdmaSelectionKey key) {
        keys.remove(key);
    }

    /** Has selectors look at the channel anew, or no longer if it is closed. */
    void changed() {
        changed(null);
    }

    /** Has all selectors but one look anew: that one has taken the event that would have woken them. */
    void changed(@Nullable RdmaSelectionKey except) {
        for (RdmaSelectionKey key : keys) {
            if (key != except) {
                key.selector().changed(key);
            }
        }
    }

    /** Returns the events that C is to look for. */
    int events(int interest) {
        return switch (descriptor.phase()) {
            case UNCONNECTED -> 0;
            case LISTENING -> (interest & OP_ACCEPT) != 0 ? PollSet.IN : 0;
            case CONNECTING -> (interest & OP_CONNECT) != 0 ? PollSet.OUT : 0;
            case ACCEPTED, CONNECTED ->
                ((interest & OP_READ) != 0 ? PollSet.IN : 0) | ((interest & OP_WRITE) != 0 ? PollSet.OUT : 0);
        };
    }

    /** Returns the operations that are ready, of those of interest: the same as over TCP. */
    int ready(int reported, int interest) {
        Phase phase = descriptor.phase();
        boolean ended = (reported & PollSet.ENDED) != 0;
        boolean inputEnded = ended || (input != null && input.isClosed());
        boolean outputEnded = output != null && output.isClosed();
        if (phase == Phase.UNCONNECTED || (reported & PollSet.BROKEN) != 0 || (inputEnded && outputEnded)) {
            return interest; // the next call says why
        }
        boolean in = inputEnded || (reported & PollSet.IN) != 0;
        boolean out = ended || outputEnded || (reported & PollSet.OUT) != 0;
        return interest
                & switch (phase) {
                    case UNCONNECTED -> 0;
                    case LISTENING -> in ? OP_ACCEPT : 0;
                    case CONNECTING -> out ? OP_CONNECT : 0;
                    case ACCEPTED, CONNECTED -> (in ? OP_READ : 0) | (out ? OP_WRITE : 0);
                };
    }
}
