package dev.verbena.net;

import dev.verbena.internal.Fields;
import dev.verbena.internal.Waiters;
import dev.verbena.internal.link.BiasedLock;
import dev.verbena.internal.link.Link;
import dev.verbena.internal.wire.Totals;
import dev.verbena.internal.wire.Wire;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The messages of a channel: its buffers, totals and calls. {@link Session} has the state of the connection. The
 * channel's lock guards all fields. Methods for the program take it; all others are called under it.
 */
final class Messages {
    private static final Latency NO_CALLS = new Latency(0, 0, 0, 0, 0, 0);

    private static final VarHandle ARRIVED = Fields.handle(MethodHandles.lookup(), "arrivedCount", int.class);

    final Waiters free = new Waiters();
    final Waiters credit = new Waiters();
    final Waiters arrival = new Waiters();
    final Supplier<@Nullable Message> takeFree = () -> takeFree(false);
    final Supplier<@Nullable Message> takeArrived = () -> takeArrived(false);

    private final Session session;
    private final Engine engine;
    private final NodeOptions options;
    private final BiasedLock lock;
    final Totals totals;
    final Calls calls;
    final Pulls pulls;
    private final Buffer[] receives;
    private final Buffer[] sends;

    /** The messages that have arrived, as a ring. */
    private final Buffer[] arrived;

    private final Lookups lookups;

    private int arrivedFirst;

    /** The number of messages that have arrived. Changed under the lock, and also read without it. */
    private int arrivedCount;

    /** The free buffers to send: the one that was given back last is on top. */
    private final Buffer[] idle;

    private int idleCount;

    /** The number of buffers that the program has or that are under way, without replies, and how many there may be. */
    private int plain;

    private int mostPlain;

    /** The messages that the peer may not have, of a channel that can outlive its connection; else null. */
    private @Nullable Kept kept;

    /** The handler of the channel, if there is one, and what it was told. */
    final Listening listening;

    /** The memory of the buffers, as the device of the connection knows it. */
    private @Nullable MemoryRegion placed;

    private volatile int maxSize;
    final ChannelCounts counts = new ChannelCounts();
    final Stalls stalls;

    Messages(Session session, Engine engine, BiasedLock lock) {
        this.session = session;
        this.engine = engine;
        this.options = engine.options;
        this.lock = lock;
        this.totals = new Totals(options.window());
        this.lookups = new Lookups(session, engine, this);
        this.listening = new Listening(session, this, lock);
        this.stalls = new Stalls(session);
        this.calls = new Calls(session, engine, this, options.calls());
        this.pulls = new Pulls(session, engine, this, calls);
        this.receives = new Buffer[options.sizes().receiveDepth()];
        this.arrived = new Buffer[options.window()];
        this.mostPlain = options.sends();
        this.sends = new Buffer[options.sizes().buffers()];
        this.idle = new Buffer[sends.length];
    }

    /** Posts the receive of the peer's greeting, which is the first message. */
    void begin(Link on) {
        receives[0] = new Buffer(0, on.greetingOfPeer(), 0);
        post(on, receives[0]);
    }

    /** Makes the buffers, and posts all receives. */
    void open(Link on, MemoryRegion memory) {
        placed = memory;
        on.open(memory);
        int piece = 0;
        int room = options.sizes().room();
        long size = (long) options.messageSize() + room;
        for (int i = 1; i < receives.length; i++) {
            receives[i] = new Buffer(i, on.piece(piece++, size), room);
        }
        for (int i = 0; i < sends.length; i++) {
            LocalMemory whole = on.piece(piece++, size);
            sends[i] = options.sizes().sealsCopies()
                    ? new Buffer(i, on.piece(piece++, size), room, whole.segment())
                    : new Buffer(i, whole, room);
            idle[sends.length - 1 - i] = sends[i];
        }
        idleCount = sends.length;
        for (int i = 1; i < receives.length; i++) {
            post(on, receives[i]);
        }
    }

    /** Gives all buffers the memory that they have, as another device knows it. */
    private void moveBuffers(Link on) {
        long size = (long) options.messageSize() + options.sizes().room();
        int piece = 0;
        for (int i = 1; i < receives.length; i++) {
            receives[i].move(on.piece(piece++, size));
        }
        for (Buffer each : sends) {
            if (options.sizes().sealsCopies()) {
                piece++; // the program's memory is not posted
            }
            each.move(on.piece(piece++, size));
        }
    }

