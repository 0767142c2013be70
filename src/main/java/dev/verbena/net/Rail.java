package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.lifetime.ArenaLifetime;
import dev.verbena.internal.link.BiasedLock;
import dev.verbena.internal.link.Carrier;
import dev.verbena.internal.link.Link;
import dev.verbena.internal.link.LinkOwner;
import dev.verbena.internal.link.Ways;
import dev.verbena.internal.wire.EndCode;
import dev.verbena.internal.wire.Seal;
import dev.verbena.internal.wire.Totals;
import dev.verbena.internal.wire.Wire;
import dev.verbena.net.SessionState.Event;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.WorkStatus;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.UUID;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A connection of a channel: its queues, its seal, the requests that are under way, and the signs of life. {@link Session}
 * has what is said over it. The channel's lock guards all fields, and no call waits under it. Methods for carriers and for
 * other threads take the lock; all others are called under it.
 */
final class Rail implements LinkOwner {
    /** The sends of the channel itself that only others than a piece of a transfer may use: for a goodbye and a grant. */
    private static final int RESERVED_SENDS = 2;

    /** The channel. That of a peer which goes on with another one changes once, in the thread that makes progress. */
    volatile Session session;

    final boolean incoming;
    final Greetings greetings;

    /** The arena of the connection and its queues. Without healing, it is that of the channel. */
    final VerbsArena arena;

    private final Engine engine;
    private final NodeOptions options;
    final long key;

    /** True if a channel goes on over this connection, or is to. */
    boolean resumes;

    /** The number of the peer's device that this connection leads to. */
    int deviceOfPeer;

    /** The path, of a connection that this side has made. */
    private Ways.@Nullable Way way;

    /** True once this side has connected. */
    private volatile boolean connected;

    /** True once the channel needs this connection no more, and goes on. */
    private volatile boolean retired;

    /** The next one of those to free: see {@link Rails}. */
    @Nullable
    Rail nextRetired;

    private volatile RailState state = RailState.CONNECTING;
    private volatile Carrier.@Nullable Connection connection;
    private volatile @Nullable Link link;

    /** Seals and opens messages, from the greetings on until the end of an authenticated or sealed channel; else null. */
    private @Nullable Seal seal;

    /** True once a sealed message could not be posted: its number is used, and the peer would take the next one for changed. */
    private boolean silenced;

    /** The number of requests that have not completed, and how many of them the channel itself may add. */
    private int outstanding;

    private int controlRoom;
    final long begun = System.nanoTime();
    private long heardAt = begun;

    /** True if the peer has given a sign of life since the last look at the clock. */
    private boolean heard;

    Rail(Session session, Engine engine, long key, boolean incoming, boolean resumes) {
        this.session = session;
        this.engine = engine;
        this.resumes = resumes;
        this.arena = engine.options.heals() ? VerbsArena.ofShared() : session.arena;
        this.options = engine.options;
        this.key = key;
        this.incoming = incoming;
        this.controlRoom = options.sizes().controlSends();
        this.greetings = new Greetings(this, engine);
    }

    // For the carriers

    @Override
    public BiasedLock lock() {
        return session.lock;
    }

    @Override
    public VerbsArena arena() {
        return arena;
    }

    @Override
    public VerbsArena lastingArena() {
        return session.arena;
    }

    @Override
    public Object holder() {
        return session;
    }

    @Override
    public @Nullable UUID goesOn() {
        Healing healing = session.healing;
        return resumes && healing != null ? healing.id : null;
    }

    @Override
    public Carrier.@Nullable Connection before() {
        return resumes ? session.rail.connection() : null;
    }

    @Override
    public void allocate() {
        session.allocate();
    }

    @Override
    public MemorySegment target(int place) {
        return session.messages.receive(place & ~Link.RECEIVE).all;
    }

    @Override
    public boolean isOfStranger() {
        return session.isOfStranger();
    }

    @Override
    public void connecting(Carrier.Connection made, Ways.Way over) {
        connection = made;
        way = over;
    }

    /** Returns the path. */
    Ways.Way way() {
        return Objects.requireNonNull(way);
    }

