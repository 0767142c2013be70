package dev.verbena.cm;

import dev.verbena.internal.Errno;

/** Describes the status of an event in words. */
final class RejectReason {
    private RejectReason() {}

    /** Describes the status of an event that reports a failure. */
    static String of(CmEvent.Type type, int status) {
        if (status < 0) {
            return status == -1 ? "an error inside the connection manager" : Errno.describe(-status);
        }
        return switch (type) {
            case REJECTED -> ofRejection(status);
            case UNREACHABLE ->
                switch (status) {
                    case 1 -> "no program listens for datagrams there";
                    case 2 -> "the peer's program has rejected the connection";
                    case 3 -> "the peer has no queue pair for it";
                    case 4 -> "the peer redirects to another port";
                    case 5 -> "the peer uses another version";
                    default -> "status " + status;
                };
            default -> status == 0 ? "no reason was given" : "status " + status;
        };
    }

    /** Describes the reasons of InfiniBand's connection manager (table 108 of volume 1). */
    private static String ofRejection(int reason) {
        return switch (reason) {
            case 1 -> "the peer has no queue pair left";
            case 3 -> "the peer has no resources left";
            case 4 -> "the peer timed out";
            case 5 -> "the peer can't do what was asked for";
            case 6, 7 -> "the peer does not know this connection";
            case 8 -> "no program listens on this port";
            case 9 -> "the listener has another kind of queue pair";
            case 10 -> "the peer believes that this queue pair is still connected";
            case 12, 18 -> "the peer does not have this GID";
            case 13, 19 -> "the peer does not have this LID";
            case 14, 20 -> "the peer refuses the service level";
            case 15, 21 -> "the peer refuses the traffic class";
            case 16, 22 -> "the peer refuses the hop limit";
            case 17, 23 -> "the peer refuses the packet rate";
            case 24, 25 -> "the peer redirects to another port";
            case 26 -> "the peer refuses the path MTU";
            case 27 -> "the peer has not enough responder resources";
            case 28 -> "the peer's program has rejected the connection";
            case 29 -> "the peer refuses the number of RNR retries";
            case 30 -> "the connection's number is used twice";
            case 31 -> "the peer uses another version of the connection manager";
            case 32, 33 -> "the peer refuses the flow label";
            case 35 -> "the peer does not support the vendor's option";
            default -> "reason " + reason;
        };
    }
}
