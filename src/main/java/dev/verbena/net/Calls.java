package dev.verbena.net;

import dev.verbena.internal.Deadline;
import dev.verbena.internal.link.Link;
import dev.verbena.internal.wire.Wire;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The calls of a channel, in both directions. The channel's lock guards an instance. Methods for the program take it; all
 * others are called under it.
 *
 * <p>A call has a number, which request and reply carry. The number is free again only when the reply has come and its
 * receive is posted again. So each open call keeps one receive for its reply, and a reply needs no credit. A call that the
 * program has given up keeps its number until the reply comes, which is dropped.
 *
 * <p>A request with a future that waits keeps its buffer, so the buffers to send limit the number of requests that wait.
 *
 * <p>The peer's requests are handed to the program only while a buffer for the reply is free. The buffer is free again when
 * the reply was acknowledged.
 */
final class Calls extends Numbers<Calls.Call, Message> {
    /** A call of this side. */
    final class Call extends Numbers.Pending<Message> implements Supplier<@Nullable Message> {
        private @Nullable Buffer answer;

        /** The time at which the request was sent; 0 if this call is not measured. */
        private long begun;

        /** True if this is an offer whose pieces the peer may ask for. */
        boolean offers;

        /** True while the peer waits for the next piece. */
        boolean pulled;

        private Call(int number) {
            super(number, 0);
        }

        /** Takes the reply in a new message, for the thread that has made the call; null if it has not come. */
        @Override
        public @Nullable Message get() {
            try (var _ = session.lock.held()) {
                session.checkNotClosed();
                return take(this, false);
            }
        }

        @Override
        Message result(boolean reuse) {
            Buffer reply = Objects.requireNonNull(answer);
            if (reply.kind == Wire.FAULT) {
                byte[] text = reply.segment().toArray(ValueLayout.JAVA_BYTE);
                CallException refused = new CallException(session.toText(), new String(text, StandardCharsets.UTF_8));
                engine.counts.callFailed(session, CallException.why(refused.reason()));
                drop();
                throw refused;
            }
            Message next = reply.next(session.channel, reuse); // before any change: there may be no memory
            reply.lend(Buffer.State.RECEIVED, next);
            hold();
            return next;
        }

        @Override
        void drop() {
            Buffer reply = Objects.requireNonNull(answer);
            hold();
            dropReply(reply);
        }

        /** Notes that the program has the reply. */
        private void hold() {
            answer = null;
            state = State.HELD;
        }
    }

    private final Messages messages;
    private final int most;

    /** The numbers of the peer's calls that are not answered. */
    private final boolean[] asked;

    /** The number of buffers for replies that are in use, or reserved for a request that the program has. */
    private int replies;

    Calls(Session session, Engine engine, Messages messages, int most) {
        super(session, engine, "open call", "calls: see NodeOptions.calls() of both nodes", 0);
        this.messages = messages;
        this.most = most;
        asked = new boolean[most];
    }

    @Override
    Call make(int number) {
        return new Call(number);
    }

    /** Begins: the peer answers this number of calls at once. */
    void begin(int ofPeer) {
        beginNumbers(Math.min(most, ofPeer));
    }

    // Of this side

    private Buffer requestable(Message message) {
        Buffer buffer = message.sendable(session.channel);
        if (buffer.kind == Wire.REPLY) {
            throw new IllegalStateException("A reply can't be a request: take a message with Channel.message()");
        }
        return buffer;
    }

    /** Sends a request if there is a credit. The caller has the number. */
    boolean trySend(Message message, Call call, int kind) {
        try (var _ = session.lock.held()) {
            Buffer buffer = requestable(message);
            session.checkCanSend();
            return send(buffer, call, kind);
        }
    }

    private boolean send(Buffer buffer, Call call, int kind) {
        long begun = kind == Wire.CALL ? messages.counts.beginCall().begin() : 0; // offers take as long as their data
        boolean sent = messages.sendRequest(buffer, call.number, kind);
        if (sent) {
            call.begun = begun;
            call.offers = kind == Wire.OFFER;
            call.pulled = false;
            call.state = Call.State.POSTED;
            messages.counts.calls++;
        }
        return sent;
    }

    /** Sends a request if there are a number and a credit. Returns its call, or null. */
    private @Nullable Call trySend(Buffer buffer) {
        Call next = next();
        if (next == null || !send(buffer, next, Wire.CALL)) {
            return null;
        }
        take(next);
        return next;
    }

