package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.internal.BiasedLock;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.Waiters;
import dev.verbena.internal.jfr.ChannelEndEvent;
import dev.verbena.internal.jfr.ChannelOpenEvent;
import dev.verbena.internal.jfr.Recorder;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.WorkStatus;
import java.net.InetSocketAddress;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The state of a channel, and its part of the protocol. Completions, events and the time come from the node's
 * {@link Engine}; everything else from the program's threads. One lock guards all fields. No call waits under it.
 */
final class ChannelCore {
    /** The sends of the channel itself: greeting, goodbye, and two for grants and signs of life. */
    static final int CONTROL_SENDS = 4;

    /** The receives for the peer's greeting, goodbye and bare grants. */
    static final int CONTROL_RECEIVES = 2 + Credits.RESERVED_GRANTS;

    /** Marks the number of a receive in a request's id. */
    static final int RECEIVE = 0x8000;

    /** The place of a binding of a memory window in a request's id. */
    static final int BIND = 0x7ffe;

    private static final int CONTROL = 0x7fff;

    /** The longest time that a goodbye of a channel that has failed may take. */
    private static final long PARTING_NANOS = 1_000_000_000L;

    private enum State {
        CONNECTING,
        GREETING,
        OPEN,
        CLOSING,
        ENDED
    }

    final Waiters changes = new Waiters();
    final Supplier<@Nullable Boolean> hasParted = () -> parted() ? Boolean.TRUE : null;
    final boolean incoming;
    final VerbsArena arena = VerbsArena.ofShared();

    /** True while the engine has noted that there is something for the handler. The engine's lock guards it. */
    boolean queued;

    private final Engine engine;
    private final NodeOptions options;
    private final long key;
    private final InetSocketAddress peer;
    private final Channel channel;
    private final BiasedLock lock = new BiasedLock();

    private final Messages messages;
    private final Operations operations;
    private final Grants grants;

    private volatile State state = State.CONNECTING;
    private volatile @Nullable ChannelException cause;
    private volatile Carrier.@Nullable Connection connection;
    private volatile @Nullable Link link;

    /** The number of sends that have not completed, and how many of them the channel itself may add. */
    private int outstanding;

    private int controlRoom = CONTROL_SENDS;
    private boolean greeted;
    private boolean peerLeft;

    /** The code of the goodbye to send or sent; -1 before there is one. */
    private int goodbye = -1;

    private boolean goodbyeSent;
    private boolean orderly;
    private boolean wasOpen;
    private boolean endRecorded;
    private volatile boolean parted;
    private volatile boolean closing;

    /** True if the peer's goodbye must come before this side has closed. */
    private boolean lingers;

    private boolean released;

    private final long begun = System.nanoTime();
    private long heardAt = begun;
    private boolean heard;
    private long partBy;

    ChannelCore(Engine engine, long key, InetSocketAddress peer, boolean incoming) {
        this.engine = engine;
        this.options = engine.options();
        this.key = key;
        this.peer = peer;
        this.incoming = incoming;
        this.messages = new Messages(this, engine, lock);
        this.operations = new Operations(this, engine, lock);
        this.grants = new Grants(this, options.maxExports());
        this.channel = new Channel(engine, this, messages, operations);
    }

    Messages messages() {
        return messages;
    }

    Operations operations() {
        return operations;
    }

    /** Returns the exports that the peer has. The caller holds the lock. */
    Grants grants() {
        return grants;
    }

    Channel channel() {
        return channel;
    }

    long key() {
        return key;
    }

    InetSocketAddress peer() {
        return peer;
    }

    Carrier.@Nullable Connection connection() {
        return connection;
    }

    // Connecting

    /** Notes the connection that begins to be made. */
    void connecting(Carrier.Connection made) {
        connection = made;
    }

    /** Accepts a peer. */
    void accept(Carrier.Connection made) {
        connection = made;
        lock.lock();
        try {
            if (state != State.CONNECTING) {
                return; // it took too long
            }
            prepare(made);
            state = State.GREETING;
            made.accept(); // under the lock: the peer's greeting may come before this returns
        } finally {
            lock.unlock();
        }
    }

    /** Makes the queues, and posts all receives: from then on the peer may send. Returns false if the channel has ended. */
    boolean prepare() {
        lock.lock();
        try {
            Carrier.Connection with = connection;
            if (state == State.ENDED || released || with == null) {
                return false;
            }
            prepare(with);
            return true;
        } finally {
            lock.unlock();
        }
    }

