package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.verbs.access.VerbsAccess;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A failure to connect, or the end of a connection, that the connection manager reported. The cause is most often the peer, or
 * the network. Other failures, such as queues that are too large for the device, are a plain {@link VerbsException}.
 */
public class ConnectionException extends VerbsException {
    private static final long serialVersionUID = 1L;

    private final CmEvent.Type event;
    private final int status;
    private final String reason;
    private final @Nullable InetSocketAddress peer;
    private final transient PrivateData privateData;

    private ConnectionException(
            String verb,
            String arguments,
            int errno,
            String words,
            CmEvent.Type event,
            int status,
            @Nullable InetSocketAddress peer,
            PrivateData privateData) {
        super(verb, arguments, errno, words);
        this.event = event;
        this.status = status;
        this.reason = RejectReason.of(event, status);
        this.peer = peer;
        this.privateData = privateData;
    }

    ConnectionException(String verb, CmEvent event, @Nullable InetSocketAddress peer, String hint) {
        this(
                verb,
                peer == null ? event.id().toString() : "to " + text(peer),
                errno(event.status()),
                words(event, hint),
                event.type(),
                event.status(),
                peer,
                event instanceof CmEvent.Rejected rejected ? rejected.privateData() : PrivateData.NONE);
    }

    /** Makes the exception for a wait that ends with the connection. */
    static ConnectionException ended(IdEvents.End end, @Nullable InetSocketAddress peer) {
        return new ConnectionException(
                RdmaCm.GET_CM_EVENT.name(),
                "to " + text(peer),
                errno(end.status()),
                end.type().cName() + " (status " + end.status() + "), "
                        + end.type().meaning()
                        + (end.type() == CmEvent.Type.DISCONNECTED
                                ? ": one side has disconnected, or the peer's process has ended. Close this connection"
                                : ""),
                end.type(),
                end.status(),
                peer,
                PrivateData.NONE);
    }

    private static int errno(int status) {
        return status < -1 ? -status : 0;
    }

    /** Makes the exception for a call that failed because the peer left before it was accepted. */
    static ConnectionException peerHasLeft(VerbsException failed, @Nullable InetSocketAddress peer) {
        ConnectionException made = new ConnectionException(
                failed.verb(),
                "to " + text(peer),
                failed.errno(),
                "The peer has left before it was accepted: it has closed its connection, or its process has ended. "
                        + "Go on with the next peer",
                CmEvent.Type.CONNECT_ERROR,
                -failed.errno(),
                peer,
                PrivateData.NONE);
        made.initCause(failed);
        return made;
    }

    private static String words(CmEvent event, String hint) {
        String reason =
                event.status() == 0 || event.status() < -1 ? "" : ": " + RejectReason.of(event.type(), event.status());
        String data = event instanceof CmEvent.Rejected rejected
                ? rejected.privateData().description()
                : "";
        return (event.type() == CmEvent.Type.UNKNOWN
                        ? "event " + event.typeCode()
                        : event.type().cName()) + " (status " + event.status() + "), "
                + event.type().meaning() + reason + (data.isEmpty() ? "" : ". The peer's private data: " + data)
                + (hint.isEmpty() ? "" : ". " + hint)
                + (event.status() == -Errno.ENODEV ? VerbsAccess.get().withoutConnectionManager() : "");
    }

    /** Returns an address as text, which may be that of a peer without one. */
    static String text(@Nullable SocketAddress address) {
        if (!(address instanceof InetSocketAddress ip) || ip.getAddress() == null) {
            return address == null ? "an unknown peer" : address.toString();
        }
        String host = ip.getAddress().getHostAddress();
        return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + ip.getPort();
    }

    /**
     * Returns the type of the event that reported the failure. The connection manager reports no event if a peer leaves
     * before it is accepted: the type is {@link CmEvent.Type#CONNECT_ERROR} then.
     *
     * @return for example {@link CmEvent.Type#REJECTED}
     */
    public CmEvent.Type event() {
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