    /** Posts all receives again that the program does not have, over another connection. */
    void openAgain(Link on, MemoryRegion memory) {
        MemoryRegion here = on.here(memory);
        on.open(here);
        if (here != placed) {
            placed = here;
            moveBuffers(on);
        }
        for (int i = 1; i < receives.length; i++) {
            if (receives[i].state() == Buffer.State.IDLE) {
                post(on, receives[i]);
            }
        }
    }

    /** Notes the limits of the peer. */
    void greeted(Wire.Greeting greeting) {
        totals.begin(kept == null ? greeting.window() : Math.min(greeting.window(), options.window()));
        calls.begin(greeting.calls());
        maxSize = Math.min(greeting.messageSize(), options.messageSize());
    }

    void post(Link on, Buffer buffer) {
        on.receive(Link.RECEIVE | buffer.index, buffer.whole());
    }

    Buffer receive(int index) {
        return receives[index];
    }

    int maxSize() {
        return maxSize;
    }

    int arrivedCount() {
        return arrivedCount;
    }

    void wakeWaits() {
        free.wakeAll();
        credit.wakeAll();
        arrival.wakeAll();
        calls.wakeWaits();
        pulls.wakeWaits();
    }

    /** Ends the futures of calls, and has the handler look at its channel. */
    void finishFutures() {
        calls.finishFutures();
        if (listening.handler() != null) {
            engine.handlers.ready(session);
        }
    }

    // Counters

    /** Notes that the peer has granted credits. */
    void credited() {
        stalls.end();
        calls.sendUnsent();
        engine.wake(credit);
    }

    ChannelStatistics statistics() {
        return counts.statistics(stalls);
    }

    /** Returns the times of this side's calls, or of the handler. */
    Latency latency(boolean ofHandler) {
        try (var _ = lock.held()) {
            CallTimes times = ofHandler ? counts.ofHandler : counts.ofCalls;
            return times == null ? NO_CALLS : times.latency();
        }
    }

    // Completions

    /** Notes that a message was acknowledged. */
    void sent(int index) {
        Buffer buffer = sends[index];
        buffer.onWire = false;
        if (!buffer.kept) {
            makeIdle(buffer);
        }
    }

    // Another connection

    /** Keeps all messages from now on until the peer says that it has received them. */
    void keepAll() {
        kept = new Kept(options);
        mostPlain = options.sends() + options.window();
    }

    /** Returns true if a message about a piece can be kept, or has not to be. */
    boolean canKeepPiece() {
        Kept all = kept;
        return all == null || !all.isFull(totals.sent() + sends.length);
    }

    /** Keeps a message that was sent, if the channel can outlive its connection. */
    void keep(@Nullable Buffer buffer, int kind, int call) {
        Kept all = kept;
        if (all != null) {
            all.add(totals.sent(), buffer, kind, call);
        }
    }

    /** Returns the place of an operation in the order of all requests. */
    long nextOrder() {
        Kept all = kept;
        return all == null ? 0 : all.nextOrder();
    }

    /** Lets go of the messages that the peer has. */
    void receivedByPeer() {
        Kept all = kept;
        if (all != null) {
            all.receivedByPeer(totals.receivedByPeer(), this);
        }
    }

    /** Notes that the peer has a message. */
    void letGo(Buffer buffer) {
        buffer.kept = false;
        if (!buffer.onWire) {
            makeIdle(buffer);
        }
    }

    /** Notes that the connection is lost: no request is under way. */
    void pathLost() {
        for (Buffer buffer : sends) {
            if (buffer.onWire) {
                buffer.onWire = false;
                if (!buffer.kept) { // the peer has said that it has the message
                    makeIdle(buffer);
                }
            }
        }
        tellPath();
    }

    /** Returns how to send again what the peer does not have. */
    List<Kept.Again> again(Rail over) {
        return Objects.requireNonNull(kept).again(totals.sent(), over);
    }

    /** Notes that there is another connection. */
    void pathBack() {
        stalls.end();
        calls.pathBack();
        calls.sendUnsent();
        lookups.answer();
        tellPath();
    }

    private void tellPath() {
        if (listening.handler() != null) {
            engine.handlers.ready(session);
        }
    }

    void makeIdle(Buffer buffer) {
        buffer.take(Buffer.State.IDLE);
        idle[idleCount++] = buffer;
        if (buffer.kind == Wire.REPLY) {
            calls.releaseReply();
            lookups.answer();
            if (arrivedCount > 0) {
                arrivalChanged(); // a request may have waited for that
            }
        } else {
            plain--;
            engine.wake(free);
        }
    }

