package dev.verbena.net;

import java.util.Locale;

/**
 * The protection of the channels of a {@link Node} against others on its network. Both nodes of a channel need the same
 * one. See {@link NodeOptions#protection}.
 */
public enum Protection {
    /** Protects nothing: any host can connect that reaches the node, and read and change the packets that it sees. */
    NONE,
    /**
     * Both sides prove that they know a secret, and then send messages as they are. Strangers can't connect. Who can see the
     * packets can read and change them.
     */
    AUTHENTICATED,
    /**
     * Both sides prove that they know a secret. What they say to each other is encrypted, and a change of it ends the channel
     * with {@link EndReason#TAMPERED}: messages, requests, replies, names, transfers and goodbyes. Reads, writes and atomics
     * on exports move memory as it is: see {@link Export#inTheClear}.
     */
    SEALED;

    /** Returns this for the text of a channel. */
    String words() {
        return this == NONE ? "" : name().toLowerCase(Locale.ROOT) + ", ";
    }

    /** Returns the number in a greeting. */
    int code() {
        return ordinal();
    }
}