    @Override
    public boolean accept(Carrier.Connection made) {
        connection = made;
        try (var _ = session.lock.held()) {
            boolean prepared = prepare();
            if (prepared) {
                happen(RailState.Event.CONNECTED);
                made.accept(); // under the lock: the peer's greeting may come before this returns
            }
            return prepared;
        }
    }

    @Override
    public boolean prepare() {
        if (!incoming) {
            session.allocate(); // takes long, and needs no lock
        }
        try (var _ = session.lock.held()) {
            Carrier.Connection with = connection;
            if (!is(RailState.CONNECTING) || with == null || retired) {
                return false;
            }
            Link made = with.link();
            made.serves(key, session.toText());
            if (incoming || !resumes) {
                session.begin(made); // else the channel still has another connection
            }
            made.prepared();
            link = made;
            comesFurther();
            return true;
        }
    }

    /** Notes a step of an attempt to go on with the channel. */
    private void comesFurther() {
        if (!incoming && resumes) {
            Objects.requireNonNull(session.healing).comesFurther();
        }
    }

    @Override
    public void established() {
        try (var _ = session.lock.held()) {
            Link on = link;
            if (!incoming && on != null && happen(RailState.Event.CONNECTED)) {
                connected = true;
                comesFurther();
                try {
                    if (resumes && !Objects.requireNonNull(session.healing).leavesLast(on)) {
                        return;
                    }
                    greetings.send(on);
                } catch (RuntimeException | Error failed) { // the program's secret could not be found, for example
                    end(Event.LOST, EndReason.FAILED, String.valueOf(failed.getMessage()), failed);
                }
            }
        }
    }

    /** Returns true once the peer has accepted the connection that this side has made, whatever came afterwards. */
    boolean hasConnected() {
        return connected;
    }

    /** Returns true while the channel that has lost its connection tries this one. */
    private boolean isTried() {
        Healing healing = session.healing;
        return healing != null && healing.next() == this;
    }

    @Override
    public boolean isRetired() {
        return retired;
    }

    @Override
    public void disconnected(String details) {
        try (var _ = session.lock.held()) {
            if (!retired && (isTried() || !session.happen(Event.DONE, null))) {
                end(Event.LOST, EndReason.LOST, details, null);
            }
        }
    }

    @Override
    public void end(int code, String details, @Nullable Throwable why) {
        EndReason reason = EndReason.of(code);
        try (var _ = session.lock.held()) {
            if (!retired) {
                end(reason == EndReason.FAILED ? Event.ABORTED : Event.LOST, reason, details, why);
            }
        }
    }

    @Override
    public void abort(int code, String details) {
        abort(EndReason.of(code), details);
    }

    @Override
    public boolean losesPath(String details) {
        try (var _ = session.lock.held()) {
            if (!retired && isTried()) {
                end(Event.LOST, EndReason.UNREACHABLE, details, null);
                return true;
            }
            return retired || session.losesPath(details);
        }
    }

    @Override
    public void fail(Throwable why) {
        end(EndCode.FAILED, String.valueOf(why.getMessage()), why);
    }

    /** Ends the connection, and with it the channel, unless that can have another one. The caller holds the lock. */
    void end(Event event, EndReason reason, String details, @Nullable Throwable why) {
        Healing healing = session.healing;
        if (healing != null && healing.next() == this) {
            healing.failed(reason, details, why);
        } else if (reason != EndReason.LOST || !session.losesPath(details)) {
            session.endLocked(event, reason, details, why);
        }
    }

    /** Ends the connection for a reason that the peer is told. The caller holds the lock. */
    void abort(EndReason reason, String details) {
        end(Event.ABORTED, reason, details, null);
    }

    void broken(String details) {
        abort(EndReason.PROTOCOL_ERROR, details);
    }

