package dev.verbena.walk;

import dev.verbena.cm.CmEvent;
import dev.verbena.cm.ConnectRequest;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.walk.Node.EventChannelNode;
import dev.verbena.walk.Node.IdNode;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The connection manager of the model: which ends of connections know each other, and which events they get. It follows
 * the manual pages of {@code librdmacm} and the documentation of {@link dev.verbena.cm.EventChannel}.
 */
final class Peers {
    private Peers() {}

    /** What an id is for. */
    enum Phase {
        IDLE,
        LISTENING,
        RESOLVED,
        CONNECTING
    }

    /** An id in C: of the program, or of a request that the program has not claimed. */
    static final class End {
        Phase phase = Phase.IDLE;
        boolean isRequest;
        /** True for an id of the port space for datagrams. */
        boolean datagrams;

        boolean connected;
        boolean established;
        /** True once the event {@code DISCONNECTED} was taken from C. */
        boolean disconnected;

        int backlog;
        /** The address that a listener is bound to. */
        @Nullable
        InetSocketAddress address;
        /** The address that was resolved. */
        @Nullable
        InetSocketAddress target;

        @Nullable
        End peer;
        /** The program's id; null while nobody has claimed the request. */
        @Nullable
        IdNode id;

        /** The requests that were taken from C and neither claimed nor rejected, the oldest first. */
        final List<Request> unclaimed = new ArrayList<>();

        boolean hasDevice() {
            return phase != Phase.IDLE || isRequest;
        }

        /** Returns true for a request whose peer has left: the kernel forgets such requests. */
        boolean isForgotten() {
            return isRequest && peer == null;
        }

        boolean canBeAnswered() {
            return isRequest && peer != null && !connected;
        }

        boolean hasUnclaimed() {
            return unclaimed.stream().anyMatch(each -> !each.gone);
        }

        @Override
        public String toString() {
            return id == null ? "an unclaimed end" : id.name;
        }
    }

    /** A request to connect. */
    static final class Request {
        final IdNode listener;
        final End end;
        /** Null until the program has taken the event. */
        @Nullable
        ConnectRequest request;
        /** True once the request was claimed, rejected or dropped. */
        boolean gone;

        Request(IdNode listener, End end) {
            this.listener = listener;
            this.end = end;
        }

        ConnectRequest handle() {
            return Objects.requireNonNull(request);
        }

        @Override
        public String toString() {
            return "request to " + listener;
        }
    }

    /** An event that the program can take. */
    record Event(End end, CmEvent.Type type, @Nullable Request request) {
        @Override
        public String toString() {
            return type + " of " + end;
        }
    }

    static void raise(@Nullable End end, CmEvent.Type type) {
        if (end != null && end.id != null && end.id.open) {
            end.id.channel.inC.add(new Event(end, type, null));
        }
    }

    /** Takes all events of a channel from C. */
    static void take(EventChannelNode channel) {
        while (!channel.inC.isEmpty()) {
            takeOne(channel);
        }
    }

    /** Takes the events of a channel that C has now. A request that is refused meanwhile makes one more, which stays. */
    static void takeThoseOfNow(EventChannelNode channel) {
        for (int left = channel.inC.size(); left > 0; left--) {
            takeOne(channel);
        }
    }

    /** Takes events of a channel from C until the channel has one for this end, or any event if the end is null. */
    static void takeFor(EventChannelNode channel, @Nullable End end) {
        while ((end == null ? channel.order.isEmpty() : channel.first(end) == null) && !channel.inC.isEmpty()) {
            takeOne(channel);
        }
    }

    /** Takes an event of a channel from C. A listener refuses requests beyond its backlog. */
    private static void takeOne(EventChannelNode channel) {
        Event event = channel.inC.removeFirst();
        IdNode refused = event.type() == CmEvent.Type.REJECTED ? event.end().id : null;
        if (refused != null && refused.pair != null) {
            refused.pair.state = QueuePairState.ERR; // by C, when it tells the event
        }
        Request request = event.request();
        if (request != null) {
            long waiting = channel.order.stream()
                    .filter(each -> each.end() == event.end() && each.request() != null)
                    .count();
            if (waiting >= event.end().backlog) {
                reject(request.end);
                request.gone = true;
                return;
            }
            event.end().unclaimed.add(request);
        }
        event.end().disconnected |= event.type() == CmEvent.Type.DISCONNECTED;
        channel.order.add(event);
    }

    /** Connects a client to the listener at its target; returns what happened. */
    static String connect(List<IdNode> ids, IdNode client) {
        End end = client.end;
        end.phase = Phase.CONNECTING;
        end.disconnected = false;
        IdNode listener = ids.stream()
                .filter(each -> each.open && each.end.address != null && each.end.address.equals(end.target))
                .findFirst()
                .orElse(null);
        long waiting = listener == null
                ? 0
                : listener.channel.inC.stream()
                        .filter(each -> each.end() == listener.end && each.request() != null)
                        .count();
        if (listener == null || waiting >= listener.end.backlog) {
            raise(end, CmEvent.Type.REJECTED);
            return listener == null ? "nobody listens" : "backlog full";
        }
        End other = new End();
        other.isRequest = true;
        other.phase = Phase.CONNECTING;
        other.peer = end;
        end.peer = other;
        listener.channel.inC.add(new Event(listener.end, CmEvent.Type.CONNECT_REQUEST, new Request(listener, other)));
        return "requested";
    }

    /** Rejects a request, or drops it. */
    static void reject(End end) {
        End peer = end.peer;
        if (peer != null) {
            end.peer = null;
            peer.peer = null;
            raise(peer, CmEvent.Type.REJECTED);
        }
    }

    static void accept(End end) {
        End peer = Objects.requireNonNull(end.peer);
        end.connected = true;
        peer.connected = true;
        ready(end);
        ready(peer);
        boolean hasPair = peer.id != null && peer.id.pair != null;
        raise(peer, hasPair ? CmEvent.Type.ESTABLISHED : CmEvent.Type.CONNECT_RESPONSE);
        if (hasPair) {
            raise(end, CmEvent.Type.ESTABLISHED);
        }
    }

    private static void ready(End end) {
        if (end.id != null && end.id.pair != null) {
            end.id.pair.state = QueuePairState.RTS;
        }
    }

    static void disconnect(End end) {
        part(end);
        raise(end, CmEvent.Type.DISCONNECTED);
        end.connected = false;
    }

    private static void part(End end) {
        End peer = end.peer;
        if (peer == null) {
            return;
        }
        end.peer = null;
        peer.peer = null;
        if (end.connected) {
            raise(peer, CmEvent.Type.DISCONNECTED);
        } else if (end.isRequest) {
            raise(peer, CmEvent.Type.REJECTED);
        }
        peer.connected = false;
    }

    /** Notes that an id was destroyed. Its requests are rejected: first those that were taken from C. */
    static void destroyed(IdNode id) {
        End end = id.end;
        for (Request request : end.unclaimed) {
            if (!request.gone) {
                request.gone = true;
                reject(request.end);
            }
        }
        part(end);
        EventChannelNode channel = id.channel;
        List<Event> left =
                channel.inC.stream().filter(each -> each.end() == end).toList();
        channel.inC.removeAll(left);
        channel.order.removeIf(each -> each.end() == end);
        for (Event event : left) {
            Request request = event.request();
            if (request != null) {
                request.gone = true;
                reject(request.end);
            }
        }
    }
}
