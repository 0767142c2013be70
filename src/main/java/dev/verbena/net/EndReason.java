package dev.verbena.net;

import dev.verbena.internal.wire.EndCode;

/** A reason why a {@link Channel} has ended, or could not be made. */
public enum EndReason {
    /** The peer has closed the channel. All messages that it had sent before can be received. */
    CLOSED_BY_PEER(EndCode.CLOSED_BY_PEER, "The peer has closed the channel"),
    /** The peer refused the channel: it speaks another version of the protocol. */
    OTHER_VERSION(EndCode.OTHER_VERSION, "The peer speaks another version of the protocol"),
    /** One side broke the rules of the protocol, or is no {@link Node}. */
    PROTOCOL_ERROR(EndCode.PROTOCOL_ERROR, "The bytes are not those of a node"),
    /** The peer refused the channel: it has as many channels as its options allow. */
    TOO_MANY_CHANNELS(EndCode.TOO_MANY_CHANNELS, "The peer has as many channels as it allows"),
    /** The first messages did not come in time. */
    HANDSHAKE_TIMEOUT(EndCode.HANDSHAKE_TIMEOUT, "The first message did not come in time"),
    /** The peer's node has failed, for example for lack of memory. */
    PEER_FAILED(EndCode.PEER_FAILED, "The peer has failed"),
    /** The peer refused the channel: its program does not admit this node. See {@link NodeOptions#admit}. */
    REFUSED(EndCode.REFUSED, "The peer's program does not admit this node"),
    /** One side had a message to send, and the other has made no room for it in {@link NodeOptions#maxStall}. */
    STALLED(EndCode.STALLED, "One side has closed no messages for too long, while the other had more to send"),
    /** One side has not proved that it knows the secret of the other one. See {@link NodeOptions#secret}. */
    WRONG_SECRET(EndCode.WRONG_SECRET, "One side has not proved that it knows the other's secret"),
    /** The sides demand different protection. See {@link NodeOptions#protection}. */
    OTHER_PROTECTION(EndCode.OTHER_PROTECTION, "One side demands another protection than the other"),
    /**
     * A message of a {@linkplain Protection#SEALED sealed} channel was changed, repeated, left out or moved on its way. The
     * program gets no such message.
     */
    TAMPERED(EndCode.TAMPERED, "A sealed message was changed, repeated, left out or moved on its way"),
    /**
     * An operation on the peer's memory was refused: the export was closed, or the address or the right is wrong. The
     * adapter ends the connection then. The peer sees {@link #LOST}, and on iWARP this side too, because the adapter does
     * not tell. An operation under way may also be refused when the peer's process is killed, because the kernel takes its
     * memory away before it ends the connection.
     */
    ACCESS_DENIED(
            EndCode.ACCESS_DENIED,
            "The peer's memory could not be used: the export was closed, the address or the right is wrong, or the peer's "
                    + "process has ended"),
    /** No node answers at the peer's address: no way leads there, nobody listens, or a program that is no node does. */
    UNREACHABLE(EndCode.UNREACHABLE, "No node answers at the peer's address"),
    /** The connection was lost: the peer's process has ended, or its machine or the network has failed. */
    LOST(
            EndCode.LOST,
            "The connection was lost: the peer's process has ended, or its machine or the network has failed"),
    /** The device of this node was removed. */
    DEVICE_REMOVED(EndCode.DEVICE_REMOVED, "The device was removed"),
    /** This side has failed, for example for lack of memory. The exception's cause tells more. */
    FAILED(EndCode.FAILED, "This side has failed");

    /** The code in a goodbye; negative if the reason is never sent. */
    final int code;

    /** The reason in words. */
    final String words;

    EndReason(int code, String words) {
        this.code = code;
        this.words = words;
    }

    /** Returns the reason that a code stands for. */
    static EndReason of(int code) {
        for (EndReason reason : values()) {
            if (reason.code == code) {
                return reason;
            }
        }
        return PEER_FAILED;
    }
}