    @Override
    public void failed(int place, WorkStatus status, Supplier<? extends @Nullable Throwable> failure) {
        boolean flushed = status == WorkStatus.WORK_REQUEST_FLUSHED;
        if (flushed && is(RailState.CONNECTING) && !incoming) {
            return; // the library flushes the receives of a refused connection before it tells the reason
        }
        if (!isTried() && (session.happen(Event.DONE, null) || session.state().hasEnded())) {
            return; // who has left does not wait for the last acknowledgement
        }
        if (flushed) {
            end(Event.LOST, EndReason.LOST, "Requests were flushed", null);
            return;
        }
        boolean noAnswer = status == WorkStatus.RETRY_EXCEEDED;
        boolean denied = (place & Link.RECEIVE) == 0
                && (place & Operations.MARK) != 0
                && place != Link.CONTROL
                && place != Link.BIND
                && !noAnswer;
        EndReason reason = denied ? EndReason.ACCESS_DENIED : EndReason.LOST;
        if (noAnswer || isTried()) {
            end(Event.LOST, reason, status.toString(), failure.get());
        } else { // no other connection would help
            session.endLocked(Event.LOST, reason, status.toString(), failure.get());
        }
    }

    @Override
    public void sent(int place) {
        if (session.state() != SessionState.RELEASED) {
            acknowledged(place);
            if (!isTried()) {
                session.sent(place);
            }
        }
    }

    // State

    /** Changes the state. Returns false if the event changes nothing, or the channel has ended. */
    boolean happen(RailState.Event event) {
        RailState now = session.state().hasEnded() && event != RailState.Event.ENDED ? null : state.after(event);
        if (now == null) {
            return false;
        }
        state = now;
        return true;
    }

    /** Returns true in a state, unless the channel has ended. */
    boolean is(RailState expected) {
        return state == expected && !session.state().hasEnded();
    }

    @Override
    public boolean isHalfOpen() {
        return state.isHalfOpen() && session.state() == SessionState.OPENING;
    }

    /** Returns true if a goodbye can be posted, behind all other messages. */
    boolean canSayGoodbye() {
        return state != RailState.CONNECTING && state != RailState.DOWN && !silenced;
    }

    /** Returns the queues, which there are once the connection begins to be made. */
    @Nullable
    Link link() {
        return link;
    }

    @Override
    public Carrier.@Nullable Connection connection() {
        return connection;
    }

    /** Returns the connection, which there is. */
    Carrier.Connection with() {
        return Objects.requireNonNull(connection);
    }

    Transport transport() {
        return with().isOverTcp() ? Transport.TCP : Transport.RDMA;
    }

    QueuePair queuePair() {
        Link on = link;
        if (on == null) {
            throw new IllegalStateException(session + " has no queue pair yet");
        }
        return on.pair();
    }

    /** Returns the number of requests that the peer's adapter has not acknowledged. */
    int outstanding() {
        return outstanding;
    }

    // Sending

    void sendGreeting(Link on, LocalMemory greeting) {
        if (options.protection() == Protection.NONE) {
            session.messages.totals.write(greeting.segment(), Wire.GREETING, 0);
        } else { // the proof has the totals
            Wire.writeHeader(greeting.segment(), Wire.GREETING, 0, 0, 0, 0);
        }
        on.send(Link.CONTROL, greeting);
        controlPosted();
    }

    /**
     * Sends a message of the program, whose header is written.
     *
     * @throws RuntimeException if the message could not be posted; the channel has ended then if it is sealed
     */
    void send(Link on, Buffer buffer) {
        Seal by = seal;
        if (by != null) {
            by.seal(buffer.all, buffer.length(), buffer.whole().segment());
        }
        try {
            on.send(buffer.index, buffer.slice());
        } catch (RuntimeException | Error refused) {
            if (by != null) { // its number is used
                session.endLocked(Event.LOST, EndReason.FAILED, "A sealed message could not be posted", refused);
            }
            throw refused;
        }
        outstanding++;
    }

    /** Sends a message again, which another connection may have lost. */
    void sendAgain(Buffer buffer, int sequence) {
        session.messages.totals.writeAgain(buffer.all, sequence);
        send(Objects.requireNonNull(link), buffer);
        buffer.onWire = true;
    }

    /** Sends a message without bytes again. */
    void sendAgain(int kind, int call, int sequence) {
        Link on = Objects.requireNonNull(link);
        Wire.writeHeader(on.nextHead(), kind, call, 0, 0, 0);
        session.messages.totals.writeAgain(on.nextHead(), sequence);
        sendBare(on);
    }