    /** Sends a request if that is possible now. Returns the ticket of the call, or 0. */
    long tryCall(Message message) {
        try (var _ = session.lock.held()) {
            checkCanBegin();
            Call call = trySend(requestable(message));
            return call == null ? 0 : call.ticket();
        }
    }

    /**
     * Sends a request, and waits for the reply.
     *
     * @param offer seals the pieces that the peer asks for; null if the request is no sealed offer
     */
    Message call(Message request, int kind, @Nullable SealedOffer offer, Duration timeout) throws InterruptedException {
        Deadline deadline = Deadline.after(timeout);
        request.sendable(session.channel);
        Call call = session.channel.inTime(
                engine.await(room, takeNumber, timeout), "call", timeout, "The peer has not answered earlier calls");
        long ticket = call.ticket();
        Message reply = null;
        try {
            if (!trySend(request, call, kind)) {
                Channel.Attempt attempt = new Channel.Attempt() {
                    @Override
                    boolean succeeds() {
                        return trySend(request, call, kind);
                    }
                };
                session.channel.inTime(
                        engine.await(messages.credit, attempt, deadline.left()), "call", timeout, Channel.NO_CREDIT);
            }
            if (offer != null) {
                servePieces(offer, call, deadline, timeout);
            }
            reply = engine.await(call.done, call, deadline.left());
            return session.channel.inTime(reply, "call", timeout, "The peer has not answered");
        } finally {
            if (reply == null) {
                forget(ticket);
            }
        }
    }

    /** Seals the other pieces, which the peer asks for, until it answers the offer. */
    private void servePieces(SealedOffer offer, Call call, Deadline deadline, Duration timeout)
            throws InterruptedException {
        Pulls pulls = messages.pulls;
        Supplier<@Nullable Boolean> attempt = new Supplier<>() {
            @Override
            public @Nullable Boolean get() {
                return pulls.next(call);
            }
        };
        Supplier<@Nullable Boolean> offering = new Supplier<>() {
            @Override
            public @Nullable Boolean get() {
                return pulls.tryOffer(call);
            }
        };
        String hint = "The peer has not answered";
        while (session.channel.inTime(engine.await(call.done, attempt, deadline.left()), "call", timeout, hint)) {
            if (!offer.hasNext()) {
                session.end(EndReason.PROTOCOL_ERROR, "It asked for a piece beyond the end of an offer", null);
                session.checkNotEnded();
            }
            try {
                offer.sealNext();
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
            session.channel.inTime(engine.await(pulls.room, offering, deadline.left()), "call", timeout, hint);
        }
    }

    /** Sends a request now or later, and returns the future of the reply. */
    CompletableFuture<Message> call(Message message) {
        try (var _ = session.lock.held()) {
            Buffer request = requestable(message);
            ChannelFuture<Message> mine = send(checkCanBegin(), new Unsent<>() {
                @Override
                public @Nullable Call trySend(Link on) {
                    return Calls.this.trySend(request);
                }

                @Override
                public void giveBack() {
                    messages.makeIdle(request);
                }
            });
            if (mine.of == null) {
                request.take(Buffer.State.SENDING); // belongs to the channel
            }
            return mine;
        }
    }

    @Override
    void forget(Pending<Message> call) {
        if (call.state == Call.State.POSTED) {
            messages.counts.abandoned++;
            engine.counts.callFailed(session, "Given up before the peer has answered");
        }
        messages.pulls.giveUp((Call) call);
        super.forget(call);
    }

    /** Posts the receive of a reply again, which frees the number of its call. */
    void dropReply(Buffer reply) {
        Call call = at(reply.call);
        if (messages.postAgain(reply) && call != null) {
            free(call);
        }
    }

    /** Returns the call that a message of the peer belongs to; null if the peer was not asked. */
    @Nullable
    Call answered(int number) {
        Call call = at(number);
        return call == null || (call.state != Call.State.POSTED && call.state != Call.State.FORGOTTEN) ? null : call;
    }

    /** Notes the reply to a call. Returns false if the peer was not asked. */
    boolean answered(Buffer reply) {
        Call call = answered(reply.call);
        if (call != null) {
            call.answer = reply;
            if (call.begun != 0) {
                messages.counts.beginCall().end(call.begun);
            }
            come(call);
        }
        return call != null;
    }

    /** Tells the peer of the offers that were given up while there was no connection. */
    void pathBack() {
        for (int number = 0; number < most; number++) {
            Call call = at(number);
            if (call != null && call.state == Call.State.FORGOTTEN) {
                messages.pulls.giveUp(call);
            }
        }
    }

    // Of the peer

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
