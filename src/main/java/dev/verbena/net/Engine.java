package dev.verbena.net;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Daemons;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.IpAddresses;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.StackRoom;
import dev.verbena.internal.Waiters;
import dev.verbena.internal.link.Admission;
import dev.verbena.internal.link.BiasedLock;
import dev.verbena.internal.link.Carrier;
import dev.verbena.internal.link.LinkHost;
import dev.verbena.internal.link.LinkOwner;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The progress of a node: takes completions, events and the time from its {@link Carrier}, and hands them to the channels.
 * One thread at a time makes progress. With {@link NodeOptions.Progress#BACKGROUND} a daemon thread does, and all others
 * wait at the channel for what they need. With {@link NodeOptions.Progress#CALLER}, waiting threads wait at the carrier and
 * make progress themselves.
 *
 * <p>Locks are taken in this order: progress, a channel, the table of channels.
 */
final class Engine implements LinkHost {
    /** The clock can cost as much as a message: a program that polls all the time looks at it at every eighth poll. */
    private static final int POLLS_PER_LOOK = 8;

    private static final long LOOK_NANOS = 1_000_000;

    private static final long TICK_NANOS = 100_000_000;
    private static final Duration TICK = Duration.ofNanos(TICK_NANOS);

    final NodeOptions options;
    private final VerbsArena arena = VerbsArena.ofShared();
    final Carrier carrier;
    final InetSocketAddress address;
    final Exports exports;
    private final boolean background;
    private final List<Thread> threads = new ArrayList<>();

    private final Waiters accepting = new Waiters();
    private final Supplier<@Nullable Channel> takeAccepted = this::takeAccepted;
    private final Supplier<@Nullable Boolean> step = this::step;

    /** The channels by their numbers. The lock guards changes. */
    private final AtomicReferenceArray<@Nullable Session> slots;

    /** The connections of the channels. */
    final Rails rails;

    final Mutex table = new Mutex();
    private int count;

    final NodeCounts counts = new NodeCounts();

    /** The counters of the channels that were closed. */
    private ChannelStatistics past = ChannelStatistics.NONE;

    /** The times of the channels that were closed. The table's lock guards them. */
    private final CallTimes pastCalls = new CallTimes();

    private final CallTimes pastHandlers = new CallTimes();

    final Arrivals arrivals = new Arrivals(this);

    final Connector connector = new Connector(this);

    private final ManagedNode managed = new ManagedNode(this);

    /** The channels that have ended, and that the node closes. */
    private final Set<Session> over = ConcurrentHashMap.newKeySet();

    /** The node's threads, once the node can't go on: they tell handlers and futures the end. */
    private final Waiters resting = new Waiters();

    private final ClosedChannels closedChannels = new ClosedChannels();

    final Handlers handlers;

    /** Held by the thread that makes progress. */
    private final BiasedLock progressing = new BiasedLock();

    private long lastTick = System.nanoTime();

    private long lastLook = lastTick;

    /** The number of polls until the next look at the clock. */
    private int pollsToLook;

    /** The number of threads that wait at the carrier. */
    private final AtomicInteger blocked = new AtomicInteger();

    /** The transfers whose memory is registered in the node's domain, with their threads. */
    private final Map<Transferring, Thread> transfers = new ConcurrentHashMap<>();

    /** The memory of a transfer. Closing it twice does nothing. */
    interface Transferring extends AutoCloseable {
        @Override
        void close();
    }

    private final Waiters transfersEnded = new Waiters();

    /** The memory of transfers that are over, which C has refused to free. */
    private final Queue<TransferMemory> unfreed = new ConcurrentLinkedQueue<>();

    /** Prepares for the messages of peers that were admitted: to register memory takes long. */
    private final ExecutorService apart;

    final Handshakes handshakes;

    private volatile @Nullable Node node;
    private volatile @Nullable Handler handler;
    private volatile @Nullable Thread loop;
    volatile boolean someEnded;

    /** True once only channels that come back are let in, and no transfer begins. The table's lock guards this. */
    private volatile boolean closing;

    /** True once the node's threads end. */
    private volatile boolean closed;

    /** The reason that channels end with when the node can't go on. Written before {@link #broken}. */
    private EndReason brokenAs = EndReason.FAILED;

    /** The reason why the node can't go on; null while it can. A channel that has not ended ends when a thread sees this. */
    volatile @Nullable Throwable broken;

    /** True once all channels have ended because the node can't go on. */
    private volatile boolean told;

    Engine(InetSocketAddress own, NodeOptions options) {
        this.options = options;
        this.background = options.progress() == NodeOptions.Progress.BACKGROUND;
        this.handlers = new Handlers(this, options.window());
        // one that goes on is twice there for a while
        int places = options.heals() ? Math.min(4 * options.maxChannels(), 1 << 16) : options.maxChannels();
        this.slots = new AtomicReferenceArray<>(places);
        this.rails = new Rails(this, places);
        try {
            carrier = options.transport().open(this, options.forLinks(own), arena);
            address = carrier.address();
            apart = Daemons.single("node-memory-" + IpAddresses.text(address));
            handshakes = new Handshakes(IpAddresses.text(address));
            exports = new Exports(carrier, this::revoke);
        } catch (Throwable t) {
            undo(t, arena::close);
            throw t;
        }
    }

    private static void undo(Throwable failure, Runnable step) {
        try {
            step.run();
        } catch (RuntimeException | Error more) {
            failure.addSuppressed(more);
        }
    }

    Node node() {
        return Objects.requireNonNull(node);
    }

    /** Starts the threads. */
    void start(Node owner) {
        node = owner;
        try {
            carrier.start();
            if (background) {
                startThread("progress", this::makeProgress);
            }
            RecordedNodes.add(this);
        } catch (Throwable t) {
            undo(t, this::close);
            throw t;
        }
    }

    @Override
    public void startThread(String job, Runnable work) {
        threads.add(
                Daemons.named("node-" + job + "-" + IpAddresses.text(address)).start(work));
    }

    @Override
    public void runApart(Runnable work) {
        apart.execute(() -> {
            try {
                work.run();
            } catch (RuntimeException | Error ended) {
                fail(ended);
            }
        });
    }

    @Override
    public boolean isClosing() {
        return closing;
    }

    @Override
    public boolean isClosed() {
        return closed;
    }

    /** Takes an export from all channels, also from those that threads are freeing just now. */
    private void revoke(Export export) {
        forEachChannel(session -> revoke(session, export));
        closedChannels.revoke(export);
    }

    /** Takes an export from a channel. A binding that is under way ends first, or the connection does. */
    private void revoke(Session session, Export export) {
        Supplier<@Nullable Boolean> attempt = () -> session.revoke(export) ? Boolean.TRUE : null;
        boolean interrupted = false;
        Boolean done = attempt.get();
        while (done == null && !closed && broken == null) {
            try {
                done = await(session.changes, attempt, options.alive());
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    // Peers that connect

    @Override
    public @Nullable LinkOwner find(long id) {
        return rails.find(id);
    }

    @Override
    public void comes() {
        arrivals.comes();
    }

    @Override
    public void hasCome() {
        arrivals.hasCome();
    }

    @Override
    public @Nullable LinkOwner admit(InetSocketAddress peer, boolean claims, @Nullable UUID name) {
        Session session = arrivals.admit(peer, claims, rails.claimed(name));
        return session == null ? null : session.rail;
    }

    @Override
    public Admission admit(Carrier over, InetSocketAddress peer, MemorySegment greeting) {
        return arrivals.admit(over, peer, greeting);
    }

    @Override
    public Carrier.@Nullable Connection claimed(@Nullable UUID name) {
        Session session = rails.claimed(name);
        return session == null ? null : session.rail.connection();
    }

    // Threads

    private void makeProgress() {
        loop = Thread.currentThread();
        while (!closed) {
            try {
                if (broken == null) {
                    carrier.await(step, TICK);
                } else { // handlers and futures are told the end of their channels
                    progress(true);
                    resting.await(() -> (handlers.haveWork() || closed) ? Boolean.TRUE : null, TICK);
                }
                handlers.serve();
            } catch (InterruptedException late) {
                interrupted();
            } catch (RuntimeException | Error ended) {
                failed(ended);
            }
        }
    }

    @Override
    public void interrupted() {
        if (!closed) {
            Daemons.interrupted();
        }
    }

    @Override
    public void failed(Throwable why) {
        try {
            fail(why);
            LockSupport.parkNanos(TICK_NANOS);
        } catch (RuntimeException | Error shortage) {
            return; // it is noted, or else the next turn fails too
        }
    }

    private @Nullable Boolean step() {
        return (progress(true) > 0 || handlers.haveWork() || closed || broken != null) ? Boolean.TRUE : null;
    }

    /**
     * Ends all channels, because no more progress is possible. Memory may be what is missing. So the end is noted, and all
     * threads are woken, before anything is allocated. A thread that finds a channel of the node open ends it.
     */
    @Override
    public void fail(Throwable why) {
        fail(EndReason.FAILED, why);
    }

    @Override
    public void deviceRemoved() {
        if (broken == null) { // each connection reports it
            EndReason reason = EndReason.DEVICE_REMOVED;
            fail(reason, new ChannelException(reason, toString(), "", null));
        }
    }

    private void fail(EndReason reason, Throwable why) {
        // no channel comes afterwards
        try (var _ = table.held()) {
            if (closed || broken != null) {
                return;
            }
            brokenAs = reason;
            broken = why;
        }
        accepting.wakeAll();
        connector.wakeAll();
        resting.wakeAll();
        for (int i = 0; i < slots.length(); i++) {
            Session session = slots.get(i);
            if (session != null) {
                session.wakeAll();
            }
        }
        carrier.wake();
        try {
            endChannels();
        } catch (RuntimeException | Error shortage) {
            return; // the next thread that makes progress ends those that are left
        }
    }

    private void endChannels() {
        if (!told) {
            forEachChannel(this::endWithNode);
            told = true;
        }
    }

    void endWithNode(Session session) {
        Throwable why = Objects.requireNonNull(broken);
        if (brokenAs == EndReason.FAILED) {
            session.end(brokenAs, "The node can't go on: " + why.getMessage(), why);
        } else {
            session.end(brokenAs, "", null); // the reason says it all
        }
    }

    /** Waits until an attempt finds something; returns null when the time is over. */
    <T> @Nullable T await(Waiters waiters, Supplier<? extends @Nullable T> attempt, Duration timeout)
            throws InterruptedException {
        Objects.requireNonNull(timeout, "timeout"); // first: nothing is taken when it is null
        T found = attempt.get();
        if (found != null) {
            return found;
        }
        if (background && !isLoop()) {
            progress(false); // often faster than to wait for the other thread
            return waiters.await(attempt, timeout);
        }
        return awaitInProgress(attempt, timeout);
    }

    /** Waits and makes progress meanwhile. */
    private <T> @Nullable T awaitInProgress(Supplier<? extends @Nullable T> attempt, Duration timeout)
            throws InterruptedException {
        Found<T> found = new Found<>(attempt); // before anything is taken, which would be lost if there were no memory
        Deadline deadline = Deadline.after(timeout);
        blocked.incrementAndGet();
        try {
            do {
                Duration most = Duration.ofNanos(Math.max(0, Math.min(TICK_NANOS, deadline.remaining())));
                carrier.await(found, most);
                if (found.what == null) {
                    handlers.serve();
                }
            } while (found.what == null && !deadline.isOver());
            return found.what;
        } finally {
            blocked.decrementAndGet();
        }
    }

    /** Makes progress, and tries. Ends with a result of the attempt; without one, handlers have work. */
    private final class Found<T> implements Supplier<@Nullable Found<T>> {
        private final Supplier<? extends @Nullable T> attempt;

        @Nullable
        T what;

        Found(Supplier<? extends @Nullable T> attempt) {
            this.attempt = attempt;
        }

        @Override
        public @Nullable Found<T> get() {
            progress(true);
            what = attempt.get();
            return what != null || (handlers.haveWork() && !handlers.areBusy()) ? this : null;
        }
    }

    /** The threads that sleep where progress is made, and not at a channel. */
    enum Sleepers {
        /** Those that make progress while they wait for something of a channel, or for a future. */
        WAITING,
        /** The thread that calls handlers and completes futures: that of the node, or one of those. */
        SERVING
    }

    /** Wakes one thread that waits at a place of a channel. */
    void wake(Waiters at) {
        if (background) {
            at.wake();
        }
        wake(Sleepers.WAITING);
    }

    /** Wakes threads that sleep where progress is made. Allocates nothing. */
    void wake(Sleepers who) {
        if (broken != null) {
            resting.wakeAll();
        }
        boolean ofNode = who == Sleepers.SERVING && background;
        if (ofNode ? !isLoop() : blocked.get() > 0) {
            carrier.wake();
        }
    }

    /**
     * Waits for a future in a thread that makes progress itself. Returns false at once in other threads, and if the node is
     * closed.
     */
    boolean awaitDone(ChannelFuture<?> future, Duration timeout) throws InterruptedException {
        if (closed || (background && !isLoop())) {
            return false;
        }
        if (future.isDone()) {
            return true;
        }
        future.tellEngine();
        Deadline deadline = Deadline.after(timeout);
        while (!closed && !future.isDone() && !deadline.isOver()) {
            handlers.settle();
            Duration left = deadline.left();
            boolean wasBroken = broken != null;
            Supplier<@Nullable Boolean> attempt = new Supplier<>() {
                @Override
                public @Nullable Boolean get() {
                    boolean isOver = closed || (broken != null && !wasBroken);
                    return (isOver || future.isDone() || handlers.haveFutures()) ? Boolean.TRUE : null;
                }
            };
            if (wasBroken) {
                progress(true);
                resting.await(attempt, left.compareTo(TICK) < 0 ? left : TICK);
            } else {
                awaitInProgress(attempt, left);
            }
        }
        return !closed;
    }

    // Progress

    /** Handles what has happened, for a program that polls. */
    int poll() {
        int handled = progress(false);
        if (!background) {
            handlers.serve();
        }
        if (broken != null) { // after handlers and futures were told
            checkUsable();
        }
        return handled;
    }

    /**
     * Handles what has happened.
     *
     * @param patient true to wait for a thread that makes progress now; else this does nothing then
     * @return the number of completions and events
     */
    int progress(boolean patient) {
        if (patient) {
            progressing.lock();
        } else if (!progressing.tryLock()) {
            return 0;
        }
        int handled;
        try {
            if (closed) {
                return 0;
            }
            if (broken != null) {
                endChannels();
                lookAtClock(); // they do not wait for an answer for ever
                return 0;
            }
            try {
                handled = carrier.poll();
                rails.handleClaims();
                connector.beginWaiting();
            } catch (StackOverflowError full) { // ends the call of a thread of the program alone
                throw full;
            } catch (RuntimeException | Error failure) { // in any thread that makes progress: no other would notice
                fail(failure);
                return 0;
            }
            if (patient || --pollsToLook < 0) {
                lookAtClock();
            }
        } finally {
            progressing.unlock();
        }
        if (someEnded) {
            bury(); // closes an arena, for which no lock is held
        }
        return handled;
    }

    @Override
    public void checkRoom() {
        if (!isLoop() || handlers.areBusy()) {
            StackRoom.forWork();
        }
    }

    private void lookAtClock() {
        long now = System.nanoTime();
        pollsToLook = now - lastLook < LOOK_NANOS ? POLLS_PER_LOOK - 1 : 0;
        lastLook = now;
        if (now - lastTick > TICK_NANOS) {
            checkRoom();
            lastTick = now;
            tick(now);
            managed.tick();
            if (rails.mustFree() || !unfreed.isEmpty()) {
                someEnded = true;
            }
        }
    }

    /** Does something with each channel that is not closed. */
    private void forEachChannel(Consumer<Session> action) {
        for (int i = 0; i < slots.length(); i++) {
            Session session = slots.get(i);
            if (session != null) {
                action.accept(session);
            }
        }
    }

    /** Has all channels look at the clock. */
    void tick(long now) {
        for (int i = 0; i < slots.length(); i++) { // without a lambda, which is an object
            Session session = slots.get(i);
            if (session != null) {
                session.tick(now);
            }
        }
    }

    /** Closes the channels that have ended and that the program does not close. */
    private void bury() {
        someEnded = false;
        try {
            rails.freeRetired();
            unfreed.removeIf(TransferMemory::isFreed);
            arrivals.bury();
            for (Session session : List.copyOf(over)) {
                if (buried(session)) {
                    over.remove(session);
                }
            }
        } catch (Throwable shortage) {
            someEnded = true;
            throw shortage;
        }
    }

    /** Closes a channel that has ended. Returns false while its connection has not: see {@link #bury(Session)}. */
    boolean buried(Session session) {
        if (!session.parted() || session.isPreparing()) {
            someEnded = true;
            return false;
        }
        if (session.beginClose()) { // else the program closes it
            try {
                session.finishClose(Duration.ZERO);
            } catch (RuntimeException | Error refused) {
                // The node closes the arena.
            }
        }
        return true;
    }

    // Handlers

    /** Completes the futures of channels that this thread has closed, unless the node's thread does. No action is interrupted. */
    void serveUnlessLoop() {
        if (background) {
            return;
        }
        boolean interrupted = Thread.interrupted();
        try {
            handlers.serve();
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Returns true in the node's own thread that makes progress. */
    boolean isLoop() {
        return Thread.currentThread() == loop;
    }

    /** Notes that the node closes a channel that has ended, when its connection has. */
    void bury(Session session) {
        over.add(session);
        someEnded = true;
    }

    void listen(Handler with) {
        checkUsable();
        try (var _ = table.held()) {
            if (handler != null) {
                throw new IllegalStateException("The node at " + IpAddresses.text(address) + " has a handler already");
            }
            handler = with;
        }
        handOver(with);
    }

    /** Gives the channels that wait to be accepted to the handler. */
    private void handOver(Handler with) {
        Session session = arrivals.next();
        while (session != null) {
            session.messages.listening.own(with);
            handlers.ready(session);
            session = arrivals.next();
        }
    }

    // Peers that connect

    /** Returns false if a peer's address has as many channels as it may. */
    boolean hasRoomOf(InetAddress peer) {
        int already = 0;
        for (int i = 0; i < slots.length(); i++) {
            Session session = slots.get(i);
            if (session != null && session.incoming && session.peer.getAddress().equals(peer)) {
                already++;
            }
        }
        return already < options.maxChannelsPerPeer();
    }

    /** Makes a channel and gives it a number; returns null if there are as many as may be. */
    @Nullable
    Session enter(InetSocketAddress peer, boolean incoming) {
        return enter(peer, incoming, false);
    }

    /**
     * Makes a channel and gives it a number; returns null if there are as many as may be.
     *
     * @param resumes true if the channel is to give its connection to another one, and so does not count
     */
    @Nullable
    Session enter(InetSocketAddress peer, boolean incoming, boolean resumes) {
        try (var _ = table.held()) {
            if (closed || broken != null || (!resumes && (closing || count >= options.maxChannels()))) {
                return null;
            }
            int slot = freePlace();
            if (slot == slots.length()) {
                return null;
            }
            Session session = new Session(this, rails.nextKey(slot), peer, incoming);
            slots.set(slot, session);
            rails.add(session.rail);
            count++;
            return session;
        }
    }

    /** Returns a number that no channel and no connection has; the number of places if there is none. The caller holds the lock. */
    int freePlace() {
        int place = 0;
        while (place < slots.length() && (slots.get(place) != null || rails.has(place))) {
            place++;
        }
        return place;
    }

    /** Notes that a channel is open. */
    void opened(Session session) {
        counts.opened();
        if (session.incoming && arrivals.opened(session)) {
            Handler with = handler;
            if (with == null) {
                wake(accepting);
            } else {
                handOver(with);
            }
        }
    }

    /** Notes that a channel of a peer has ended, which nobody may have accepted yet. */
    void ended(Session session) {
        if (arrivals.has(session)) {
            someEnded = true;
        }
    }

    // The program's calls

    void checkUsable() {
        if (closing) {
            throw new IllegalStateException("The node at " + IpAddresses.text(address) + " is closed");
        }
        Throwable why = broken;
        if (why instanceof ChannelException known && known.reason() == EndReason.DEVICE_REMOVED) {
            throw known.again();
        }
        if (why != null) {
            throw new ChannelException(
                    EndReason.FAILED, "node " + IpAddresses.text(address), "The node can't go on", why);
        }
    }

    Session enterToConnect(InetSocketAddress peer) {
        Session session = enter(peer, false);
        if (session == null) {
            checkUsable();
            throw new IllegalStateException("The node at " + IpAddresses.text(address) + " has its " + slots.length()
                    + " channels: close some, or raise NodeOptions.maxChannels()");
        }
        return session;
    }

    /** Closes a channel that the program never gets. */
    void giveUp(Session session) {
        session.beginClose();
        session.finishClose(Duration.ZERO);
    }

    @Nullable
    Channel takeAccepted() {
        checkUsable();
        if (handler != null) {
            throw new IllegalStateException(
                    "The handler of the node at " + IpAddresses.text(address) + " gets its channels");
        }
        Session session = arrivals.next();
        return session == null ? null : session.channel;
    }

    Channel accept(Duration timeout) throws InterruptedException {
        Channel channel = await(accepting, takeAccepted, timeout);
        if (channel == null) {
            throw new VerbsTimeoutException(
                    carrier.acceptor(), "node " + IpAddresses.text(address), timeout, "No peer has connected");
        }
        return channel;
    }

    /** Frees what a closed channel has. */
    void release(Session session) {
        boolean first;
        try (var _ = session.lock.held();
                var _ = table.held()) {
            int slot = Rails.place(session.key);
            first = slots.get(slot) == session;
            if (first) {
                past = past.plus(session.statistics()); // first, because it allocates
                session.messages.counts.addTimes(pastCalls, pastHandlers);
                slots.set(slot, null);
                rails.remove(session.rail);
                count--;
                closedChannels.add(session); // a node that is closed meanwhile has to know the channel
            }
        }
        Carrier.Connection connection = session.rail.connection();
        try {
            closedChannels.closeArena(session); // or waits for the thread that does
        } finally {
            if (connection != null) {
                connection.forget(); // again after a refusal
            }
        }
    }

    /** Notes that a transfer begins to use the node's domain. The caller ends it, also if this throws: the node may be closed. */
    void beginTransfer(Transferring memory) {
        transfers.put(memory, Thread.currentThread()); // first: a node that closes looks at the transfers afterwards
        checkUsable();
    }

    void endTransfer(Transferring memory) {
        transfers.remove(memory);
        if (transfers.isEmpty()) {
            transfersEnded.wakeAll();
        }
    }

    /** Has the memory of a transfer freed later, which C has refused to free. */
    void freeLater(TransferMemory memory) {
        unfreed.add(memory);
    }

    /**
     * Waits for the threads in transfers, which see that their channels are closed. An interrupt does not end the wait. The
     * transfers of this thread end here: their progress is told, and that closes the node.
     */
    private void awaitTransfers() {
        transfers.forEach((memory, thread) -> {
            if (thread == Thread.currentThread()) {
                memory.close();
            }
        });
        Deadline deadline = Deadline.after(options.closeTimeout());
        boolean interrupted = false;
        boolean waits = true;
        while (waits) {
            try {
                transfersEnded.await(() -> transfers.isEmpty() ? Boolean.TRUE : null, deadline.left());
                waits = false;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        for (Thread inside : transfers.values()) {
            throw new ResourceBusyException(this, inside, options.closeTimeout());
        }
    }

    NodeStatistics statistics() {
        List<Session> present = new ArrayList<>();
        ChannelStatistics sum;
        try (var _ = table.held()) {
            sum = past;
            forEachChannel(present::add);
        }
        for (Session session : present) {
            sum = sum.plus(session.statistics());
        }
        return counts.statistics(sum, carrier.pinnedBytes());
    }

    /** Returns the times of this side's calls, or of handlers, over all channels. */
    Latency latency(boolean ofHandlers) {
        List<Session> present = new ArrayList<>();
        CallTimes calls = new CallTimes();
        CallTimes handling = new CallTimes();
        try (var _ = table.held()) {
            calls.add(pastCalls);
            handling.add(pastHandlers);
            forEachChannel(present::add);
        }
        for (Session session : present) {
            try (var _ = session.lock.held()) {
                session.messages.counts.addTimes(calls, handling);
            }
        }
        return (ofHandlers ? handling : calls).latency();
    }

    /** Returns the channels that are open, and that the program or its handler knows. */
    List<Channel> openChannels() {
        List<Channel> open = new ArrayList<>();
        try (var _ = table.held()) {
            forEachChannel(session -> {
                if (session.state().isLive() && !arrivals.has(session)) {
                    open.add(session.channel);
                }
            });
        }
        return List.copyOf(open);
    }

    int channels() {
        try (var _ = table.held()) {
            return count;
        }
    }

    // The end

    /**
     * Closes all channels, and then what they share. A peer that does not answer is not waited for longer than the options
     * say, and is no failure. Can be repeated after a failure.
     */
    void close() {
        try (var _ = table.held()) {
            closing = true;
        }
        managed.close();
        accepting.wakeAll();
        connector.wakeAll();
        closeChannels(); // while the node's threads still hear the peers
        exports.closeAll();
        awaitTransfers();
        closed = true;
        resting.wakeAll();
        stopThreads();
        forEachChannel(this::release); // those that lacked memory to be closed before
        while (handlers.haveFutures()) {
            handlers.settle();
        }
        rails.freeAllRetired();
        unfreed.removeIf(TransferMemory::isFreed);
        apart.shutdown(); // has nothing to do: all channels are closed
        handshakes.close();
        carrier.close();
        closedChannels.closeArenas();
        if (arena.scope().isAlive()) {
            arena.close();
        }
    }

    /** Closes all channels; all goodbyes are sent before the first is waited for. */
    private void closeChannels() {
        List<Session> all = new ArrayList<>();
        forEachChannel(session -> {
            session.beginClose();
            all.add(session);
        });
        Deadline deadline = Deadline.after(options.closeTimeout());
        for (Session session : all) { // also those that other threads close: they may wait for this one
            try {
                session.finishClose(deadline.left());
            } catch (RuntimeException refused) {
                // The arena is closed later.
            }
        }
        serveUnlessLoop();
    }

    private void stopThreads() {
        boolean interrupted = false;
        for (Thread thread : threads) {
            thread.interrupt();
            carrier.wake();
            Deadline deadline =
                    Deadline.after(Deadline.sum(options.closeTimeout(), TICK)); // a handler may never return
            while (thread.isAlive()
                    && thread != Thread.currentThread()
                    && !deadline.isOver()) { // a handler may close the node
                try {
                    thread.join(1 + Math.max(0, deadline.remaining()) / 1_000_000);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public String toString() {
        return "node " + IpAddresses.text(address) + " on " + carrier.device() + " (" + channels() + " of "
                + slots.length() + " channels, " + arrivals.count() + " waiting)";
    }
}