    /** Handles a message of the peer's program. Returns null, or what is wrong with it. */
    @Nullable
    String received(Buffer buffer, int bytes, int kind, int code) {
        counts.received++;
        counts.receivedBytes += bytes;
        if (kind == Wire.REPLY || kind == Wire.FAULT) {
            if (kind == Wire.FAULT) {
                counts.faults++;
            }
            buffer.arrive(bytes, kind, code);
            return calls.answered(buffer) ? null : "Reply to call " + code + ", which is not open";
        }
        if (!totals.takenByPeer()) {
            return "It sent more messages than it has credits";
        }
        if (kind == Wire.NOTICE && bytes != Wire.NOTICE_BYTES) {
            return "Notice of " + bytes + " bytes is malformed";
        }
        if (kind != Wire.DATA && kind != Wire.NOTICE && !calls.asked(code)) {
            return "Call " + code + " is beyond the limit, or open already";
        }
        buffer.arrive(bytes, kind, code);
        if (kind == Wire.LOOKUP || kind == Wire.OFFER) {
            return lookups.received(buffer, bytes, kind);
        }
        arrived(buffer);
        return null;
    }

    /** Keeps a message for the program. */
    void arrived(Buffer buffer) {
        arrived[place(arrivedFirst + arrivedCount)] = buffer;
        ARRIVED.setOpaque(this, arrivedCount + 1);
        arrivalChanged();
    }

    private void arrivalChanged() {
        if (listening.handler() == null) {
            engine.wake(arrival);
        } else {
            engine.handlers.ready(session);
        }
    }

    // Sending

    @Nullable
    Message takeFree(boolean reuse) {
        try (var _ = lock.held()) {
            session.checkCanSend();
            if (plain == mostPlain) {
                return null;
            }
            Message free = lendToSend(Wire.DATA, Buffer.NO_CALL, reuse);
            plain++;
            return free;
        }
    }

    private Message lendToSend(int kind, int call, boolean reuse) {
        Buffer buffer = idle[idleCount - 1];
        Message next = buffer.next(session.channel, reuse);
        buffer.length(maxSize);
        buffer.kind = kind;
        buffer.call = call;
        buffer.lend(Buffer.State.LENT, next);
        idleCount--;
        return next;
    }

    boolean trySend(Message message) {
        try (var _ = lock.held()) {
            Buffer buffer = message.sendable(session.channel);
            session.checkCanSend();
            if (buffer.kind == Wire.REPLY) {
                transmit(buffer, Wire.REPLY);
                return true;
            }
            return sendWithCredit(buffer, Wire.DATA);
        }
    }

    /** Returns true if a message can be sent now. Without a connection none can. */
    boolean hasCredit() {
        if (session.isHealing()) {
            return false;
        }
        boolean can = totals.available() > 0;
        if (!can) {
            stalls.begin();
        }
        return can;
    }

    /** Sends a message. Returns false if the peer has no memory for it. */
    boolean sendWithCredit(Buffer buffer, int kind) {
        if (!hasCredit()) {
            return false;
        }
        totals.take();
        try {
            transmit(buffer, kind);
            return true;
        } catch (RuntimeException | Error refused) {
            totals.takeBack();
            throw refused;
        }
    }

    /** Sends a message. A reply needs no credit: without a connection, it is sent over the next one. */
    private void transmit(Buffer buffer, int kind) {
        Link on = session.linkIfOpen();
        int granted = totals.granted();
        int number = buffer.call == Buffer.NO_CALL ? 0 : buffer.call;
        totals.write(buffer.all, kind, number);
        if (on != null) {
            try {
                session.rail.send(on, buffer);
            } catch (RuntimeException | Error refused) {
                totals.unwrite(granted);
                throw refused;
            }
        }
        buffer.onWire = on != null;
        buffer.kept = kept != null;
        buffer.take(Buffer.State.SENDING);
        keep(buffer, kind, number);
        counts.sent++;
        counts.sentBytes += buffer.length();
        if (buffer.kind == Wire.REPLY) {
            calls.replied(number);
            counts.served++;
        }
    }

    // Receiving

