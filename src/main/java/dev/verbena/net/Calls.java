package dev.verbena.net;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The calls of a channel, in both directions. The channel's lock guards an instance.
 *
 * <p>A call has a number, which request and reply carry. The number is free again only when the reply has come and its
 * receive is posted again. So each open call keeps one receive for its reply, and a reply needs no credit. A call that the
 * program has given up keeps its number until the reply comes, which is dropped.
 *
 * <p>The peer's requests are handed to the program only while a buffer for the reply is free. The buffer is free again when
 * the reply was acknowledged.
 */
final class Calls {
    /** A call of this side. */
    static final class Call extends Numbers.Numbered implements Supplier<@Nullable Message> {
        @Nullable
        Buffer answer;

        /** True if this is an offer whose pieces the peer may ask for. */
        boolean offers;

        /** True while the peer waits for the next piece. */
        boolean pulled;

        private final Messages messages;

        Call(int number, Messages messages) {
            super(number, 0);
            this.messages = messages;
        }

        /** Takes the reply in a new message; null if it has not come. */
        @Override
        public @Nullable Message get() {
            return messages.takeReply(number);
        }

        /** Begins a request. */
        void begin(boolean asOffer) {
            offers = asOffer;
            pulled = false;
        }
    }

    final Numbers<Call> numbers;

    private final int most;

    /** The numbers of the peer's calls that are not answered. */
    private final boolean[] asked;

    /** The number of buffers for replies that are in use, or reserved for a request that the program has. */
    private int replies;

    Calls(ChannelCore core, Messages messages, int most) {
        this.most = most;
        numbers = new Numbers<>(core, "open call", 0, number -> new Call(number, messages));
        asked = new boolean[most];
    }

    /** Begins: the peer answers this number of calls at once. */
    void begin(int ofPeer) {
        numbers.begin(Math.min(most, ofPeer));
    }

    /** Returns the call that a reply of the peer belongs to; null if the peer was not asked. */
    @Nullable
    Call answered(int number) {
        Call call = numbers.at(number);
        return call == null || (call.state != Call.State.POSTED && call.state != Call.State.FORGOTTEN) ? null : call;
    }

    /** Notes a request of the peer. Returns false if the number is wrong or in use. */
    boolean asked(int number) {
        if (number >= most || asked[number]) {
            return false;
        }
        asked[number] = true;
        return true;
    }

    /** Notes that a reply to the peer was posted. */
    void replied(int number) {
        asked[number] = false;
    }

    /** Reserves a buffer for a reply. */
    boolean reserveReply() {
        if (replies == most) {
            return false;
        }
        replies++;
        return true;
    }

    /** Notes that the buffer of a reply is free again. */
    void releaseReply() {
        replies--;
    }
}