    /**
     * Sends a message without bytes.
     *
     * @param call the number of the call, or the reason of a goodbye
     */
    void sendControl(int kind, int call) {
        Link on = Objects.requireNonNull(link);
        session.messages.totals.write(on.nextHead(), kind, call);
        sendBare(on);
    }

    private void sendBare(Link on) {
        Seal by = seal;
        MemorySegment head = on.nextHead();
        if (by != null) {
            by.seal(head, 0, head);
        }
        try {
            on.send(Link.CONTROL, on.nextBare(by != null));
        } catch (RuntimeException | Error refused) {
            silenced = by != null;
            throw refused;
        }
        controlPosted();
    }

    /** Sends a message about a piece of a transfer. Returns false if others have to be acknowledged before. */
    boolean trySendAboutPiece(int kind, int number) {
        if (controlRoom <= RESERVED_SENDS
                || session.state() == SessionState.HEALING
                || !session.messages.canKeepPiece()) {
            return false;
        }
        try {
            sendControl(kind, number);
            session.messages.keep(null, kind, number);
        } catch (RuntimeException | Error refused) { // its number is used
            session.endLocked(Event.LOST, EndReason.FAILED, "A message about a piece could not be posted", refused);
            throw refused;
        }
        return true;
    }

    /** Returns true if a grant or a sign of life can be posted, which leaves room for a goodbye. */
    boolean hasControlRoom() {
        return controlRoom > 1;
    }

    private void controlPosted() {
        controlRoom--;
        outstanding++;
    }

    /** Counts a request that was posted. */
    void posted() {
        outstanding++;
    }

    /** Counts a request that has succeeded: the peer's adapter has acknowledged it. */
    void acknowledged(int place) {
        heard = true;
        outstanding--;
        if (place == Link.CONTROL) {
            controlRoom++;
        }
    }

    // Receiving

    @Override
    public void received(int place, int arrived) {
        if (session.state().hasEnded()) {
            return;
        }
        heard |= !with().isOverTcp(); // over TCP, a peer may send and not receive
        Buffer buffer = session.messages.receive(place & ~Link.RECEIVE);
        int bytes = open(buffer, arrived);
        if (bytes < 0) {
            return;
        }
        int kind = Wire.kind(buffer.all);
        int call = Wire.call(buffer.all);
        boolean tried = isTried();
        boolean allowed = state.allows(kind) && (tried || session.state().allows(kind));
        if (!allowed || (kind == Wire.GREETING && call != 0)) {
            broken("Message of kind " + kind + " out of order");
        } else if (kind == Wire.GREETING) {
            greeted(buffer, bytes);
        } else if (tried) {
            refused(call);
        } else {
            session.received(buffer, bytes, kind, call);
        }
    }

    /** Handles a greeting or a proof. The last one of a peer that goes on with a channel has its totals. */
    private void greeted(Buffer buffer, int bytes) {
        resumes |= incoming && greetings.resume(buffer, bytes);
        if (session.returns && !resumes) { // it counts as no channel more
            broken("It has asked to go on with a channel, and begins another one");
            return;
        }
        if (!resumes && !session.received(buffer, Wire.GREETING)) {
            return;
        }
        if (!greetings.received(Objects.requireNonNull(link), buffer, bytes)) {
            return;
        }
        Totals.Said said = Totals.Said.in(buffer.all);
        if (!incoming && resumes) {
            Objects.requireNonNull(session.healing).resume(this, said);
        } else if (!incoming) {
            up();
        } else if (happen(RailState.Event.ADMITTED)) {
            if (resumes) {
                engine.rails.claimed(this, said);
            } else {
                session.prepareMessages();
            }
        }
    }

    /** Ends the attempt to go on over this connection, which the peer has refused. */
    private void refused(int code) {
        if (code == EndReason.LOST.code) {
            session.endLocked(
                    Event.LOST,
                    EndReason.LOST,
                    "The peer does not have this channel any more: it was started again, or has ended it",
                    null);
        } else {
            end(Event.LOST, EndReason.of(code), "It refused to go on over another connection", null);
        }
    }