    /** Takes a message for a program that polls. Without the lock, finds out that there is none. */
    @Nullable
    Message pollReceive() {
        boolean nothing = session.isOpen() && listening.handler() == null && (int) ARRIVED.getOpaque(this) == 0;
        return nothing ? null : takeArrived(true);
    }

    private @Nullable Message takeArrived(boolean reuse) {
        try (var _ = lock.held()) {
            if (listening.handler() != null) {
                throw new IllegalStateException("The handler of the " + session.channel + " gets its messages");
            }
            return nextArrived(reuse);
        }
    }

    /** Returns the place in the ring, for a number that may be beyond its end by less than its length. */
    private int place(int number) {
        return number < arrived.length ? number : number - arrived.length;
    }

    private @Nullable Message nextArrived(boolean reuse) {
        session.checkNotClosed();
        if (arrivedCount == 0) {
            session.checkNotEnded();
            return null;
        }
        Buffer buffer = arrived[arrivedFirst];
        Message next = buffer.next(session.channel, reuse);
        if (buffer.isAsking() && !calls.reserveReply()) {
            if (session.cause() == null) {
                return null; // until the peer's adapter has acknowledged an earlier reply
            }
            buffer.call = Buffer.NO_CALL; // no reply can be sent
        }
        buffer.lend(Buffer.State.RECEIVED, next);
        ARRIVED.setOpaque(this, arrivedCount - 1);
        arrivedFirst = place(arrivedFirst + 1);
        return next;
    }

    /** Takes a message back from the program. */
    void giveBack(Message message) {
        try (var _ = lock.held()) {
            Buffer buffer = message.ownedOrNull();
            if (buffer == null) {
                return;
            }
            try {
                if (buffer.state() == Buffer.State.LENT) {
                    takeBackUnsent(buffer);
                } else if (buffer.kind == Wire.REPLY) {
                    calls.dropReply(buffer);
                } else {
                    takeBackReceived(buffer);
                }
            } catch (RuntimeException | Error refused) {
                session.endLocked(
                        SessionState.Event.ABORTED, EndReason.FAILED, "A request could not be posted", refused);
            }
        }
    }

    private void takeBackUnsent(Buffer buffer) {
        try {
            if (buffer.kind == Wire.REPLY && session.canReply()) {
                buffer.length(0);
                transmit(buffer, Wire.FAULT);
            }
        } finally {
            if (buffer.state() == Buffer.State.LENT) {
                makeIdle(buffer);
            }
        }
    }

    private void takeBackReceived(Buffer buffer) {
        if (buffer.isAsking()) {
            fault(buffer, "");
        }
        if (postAgain(buffer)) {
            totals.posted();
            session.control();
        }
    }

    /** Posts a receive again. Returns false if the peer sends no more. */
    boolean postAgain(Buffer buffer) {
        buffer.take(Buffer.State.IDLE);
        Link on = session.linkToReceive();
        if (on != null) {
            post(on, buffer);
        }
        return on != null || session.isHealing(); // the next connection begins with all receives
    }

    // Calls of this side

    /** Sends a request if there is a credit. */
    boolean sendRequest(Buffer buffer, int number, int kind) {
        buffer.call = number;
        boolean sent = false;
        try {
            sent = sendWithCredit(buffer, kind);
        } finally {
            if (!sent) {
                buffer.call = Buffer.NO_CALL;
            }
        }
        return sent;
    }

    // Calls of the peer

    Message reply(Message message) {
        try (var _ = lock.held()) {
            Buffer request = request(message, Wire.CALL);
            return reply(request, message == request.reused);
        }
    }

    private Message reply(Buffer request, boolean reuse) {
        Message reply = lendToSend(Wire.REPLY, request.call, reuse);
        request.call = Buffer.NO_CALL;
        return reply;
    }

    Transfer transfer(Message message) {
        try (var _ = lock.held()) {
            Buffer offer = request(message, Wire.OFFER);
            Message reply = reply(offer, false);
            try {
                Link.Shown source = session.shown(offer.memory().asSlice(offer.length(), session.descriptionBytes()));
                byte[] about = offer.segment().toArray(ValueLayout.JAVA_BYTE);
                byte[] key = takeKey(offer);
                return new Transfer(session.channel, engine, source, key, about, reply);
            } catch (RuntimeException | Error failed) {
                takeBackUnsent(reply.owned()); // the peer is told
                throw failed;
            }
        }
    }

