package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.internal.BiasedLock;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.Waiters;
import dev.verbena.internal.jfr.Recorder;
import dev.verbena.net.ChannelState.Event;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.RemoteMemory;
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
    static final int CONTROL_RECEIVES = 2 + Totals.RESERVED_GRANTS;

    /** The sends of the channel itself that only others than a piece of a transfer may use: for a goodbye and a grant. */
    private static final int RESERVED_SENDS = 2;

    /** Marks the number of a receive in a request's id. */
    static final int RECEIVE = 0x8000;

    /** The place of a binding of a memory window in a request's id. */
    static final int BIND = 0x7ffe;

    private static final int CONTROL = 0x7fff;

    /** The longest time that a goodbye of a channel that has failed may take. */
    private static final long PARTING_NANOS = 1_000_000_000L;

    final Waiters changes = new Waiters();
    final Supplier<@Nullable Boolean> hasParted = this::hasParted;
    final boolean incoming;
    final VerbsArena arena = VerbsArena.ofShared();
    final BiasedLock lock = new BiasedLock();

    /** True while the engine has noted that there is something for the handler. The engine's lock guards it. */
    boolean queued;

    final Engine engine;
    private final NodeOptions options;
    final long key;
    final InetSocketAddress peer;
    final Channel channel;

    final Messages messages;
    final Operations operations;
    final Grants grants;
    final Greetings greetings;

    private volatile ChannelState state = ChannelState.CONNECTING;
    /** The reason of the end; null before, and for a channel that only this side has closed. */
    private volatile @Nullable ChannelException cause;

    /** The end that {@code close} throws: messages of this side may be lost. */
    private @Nullable ChannelException lost;

    /** True once the program has called {@code close}. */
    private volatile boolean closed;

    /** True while futures and the handler have not been told the end, for which memory may be missing. */
    private boolean untold;

    /** The next one of the {@link ClosedChannels}, whose lock guards it. */
    @Nullable
    ChannelCore nextClosed;

    private volatile Carrier.@Nullable Connection connection;
    private volatile @Nullable Link link;

    /** Seals and opens messages, from the greetings on until the end of an authenticated or sealed channel; else null. */
    @Nullable
    Seal seal;

    /** The memory of the messages. */
    private volatile @Nullable MemoryRegion memory;

    /** True while a thread allocates the memory of an admitted peer. */
    private volatile boolean preparing;

    /** The number of sends that have not completed, and how many of them the channel itself may add. */
    private int outstanding;

    private int controlRoom;
    final long begun = System.nanoTime();
    private long heardAt = begun;

    /** True if the peer has given a sign of life since the last look at the clock. */
    private boolean heard;

    /** The time at which a channel that parts waits no longer. */
    private long partBy;

    ChannelCore(Engine engine, long key, InetSocketAddress peer, boolean incoming) {
        this.engine = engine;
        this.options = engine.options;
        this.controlRoom = controlSends(options);
        this.key = key;
        this.peer = peer;
        this.incoming = incoming;
        this.messages = new Messages(this, engine, lock);
        this.operations = new Operations(this, engine, lock);
        this.grants = new Grants(this, options.maxExports());
        this.greetings = new Greetings(this, engine);
        this.channel = new Channel(engine, this, messages, operations);
    }

    Carrier.@Nullable Connection connection() {
        return connection;
    }

    /**
     * Returns the number of sends of the channel itself. With a secret there is the proof too; and if the channel is sealed,
     * one for each piece that is asked for or that is ready.
     */
    static int controlSends(NodeOptions options) {
        return switch (options.protection()) {
            case NONE -> CONTROL_SENDS;
            case AUTHENTICATED -> CONTROL_SENDS + 1;
            case SEALED -> CONTROL_SENDS + 1 + 2 * options.calls();
        };
    }

    // Connecting

    /** Notes the connection that begins to be made. */
    void connecting(Carrier.Connection made) {
        connection = made;
    }

    /** Accepts a peer. Returns false if the channel has ended. */
    boolean accept(Carrier.Connection made) {
        connection = made;
        try (var _ = lock.held()) {
            boolean prepared = prepare();
            if (prepared) {
                happen(Event.CONNECTED, null);
                made.accept(); // under the lock: the peer's greeting may come before this returns
            }
            return prepared;
        }
    }

    /** Allocates the memory of the messages, which may take long: the caller holds no lock. */
    void allocate() {
        memory = with().memory(options, Messages.pieces(options), arena);
    }

    /**
     * Makes the queues, and posts the receive of the peer's greeting. The side that connects posts all receives: the peer may
     * send when it has its greeting. Returns false if the channel has ended.
     */
    boolean prepare() {
        if (!incoming && memory == null) {
            allocate();
        }
        try (var _ = lock.held()) {
            Carrier.Connection with = connection;
            if (state != ChannelState.CONNECTING || with == null) {
                return false;
            }
            Link made = with.link(options, arena);
            made.serves(toText());
            messages.begin(made);
            MemoryRegion own = memory;
            if (own != null) {
                messages.open(made, own);
            }
            made.prepared();
            link = made;
            return true;
        }
    }

    /** Prepares for the messages of a peer that is admitted, in a thread that serves nobody else. */
    private void prepareMessages() {
        happen(Event.ADMITTED, null);
        preparing = true;
        try {
            engine.runApart(this::openApart);
        } catch (RuntimeException | Error refused) {
            preparing = false;
            throw refused;
        }
    }

    private void openApart() {
        try {
            allocate();
            try (var _ = lock.held()) {
                Link on = link;
                if (state == ChannelState.PREPARING && on != null) {
                    messages.open(on, Objects.requireNonNull(memory));
                    opened(on);
                    on.prepared(); // this thread does not post any more
                }
            }
        } catch (RuntimeException | Error failed) { // for lack of memory, for example
            fail(failed);
        } finally {
            preparing = false;
        }
    }

    /**
     * Ends a channel whose peer has not greeted yet, so that another peer gets its place. A peer that was refused, or that has
     * left, was told: nobody waits for its acknowledgement.
     */
    void giveWay() {
        try (var _ = lock.held()) {
            if (isHalfOpen()) {
                endLocked(Event.LOST, EndReason.TOO_MANY_CHANNELS, "It has not greeted, and others wait", null);
            } else if (state.hasEnded()) {
                happen(Event.DONE, null);
            }
        }
    }

    /** Returns true if {@link #giveWay} ends this channel, which the program has not got. */
    boolean canGiveWay() {
        return isHalfOpen() || state.hasEnded();
    }

    /** Returns true until the peer has greeted, and has proved that the greeting is its own. */
    private boolean isHalfOpen() {
        return state.compareTo(ChannelState.PROVING) <= 0;
    }

    /** Returns true if the peer has connected, and was not admitted. */
    boolean isOfStranger() {
        return incoming && memory == null;
    }

    /** Returns true while a thread prepares for the messages: nothing is destroyed then. */
    boolean isPreparing() {
        return preparing;
    }

    /** Notes that the connection is made, for the side that connects. */
    void established() {
        try (var _ = lock.held()) {
            Link on = link;
            if (!incoming && on != null && happen(Event.CONNECTED, null)) {
                try {
                    greetings.send(on);
                } catch (RuntimeException | Error failed) { // the program's secret could not be found, for example
                    endLocked(Event.LOST, EndReason.FAILED, String.valueOf(failed.getMessage()), failed);
                }
            }
        }
    }

    /** Notes that the connection has ended. */
    void disconnected(String details) {
        try (var _ = lock.held()) {
            if (!happen(Event.DONE, null)) {
                endLocked(Event.LOST, EndReason.LOST, details, null);
            }
        }
    }

    // Completions: the caller holds the lock, for all of a channel that it handles one after the other

    /**
     * Notes that a request has failed.
     *
     * @param failure makes the exception for it
     */
    void failed(int place, WorkStatus status, Supplier<? extends @Nullable Throwable> failure) {
        boolean flushed = status == WorkStatus.WORK_REQUEST_FLUSHED;
        if (flushed && state == ChannelState.CONNECTING && !incoming) {
            return; // the library flushes the receives of a refused connection before it tells the reason
        }
        if (happen(Event.DONE, null) || state.hasEnded()) { // who has left does not wait for the last acknowledgement
            return;
        }
        if (flushed) {
            endLocked(Event.LOST, EndReason.LOST, "Requests were flushed", null);
        } else {
            boolean denied = (place & RECEIVE) == 0
                    && (place & Operations.MARK) != 0
                    && place != CONTROL
                    && place != BIND
                    && status != WorkStatus.RETRY_EXCEEDED;
            EndReason reason = denied ? EndReason.ACCESS_DENIED : EndReason.LOST;
            endLocked(Event.LOST, reason, status.toString(), failure.get());
        }
    }

    /** Notes that a request of this side has succeeded: the peer's adapter has acknowledged it. */
    void sent(int place) {
        if (state == ChannelState.RELEASED) {
            return;
        }
        heard = true;
        outstanding--;
        if (place == CONTROL) {
            controlRoom++;
            messages.pulls.wakeForRoom();
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

    /** Grants credits when half of the window is owed; and parts when all is done. */
    void control() {
        if (state != ChannelState.OPEN) {
            if (outstanding == 0) {
                happen(Event.DONE, null);
            }
            return;
        }
        Link on = link;
        if (on != null && controlRoom > 1 && messages.totals.owesHalf()) {
            sendControl(on, Wire.GRANT, 0); // or the channel ends
        }
    }

    void sendGreeting(Link on, LocalMemory greeting) {
        Wire.writeHeader(greeting.segment(), Wire.GREETING, 0, 0, 0, 0);
        on.send(key | CONTROL, greeting);
        controlPosted();
    }

    /**
     * Sends a message without bytes.
     *
     * @param call the number of the call, or the reason of a goodbye
     */
    void sendControl(Link on, int kind, int call) {
        Seal by = seal;
        LocalMemory message = on.nextBare(by != null);
        messages.totals.write(message.segment(), kind, call);
        if (by != null) {
            by.seal(message.segment(), 0);
        }
        on.send(key | CONTROL, message);
        controlPosted();
    }

    /** Sends a message about a piece of a transfer. Returns false if others have to be acknowledged before. */
    boolean trySendAboutPiece(Link on, int kind, int number) {
        if (controlRoom <= RESERVED_SENDS) {
            return false;
        }
        try {
            sendControl(on, kind, number);
        } catch (RuntimeException | Error refused) { // its number is used
            endLocked(Event.LOST, EndReason.FAILED, "A message about a piece could not be posted", refused);
            throw refused;
        }
        return true;
    }

    private void controlPosted() {
        controlRoom--;
        outstanding++;
    }

    /**
     * Handles a message of the peer.
     *
     * @param arrived the number of bytes, with those of the header and of the seal
     */
    void received(int place, int arrived) {
        if (state.hasEnded()) {
            return;
        }
        heard |= transport() == Transport.RDMA; // over TCP, a peer may send and not receive
        Buffer buffer = messages.receive(place & ~RECEIVE);
        int bytes = bytes(buffer, arrived);
        if (bytes < 0) {
            return;
        }
        int kind = Wire.kind(buffer.all);
        int call = Wire.call(buffer.all);
        if (!state.allows(kind) || (kind == Wire.GREETING && call != 0)) {
            broken("Message of kind " + kind + " out of order");
            return;
        }
        int before = messages.totals.available();
        String wrongTotals = messages.totals.read(buffer.all, kind);
        if (wrongTotals != null) {
            broken(wrongTotals);
            return;
        }
        int granted = messages.totals.available() - before;
        Link on = Objects.requireNonNull(link); // it was received there
        switch (kind) {
            case Wire.GREETING -> {
                if (greetings.received(on, buffer, bytes)) {
                    if (incoming) {
                        prepareMessages();
                    } else {
                        opened(on);
                    }
                }
            }
            case Wire.PULL, Wire.PIECE, Wire.WITHDRAWN -> {
                String wrong = messages.pulls.received(on, buffer, bytes, kind, call);
                if (wrong != null) {
                    broken(wrong);
                }
            }
            case Wire.DATA, Wire.CALL, Wire.LOOKUP, Wire.OFFER, Wire.REPLY, Wire.FAULT -> {
                String wrong = messages.received(on, buffer, bytes, kind, call);
                if (wrong != null) {
                    broken(wrong);
                }
            }
            case Wire.GRANT -> {
                if (bytes != 0 || granted == 0) {
                    broken("Grant of " + granted + " credits with " + bytes + " bytes");
                } else {
                    messages.post(on, buffer); // before the credits are used: the peer counts on that
                }
            }
            case Wire.GOODBYE -> left(call);
            default -> broken("Message of unknown kind " + kind);
        }
        if (granted != 0) {
            messages.credited();
        }
    }

    /**
     * Opens a message, if this channel is sealed.
     *
     * @return its number of bytes; -1 after the end of a channel whose peer has sent something else
     */
    private int bytes(Buffer buffer, int arrived) {
        int bytes = arrived - Wire.HEADER_BYTES;
        Seal by = seal;
        boolean isMessage = bytes >= 0 && arrived <= buffer.whole.length();
        if (by == null) {
            if (isMessage) {
                return bytes;
            }
            broken("Message of " + arrived + " bytes out of order");
        } else {
            if (isMessage && by.open(buffer.all, bytes)) {
                return bytes - Seal.BYTES;
            }
            tampered("Message of " + arrived + " bytes" + (isMessage ? " and kind " + Wire.kind(buffer.all) : ""));
        }
        return -1;
    }

    /** Ends this channel, which got a message that the peer has not sealed as the next one. */
    private void tampered(String details) {
        if (state.hasEnded()) {
            return;
        }
        if (state == ChannelState.PROVING) { // an old greeting that somebody has recorded
            greetings.notItsOwn();
        } else {
            engine.counts.tampered();
            abort(EndReason.TAMPERED, details);
        }
    }

    private void opened(Link on) {
        if (incoming) {
            greetings.send(on);
        }
        if (options.protection() == Protection.AUTHENTICATED) {
            forgetSeal();
        }
        happen(Event.GREETED, null);
        heard = true;
        changes.wakeAll();
        engine.opened(this);
    }

    private void left(int code) {
        if (code == EndReason.CLOSED_BY_PEER.code) {
            endLocked(Event.PEER_LEFT, EndReason.CLOSED_BY_PEER, "", null);
        } else {
            endLocked(Event.LOST, EndReason.of(code), "It ended the channel", null);
        }
    }

    private void forgetSeal() {
        Seal over = seal;
        if (over != null) {
            seal = null;
            over.wipe();
        }
    }

    /** Ends this channel, whose connection carries what no node sends. The caller holds the lock. */
    void wireBroken(String details) {
        if (seal == null) {
            broken(details);
        } else {
            tampered(details);
        }
    }

    /** Ends this channel, whose peer breaks the rules. The caller holds the lock. */
    void broken(String details) {
        abort(EndReason.PROTOCOL_ERROR, details);
    }

    /** Counts a send of a message. The caller holds the lock. */
    void transmitted() {
        outstanding++;
    }

    void checkNotEnded() {
        if (cause != null || engine.broken != null) {
            ChannelException ended = cause();
            if (ended != null) {
                throw ended.again();
            }
        }
    }

    Link checkCanSend() {
        checkNotClosed();
        checkNotEnded();
        Link on = link;
        if (state != ChannelState.OPEN || on == null) {
            throw new IllegalStateException(this + " is not open yet");
        }
        return on;
    }

    /** Returns the verbs objects if messages can be posted; else null. The caller holds the lock. */
    @Nullable
    Link linkIfOpen() {
        return state == ChannelState.OPEN ? link : null;
    }

    @Nullable
    Link link() {
        return link;
    }

    boolean isClosing() {
        return closed;
    }

    void checkNotClosed() {
        if (closed) {
            throw new IllegalStateException("The channel " + toText() + " is closed");
        }
    }

    // The end

    /** Ends this channel, unless it has ended. */
    void end(EndReason reason, String details, @Nullable Throwable why) {
        try (var _ = lock.held()) {
            endLocked(reason == EndReason.FAILED ? Event.ABORTED : Event.LOST, reason, details, why);
        }
    }

    /** Ends this channel because of a failure of this side, unless it has ended. */
    void fail(Throwable why) {
        end(EndReason.FAILED, String.valueOf(why.getMessage()), why);
    }

    /** Ends this channel for a reason that the peer is told, unless it has ended. The caller holds the lock. */
    void abort(EndReason reason, String details) {
        endLocked(Event.ABORTED, reason, details, null);
    }

    /** Ends this channel by an event, unless it has ended. The caller holds the lock. */
    void endLocked(Event event, EndReason reason, String details, @Nullable Throwable why) {
        if (state.after(event) != null) {
            happen(event, new ChannelException(reason, toText(), details, why));
        }
    }

    /**
     * Changes the state, and does what the new state demands. The caller holds the lock.
     *
     * @param why the cause of the end, if the event ends a channel that has not ended
     * @return false if the event changes nothing
     */
    boolean happen(Event event, @Nullable ChannelException why) {
        ChannelState before = state;
        ChannelState now = before.after(event);
        if (now == null) {
            return false;
        }
        boolean ends = now.hasEnded() && !before.hasEnded();
        if (ends) {
            cause = why;
            lost = before.isClosing() ? why : null;
        }
        state = now;
        untold |= ends;
        try {
            if (before.isLive() && ends) {
                recordEnd(why);
            }
            switch (now) {
                case CONNECTING, GREETING, ANSWERING, PROVING, PREPARING, RELEASED -> {
                    // The caller goes on.
                }
                case OPEN -> recordOpen();
                case CLOSING, LEFT -> sayGoodbye(EndReason.CLOSED_BY_PEER);
                case DRAINING -> control();
                case PARTING -> {
                    partBy = System.nanoTime() + PARTING_NANOS;
                    sayGoodbye(why == null ? EndReason.FAILED : why.reason());
                }
                case PARTED -> part();
            }
        } finally {
            if (untold) {
                tellEnd();
            }
        }
        return true;
    }

    /** Says goodbye, for which there is room: grants and signs of life leave it. */
    private void sayGoodbye(EndReason reason) {
        int code = reason.code < 0 ? EndReason.PEER_FAILED.code : reason.code;
        try {
            sendControl(Objects.requireNonNull(link), Wire.GOODBYE, code);
        } catch (RuntimeException | Error refused) {
            if (!happen(Event.DONE, null)) {
                endLocked(Event.LOST, EndReason.FAILED, "The goodbye could not be posted", refused);
            }
        }
    }

    private void recordOpen() {
        if (Recorder.isPresent()) {
            ChannelOpenEvent event = new ChannelOpenEvent();
            if (event.shouldCommit()) {
                event.channel = toText();
                event.protection = options.protection().name();
                event.commit();
            }
        }
    }

    private void recordEnd(@Nullable ChannelException why) {
        engine.counts.ended();
        messages.endStall();
        if (Recorder.isPresent()) {
            ChannelEndEvent event = new ChannelEndEvent();
            if (event.shouldCommit()) {
                event.channel = toText();
                event.reason = why == null ? "CLOSED" : why.reason().name();
                event.details = why == null ? "" : why.details();
                event.commit();
            }
        }
    }

    /** Returns the counters of this channel. */
    Node.Statistics statistics() {
        try (var _ = lock.held()) {
            return messages.statistics();
        }
    }

    /** Disconnects. The queue pair fails, so that no request is left. The caller holds the lock. */
    private void part() {
        Carrier.Connection own = connection;
        forgetSeal();
        changes.wakeAll(); // they wait for the lock
        engine.changed();
        if (own != null) {
            own.disconnect();
        }
    }

    /** Has all threads that wait at this channel try again. Allocates nothing. */
    void wakeWaits() {
        try (var _ = lock.held()) {
            messages.wakeWaits();
            operations.wakeWaits();
            changes.wakeAll();
        }
    }

    /** Has all who wait for something of this channel look again, futures and the handler too. */
    private void wakeAll() {
        wakeWaits(); // first, because it allocates nothing
        engine.changed();
        messages.finishFutures();
        operations.finishFutures();
    }

    /** Tells all the end of this channel. A failure for lack of memory is made up for by the next call. */
    private void tellEnd() {
        wakeAll();
        if (incoming) {
            engine.handshakes.remove(this);
            engine.ended(this);
        }
        untold = false;
    }

    private @Nullable Boolean hasParted() {
        cause(); // of a node that can't go on, no other thread may end the channel
        return parted() ? Boolean.TRUE : null;
    }

    boolean parted() {
        return state.hasParted();
    }

    /** Begins to close. Returns false if another call has. */
    boolean beginClose() {
        try (var _ = lock.held()) {
            if (closed) {
                return false;
            }
            closed = true;
            happen(Event.CLOSED, null);
            wakeAll();
            return true;
        }
    }

    /** Gives an export to the peer. */
    RemoteMemory grant(Export export) {
        try (var _ = lock.held()) {
            Link on = checkCanSend();
            return grants.grant(on, export);
        }
    }

    /** Takes an export from the peer. Returns true when no window of it is left. */
    boolean revoke(Export export) {
        try (var _ = lock.held()) {
            grants.revoke(export);
            if (parted()) {
                grants.revokeAll();
            }
            return !grants.isRevoking();
        }
    }

    /** Takes all exports from the peer, whose connection has ended. */
    void revokeAll() {
        try (var _ = lock.held()) {
            grants.revokeAll();
        }
    }

    /** Ends what is left of the connection. Returns the exception to throw if messages may be lost. */
    @Nullable
    ChannelException finishClose(boolean interrupted) {
        try (var _ = lock.held()) {
            endLocked(
                    Event.LOST,
                    EndReason.LOST,
                    interrupted
                            ? "The thread was interrupted before the peer's goodbye"
                            : "The peer has not said goodbye in " + Deadline.milliseconds(options.closeTimeout())
                                    + " ms",
                    null);
            happen(Event.RELEASED, null);
            return lost == null ? null : lost.again();
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
            if (untold) {
                tellEnd();
            }
            Carrier.Connection with = connection;
            if (heard || (with != null && with.takeProgress())) {
                heard = false;
                heardAt = now;
            }
            switch (state) {
                case CONNECTING, GREETING, ANSWERING, PROVING -> {
                    if (incoming && now - begun > Deadline.nanoseconds(options.handshakeTimeout())) {
                        abort(EndReason.HANDSHAKE_TIMEOUT, "");
                    }
                }
                case OPEN -> {
                    checkAlive(now);
                    if (messages.isStalledSince(Deadline.nanoseconds(options.maxStall()), now)) {
                        abort(EndReason.STALLED, "It has closed no messages for " + options.maxStall());
                    }
                }
                case CLOSING, DRAINING, LEFT -> checkAlive(now);
                case PARTING -> {
                    if (now - partBy > 0) {
                        happen(Event.DONE, null);
                    } else {
                        checkAlive(now);
                    }
                }
                case PREPARING, PARTED, RELEASED -> {
                    // There is nothing to look after.
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
                endLocked(Event.LOST, EndReason.LOST, "The peer's adapter has acknowledged nothing", null);
            }
        } else if (quiet > alive && controlRoom > 1 && on != null) {
            try {
                on.probe(key | CONTROL);
                controlPosted();
            } catch (RuntimeException | Error refused) {
                endLocked(Event.LOST, EndReason.FAILED, "The peer could not be asked for a sign of life", refused);
            }
        }
    }

    // State

    ChannelState state() {
        return state;
    }

    boolean isOpen() {
        return state == ChannelState.OPEN && engine.broken == null;
    }

    boolean isOpenOrThrow() {
        checkNotClosed();
        ChannelException ended = cause();
        if (ended != null && ended.reason() != EndReason.CLOSED_BY_PEER) {
            throw ended.again();
        }
        return !state.isBeginning();
    }

    /** Returns the reason of the end. Ends this channel if its node can't go on. */
    @Nullable
    ChannelException cause() {
        if (cause == null && engine.broken != null) {
            engine.endWithNode(this);
        }
        return cause;
    }

    Transport transport() {
        return with().transport;
    }

    /** Returns the connection, which there is. */
    Carrier.Connection with() {
        return Objects.requireNonNull(connection);
    }

    QueuePair queuePair() {
        try (var _ = lock.held()) {
            checkNotClosed();
            Link on = link;
            if (on == null) {
                throw new IllegalStateException(this + " has no queue pair yet");
            }
            return on.pair();
        }
    }

    String toText() {
        return (incoming ? "from " : "to ") + Engine.text(peer);
    }

    @Override
    public String toString() {
        try (var _ = lock.held()) {
            String text = "channel " + toText();
            if (closed) {
                return text + " (closed)";
            }
            if (state.isBeginning()) {
                return text + " (connecting)";
            }
            return state.hasEnded()
                    ? text + " (ended" + (cause == null ? "" : ": " + cause.reason()) + ")"
                    : text + " (open, " + options.protection().words() + messages.totals.available() + " credits, "
                            + outstanding + " under way, " + messages.arrivedCount() + " arrived)";
        }
    }
}
