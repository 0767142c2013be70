package dev.verbena.internal.link;

import dev.verbena.internal.wire.Seal;
import dev.verbena.internal.wire.Totals;

/**
 * The numbers of requests, buffers and pieces of memory of a channel.
 *
 * @param window the number of messages of the peer that this side has receives for
 * @param sends the number of messages that may be under way
 * @param calls the number of calls that may be under way, in each direction
 * @param operations the number of reads, writes and atomics that may be under way
 * @param messageSize the largest number of bytes of a message
 * @param isSecret true if both sides prove that they know a secret
 * @param isSealed true if what they say then is sealed
 * @param heals true if the channel can outlive its connection
 */
public record Sizes(
        int window,
        int sends,
        int calls,
        int operations,
        int messageSize,
        boolean isSecret,
        boolean isSealed,
        boolean heals) {
    /** The sends of the channel itself: greeting, goodbye, and two for grants and signs of life. */
    private static final int CONTROL_SENDS = 4;

    /** The receives for the peer's greeting, goodbye and bare grants. */
    private static final int CONTROL_RECEIVES = 2 + Totals.RESERVED_GRANTS;

    /** The most receives that are posted together. */
    private static final int MOST_TOGETHER = 8;

    /**
     * Returns the number of sends of the channel itself. With a secret there is the proof too; and if the channel is sealed,
     * one for each piece that is asked for or that is ready.
     */
    public int controlSends() {
        return CONTROL_SENDS + (isSecret ? 1 : 0) + (isSealed ? 2 * calls : 0);
    }

    /** Returns the number of receives of a channel. If it is sealed, each offer of the peer has one more for its pieces. */
    public int receiveDepth() {
        return window + calls + (isSealed ? calls : 0) + CONTROL_RECEIVES + spareReceives();
    }

    /**
     * Returns the number of receives beyond those that the peer can use. As many can wait to be posted together with the next
     * one, and the peer has its credits meanwhile.
     */
    public int spareReceives() {
        return Math.clamp(window / 8, 1, MOST_TOGETHER) - 1;
    }

    /** Returns the number of sends of a channel. Each call of the peer may need a binding and a reply. */
    public int sendDepth() {
        return buffers() + calls + operations + controlSends();
    }

    /**
     * Returns the number of buffers to send. If the channel can outlive its connection, the peer's adapter may have
     * acknowledged a window of messages that its program has not received, and a program still gets as many as without.
     */
    public int buffers() {
        return sends + calls + (heals ? window : 0);
    }

    /** Returns true if messages are sealed into other memory, so that they can be sealed once more. */
    public boolean sealsCopies() {
        return heals && isSealed;
    }

    /** Returns the number of pieces of memory of a channel, without those of the greetings. */
    public int pieces() {
        return receiveDepth() - 1 + (sealsCopies() ? 2 : 1) * buffers();
    }

    /** Returns the number of bytes behind each message for its seal. */
    public int room() {
        return isSealed ? Seal.BYTES : 0;
    }
}
