package dev.verbena.sockets;

import static java.nio.channels.SelectionKey.OP_ACCEPT;
import static java.nio.channels.SelectionKey.OP_CONNECT;
import static java.nio.channels.SelectionKey.OP_READ;
import static java.nio.channels.SelectionKey.OP_WRITE;

import dev.verbena.internal.PollSet;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * The part of a channel that selectors see: its descriptor and its keys.
 *
 * <p>All threads may use it at once.
 */
final class Readiness {
    final SocketDescriptor descriptor;
    private final CopyOnWriteArrayList<RdmaSelectionKey> keys = new CopyOnWriteArrayList<>();

    Readiness(SocketDescriptor descriptor) {
        this.descriptor = descriptor;
    }

    void add(RdmaSelectionKey key) {
        keys.add(key);
    }

    void remove(RdmaSelectionKey key) {
        keys.remove(key);
    }

    /** Has selectors poll the descriptor anew, or no longer if it is closed. */
    void changed() {
        for (RdmaSelectionKey key : keys) {
            key.selector().changed(key);
        }
    }

    /** Returns the events to poll for; 0 if there is nothing to poll. */
    int events(int interest) {
        return switch (descriptor.phase()) {
            case UNCONNECTED -> 0;
            case LISTENING -> (interest & OP_ACCEPT) != 0 ? PollSet.IN : 0;
            case CONNECTING, ACCEPTED, CONNECTED ->
                ((interest & OP_READ) != 0 ? PollSet.IN : 0)
                        | ((interest & (OP_WRITE | OP_CONNECT)) != 0 ? PollSet.OUT : 0);
        };
    }

    /** Returns the operations that are ready, of those of interest. */
    int ready(int reported, int interest) {
        boolean failed = (reported & PollSet.FAILED) != 0;
        boolean in = failed || (reported & PollSet.IN) != 0;
        boolean out = failed || (reported & PollSet.OUT) != 0;
        return interest
                & switch (descriptor.phase()) {
                    case UNCONNECTED -> 0;
                    case LISTENING -> in ? OP_ACCEPT : 0;
                    case CONNECTING -> (out ? OP_CONNECT : 0) | (failed ? OP_READ | OP_WRITE : 0);
                    case ACCEPTED, CONNECTED -> (in ? OP_READ : 0) | (out ? OP_WRITE : 0);
                };
    }
}