    private void prepare(Carrier.Connection with) {
        Link made = with.link(options, messages.pieces() + 1, arena);
        messages.begin(made);
        made.prepared();
        link = made;
    }

    /** Notes that the connection is made, for the side that connects. */
    void established() {
        lock.lock();
        try {
            Link on = link;
            if (!incoming && state == State.CONNECTING && on != null) {
                state = State.GREETING;
                greet(on);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Sends this side's greeting. The side that connects greets first, as iWARP demands. */
    private void greet(Link on) {
        var piece = on.piece(messages.pieces(), Wire.GREETING_BYTES);
        new Wire.Greeting(options.window(), options.messageSize(), options.calls(), options.token())
                .writeTo(piece.segment());
        on.send(key | CONTROL, piece, Wire.immediate(Wire.GREETING, 0, 0));
        controlRoom--;
        outstanding++;
    }

    /** Notes that the connection has ended. */
    void disconnected(String details) {
        lock.lock();
        try {
            if (peerLeft || orderly) {
                orderly |= state == State.CLOSING;
                part();
            } else {
                endLocked(EndReason.LOST, details, null, false);
            }
        } finally {
            lock.unlock();
        }
    }

    // Completions: the caller holds the lock, for all of a channel that it handles one after the other

    void lock() {
        lock.lock();
    }

    void unlock() {
        lock.unlock();
    }

    /**
     * Notes that a request has failed.
     *
     * @param failure makes the exception for it
     */
    void failed(int place, WorkStatus status, Supplier<? extends @Nullable Throwable> failure) {
        if (released || parted) {
            return;
        }
        if (peerLeft) { // and has not waited for the last acknowledgement
            orderly |= state == State.CLOSING;
            part();
        } else if (state == State.ENDED) {
            part();
        } else if (status == WorkStatus.WORK_REQUEST_FLUSHED && state == State.CONNECTING && !incoming) {
            return; // the library flushes the receives of a refused connection before it tells the reason
        } else if (status == WorkStatus.WORK_REQUEST_FLUSHED) {
            endLocked(EndReason.LOST, "Requests were flushed", null, false);
        } else {
            boolean denied = (place & RECEIVE) == 0
                    && (place & Operations.MARK) != 0
                    && place != CONTROL
                    && place != BIND
                    && status != WorkStatus.RETRY_EXCEEDED;
            endLocked(denied ? EndReason.ACCESS_DENIED : EndReason.LOST, status.toString(), failure.get(), false);
        }
    }

    /** Notes that a request of this side has succeeded: the peer's adapter has acknowledged it. */
    void sent(int place) {
        if (released) {
            return;
        }
        heard = true;
        outstanding--;
        if (place == CONTROL) {
            controlRoom++;
        } else if (place == BIND) {
            grants.bound();
            changes.wakeAll();
        } else if ((place & Operations.MARK) != 0) {
            operations.completed(place ^ Operations.MARK);
        } else {
            messages.sent(place);
        }
        control();
    }

    /** Sends what the channel itself has to send, as far as the send queue has room; and parts when all is done. */
    void control() {
        Link on = link;
        if (on == null || parted || released) {
            return;
        }
        if (goodbye >= 0 && !goodbyeSent && controlRoom > 0) {
            sendControl(on, Wire.immediate(Wire.GOODBYE, 0, goodbye));
            goodbyeSent = true;
        } else if (state == State.OPEN && messages.credits().owesHalf() && controlRoom > 1) {
            sendControl(on, Wire.immediate(Wire.GRANT, messages.credits().grant(), 0)); // or the channel ends
        }
        if (goodbyeSent && outstanding == 0 && (peerLeft || goodbye > 0)) {
            orderly |= state == State.CLOSING;
            part();
        }
    }

    private void sendControl(Link on, int immediate) {
        on.send(key | CONTROL, immediate);
        controlRoom--;
        outstanding++;
    }

    /** Handles a message of the peer. */
    void received(int place, int immediate, int bytes) {
        if (!released) {
            heard |= transport() == Transport.RDMA; // over TCP, a peer may send and not receive
            received(messages.receive(place & ~RECEIVE), immediate, bytes);
        }
    }

    private void received(Buffer buffer, int immediate, int bytes) {
        if (state == State.ENDED && cause != null && cause.reason() != EndReason.CLOSED_BY_PEER) {
            return;
        }
        int kind = Wire.kind(immediate);
        boolean inOrder = kind == Wire.GREETING ? !greeted : greeted || kind == Wire.GOODBYE;
        if (peerLeft || !inOrder || bytes < 0 || bytes > options.messageSize()) {
            brokenLocked("Message of kind " + kind + " out of order");
            return;
        }
        if (!messages.credits().add(greeted ? Wire.credits(immediate) : 0)) {
            brokenLocked("It granted more credits than its window has");
            return;
        }
        Link on = link;
        switch (kind) {
            case Wire.GREETING -> {
                if (on != null && greetedBy(buffer, bytes)) {
                    messages.post(on, buffer);
                    opened(on);
                }
            }
            case Wire.DATA, Wire.CALL, Wire.LOOKUP, Wire.OFFER, Wire.REPLY, Wire.FAULT -> {
                String wrong = on == null ? null : messages.received(on, buffer, bytes, kind, Wire.code(immediate));
                if (wrong != null) {
                    brokenLocked(wrong);
                }
            }
            case Wire.GRANT -> {
                if (bytes != 0 || Wire.credits(immediate) == 0) {
                    brokenLocked("Grant of " + Wire.credits(immediate) + " credits with " + bytes + " bytes");
                } else if (on != null) {
                    messages.post(on, buffer); // before the credits are used: the peer counts on that
                }
            }
            case Wire.GOODBYE -> left(Wire.code(immediate));
            default -> brokenLocked("Message of unknown kind " + kind);
        }
        if (Wire.credits(immediate) != 0) {
            messages.credited();
        }
    }

    private boolean greetedBy(Buffer buffer, int bytes) {
        var memory = buffer.whole().segment().asSlice(0, bytes);
        int version = Wire.version(memory);
        if (version >= 0 && version != Wire.VERSION) {
            endLocked(
                    EndReason.OTHER_VERSION,
                    "It speaks version " + version + ", this side version " + Wire.VERSION,
                    null,
                    true);
            return false;
        }
        Wire.Greeting greeting = version < 0 ? null : Wire.readGreeting(memory);
        if (greeting == null) {
            brokenLocked("Greeting of " + bytes + " bytes is malformed");
            return false;
        }
        if (incoming && !admits(greeting)) {
            endLocked(EndReason.REFUSED, "This side does not admit it", null, true);
            return false;
        }
        greeted = true;
        messages.greeted(greeting);
        return true;
    }

    private boolean admits(Wire.Greeting greeting) {
        try {
            return options.admit().isEmpty() || options.admit().get().test(peer, greeting.token());
        } catch (RuntimeException | Error thrown) {
            return false;
        }
    }

    private void opened(Link on) {
        if (state != State.GREETING) {
            return;
        }
        if (incoming) {
            greet(on);
        }
        state = State.OPEN;
        heard = true;
        recordOpen();
        changes.wakeAll();
        engine.opened(this);
    }

    private void left(int code) {
        peerLeft = true;
        if (code != EndReason.CLOSED_BY_PEER.code) {
            endLocked(EndReason.of(code), "It ended the channel", null, false);
        } else if (state == State.CLOSING) {
            control();
        } else {
            endLocked(EndReason.CLOSED_BY_PEER, "", null, true);
        }
    }

    /** Ends this channel, whose peer breaks the rules. The caller holds the lock. */
    void broken(String details) {
        if (!released) {
            brokenLocked(details);
        }
    }

    private void brokenLocked(String details) {
        endLocked(EndReason.PROTOCOL_ERROR, details, null, true);
    }

    /** Counts a send of a message. The caller holds the lock. */
    void transmitted() {
        outstanding++;
    }

    void checkNotEnded() {
        ChannelException ended = cause;
        if (ended != null) {
            throw ended.again();
        }
    }

    Link checkCanSend() {
        checkNotClosed();
        checkNotEnded();
        Link on = link;
        if (state != State.OPEN || on == null) {
            throw new IllegalStateException(this + " is not open yet");
        }
        return on;
    }

    /** Returns the verbs objects if messages can be posted; else null. The caller holds the lock. */
    @Nullable
    Link linkIfOpen() {
        return state == State.OPEN && !released ? link : null;
    }

    @Nullable
    Link link() {
        return link;
    }

    boolean isClosing() {
        return closing;
    }

    void checkNotClosed() {
        if (closing) {
            throw new IllegalStateException("The channel " + toText() + " is closed");
        }
    }

    // The end

    /** Ends this channel, unless it has ended. */
    void end(EndReason reason, String details, @Nullable Throwable why) {
        lock.lock();
        try {
            endLocked(reason, details, why, reason == EndReason.FAILED);
        } finally {
            lock.unlock();
        }
    }

    /** Ends this channel, unless it has ended. The caller holds the lock. */
    void endLocked(EndReason reason, String details, @Nullable Throwable why, boolean sayGoodbye) {
        if (state == State.ENDED) {
            return;
        }
        boolean talks = link != null && state != State.CONNECTING && !goodbyeSent;
        cause = new ChannelException(reason, toText(), details, why);
        state = State.ENDED;
        recordEnd(reason.name(), details);
        if (sayGoodbye && talks) {
            goodbye = reason.code < 0 ? EndReason.PEER_FAILED.code : reason.code;
            partBy = System.nanoTime() + PARTING_NANOS;
            try {
                control();
            } catch (RuntimeException | Error refused) {
                part();
            }
        } else if (reason != EndReason.CLOSED_BY_PEER) {
            part();
        }
        wakeAll();
        if (incoming) {
            engine.ended(this);
        }
    }

    private void recordOpen() {
        wasOpen = true;
        if (Recorder.isPresent()) {
            ChannelOpenEvent event = new ChannelOpenEvent();
            if (event.shouldCommit()) {
                event.channel = toText();
                event.commit();
            }
        }
    }

    /** Records the end of a channel that was open, once. */
    private void recordEnd(String reason, String details) {
        if (!wasOpen || endRecorded) {
            return;
        }
        endRecorded = true;
        messages.endStall();
        if (Recorder.isPresent()) {
            ChannelEndEvent event = new ChannelEndEvent();
            if (event.shouldCommit()) {
                event.channel = toText();
                event.reason = reason;
                event.details = details;
                event.commit();
            }
        }
    }

    /** Returns the counters of this channel. */
    NodeStatistics statistics() {
        lock.lock();
        try {
            return messages.statistics().plus(new NodeStatistics(0, 0, 0, 0, wasOpen ? 1 : 0, endRecorded ? 1 : 0));
        } finally {
            lock.unlock();
        }
    }

    /** Disconnects. The queue pair fails, so that no request is left. The caller holds the lock. */
    private void part() {
        if (parted) {
            return;
        }
        parted = true;
        Carrier.Connection own = connection;
        if (own != null) {
            own.disconnect();
        }
        changes.wakeAll();
        engine.changed();
    }

    private void wakeAll() {
        messages.wakeAll();
        operations.wakeAll();
        changes.wakeAll();
        engine.changed();
    }

    boolean parted() {
        return parted;
    }

    /** Begins to close. Returns false if another call has. */
    boolean beginClose() {
        lock.lock();
        try {
            if (closing) {
                return false;
            }
            closing = true;
            if (state == State.OPEN) {
                state = State.CLOSING;
                lingers = true;
                goodbye = EndReason.CLOSED_BY_PEER.code;
                try {
                    control();
                } catch (RuntimeException | Error refused) {
                    endLocked(EndReason.FAILED, "The goodbye could not be posted", refused, false);
                }
            } else if (state == State.CONNECTING || state == State.GREETING) {
                state = State.ENDED;
                part();
            }
            wakeAll();
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Takes an export from the peer. Returns true when no window of it is left. */
    boolean revoke(Export export) {
        lock.lock();
        try {
            grants.revoke(export);
            return !grants.isRevoking() || parted;
        } finally {
            lock.unlock();
        }
    }

    /** Takes all exports from the peer, whose connection has ended. */
    void revokeAll() {
        lock.lock();
        try {
            grants.revokeAll();
        } finally {
            lock.unlock();
        }
    }

    /** Ends what is left of the connection. Returns the exception to throw if messages may be lost. */
    @Nullable
    ChannelException finishClose(boolean interrupted) {
        lock.lock();
        try {
            ChannelException lost = null;
            if (lingers && !orderly) {
                ChannelException known = cause;
                lost = known != null
                        ? known.again()
                        : new ChannelException(
                                EndReason.LOST,
                                toText(),
                                interrupted
                                        ? "The thread was interrupted before the peer's goodbye"
                                        : "The peer has not said goodbye in "
                                                + Deadline.milliseconds(options.closeTimeout()) + " ms",
                                null);
                cause = known == null ? lost : known;
            }
            state = State.ENDED;
            recordEnd(lost == null ? "CLOSED" : lost.reason().name(), "");
            part();
            released = true;
            return lost;
        } finally {
            lock.unlock();
        }
    }

    /** Ends a channel that the program never got. */
    void abandon() {
        if (beginClose()) {
            finishClose(false);
        }
    }

    // Time

    /** Looks at the clock. Only the thread that makes progress calls this. */
    void tick(long now) {
        if (!lock.tryLock()) {
            return; // another thread may be registering memory: the next time will do
        }
        try {
            Carrier.Connection with = connection;
            if (heard || (with != null && with.takeProgress())) {
                heard = false;
                heardAt = now;
            }
            switch (state) {
                case CONNECTING, GREETING -> {
                    if (incoming && now - begun > Deadline.nanoseconds(options.handshakeTimeout())) {
                        endLocked(EndReason.HANDSHAKE_TIMEOUT, "", null, true);
                    }
                }
                case OPEN, CLOSING -> {
                    checkAlive(now);
                    if (state == State.OPEN && messages.isStalledSince(Deadline.nanoseconds(options.maxStall()), now)) {
                        endLocked(EndReason.STALLED, "It has closed no messages for " + options.maxStall(), null, true);
                    }
                }
                case ENDED -> {
                    if (!parted && goodbye > 0 && now - partBy > 0) {
                        part();
                    } else if (!parted) {
                        checkAlive(now);
                    }
                }
            }
        } finally {
            lock.unlock();
        }
    }

    private void checkAlive(long now) {
        long quiet = now - heardAt;
        long alive = Deadline.nanoseconds(options.alive());
        Link on = link;
        if (outstanding > 0) {
            if (quiet / 2 > alive && quiet - alive > operations.workNanos()) {
                heardAt = now;
                if (state == State.ENDED) {
                    part();
                } else {
                    endLocked(EndReason.LOST, "The peer's adapter has acknowledged nothing", null, false);
                }
            }
        } else if (quiet > alive && controlRoom > 1 && on != null) {
            try {
                on.probe(key | CONTROL);
                controlRoom--;
                outstanding++;
            } catch (RuntimeException | Error refused) {
                endLocked(EndReason.FAILED, "The peer could not be asked for a sign of life", refused, false);
            }
        }
    }

    // State

    boolean isOpen() {
        return state == State.OPEN;
    }

    boolean isOpenOrThrow() {
        checkNotClosed();
        ChannelException ended = cause;
        if (ended != null && ended.reason() != EndReason.CLOSED_BY_PEER) {
            throw ended.again();
        }
        return state != State.CONNECTING && state != State.GREETING;
    }

    @Nullable
    ChannelException cause() {
        return cause;
    }

    Transport transport() {
        return with().transport();
    }

    /** Returns the part of the node that has the connection, which there is. */
    Carrier carrier() {
        return with().carrier();
    }

    private Carrier.Connection with() {
        return Objects.requireNonNull(connection);
    }

    QueuePair queuePair() {
        lock.lock();
        try {
            checkNotClosed();
            Link on = link;
            if (on == null) {
                throw new IllegalStateException(this + " has no queue pair yet");
            }
            return on.pair();
        } finally {
            lock.unlock();
        }
    }

    String toText() {
        return (incoming ? "from " : "to ") + Engine.text(peer);
    }

    @Override
    public String toString() {
        lock.lock();
        try {
            String text = "channel " + toText();
            if (closing) {
                return text + " (closed)";
            }
            return switch (state) {
                case CONNECTING, GREETING -> text + " (connecting)";
                case OPEN, CLOSING ->
                    text + " (open, " + messages.credits().available() + " credits, " + outstanding + " under way, "
                            + messages.arrivedCount() + " arrived)";
                case ENDED -> text + " (ended" + (cause == null ? "" : ": " + cause.reason()) + ")";
            };
        } finally {
            lock.unlock();
        }
    }
}