    /** Takes the key of the pieces out of an offer; none if the channel is not sealed. */
    private byte[] takeKey(Buffer offer) {
        long description = session.descriptionBytes();
        MemorySegment key = offer.memory()
                .asSlice(offer.length() + description, options.offerBytes(session.devicesOfPeer) - description);
        byte[] bytes = key.toArray(ValueLayout.JAVA_BYTE);
        key.fill((byte) 0);
        return bytes;
    }

    void refuse(Message message, String reason) {
        try (var _ = lock.held()) {
            Buffer request = message.owned();
            fault(request(message, request.kind == Wire.OFFER ? Wire.OFFER : Wire.CALL), reason);
        }
    }

    /** Sends the reply to an offer whose data has come. */
    void confirm(Message reply, long bytes) {
        try (var _ = lock.held()) {
            Buffer buffer = reply.sendable(session.channel);
            buffer.length(0);
            session.checkCanSend();
            transmit(buffer, Wire.REPLY);
            counts.transfersReceived++;
            counts.receivedBytes += bytes;
        }
    }

    /** Counts a transfer that the peer has taken. */
    void countTaken(long bytes) {
        try (var _ = lock.held()) {
            counts.transfersSent++;
            counts.sentBytes += bytes;
        }
    }

    /** Sends a failure in place of a reply. */
    void refuseUnsent(Message reply, String reason) {
        try (var _ = lock.held()) {
            Buffer buffer = reply.sendable(session.channel);
            session.checkCanSend();
            fill(buffer, reason.getBytes(StandardCharsets.UTF_8));
            transmit(buffer, Wire.FAULT);
        }
    }

    private Buffer request(Message message, int kind) {
        Buffer request = message.owned();
        session.checkCanSend();
        boolean asked = request.kind == kind && request.state() == Buffer.State.RECEIVED;
        if (!asked || request.call == Buffer.NO_CALL) {
            String what = kind == Wire.CALL ? "request" : "offer";
            throw new IllegalStateException(
                    asked
                            ? "The " + what + " has its reply already"
                            : "The message is no " + what + ": the peer has not sent it with Channel."
                                    + (kind == Wire.CALL ? "call()" : "offer()"));
        }
        return request;
    }

    /** Answers a request with a failure. A buffer for the reply was reserved. */
    void fault(Buffer request, String reason) {
        answer(request, Wire.FAULT, reason.getBytes(StandardCharsets.UTF_8));
    }

    void answer(Buffer request, int kind, byte[] bytes) {
        if (!session.canReply()) {
            return;
        }
        Buffer buffer = idle[idleCount - 1];
        fill(buffer, bytes);
        buffer.kind = Wire.REPLY;
        buffer.call = request.call;
        transmit(buffer, kind);
        idleCount--;
        request.call = Buffer.NO_CALL;
    }

    /** Sets the content of a message, as far as it has room. */
    private void fill(Buffer buffer, byte[] bytes) {
        int length = Math.min(bytes.length, maxSize);
        buffer.length(length);
        MemorySegment.copy(bytes, 0, buffer.segment(), ValueLayout.JAVA_BYTE, 0, length);
    }

    // Handlers

    /** Takes the next message for the handler; null if there is none, or the channel is closed. */
    @Nullable
    Message nextForHandler() {
        try (var _ = lock.held()) {
            if (arrivedCount == 0 || session.isClosing()) {
                return null;
            }
            counts.beginHandling(); // before any change: there may be no memory
            return nextArrived(true);
        }
    }

    /** Begins to measure a call of the handler. Only its thread calls this. Returns 0 if this call is not measured. */
    long beginHandling() {
        return Objects.requireNonNull(counts.ofHandler).begin();
    }

    /** Ends a call of the handler that is measured. */
    void handled(long begun) {
        try (var _ = lock.held()) {
            Objects.requireNonNull(counts.ofHandler).end(begun);
        }
    }

    /** Answers for a handler that has thrown. Returns false if no call has failed by that. */
    boolean refuseAfter(Message message, Throwable thrown) {
        try (var _ = lock.held()) {
            Buffer buffer = message.ownedOrNull();
            if (buffer == null || !buffer.isAsking()) {
                return false;
            }
            fault(buffer, Faults.textFor(thrown, options.protection()));
            return true;
        }
    }

    /** Returns true if a message is a request or an offer without an answer. */
    boolean isUnanswered(Message message) {
        try (var _ = lock.held()) {
            Buffer buffer = message.ownedOrNull();
            return buffer != null && buffer.isAsking();
        }
    }
}
