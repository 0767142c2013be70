package dev.verbena.net;

/**
 * The credits of a channel, in both directions. Each message of a program needs one credit, and stands for one receive that
 * the peer keeps for it. The channel's lock guards an instance.
 *
 * <p>A side grants a credit again when it has posted the receive again. Grants travel with messages, or in a bare grant of
 * at least half of the window. A bare grant needs a receive too, and no credit. {@link #RESERVED_GRANTS} receives are
 * enough for all of them. The proof: the peer has used no more than {@code window} messages beyond the grants that it has
 * processed. So grants that it has not processed are at most {@code window - owed} before a bare grant, and at most
 * {@code window} after it. Each bare grant is at least half of the window. So at most two are not processed.
 */
final class Credits {
    /** The number of receives to keep for bare grants. */
    static final int RESERVED_GRANTS = 2;

    private final int window;
    private int peerWindow;
    private int available;
    private int owed;
    private int allowed;

    Credits(int window) {
        this.window = window;
        this.allowed = window;
    }

    /** Begins to send: the peer has posted receives for this number of messages. */
    void begin(int receives) {
        peerWindow = receives;
        available = receives;
    }

    /** Returns the number of messages that may be sent now. */
    int available() {
        return available;
    }

    /** Takes the credit of one message. */
    void take() {
        available--;
    }

    /** Takes back the credit of a message that was not sent. */
    void takeBack() {
        available++;
    }

    /**
     * Adds credits that the peer has granted.
     *
     * @return false if the peer has granted more than it can have
     */
    boolean add(int granted) {
        available += granted;
        return available <= peerWindow;
    }

    /**
     * Counts a message of the peer that needed a credit.
     *
     * @return false if the peer had none
     */
    boolean received() {
        return --allowed >= 0;
    }

    /** Notes that the receive of a message was posted again. */
    void posted() {
        owed++;
    }

    /** Returns whether so many credits are owed that they are granted without waiting for a message to send. */
    boolean owesHalf() {
        return owed >= (window + 1) / 2;
    }

    /** Takes all credits that are owed, to be granted with the next message. */
    int grant() {
        int granted = owed;
        owed = 0;
        allowed += granted;
        return granted;
    }

    /** Takes back a grant that was not sent. */
    void takeBackGrant(int granted) {
        owed += granted;
        allowed -= granted;
    }
}
