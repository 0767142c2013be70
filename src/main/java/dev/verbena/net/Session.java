package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.IpAddresses;
import dev.verbena.internal.Waiters;
import dev.verbena.internal.link.BiasedLock;
import dev.verbena.internal.link.Link;
import dev.verbena.internal.wire.Wire;
import dev.verbena.net.SessionState.Event;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.UUID;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One side of a channel, over a {@link Rail}: the state, messages, operations and exports, and the cause of the end. Completions, events and the time come from the node's {@link Engine};
 * everything else from the program's threads. One lock guards all fields. No call waits under it.
 */
final class Session {
    /** The longest time that a goodbye of a channel that has failed may take. */
    private static final long PARTING_NANOS = 1_000_000_000L;

    final Waiters changes = new Waiters();
    final Supplier<@Nullable Boolean> hasParted = this::hasParted;
    final VerbsArena arena = VerbsArena.ofShared();
    final BiasedLock lock = new BiasedLock();

    /** True while the engine has noted that there is something for the handler. The engine's lock guards it. */
    boolean queued;

    final Engine engine;
    private final NodeOptions options;
    final long key;
    final InetSocketAddress peer;
    final Channel channel;

    final boolean incoming;

    /** The connection that messages travel over. Of a channel that has lost it and has no other, it is the last one. */
    volatile Rail rail;

    /** The search for another connection; null if one of the nodes has no {@link NodeOptions#heal}. */
    volatile @Nullable Healing healing;

    /** The channel that the peer has named in its request, to go on with it; null for others. */
    @Nullable
    Session claims;

    /** True if the peer has said in its request, or in its greeting, that it goes on with a channel. */
    boolean returns;

    /** The number of devices of the peer's node. */
    int devicesOfPeer = 1;

    final Messages messages;
    final Operations operations;
    final Grants grants;

    private volatile SessionState state = SessionState.OPENING;
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
    Session nextClosed;

    /** The memory of the messages. */
    private volatile @Nullable MemoryRegion memory;

    /** True while a thread allocates the memory of an admitted peer. */
    private volatile boolean preparing;

    /** The time at which a channel that parts waits no longer. */
    private long partBy;

    Session(Engine engine, long key, InetSocketAddress peer, boolean incoming) {
        this.engine = engine;
        this.options = engine.options;
        this.key = key;
        this.peer = peer;
        this.incoming = incoming;
        this.rail = new Rail(this, engine, key, incoming, false);
        this.messages = new Messages(this, engine, lock);
        this.operations = new Operations(this, engine);
        this.grants = new Grants(this, options.maxExports());
        this.channel = new Channel(engine, this, messages, operations);
        if (options.heals() && !incoming) {
            healing = new Healing(this, engine, UUID.randomUUID());
        }
    }

    // Opening

    /** Allocates the memory of the messages, which may take long: the caller holds no lock. */
    void allocate() {
        if (memory == null) {
            memory = rail.with().memory(options.sizes(), arena);
        }
    }

    /** Posts the receive of a greeting of the peer, and all others if their memory is there. The caller holds the lock. */
    void begin(Link on) {
        messages.begin(on);
        MemoryRegion own = memory;
        if (own == null) {
            return;
        }
        if (state == SessionState.OPENING) {
            messages.open(on, own);
        } else {
            messages.openAgain(on, own);
        }
    }

    /** Prepares for the messages of a peer that is admitted, in a thread that serves nobody else. */
    void prepareMessages() {
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
                Link on = rail.link();
                if (rail.is(RailState.PREPARING) && on != null) {
                    messages.open(on, Objects.requireNonNull(memory));
                    rail.up();
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
            if (rail.isHalfOpen()) {
                endLocked(Event.LOST, EndReason.TOO_MANY_CHANNELS, "It has not greeted, and others wait", null);
            } else if (state.hasEnded()) {
                happen(Event.DONE, null);
            }
        }
    }

    /** Returns true if {@link #giveWay} ends this channel, which the program has not got. */
    boolean canGiveWay() {
        return rail.isHalfOpen() || state.hasEnded();
    }

