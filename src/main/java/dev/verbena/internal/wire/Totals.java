package dev.verbena.internal.wire;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The totals in the headers of a channel's messages, in both directions: credits granted, messages sent, messages received.
 * The channel's lock guards an instance.
 *
 * <p>Each message of a program needs one credit, and stands for one receive that the peer keeps for it. A side grants a
 * credit again when it has posted the receive again. Grants travel with messages, or in a bare grant of at least half of the
 * window. A bare grant needs a receive too, and no credit. {@link #RESERVED_GRANTS} receives are enough for all of them. The
 * proof: the peer has used no more than {@code window} messages beyond the total that it has processed. So what it has not
 * processed is at most {@code window - owed} before a bare grant, and at most {@code window} after it. Each bare grant raises
 * the total by at least half of the window. So at most two are not processed.
 *
 * <p>All numbers are of 32 bits and begin again at zero: only differences count.
 */
public final class Totals {
    /** The number of receives to keep for bare grants. */
    public static final int RESERVED_GRANTS = 2;

    private final int window;

    // Credits of the peer
    private int peerWindow;
    private int grantedByPeer;
    private int used;

    // Credits of this side
    private int granted;
    private int posted;
    private int usedByPeer;

    // Order
    private int sent;
    private int received;

    /** The number of this side's messages that the peer has said to have received. */
    private int receivedByPeer;

    public Totals(int window) {
        this.window = window;
    }

    /** Begins to send: the peer has posted receives for this number of messages. */
    public void begin(int receives) {
        peerWindow = receives;
    }

    /** Returns the number of messages that may be sent now. */
    public int available() {
        return peerWindow + grantedByPeer - used;
    }

    /** Takes the credit of one message. */
    public void take() {
        used++;
    }

    /** Takes back the credit of a message that was not sent. */
    public void takeBack() {
        used--;
    }

    /**
     * Counts a message of the peer that needed a credit.
     *
     * @return false if the peer had none
     */
    public boolean takenByPeer() {
        return ++usedByPeer - granted <= window;
    }

    /** Notes that the receive of a message was posted again. */
    public void posted() {
        posted++;
    }

    /** Returns whether so many credits are owed that they are granted without waiting for a message to send. */
    public boolean owesHalf() {
        return posted - granted >= (window + 1) / 2;
    }

    /** Returns the number of messages that this side has sent. */
    public int sent() {
        return sent;
    }

    /** Returns the number of this side's messages that the peer has said to have received. */
    public int receivedByPeer() {
        return receivedByPeer;
    }

    /** Returns the number of credits that the peer was granted. */
    public int granted() {
        return granted;
    }

    /** Writes the header of the next message, which grants all credits that are owed. */
    public void write(MemorySegment message, int kind, int call) {
        granted = posted;
        if (Wire.isCounted(kind)) {
            sent++;
        }
        Wire.writeHeader(message, kind, call, granted, sent, received);
    }

    /**
     * Takes back a counted message that was not sent.
     *
     * @param before the number of credits that the peer was granted before
     */
    public void unwrite(int before) {
        granted = before;
        sent--;
    }

    /** Reads the header of a message of the peer. Returns null, or what is wrong with it. */
    @Nullable
    public String read(MemorySegment message, int kind) {
        int more = Wire.granted(message) - grantedByPeer;
        int next = Wire.isCounted(kind) ? received + 1 : received;
        long both = Wire.sequenceAndReceived(message);
        int told = Wire.received(both);
        if (more < 0
                || more > used - grantedByPeer
                || Wire.sequence(both) != next
                || told - receivedByPeer < 0
                || sent - told < 0) {
            return wrong(more, Wire.sequence(both), next, told);
        }
        grantedByPeer += more;
        received = next;
        receivedByPeer = told;
        return null;
    }

    private String wrong(int more, int sequence, int next, int told) {
        if (more < 0 || more > used - grantedByPeer) {
            return "It granted more credits than its window has";
        }
        return sequence != next
                ? "Message " + Integer.toUnsignedString(sequence) + " came in place of "
                        + Integer.toUnsignedString(next)
                : "It has received " + Integer.toUnsignedString(told) + " messages of "
                        + Integer.toUnsignedString(sent);
    }

    /**
     * Writes the header of a message that is sent again.
     *
     * @param sequence the number that the message had
     */
    public void writeAgain(MemorySegment message, int sequence) {
        granted = posted;
        Wire.writeHeader(message, Wire.kind(message), Wire.call(message), granted, sequence, received);
    }

    /** The totals in the last header of the greetings of a side. */
    public record Said(int granted, int sent, int received) {
        public static Said in(MemorySegment message) {
            return new Said(Wire.granted(message), Wire.sequence(message), Wire.received(message));
        }
    }

    /** Reads what the peer says when it goes on over another connection. Returns null, or what is wrong with it. */
    @Nullable
    public String resume(Said said) {
        String wrong = wrong(said);
        if (wrong == null) {
            grantedByPeer = said.granted;
            receivedByPeer = said.received;
        }
        return wrong;
    }

    /** Returns null, or what is wrong with what the peer says. */
    @Nullable
    public String wrong(Said said) {
        int more = said.granted - grantedByPeer;
        boolean isWrong = more < 0
                || more > used - grantedByPeer
                || said.sent - received < 0
                || said.received - receivedByPeer < 0
                || sent - said.received < 0;
        return isWrong ? "It goes on after " + said + ", and this side has " + this : null;
    }

    /** Returns for example {@code granted 16 of 20, sent 20, 18 received, received 7}. */
    @Override
    public String toString() {
        return "granted " + Integer.toUnsignedString(grantedByPeer) + " of " + Integer.toUnsignedString(used)
                + ", sent " + Integer.toUnsignedString(sent) + ", " + Integer.toUnsignedString(receivedByPeer)
                + " received, received " + Integer.toUnsignedString(received);
    }
}
