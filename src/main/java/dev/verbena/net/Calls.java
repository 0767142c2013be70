package dev.verbena.net;

import dev.verbena.internal.Waiters;
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
    static final class Call extends Numbers.Numbered {
        /** The states of a call. */
        enum State {
            FREE,
            /** A thread has its number, and has not sent the request. */
            TAKEN,
            SENT,
            /** The reply has come, and the program has not taken it. */
            ANSWERED,
            /** The program has the reply. */
            HELD,
            /** The program has given up. */
            FORGOTTEN
        }

        final Waiters answered = new Waiters();
        State state = State.FREE;

        @Nullable
        Buffer answer;

        /** The future of the reply; null if a thread or a program that polls takes it. */
        AsyncCalls.@Nullable Entry async;

        /** Takes the reply in a new message. */
        final Supplier<@Nullable Message> take;

        Call(int number, Supplier<@Nullable Message> take) {
            super(number, 0);
            this.take = take;
        }
    }

    private final int most;
    private final Numbers<Call> numbers;

    /** The numbers of the peer's calls that are not answered. */
    private final boolean[] asked;

    /** The number of buffers for replies that are in use, or reserved for a request that the program has. */
    private int replies;

    Calls(Messages messages, int most) {
        this.most = most;
        numbers = new Numbers<>(0, number -> new Call(number, () -> messages.takeReply(number)));
        asked = new boolean[most];
    }

    /** Begins: the peer answers this number of calls at once. */
    void begin(int ofPeer) {
        numbers.begin(Math.min(most, ofPeer));
    }

    /** Returns true if both sides allow calls. */
    boolean any() {
        return numbers.size() > 0;
    }

    /** Takes a number; null if all are in use. */
    @Nullable
    Call take() {
        Call call = numbers.next();
        if (call != null) {
            numbers.take(call);
            call.state = Call.State.TAKEN;
        }
        return call;
    }

    /** Returns the call of a ticket; null if that call is over. */
    @Nullable
    Call find(long ticket) {
        return numbers.find(ticket);
    }

    @Nullable
    Call at(int number) {
        return numbers.at(number);
    }

    /** Gives a number back. */
    void free(int number) {
        Call call = numbers.at(number);
        if (call != null) {
            call.state = Call.State.FREE;
            call.answer = null;
            call.async = null;
            numbers.free(call);
        }
    }

    /** Returns the call that a reply of the peer belongs to; null if the peer was not asked. */
    @Nullable
    Call answered(int number) {
        Call call = numbers.at(number);
        return call == null || (call.state != Call.State.SENT && call.state != Call.State.FORGOTTEN) ? null : call;
    }

    /** Ends all waits for replies. */
    void wakeAll() {
        for (Call call : numbers.made()) {
            call.answered.wakeAll();
            if (call.async != null) {
                call.async.finish();
            }
        }
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
