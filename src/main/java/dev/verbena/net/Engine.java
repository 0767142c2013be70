package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.cm.CmEvent;
import dev.verbena.cm.CmEventType;
import dev.verbena.cm.ConnectRequest;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.PortSpace;
import dev.verbena.cm.PrivateData;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.Waiters;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.access.VerbsAccess;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The progress of a node: takes completions, events of the connection manager and the time, and hands them to the channels.
 * One thread at a time makes progress. A daemon thread fetches the events. With {@link NodeOptions.Progress#BACKGROUND}
 * another daemon thread makes progress, and all others wait at the channel for what they need. With
 * {@link NodeOptions.Progress#CALLER}, waiting threads wait at the completion queue and make progress themselves.
 *
 * <p>Locks are taken in this order: progress, a channel, the table of channels.
 */
final class Engine {
    /** The longest time that the kernel may take to find an address or a route. */
    static final Duration RESOLVE_TIMEOUT = Duration.ofSeconds(4);

    private static final int BATCH = 64;
    private static final long TICK_NANOS = 100_000_000;
    private static final Duration TICK = Duration.ofNanos(TICK_NANOS);
    private static final Duration FOR_EVER = Duration.ofSeconds(Long.MAX_VALUE);
    private static final byte[] REFUSAL = {'V', 'B', 'N', 'A', Wire.VERSION, 0};

    private final VerbsAccess verbs = VerbsAccess.get();
    private final NodeOptions options;
    private final VerbsArena arena = VerbsArena.ofShared();
    private final EventChannel events;
    private final ConnectionId listener;
    private final InetSocketAddress address;
    private final Context context;
    private final String device;
    private final ProtectionDomain domain;
    private final CompletionQueue completions;
    private final Completions cursor;
    private final Exports exports;
    private final boolean background;
    private final List<Thread> threads = new ArrayList<>();

    private final Waiters accepting = new Waiters();
    private final Supplier<@Nullable Channel> takeAccepted = this::takeAccepted;
    private final Supplier<@Nullable Boolean> step = this::step;
    private final ConcurrentLinkedQueue<CmEvent> inbox = new ConcurrentLinkedQueue<>();
    private final Map<ConnectionId, ChannelCore> known = new ConcurrentHashMap<>();

    /** The channels by the number in their requests. The lock guards changes. */
    private final AtomicReferenceArray<@Nullable ChannelCore> slots;

    private final ReentrantLock table = new ReentrantLock();
    private int generation;
    private int count;

    /** The counters of the channels that were closed. */
    private NodeStatistics past = new NodeStatistics(0, 0, 0, 0, 0, 0);

    /** The channels of peers that have not greeted yet. */
    private final Set<ChannelCore> greeting = ConcurrentHashMap.newKeySet();

    /** The channels of peers that the program has not accepted yet. */
    private final ConcurrentLinkedQueue<ChannelCore> greeted = new ConcurrentLinkedQueue<>();

    private final AtomicInteger waiting = new AtomicInteger();

    /** The channels with handlers that have ended, which the node closes. */
    private final Set<ChannelCore> over = ConcurrentHashMap.newKeySet();

    /** The channels that have something for their handlers. The lock guards it. */
    private final ArrayDeque<ChannelCore> ready = new ArrayDeque<>();

    private final ReentrantLock readying = new ReentrantLock();
    private volatile boolean someReady;

    /** Held by the thread that calls handlers. */
    private final ReentrantLock handling = new ReentrantLock();

    /** The arenas of closed channels that could not be closed. */
    private final ConcurrentLinkedQueue<VerbsArena> unclosed = new ConcurrentLinkedQueue<>();

    /** Held by the thread that makes progress. */
    private final ReentrantLock progressing = new ReentrantLock();

    private long lastTick = System.nanoTime();

    /** The number of threads that wait at the completion queue. */
    private final AtomicInteger blocked = new AtomicInteger();

    /** The number of transfers whose memory is registered in the node's domain. */
    private final AtomicInteger transfers = new AtomicInteger();

    private final Waiters transfersEnded = new Waiters();

    private volatile @Nullable Node node;
    private volatile @Nullable Handler handler;
    private volatile @Nullable Thread loop;
    private volatile boolean someEnded;
    private volatile boolean closed;
    private volatile @Nullable Throwable broken;

    Engine(InetSocketAddress own, NodeOptions options) {
        this.options = options;
        this.background = options.progress() == NodeOptions.Progress.BACKGROUND;
        this.slots = new AtomicReferenceArray<>(options.maxChannels());
        try {
            events = EventChannel.create(arena);
            listener = events.createId(PortSpace.TCP, arena);
            listener.bind(own);
            address = listener.localAddress().orElse(own);
            context = listener.context();
            device = context.device().name();
            domain = context.allocateProtectionDomain(arena);
            completions = context.createCompletionQueue(
                    CompletionQueueOptions.of(capacity()).channel(context.createCompletionChannel(arena)), arena);
            cursor = completions.completions(BATCH);
            exports = new Exports(context, domain, this::revoke);
            listener.listen(Math.max(1, options.maxWaiting()));
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

    private int capacity() {
        long each = (long) Messages.sendDepth(options) + Messages.receiveDepth(options);
        long all = each * options.maxChannels();
        int most = context.attributes().maxCompletions();
        if (all > most) {
            throw new IllegalArgumentException("number of channels must be at most " + most / each
                    + " on " + context.device().name() + " with window " + options.window() + " and " + options.sends()
                    + " messages under way, got " + options.maxChannels()
                    + ": the device's completion queues have room for " + most + " completions");
        }
        return (int) all;
    }

    Node node() {
        return Objects.requireNonNull(node);
    }

    /** Starts the threads. */
    void start(Node owner) {
        node = owner;
        try {
            threads.add(startThread("events", this::fetchEvents));
            if (background) {
                threads.add(startThread("progress", this::makeProgress));
            }
        } catch (Throwable t) {
            undo(t, this::close);
            throw t;
        }
    }

    private Thread startThread(String job, Runnable work) {
        return Thread.ofPlatform()
                .daemon()
                .name("verbena-node-" + job + "-" + text(address))
                .inheritInheritableThreadLocals(false)
                .start(work);
    }

    NodeOptions options() {
        return options;
    }

    InetSocketAddress address() {
        return address;
    }

    Context context() {
        return context;
    }

    Exports exports() {
        return exports;
    }

    /** Takes an export from all channels. */
    private void revoke(Export export) {
        for (int i = 0; i < slots.length(); i++) {
            ChannelCore core = slots.get(i);
            if (core != null) {
                revoke(core, export);
            }
        }
    }

    /** Takes an export from a channel. A binding that is under way ends first, or the connection does. */
    private void revoke(ChannelCore core, Export export) {
        Supplier<@Nullable Boolean> attempt = () -> core.revoke(export) ? Boolean.TRUE : null;
        boolean interrupted = false;
        Boolean done = attempt.get();
        while (done == null && !closed && broken == null) {
            try {
                done = await(core.changes, attempt, options.alive());
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    ProtectionDomain domain() {
        return domain;
    }

    CompletionQueue completions() {
        return completions;
    }

    static String text(InetSocketAddress address) {
        String host = address.getAddress().getHostAddress();
        return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + address.getPort();
    }

    // Threads

    private void fetchEvents() {
        try {
            while (!closed) {
                CmEvent event = events.awaitEvent(FOR_EVER);
                if (registersMemory(event)) {
                    handle(event); // takes long, and the others must not wait for it
                } else {
                    inbox.add(event);
                    verbs.wakeWaits(completions);
                }
            }
        } catch (InterruptedException | RuntimeException | Error ended) {
            fail(ended);
        }
    }

    private static boolean registersMemory(CmEvent event) {
        return event instanceof CmEvent.Request
                || event.type() == CmEventType.ADDRESS_RESOLVED
                || event.type() == CmEventType.ROUTE_RESOLVED;
    }

    private void makeProgress() {
        loop = Thread.currentThread();
        try {
            while (!closed) {
                awaitStep(step, TICK);
                serve();
            }
        } catch (InterruptedException | RuntimeException | Error ended) {
            fail(ended);
        }
    }

    private @Nullable Boolean step() {
        return (progress(true) > 0 || someReady || closed) ? Boolean.TRUE : null;
    }

    private <T> @Nullable T awaitStep(Supplier<? extends @Nullable T> attempt, Duration timeout)
            throws InterruptedException {
        try {
            return verbs.await(completions, attempt, timeout);
        } catch (VerbsTimeoutException quiet) {
            return null;
        }
    }

    /** Ends all channels, because no more progress is possible. */
    private void fail(Throwable why) {
        if (closed) {
            return;
        }
        broken = why;
        for (int i = 0; i < slots.length(); i++) {
            ChannelCore core = slots.get(i);
            if (core != null) {
                core.end(EndReason.FAILED, "The node can't go on: " + why.getMessage(), why);
            }
        }
        accepting.wakeAll();
    }

    /** Waits until an attempt finds something; returns null when the time is over. */
    <T> @Nullable T await(Waiters waiters, Supplier<? extends @Nullable T> attempt, Duration timeout)
            throws InterruptedException {
        Objects.requireNonNull(timeout, "timeout"); // first: nothing is taken when it is null
        T found = attempt.get();
        if (found != null) {
            return found;
        }
        if (background && Thread.currentThread() != loop) {
            progress(false); // often faster than to wait for the other thread
            return waiters.await(attempt, () -> {}, timeout);
        }
        return awaitInProgress(attempt, timeout);
    }

    /** Waits and makes progress meanwhile. */
    private <T> @Nullable T awaitInProgress(Supplier<? extends @Nullable T> attempt, Duration timeout)
            throws InterruptedException {
        Supplier<@Nullable Found<T>> both = () -> {
            progress(true);
            T found = attempt.get();
            return found != null || (someReady && !handling.isLocked()) ? new Found<>(found) : null;
        };
        Deadline deadline = Deadline.after(timeout);
        blocked.incrementAndGet();
        try {
            T found = null;
            do {
                Duration most = Duration.ofNanos(Math.max(0, Math.min(TICK_NANOS, deadline.remaining())));
                Found<T> one = awaitStep(both, most);
                found = one == null ? null : one.what();
                if (found == null) {
                    serve();
                }
            } while (found == null && !deadline.isOver());
            return found;
        } finally {
            blocked.decrementAndGet();
        }
    }

    /** The result of an attempt; without one, handlers have work. */
    private record Found<T>(@Nullable T what) {}

    /** Wakes one thread that waits for something of a channel. */
    void wake(Waiters waiters) {
        if (background) {
            waiters.wake();
        }
        changed();
    }

    /** Wakes the threads that wait at the completion queue, because a channel has changed. */
    void changed() {
        if (blocked.get() > 0) {
            verbs.wakeWaits(completions);
        }
    }

    // Progress

    /** Handles what has happened, for a program that polls. */
    int poll() {
        int handled = progress(false);
        if (!background) {
            serve();
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
        try {
            if (closed || broken != null) {
                return 0;
            }
            verbs.takeOver(cursor);
            int handled = handleCompletions();
            CmEvent event = inbox.poll();
            while (event != null) {
                handled += 1 + handleCompletions(); // those that came before the event
                handle(event);
                event = inbox.poll();
            }
            long now = System.nanoTime();
            if (now - lastTick > TICK_NANOS) {
                lastTick = now;
                tick(now);
            }
            if (someEnded) {
                bury();
            }
            return handled;
        } finally {
            progressing.unlock();
        }
    }

    private int handleCompletions() {
        int handled = 0;
        int found;
        do {
            found = cursor.poll();
            while (cursor.next()) {
                handleCompletion();
            }
            handled += found;
        } while (found == BATCH);
        return handled;
    }

    private void handleCompletion() {
        long id = cursor.id();
        int slot = (int) (id >>> 16) & 0xffff;
        ChannelCore core = slot < slots.length() ? slots.get(slot) : null;
        if (core == null || (id ^ core.key()) >>> 16 != 0) {
            return; // of a channel that is closed
        }
        try {
            core.completed(cursor);
        } catch (RuntimeException | Error failure) {
            core.end(EndReason.FAILED, String.valueOf(failure.getMessage()), failure);
        }
    }

    private void handle(CmEvent event) {
        if (event instanceof CmEvent.Request request) {
            admit(request.request());
            return;
        }
        ChannelCore core = known.get(event.id());
        if (core == null) {
            return;
        }
        try {
            core.happened(event);
        } catch (RuntimeException | Error failure) {
            core.end(EndReason.FAILED, String.valueOf(failure.getMessage()), failure);
        }
    }

    private void tick(long now) {
        for (int i = 0; i < slots.length(); i++) {
            ChannelCore core = slots.get(i);
            if (core != null) {
                core.tick(now);
            }
        }
    }

    /** Closes the channels that have ended and that the program does not close. */
    private void bury() {
        someEnded = false;
        for (ChannelCore core : List.copyOf(greeting)) {
            if (core.cause() != null && buried(core) && greeting.remove(core)) {
                waiting.decrementAndGet();
            }
        }
        for (ChannelCore core : List.copyOf(over)) {
            if (buried(core)) {
                over.remove(core);
            }
        }
    }

    private boolean buried(ChannelCore core) {
        if (!core.parted()) {
            someEnded = true;
            return false;
        }
        if (core.beginClose()) { // else the program closes it
            core.finishClose(false);
            try {
                release(core);
            } catch (RuntimeException | Error refused) {
                // The arena is among the unclosed ones: the node closes it.
            }
        }
        return true;
    }

    // Handlers

    /** Notes that a channel may have something for its handler. */
    void ready(ChannelCore core) {
        readying.lock();
        try {
            if (!core.queued) {
                core.queued = true;
                ready.add(core);
            }
            someReady = true;
        } finally {
            readying.unlock();
        }
        if (!background) {
            changed();
        } else if (Thread.currentThread() != loop) {
            verbs.wakeWaits(completions);
        }
    }

    private @Nullable ChannelCore takeReady() {
        readying.lock();
        try {
            ChannelCore core = ready.poll();
            if (core != null) {
                core.queued = false;
            }
            someReady = !ready.isEmpty();
            return core;
        } finally {
            readying.unlock();
        }
    }

    /** Calls the handlers that have something to do, unless another thread does, or this one calls from a handler. */
    void serve() {
        if (!someReady || handling.isHeldByCurrentThread() || !handling.tryLock()) {
            return;
        }
        try {
            for (int i = 0; i < BATCH; i++) {
                ChannelCore core = takeReady();
                if (core == null) {
                    break;
                }
                serve(core);
            }
        } finally {
            handling.unlock();
        }
        if (someReady) {
            changed(); // another thread may have seen that this one is busy
        }
    }

    private void serve(ChannelCore core) {
        Messages messages = core.messages();
        Handler with = messages.handler();
        if (with == null) {
            return;
        }
        if (messages.takeOpened()) {
            call(core, null, () -> with.opened(core.channel()));
        }
        int left = options.window();
        Message message = messages.nextForHandler();
        while (message != null) {
            handle(core, with, message);
            message = --left > 0 ? messages.nextForHandler() : null;
        }
        if (left == 0) {
            ready(core); // after the other channels
        } else if (messages.takeEnd()) {
            call(core, null, () -> with.closed(core.channel()));
            if (messages.isOwned()) {
                over.add(core);
                someEnded = true;
            }
        }
    }

    private void handle(ChannelCore core, Handler with, Message message) {
        try {
            with.received(core.channel(), message);
        } catch (Throwable thrown) {
            handlerFailed(core, message, thrown);
        }
        afterHandler();
        message.close();
    }

    private interface Callback {
        void run() throws Exception;
    }

    private void call(ChannelCore core, @Nullable Message message, Callback callback) {
        try {
            callback.run();
        } catch (Throwable thrown) {
            handlerFailed(core, message, thrown);
        }
        afterHandler();
    }

    private void handlerFailed(ChannelCore core, @Nullable Message message, Throwable thrown) {
        if (thrown instanceof InterruptedException) {
            Thread.currentThread().interrupt();
        }
        boolean closed = thrown instanceof IllegalStateException && core.isClosing(); // by another thread
        boolean refused = message != null && core.messages().refuseAfter(message, thrown);
        if (!closed && !refused) {
            core.end(EndReason.FAILED, "The handler has thrown " + thrown, thrown);
        }
    }

    /** Clears what a handler may have done to the node's thread. */
    private void afterHandler() {
        if (Thread.currentThread() == loop && Thread.interrupted() && closed) {
            Thread.currentThread().interrupt();
        }
    }

    void listen(Handler with) {
        checkUsable();
        table.lock();
        try {
            if (handler != null) {
                throw new IllegalStateException("The node at " + text(address) + " has a handler already");
            }
            handler = with;
        } finally {
            table.unlock();
        }
        handOver(with);
    }

    /** Gives the channels that wait to be accepted to the handler. */
    private void handOver(Handler with) {
        ChannelCore core = greeted.poll();
        while (core != null) {
            waiting.decrementAndGet();
            core.messages().own(with);
            ready(core);
            core = greeted.poll();
        }
    }

    // Peers that connect

    private void admit(ConnectRequest request) {
        InetSocketAddress peer = request.peer().orElse(null);
        ChannelCore core = peer == null || !hasRoomFor(peer.getAddress()) ? null : enter(peer, true);
        if (core == null) {
            refuse(request);
            return;
        }
        greeting.add(core);
        waiting.incrementAndGet();
        try {
            core.accept(request);
        } catch (RuntimeException | Error failure) {
            core.end(EndReason.FAILED, String.valueOf(failure.getMessage()), failure);
        }
    }

    private static void refuse(ConnectRequest request) {
        byte[] data = REFUSAL.clone();
        data[REFUSAL.length - 1] = (byte) EndReason.TOO_MANY_CHANNELS.code;
        try {
            request.reject(PrivateData.of(data));
        } catch (RuntimeException gone) {
            // The peer has left already, or the listener is being closed.
        }
    }

    /** Returns the reason in the private data of a node that refuses; null for others. */
    static @Nullable EndReason refusal(PrivateData data) {
        byte[] bytes = data.toArray();
        for (int i = 0; i < REFUSAL.length - 2; i++) {
            if (i >= bytes.length || bytes[i] != REFUSAL[i]) {
                return null;
            }
        }
        return bytes.length < REFUSAL.length ? null : EndReason.of(Byte.toUnsignedInt(bytes[REFUSAL.length - 1]));
    }

    private boolean hasRoomFor(InetAddress peer) {
        if (waiting.get() >= options.maxWaiting()) {
            return false;
        }
        int already = 0;
        for (int i = 0; i < slots.length(); i++) {
            ChannelCore core = slots.get(i);
            if (core != null && core.incoming && core.peer().getAddress().equals(peer)) {
                already++;
            }
        }
        return already < options.maxChannelsPerPeer();
    }

    /** Makes a channel and gives it a number; returns null if there are as many as may be. */
    private @Nullable ChannelCore enter(InetSocketAddress peer, boolean incoming) {
        table.lock();
        try {
            if (closed || count == slots.length()) {
                return null;
            }
            int slot = 0;
            while (slots.get(slot) != null) {
                slot++;
            }
            generation++;
            ChannelCore core = new ChannelCore(this, (long) generation << 32 | (long) slot << 16, peer, incoming);
            slots.set(slot, core);
            count++;
            return core;
        } finally {
            table.unlock();
        }
    }

    /** Notes the id of a channel, whose events go to the channel from then on. */
    void know(ConnectionId id, ChannelCore core) {
        known.put(id, core);
    }

    /** Notes that a channel is open. */
    void opened(ChannelCore core) {
        if (core.incoming && greeting.remove(core)) {
            greeted.add(core);
            Handler with = handler;
            if (with == null) {
                wake(accepting);
            } else {
                handOver(with);
            }
        }
    }

    /** Notes that a channel of a peer has ended, which nobody may have accepted yet. */
    void ended(ChannelCore core) {
        if (greeting.contains(core)) {
            someEnded = true;
        }
    }

    // The program's calls

    void checkUsable() {
        if (closed) {
            throw new IllegalStateException("The node at " + text(address) + " is closed");
        }
        Throwable why = broken;
        if (why != null) {
            throw new ChannelException(EndReason.FAILED, "node " + text(address), "The node can't go on", why);
        }
    }

    Channel connect(InetSocketAddress peer, Duration timeout) throws InterruptedException {
        Objects.requireNonNull(timeout, "timeout");
        checkUsable();
        ChannelCore core = enter(peer, false);
        if (core == null) {
            checkUsable();
            throw new IllegalStateException("The node at " + text(address) + " has its " + slots.length()
                    + " channels: close some, or raise NodeOptions.maxChannels()");
        }
        boolean open = false;
        try {
            ConnectionId id = events.createId(PortSpace.TCP, core.arena);
            know(id, core);
            core.connect(id, new InetSocketAddress(address.getAddress(), 0), RESOLVE_TIMEOUT);
            open = core.channel().awaitOpen(timeout);
            if (!open) {
                throw new VerbsTimeoutException(
                        "rdma_connect",
                        "to " + text(peer),
                        timeout,
                        "The peer's node may be slow, or makes no progress");
            }
            return core.channel();
        } finally {
            if (!open) {
                core.abandon();
                release(core);
            }
        }
    }

    @Nullable
    Channel takeAccepted() {
        checkUsable();
        if (handler != null) {
            throw new IllegalStateException("The handler of the node at " + text(address) + " gets its channels");
        }
        ChannelCore core = greeted.poll();
        if (core == null) {
            return null;
        }
        waiting.decrementAndGet();
        return core.channel();
    }

    Channel accept(Duration timeout) throws InterruptedException {
        Channel channel = await(accepting, takeAccepted, timeout);
        if (channel == null) {
            throw new VerbsTimeoutException("rdma_accept", "node " + text(address), timeout, "No peer has connected");
        }
        return channel;
    }

    /** Frees what a closed channel has. */
    void release(ChannelCore core) {
        NodeStatistics last = core.statistics();
        table.lock();
        try {
            int slot = (int) (core.key() >>> 16) & 0xffff;
            if (slots.get(slot) != core) {
                return;
            }
            slots.set(slot, null);
            count--;
            past = past.plus(last);
        } finally {
            table.unlock();
        }
        ConnectionId id = core.id();
        try {
            core.revokeAll();
            core.arena.close();
        } catch (RuntimeException | Error refused) {
            unclosed.add(core.arena);
            throw refused;
        } finally {
            if (id != null) {
                known.remove(id);
            }
        }
    }

    /** Notes that a transfer begins to use the node's domain. */
    void beginTransfer() {
        transfers.incrementAndGet();
    }

    void endTransfer() {
        if (transfers.decrementAndGet() == 0) {
            transfersEnded.wakeAll();
        }
    }

    /** Waits for the threads in transfers, which see that their channels are closed. */
    private void awaitTransfers() {
        try {
            transfersEnded.await(() -> transfers.get() == 0 ? Boolean.TRUE : null, () -> {}, options.closeTimeout());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    NodeStatistics statistics() {
        List<ChannelCore> present = new ArrayList<>();
        NodeStatistics sum;
        table.lock();
        try {
            sum = past;
            for (int i = 0; i < slots.length(); i++) {
                ChannelCore core = slots.get(i);
                if (core != null) {
                    present.add(core);
                }
            }
        } finally {
            table.unlock();
        }
        for (ChannelCore core : present) {
            sum = sum.plus(core.statistics());
        }
        return sum;
    }

    int channels() {
        table.lock();
        try {
            return count;
        } finally {
            table.unlock();
        }
    }

    // The end

    /**
     * Closes all channels, and then what they share. A peer that does not answer is not waited for longer than the options
     * say, and is no failure. Can be repeated after a failure.
     */
    void close() {
        closeChannels();
        exports.closeAll();
        awaitTransfers();
        closed = true;
        accepting.wakeAll();
        stopThreads();
        closeChannels(); // those that came meanwhile
        exports.freeLate();
        while (!unclosed.isEmpty()) {
            unclosed.element().close();
            unclosed.remove();
        }
        if (arena.scope().isAlive()) {
            arena.close();
        }
    }

    /** Closes all channels; all goodbyes are sent before the first is waited for. */
    private void closeChannels() {
        List<ChannelCore> mine = new ArrayList<>();
        List<ChannelCore> others = new ArrayList<>();
        for (int i = 0; i < slots.length(); i++) {
            ChannelCore core = slots.get(i);
            if (core != null) {
                (core.beginClose() ? mine : others).add(core);
            }
        }
        Deadline deadline = Deadline.after(options.closeTimeout());
        for (ChannelCore core : mine) {
            try {
                core.channel().finishClose(Duration.ofNanos(Math.max(0, deadline.remaining())));
            } catch (RuntimeException refused) {
                // The arena is among the unclosed ones, which are closed later.
            }
        }
        others.forEach(core -> core.channel().close()); // waits for the threads that close them
    }

    private void stopThreads() {
        boolean interrupted = false;
        for (Thread thread : threads) {
            thread.interrupt();
            verbs.wakeWaits(completions);
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
        return "node " + text(address) + " on " + device + " (" + channels() + " of " + slots.length() + " channels, "
                + waiting.get() + " waiting)";
    }
}
