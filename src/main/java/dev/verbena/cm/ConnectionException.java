package dev.verbena.cm;

import dev.verbena.VerbsException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A failure to connect, or the end of a connection, that the connection manager reported with an event. */
public class ConnectionException extends VerbsException {
    private static final long serialVersionUID = 1L;

    private final CmEventType event;
    private final int status;
    private final String reason;
    private final @Nullable InetSocketAddress peer;
    private final transient PrivateData privateData;

    ConnectionException(String verb, CmEvent event, @Nullable InetSocketAddress peer, String hint) {
        super(
                verb,
                peer == null ? event.id().toString() : "to " + text(peer),
                event.status() < -1 ? -event.status() : 0,
                words(event, hint));
        this.event = event.type();
        this.status = event.status();
        this.reason = RejectReason.of(event.type(), event.status());
        this.peer = peer;
        this.privateData = event instanceof CmEvent.Rejected rejected ? rejected.privateData() : PrivateData.NONE;
    }

    private static String words(CmEvent event, String hint) {
        String reason =
                event.status() == 0 || event.status() < -1 ? "" : ": " + RejectReason.of(event.type(), event.status());
        return (event.type() == CmEventType.UNKNOWN
                        ? "event " + event.typeCode()
                        : event.type().cName()) + " (status " + event.status() + "), "
                + event.type().meaning() + reason + (hint.isEmpty() ? "" : ". " + hint);
    }

    static String text(InetSocketAddress address) {
        String host = address.getAddress().getHostAddress();
        return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + address.getPort();
    }

    static String text(SocketAddress address) {
        return address instanceof InetSocketAddress ip && ip.getAddress() != null ? text(ip) : address.toString();
    }

    /**
     * Returns the type of the event that reported the failure.
     *
     * @return for example {@link CmEventType#REJECTED}
     */
    public CmEventType event() {
        return event;
    }

    /**
     * Returns the event's status: a negative {@code errno}, or a reason code of the transport.
     *
     * @return the number in C
     */
    public int status() {
        return status;
    }

    /**
     * Returns the reason in words.
     *
     * @return for example {@code no program listens on this port}
     */
    public String reason() {
        return reason;
    }

    /**
     * Returns the peer's address, if it is known.
     *
     * @return the address
     */
    public Optional<InetSocketAddress> peer() {
        return Optional.ofNullable(peer);
    }

    /**
     * Returns the private data that the peer rejected with, padded with zeros.
     *
     * @return the bytes; no bytes in a deserialised exception
     */
    public PrivateData privateData() {
        return privateData == null ? PrivateData.NONE : privateData;
    }
}