    /**
     * Opens a message, if there is a seal.
     *
     * @return its number of bytes; -1 after the end of a channel whose peer has sent something else
     */
    private int open(Buffer buffer, int arrived) {
        int bytes = arrived - Wire.HEADER_BYTES;
        Seal by = seal;
        boolean isMessage = bytes >= 0 && arrived <= buffer.whole().length();
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

    /** Ends the channel, which got a message that the peer has not sealed as the next one. */
    private void tampered(String details) {
        if (session.state().hasEnded()) {
            return;
        }
        if (state == RailState.PROVING) { // an old greeting that somebody has recorded
            greetings.notItsOwn();
        } else {
            engine.counts.tampered();
            abort(EndReason.TAMPERED, details);
        }
    }

    @Override
    public void wireBroken(String details) {
        if (seal == null) {
            broken(details);
        } else {
            tampered(details);
        }
    }

    /** Begins to carry messages. The peer's receives are posted, and so are those of this side. */
    void up() {
        if (incoming) {
            greetings.send(Objects.requireNonNull(link));
        }
        if (options.protection() == Protection.AUTHENTICATED) {
            forgetSeal();
        }
        happen(RailState.Event.GREETED);
        heard = true;
        if (!resumes) {
            session.opened();
        }
    }

    /** Seals and opens all messages from now on. */
    void introduced(Seal made) {
        seal = made;
        happen(RailState.Event.INTRODUCED);
    }

    private void forgetSeal() {
        Seal over = seal;
        if (over != null) {
            seal = null;
            over.wipe();
        }
    }

    // The end

    /** Disconnects. The queue pair fails, so that no request is left. */
    void down() {
        happen(RailState.Event.ENDED);
        forgetSeal();
        Carrier.Connection own = connection;
        if (own != null) {
            own.disconnect();
        }
    }

    /**
     * Ends the connection of a channel that goes on. When this method returns, no adapter uses the memory of its requests
     * any more, and what has happened here and was not handled counts as lost.
     */
    void retire() {
        retired = true;
        try {
            Link on = link;
            if (on != null) {
                on.stop(); // first: the end of a connection may wait for the peer
            }
            down();
        } finally {
            engine.rails.retire(this);
        }
    }

    /** Frees what this connection has. The channel's last one keeps the channel's domain. The caller holds no lock. */
    void free() {
        closeArena();
        Carrier.Connection own = connection;
        if (session.rail != this) {
            forget();
        } else if (own != null) {
            own.freeUnused(); // of a channel that is closed already
        }
    }

    /** Forgets the connection, which the channel needs no more. Doing this twice does no harm. */
    void forget() {
        Carrier.Connection own = connection;
        if (own != null) {
            own.forget();
        }
    }

    /** Closes the arena of this connection, unless the channel has the same. */
    void closeArena() {
        if (arena != session.arena) {
            ArenaLifetime.of(arena).closeUnlessClosed();
        }
    }

    // Time

    /** Notes the signs of life since the last time. */
    void tick(long now) {
        Carrier.Connection with = connection;
        if (heard || (with != null && with.takeProgress())) {
            heard = false;
            heardAt = now;
        }
    }

    /** Returns true if a peer that has connected has not greeted in time. */
    boolean isLate(long now) {
        return incoming && isHalfOpen() && now - begun > Deadline.nanoseconds(options.handshakeTimeout());
    }

    /** Ends the channel if the peer's adapter gives no sign of life, and asks for one if nothing else does. */
    void checkAlive(long now) {
        long quiet = now - heardAt;
        long alive = Deadline.nanoseconds(options.alive());
        Link on = link;
        if (outstanding > 0) {
            if (quiet / 2 > alive && quiet - alive > session.operations.workNanos()) {
                heardAt = now;
                end(Event.LOST, EndReason.LOST, "The peer's adapter has acknowledged nothing", null);
            }
        } else if (quiet > alive && hasControlRoom() && on != null) {
            try {
                on.probe(Link.CONTROL);
                controlPosted();
            } catch (RuntimeException | Error refused) {
                session.endLocked(
                        Event.LOST, EndReason.FAILED, "The peer could not be asked for a sign of life", refused);
            }
        }
    }
}