    /** Returns true if the peer has connected, and was not admitted. */
    boolean isOfStranger() {
        return incoming && memory == null;
    }

    /** Returns true while a thread prepares for the messages: nothing is destroyed then. */
    boolean isPreparing() {
        return preparing;
    }

    /** Notes that messages can travel. The caller holds the lock. */
    void opened() {
        happen(Event.OPENED, null);
        changes.wakeAll();
        engine.opened(this);
    }

    // Completions: the caller holds the lock, for all of a channel that it handles one after the other

    /** Notes that a request has succeeded: the peer's adapter has acknowledged it. */
    void sent(int place) {
        if (place == Link.CONTROL) {
            messages.pulls.wakeForRoom();
        } else if (place == Link.BIND) {
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
        if (state != SessionState.OPEN) {
            if (rail.outstanding() == 0) {
                happen(Event.DONE, null);
            }
            return;
        }
        if (rail.hasControlRoom() && messages.totals.owesHalf()) {
            rail.sendControl(Wire.GRANT, 0); // or the channel ends
        }
    }

    /** Reads the totals of a message. Returns false if they are wrong, which ends this channel. */
    boolean received(Buffer buffer, int kind) {
        String wrong = messages.totals.read(buffer.all, kind);
        if (wrong != null) {
            broken(wrong);
        }
        return wrong == null;
    }

    /** Handles a message of the peer, but for its greetings. */
    void received(Buffer buffer, int bytes, int kind, int call) {
        int before = messages.totals.available();
        if (!received(buffer, kind)) {
            return;
        }
        int granted = messages.totals.available() - before;
        messages.receivedByPeer();
        Link on = Objects.requireNonNull(rail.link()); // it was received there
        switch (kind) {
            case Wire.PULL, Wire.PIECE, Wire.WITHDRAWN -> {
                String wrong = messages.pulls.received(on, buffer, bytes, kind, call);
                if (wrong != null) {
                    broken(wrong);
                }
            }
            case Wire.DATA, Wire.NOTICE, Wire.CALL, Wire.LOOKUP, Wire.OFFER, Wire.REPLY, Wire.FAULT -> {
                String wrong = messages.received(buffer, bytes, kind, call);
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

    private void left(int code) {
        if (code == EndReason.CLOSED_BY_PEER.code) {
            endLocked(Event.PEER_LEFT, EndReason.CLOSED_BY_PEER, "", null);
        } else {
            endLocked(Event.LOST, EndReason.of(code), "It ended the channel", null);
        }
    }

    /** Ends this channel, whose peer breaks the rules. The caller holds the lock. */
    void broken(String details) {
        abort(EndReason.PROTOCOL_ERROR, details);
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
        Link on = canReply() ? rail.link() : null; // while there is no connection, nothing is posted there
        if (on == null) {
            throw new IllegalStateException(this + " is not open yet");
        }
        return on;
    }

    /** Returns what messages are received over; null while there is no connection. The caller holds the lock. */
    @Nullable
    Link linkToReceive() {
        Healing mine = healing;
        if (state == SessionState.HEALING && mine != null) {
            Rail next = mine.next();
            return next == null || !next.hasConnected() ? null : next.link(); // before, no receive is posted there
        }
        return linkIfOpen();
    }

    /** Returns true while this channel has no connection, and is to have another one. */
    boolean isHealing() {
        return state == SessionState.HEALING;
    }

    /** Returns the verbs objects if messages can be posted; else null. The caller holds the lock. */
    @Nullable
    Link linkIfOpen() {
        return state == SessionState.OPEN ? rail.link() : null;
    }

    /** Returns true if replies can be sent, now or over the next connection. */
    boolean canReply() {
        return state == SessionState.OPEN || state == SessionState.HEALING;
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
        if (after(event) != null) {
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
        SessionState before = state;
        SessionState now = after(event);
        if (now == null) {
            return false;
        }
        boolean ends = now.hasEnded() && !before.hasEnded();
        if (ends) {
            cause = why;
            lost = closed && before.isLive() ? why : null;
        }
        state = now;
        untold |= ends;
        try {
            if (before.isLive() && ends) {
                messages.stalls.end();
                engine.counts.ended(this, why);
            } else if (ends && incoming && why != null && why.reason() == EndReason.FAILED) {
                engine.counts.couldNotAdmit(peer, why);
            }
            switch (now) {
                case OPENING, HEALING, RELEASED -> {
                    // The caller goes on.
                }
                case OPEN -> {
                    if (event == Event.OPENED) {
                        engine.counts.recordOpen(this);
                    }
                }
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

    /** Returns the state after an event; null if the event changes nothing. If no goodbye can be said, the peer sees a loss. */
    private @Nullable SessionState after(Event event) {
        boolean saysGoodbye = event == Event.ABORTED || event == Event.PEER_LEFT;
        return state.after(saysGoodbye && !rail.canSayGoodbye() ? Event.LOST : event);
    }

    /** Says goodbye, for which there is room: grants and signs of life leave it. */
    private void sayGoodbye(EndReason reason) {
        int code = reason.code < 0 ? EndReason.PEER_FAILED.code : reason.code;
        try {
            rail.sendControl(Wire.GOODBYE, code);
        } catch (RuntimeException | Error refused) {
            if (!happen(Event.DONE, null)) {
                endLocked(Event.LOST, EndReason.FAILED, "The goodbye could not be posted", refused);
            }
        }
    }

    /** Returns the counters of this channel. */
    ChannelStatistics statistics() {
        try (var _ = lock.held()) {
            return messages.statistics();
        }
    }

    /** Disconnects. The queue pair fails, so that no request is left. The caller holds the lock. */
    private void part() {
        changes.wakeAll(); // they wait for the lock
        engine.wake(Engine.Sleepers.WAITING);
        rail.down();
        Healing mine = healing;
        if (mine != null) {
            mine.giveUp();
            engine.rails.forget(this, mine);
        }
    }

    /** Says goodbye, if the program has closed this channel while there was no connection. The caller holds the lock. */
    void closeIfAsked() {
        if (closed) {
            happen(Event.CLOSED, null);
        }
    }

    /** Returns the memory of the messages, which there is once this channel is open. */
    MemoryRegion memory() {
        return Objects.requireNonNull(memory);
    }

    // Another connection

    /** Waits for another connection, if this channel can. Returns false if it can't. The caller holds the lock. */
    boolean losesPath(String details) {
        Healing mine = healing;
        return mine != null && mine.begins(details);
    }

    /** Refuses the claim of the peer, for what is wrong with it, or because this node does not have the channel. */
    void refuseClaim(@Nullable String wrong) {
        try (var _ = lock.held()) {
            if (wrong == null) {
                abort(EndReason.LOST, "It claims a channel that this node does not have");
            } else {
                abort(EndReason.PROTOCOL_ERROR, wrong);
            }
        }
    }

    /** Gives the connection of the peer to the channel that it claims. Returns false if the connection has ended. */
    boolean givesAway(Rail given) {
        try (var _ = lock.held()) {
            boolean gives = state == SessionState.OPENING && given.is(RailState.PREPARING);
            if (gives) {
                rail = new Rail(this, engine, key, incoming, false);
            }
            return gives;
        }
    }

    /** Has all threads that wait at this channel try again. Allocates nothing. */
    void wakeAll() {
        try (var _ = lock.held()) {
            messages.wakeWaits();
            operations.wakeWaits();
            changes.wakeAll();
        }
        engine.wake(Engine.Sleepers.WAITING);
    }

    /** Tells all the end of this channel, or that the program closes it. The next call makes up for a lack of memory. */
    private void tellEnd() {
        wakeAll(); // first, because it allocates nothing
        messages.finishFutures();
        operations.finishFutures();
        if (incoming) {
            engine.handshakes.remove(rail);
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
            untold = true;
            happen(Event.CLOSED, null);
            if (untold) {
                tellEnd();
            }
            return true;
        }
    }

    /** Returns the number of bytes by which the peer describes memory. */
    int descriptionBytes() {
        return Link.Shown.bytes(devicesOfPeer);
    }

    /** Reads a description of the peer's memory. */
    Link.Shown shown(MemorySegment description) {
        return Link.Shown.from(description, devicesOfPeer);
    }

    /** Gives an export to the peer. */
    Link.Shown grant(Export export) {
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

    /**
     * Waits for the end of the connection, and frees what this channel has. Several threads may do this at once, each after
     * {@link #beginClose}.
     *
     * @param patience the longest time to wait for the peer's goodbye; zero if nobody knows the channel
     * @return the exception to throw if messages may be lost
     */
    @Nullable
    ChannelException finishClose(Duration patience) {
        boolean interrupted = !patience.isZero() && isInterrupted(patience);
        ChannelException lost = release(interrupted);
        try {
            engine.release(this);
        } catch (RuntimeException | Error refused) {
            if (lost != null) {
                refused.addSuppressed(lost);
            }
            throw refused;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        return lost;
    }

    /** Waits for the end of the connection. Returns true if the thread was interrupted before. */
    private boolean isInterrupted(Duration patience) {
        try {
            engine.await(changes, hasParted, patience);
        } catch (InterruptedException e) {
            return true;
        } catch (IllegalStateException | VerbsException over) {
            if (!engine.isClosed()) {
                throw over;
            }
        }
        return false;
    }

    /** Ends what is left of the connection. Returns the exception to throw if messages may be lost. */
    @Nullable
    ChannelException release(boolean interrupted) {
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
            rail.tick(now);
            Healing mine = healing;
            switch (state) {
                case OPENING -> {
                    if (rail.isLate(now)) {
                        abort(EndReason.HANDSHAKE_TIMEOUT, "");
                    }
                }
                case OPEN -> {
                    rail.checkAlive(now);
                    if (messages.stalls.isSince(Deadline.nanoseconds(options.maxStall()), now)) {
                        abort(EndReason.STALLED, "It has closed no messages for " + options.maxStall());
                    }
                    if (mine != null) {
                        mine.tickOpen(now);
                    }
                }
                case HEALING -> Objects.requireNonNull(mine).tick(now);
                case CLOSING, DRAINING, LEFT -> rail.checkAlive(now);
                case PARTING -> {
                    if (now - partBy > 0) {
                        happen(Event.DONE, null);
                    } else {
                        rail.checkAlive(now);
                    }
                }
                case PARTED, RELEASED -> {
                    // There is nothing to look after.
                }
            }
        } finally {
            lock.unlock();
        }
    }

    // State

    SessionState state() {
        return state;
    }

    boolean isOpen() {
        return (state == SessionState.OPEN || state == SessionState.HEALING) && engine.broken == null;
    }

    boolean isOpenOrThrow() {
        checkNotClosed();
        ChannelException ended = cause();
        if (ended != null && ended.reason() != EndReason.CLOSED_BY_PEER) {
            throw ended.again();
        }
        return state != SessionState.OPENING;
    }

    /** Returns the reason of the end. Ends this channel if its node can't go on. */
    @Nullable
    ChannelException cause() {
        if (cause == null && engine.broken != null) {
            engine.endWithNode(this);
        }
        return cause;
    }

    QueuePair queuePair() {
        try (var _ = lock.held()) {
            checkNotClosed();
            return rail.queuePair();
        }
    }

    String toText() {
        return (incoming ? "from " : "to ") + IpAddresses.text(peer);
    }

    @Override
    public String toString() {
        try (var _ = lock.held()) {
            String text = "channel " + toText();
            if (closed) {
                return text + " (closed)";
            }
            if (state == SessionState.OPENING) {
                return text + " (connecting)";
            }
            if (state == SessionState.HEALING) {
                return text + " (without a path)";
            }
            return state.hasEnded()
                    ? text + " (ended" + (cause == null ? "" : ": " + cause.reason()) + ")"
                    : text + " (open, " + options.protection().words() + messages.totals.available() + " credits, "
                            + rail.outstanding() + " under way, " + messages.arrivedCount() + " arrived)";
        }
    }
}
