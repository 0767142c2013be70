package dev.verbena.internal.link;

import dev.verbena.VerbsArena;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.IpAddresses;
import dev.verbena.internal.JdkSelectorProvider;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.StackRoom;
import dev.verbena.internal.Waiters;
import dev.verbena.internal.wire.EndCode;
import dev.verbena.internal.wire.Wire;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.RegionOptions;
import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The transport of a node over TCP. One thread at a time takes the part of the adapter for all channels of the node: it sends,
 * receives, and reads and writes memory for the peers. That is a thread of this carrier, which works also while the program
 * makes no progress. If threads of the program make progress, it rests while threads of the program do its work: a message
 * there and back then needs no other thread, and takes less than half of the time (figures: performance.md).
 */
public final class TcpCarrier extends Carrier {
    private static final int BUFFER = 1 << 16;
    private static final long TICK_MILLIS = 100;

    /** The time without progress of the program after which the carrier's thread works again. */
    private static final long REST_NANOS = 1_000_000;

    /** Tells {@link #turn} not to wait. */
    public static final long NOW = -1;

    /** The number of visitors from which on others are not told why they are refused. */
    public static final int MOST_VISITORS = 1 << 10;

    /** The number of visitors for each peer that may wait to be accepted: a visitor costs little. */
    private static final int VISITORS_PER_WAITING = 8;

    private final LinkHost host;
    final Sizes sizes;
    private final List<InetSocketAddress> addresses = new ArrayList<>();
    public final Selector selector;

    /** The listeners, one for each address. */
    private final List<SelectionKey> accepting = new ArrayList<>();

    private final TcpMemory memory;
    private final SelectorProvider provider = provider();
    private final Waiters waiters = new Waiters();

    /** A completion or an event of a channel. */
    private record Report(LinkOwner owner, Runnable action) {
        void run() {
            try (var _ = owner.lock().held()) {
                if (!owner.isRetired()) {
                    action.run();
                }
            } catch (RuntimeException | Error failed) {
                owner.fail(failed);
            }
        }
    }

    /** Completions and events, for the thread that makes progress. */
    private final ConcurrentLinkedQueue<Report> reports = new ConcurrentLinkedQueue<>();

    /** The connections that other threads have changed. */
    private final ConcurrentLinkedQueue<Runnable> tasks = new ConcurrentLinkedQueue<>();

    /** True if threads of the program do this carrier's work while they make progress. */
    private final boolean isShared;

    /** Held by the thread that works. */
    private final Mutex working = new Mutex();

    /** The carrier's thread. */
    private volatile @Nullable Thread thread;

    /** True while the carrier's thread works. */
    private volatile boolean worksItself;

    /** The time of the last work of a thread of the program. */
    private volatile long helpedAt = System.nanoTime() - REST_NANOS;

    /** The number of threads of the program that work until they find something. */
    private final AtomicInteger helpers = new AtomicInteger();

    /** The number of threads that wait until others find something. */
    private final AtomicInteger bystanders = new AtomicInteger();

    /** True while the carrier's thread rests until there are no helpers. */
    private volatile boolean rests;

    /** The thread of the program that waits in the selector. */
    private volatile @Nullable Thread leader;

    /** The thread of the program that has come from there, and has not looked yet. */
    private volatile @Nullable Thread hasWorked;

    /** The other transport of the node; null if it has only this one. */
    private @Nullable RdmaCarrier beside;

    private final long handshakeNanos;
    private final OptionalInt trafficClass;

    // For the thread that works only
    private final Consumer<SelectionKey> ready = this::ready;
    private final ByteBuffer shared = ByteBuffer.allocateDirect(BUFFER);

    /** Sends that were put off until the next work: they may go along with what the program sends. */
    private final ArrayDeque<Runnable> putOff = new ArrayDeque<>();

    private final List<TcpStream> leaving = new ArrayList<>();

    /** Those of them whose peers were not admitted, the oldest first. */
    private final ArrayDeque<TcpStream> refused = new ArrayDeque<>();

    /** The visitors, the oldest first. */
    private final Set<TcpVisitor> visitors = new LinkedHashSet<>();

    /** The number of visitors that may become channels, and how many there may be. */
    private int guests;

    private final int mostGuests;
    private boolean reported;

    public TcpCarrier(LinkHost host, LinkOptions options, VerbsArena arena) {
        this.host = host;
        sizes = options.sizes();
        memory = TcpMemory.create(arena);
        handshakeNanos = Deadline.nanoseconds(options.handshakeTimeout());
        trafficClass = options.quality().trafficClass();
        isShared = options.isPolled();
        mostGuests = Math.min(MOST_VISITORS, VISITORS_PER_WAITING * Math.max(1, options.maxWaiting()));
        try {
            selector = provider.openSelector();
            try {
                for (InetSocketAddress each : options.own()) {
                    listen(each);
                }
            } catch (Throwable t) {
                closeListeners();
                selector.close();
                throw t;
            }
        } catch (IOException e) {
            throw new UncheckedIOException("It can't listen over TCP: " + e.getMessage(), e);
        }
    }

    private void listen(InetSocketAddress own) throws IOException {
        ServerSocketChannel listener = provider.openServerSocketChannel();
        try {
            listener.configureBlocking(false);
            listener.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            listener.bind(own, mostGuests);
            InetSocketAddress bound = (InetSocketAddress) listener.getLocalAddress();
            accepting.add(listener.register(selector, SelectionKey.OP_ACCEPT));
            addresses.add(bound);
        } catch (IOException refused) {
            listener.close();
            throw new IOException("address " + IpAddresses.text(own) + ": " + refused.getMessage(), refused);
        } catch (Throwable t) {
            listener.close();
            throw t;
        }
    }

    private void closeListeners() throws IOException {
        for (SelectionKey each : accepting) {
            each.channel().close();
        }
    }

    /** Returns the JDK's provider of sockets: that of the program may open RDMA sockets. */
    private static SelectorProvider provider() {
        SelectorProvider configured = SelectorProvider.provider();
        return configured.getClass().getModule() == Object.class.getModule() ? configured : JdkSelectorProvider.get();
    }

    /** Opens a socket to connect. */
    SocketChannel openSocket() throws IOException {
        return provider.openSocketChannel();
    }

    /** Sets the options of a socket. */
    void setOptions(SocketChannel socket) throws IOException {
        socket.setOption(StandardSocketOptions.TCP_NODELAY, true);
        if (trafficClass.isPresent()) {
            socket.setOption(StandardSocketOptions.IP_TOS, trafficClass.getAsInt());
        }
    }

    /** Notes the other transport of the node, before this one starts. It hears of all that happens. */
    void standBeside(RdmaCarrier rdma) throws IOException {
        beside = rdma;
        if (rdma.isOverTcp()) {
            closeListeners();
            selector.selectNow(); // frees the port, which the device takes
        }
    }

    private boolean hasRdma() {
        return beside != null;
    }

    /** Lets channels use memory that is registered with a device. */
    void adopt(MemoryRegion region) {
        memory.adopt(region);
    }

    @Override
    public List<InetSocketAddress> addresses() {
        return addresses;
    }

    @Override
    public Context context() {
        throw new UnsupportedOperationException("a node over TCP has no device");
    }

    @Override
    public long pinnedBytes() {
        return 0;
    }

    @Override
    public String device() {
        return "TCP";
    }

    @Override
    public boolean hasKeysOfChannels() {
        return true;
    }

    @Override
    public Set<AccessFlag> rightsToExport(Set<AccessFlag> access) {
        return Set.of();
    }

    @Override
    public MemoryRegion register(MemorySegment segment, Collection<AccessFlag> access, VerbsArena arena) {
        return memory.register(segment, access, arena);
    }

    @Override
    public MemoryRegion register(RegionOptions options, VerbsArena arena) {
        return memory.register(options, arena);
    }

    // For all threads

    @Override
    public void connect(LinkOwner owner, Ways.Way way) {
        connect(owner, way, false);
    }

    /**
     * Connects.
     *
     * @param asks true to connect only if the peer has no RDMA. Else the connection ends, and
     *     {@link TcpStream#isRedirected} tells
     */
    public void connect(LinkOwner owner, Ways.Way way, boolean asks) {
        TcpStream stream = new TcpStream(this, memory, owner, asks);
        owner.connecting(stream, way);
        if (owner.prepare()) {
            InetSocketAddress own =
                    new InetSocketAddress(addresses.get(way.own()).getAddress(), 0);
            run(() -> stream.connect(own, way.peer(), selector));
        }
    }

    /** Lets the thread that works run a task. If none does, this thread works. */
    public void run(Runnable task) {
        tasks.add(task);
        if (working.isHeldByCurrentThread()) {
            return;
        }
        if (mayHelp() && working.tryLock()) {
            try {
                runTasks();
            } finally {
                endWork();
            }
        } else {
            selector.wakeup();
        }
    }

    /** Puts something off if the program may send something soon. */
    boolean isPutOff(Runnable work) {
        if (worksItself || !isShared) {
            return false;
        }
        putOff.add(work);
        return true;
    }

    /**
     * Returns true if this thread may do this carrier's work. A virtual thread would block the thread that carries it. A thread
     * whose stack is nearly full could leave the JDK's locks of a socket taken.
     */
    private boolean mayHelp() {
        try {
            boolean may = isShared && !Thread.currentThread().isVirtual();
            if (may) {
                StackRoom.forWork();
            }
            return may;
        } catch (StackOverflowError full) {
            return false;
        }
    }

    /** Does what there is to do now, unless another thread works, or this one just has. */
    private void help() {
        if (hasWorked == Thread.currentThread()) {
            hasWorked = null; // else what was put off would not go along with what the program sends
            return;
        }
        if (!mayHelp()) {
            return;
        }
        helpedAt = System.nanoTime();
        if (working.tryLock()) {
            try {
                work(NOW);
            } finally {
                endWork();
            }
        } else if (worksItself) {
            selector.wakeup();
        }
    }

    private void endWork() {
        working.unlock();
        wakeHelper();
    }

    /** Wakes a thread that may work now. */
    private void wakeHelper() {
        if (bystanders.get() > 0) {
            waiters.wakeAll(); // one alone may be a thread that can't work
        } else {
            waiters.wake();
        }
    }

    @Override
    public <T> @Nullable T await(Supplier<? extends @Nullable T> attempt, Duration timeout)
            throws InterruptedException {
        if (!mayHelp()) {
            bystanders.incrementAndGet();
            try {
                return waiters.await(attempt, timeout);
            } finally {
                bystanders.decrementAndGet();
            }
        }
        Deadline deadline = Deadline.after(timeout);
        helpers.incrementAndGet();
        try {
            T found = attempt.get();
            while (found == null && !deadline.isOver()) {
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                found = lead(attempt, deadline);
            }
            return found;
        } finally {
            helpedAt = System.nanoTime();
            if (helpers.decrementAndGet() == 0 && rests) {
                LockSupport.unpark(thread);
            }
        }
    }

    /** Works for a while, or waits until another thread that works has found something or ends, and tries again. */
    private <T> @Nullable T lead(Supplier<? extends @Nullable T> attempt, Deadline deadline)
            throws InterruptedException {
        helpedAt = System.nanoTime();
        if (!working.tryLock()) {
            if (worksItself) {
                selector.wakeup();
            }
            Supplier<@Nullable Tried<T>> orLead = () -> {
                T found = attempt.get();
                return found != null || !working.isLocked() ? new Tried<>(found) : null;
            };
            Tried<T> tried = waiters.await(orLead, deadline.left());
            return tried == null ? null : tried.found();
        }
        leader = Thread.currentThread();
        try {
            work(Math.clamp(deadline.remaining() / 1_000_000, 1, TICK_MILLIS));
        } finally {
            leader = null;
            endWork();
        }
        hasWorked = Thread.currentThread();
        return attempt.get();
    }

    /** The result of an attempt. */
    private record Tried<T>(@Nullable T found) {}

    @Override
    public void wake() {
        RdmaCarrier other = beside;
        if (other == null) {
            waiters.wake();
            Thread leads = leader;
            if (leads != null && leads != Thread.currentThread()) {
                selector.wakeup();
            }
        } else {
            other.wake(); // all threads of the node wait there
        }
    }

    @Override
    public int poll() {
        try {
            help();
        } catch (StackOverflowError full) {
            // The carrier's thread works.
        }
        if (reports.isEmpty()) {
            return 0;
        }
        host.checkRoom();
        int handled = 0;
        Report report = reports.poll();
        while (report != null) {
            handled++;
            report.run();
            report = reports.poll();
        }
        return handled;
    }

    // The thread

    @Override
    public void start() {
        host.startThread("sockets", this::carry);
    }

    private void carry() {
        thread = Thread.currentThread();
        while (!host.isClosed()) {
            try {
                if (!isRest()) {
                    workItself();
                }
                if (Thread.interrupted()) { // the selector would not sleep any more
                    host.interrupted();
                }
            } catch (RuntimeException | Error ended) {
                host.failed(ended);
            }
        }
    }

    private void workItself() {
        try (var _ = working.held()) {
            worksItself = true;
            work(0);
        } finally {
            worksItself = false;
        }
        if (isShared) {
            wakeHelper();
        }
    }

    /** Waits a little if threads of the program work. */
    private boolean isRest() {
        if (helpers.get() > 0) {
            rests = true;
            if (helpers.get() > 0) {
                LockSupport.park(this);
            }
            rests = false;
            return true;
        }
        boolean isRest = isShared && System.nanoTime() - helpedAt < REST_NANOS;
        if (isRest) {
            LockSupport.parkNanos(this, REST_NANOS);
        }
        return isRest;
    }

    private void work(long millis) {
        try {
            turn(millis);
        } catch (IOException | RuntimeException | Error ended) {
            host.failed(ended); // what the channels say at their end is sent
        }
    }

    /**
     * Handles what there is, or waits for it.
     *
     * @param millis the longest time to wait; 0 if there is no limit; or {@link #NOW}
     */
    public void turn(long millis) throws IOException {
        for (Runnable work = putOff.poll(); work != null; work = putOff.poll()) {
            work.run();
        }
        boolean ticks =
                !leaving.isEmpty() || !visitors.isEmpty() || accepting.stream().anyMatch(TcpCarrier::isFull);
        if (millis == NOW) {
            selector.selectNow(ready);
        } else {
            selector.select(ready, millis == 0 && ticks ? TICK_MILLIS : millis);
        }
        runTasks();
        if (ticks) {
            tick(System.nanoTime());
        }
        if (reported) {
            reported = false;
            wake();
        }
    }

    private void runTasks() {
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            task.run();
        }
    }

    /** Looks after those who leave or have not greeted. */
    public void tick(long now) {
        leaving.removeIf(stream -> stream.hasLeft(now));
        refused.removeIf(stream -> stream.hasLeft(now));
        for (TcpVisitor visitor : List.copyOf(visitors)) {
            if (visitor.isLate(now)) {
                late(visitor);
            }
        }
        for (SelectionKey each : accepting) {
            if (isFull(each)) {
                each.interestOps(SelectionKey.OP_ACCEPT);
            }
        }
    }

    /** Returns true if a peer could not be accepted for lack of descriptors. */
    private static boolean isFull(SelectionKey listener) {
        return listener.isValid() && listener.interestOps() == 0;
    }

    private void ready(SelectionKey key) {
        if (key.attachment() instanceof TcpStream stream) {
            stream.ready(shared);
        } else if (key.attachment() instanceof TcpVisitor visitor) {
            ready(visitor);
        } else if (key.isValid() && key.isAcceptable()) {
            accept(key);
        }
    }

    private void accept(SelectionKey from) {
        SocketChannel made;
        try {
            made = ((ServerSocketChannel) from.channel()).accept();
        } catch (IOException noDescriptors) {
            from.interestOps(0); // and try again a little later
            return;
        }
        if (made == null) {
            return;
        }
        try {
            TcpVisitor visitor = new TcpVisitor(made, System.nanoTime() + handshakeNanos);
            made.configureBlocking(false);
            setOptions(made);
            made.register(selector, SelectionKey.OP_READ, visitor);
            makeRoom();
            visitors.add(visitor);
            guests++;
            host.comes();
        } catch (IOException gone) {
            closeQuietly(made);
        } catch (Throwable shortage) {
            closeQuietly(made);
            throw shortage;
        }
    }

    /** Dismisses the oldest guest of the address that has the most, if there are as many as may be. */
    private void makeRoom() {
        if (guests >= mostGuests) {
            List<TcpVisitor> present = new ArrayList<>(visitors);
            present.removeIf(TcpVisitor::isLeaving);
            dismiss(Objects.requireNonNull(LinkHost.oldestOfMost(present, visitor -> visitor.peer.getAddress())));
        }
    }

    private void ready(TcpVisitor visitor) {
        try {
            if (visitor.read(shared)) {
                greeted(visitor);
            }
        } catch (IOException | RuntimeException gone) {
            dismiss(visitor);
        }
    }

    /** Forgets a visitor. */
    private void remove(TcpVisitor visitor) {
        if (visitors.remove(visitor) && !visitor.isLeaving()) {
            guests--;
            host.hasCome();
        }
    }

    private void dismiss(TcpVisitor visitor) {
        remove(visitor);
        closeQuietly(visitor.socket);
    }

    private void late(TcpVisitor visitor) {
        try {
            if (!visitor.isLeaving()) {
                leave(visitor, EndCode.HANDSHAKE_TIMEOUT);
                return;
            }
        } catch (IOException gone) {
            // It is not told.
        }
        dismiss(visitor);
    }

    /** Makes a channel of a visitor that has greeted. */
    private void greeted(TcpVisitor visitor) throws IOException {
        boolean hasGreeted = visitor.hasGreeted();
        if (hasGreeted && hasRdma() && visitor.asks()) {
            leave(visitor, Wire.USE_RDMA);
            return;
        }
        Admission answer = hasGreeted
                ? host.admit(this, visitor.peer, visitor.greeting())
                : Admission.refused(EndCode.PROTOCOL_ERROR);
        LinkOwner owner = answer.owner();
        if (owner != null) {
            remove(visitor);
            admit(visitor, owner);
        } else if (host.isClosing()) {
            dismiss(visitor);
        } else {
            leave(visitor, answer.refusal());
        }
    }

    /** Answers a visitor who does not become a channel. */
    private void leave(TcpVisitor visitor, int reason) throws IOException {
        remove(visitor); // before the answer: the peer may connect by RDMA then
        if (visitors.size() < MOST_VISITORS) {
            visitor.leave(reason);
            visitors.add(visitor);
        } else {
            closeQuietly(visitor.socket);
        }
    }

    private void admit(TcpVisitor visitor, LinkOwner owner) {
        TcpStream stream = new TcpStream(this, memory, owner, false);
        try {
            stream.take(visitor.socket, selector);
            if (owner.accept(stream)) {
                stream.greeted(visitor.input().flip());
            } else { // the owner has ended already
                stream.close();
            }
        } catch (IOException | RuntimeException | Error failed) {
            stream.close();
            owner.fail(failed);
        }
    }

    static void closeQuietly(Closeable socket) {
        try {
            socket.close();
        } catch (IOException ignored) {
            // The descriptor is free in any case.
        }
    }

    /** Hands a completion or an event to the thread that makes progress. */
    void report(LinkOwner owner, Runnable action) {
        reports.add(new Report(owner, action));
        reported = true;
    }

    /** Notes a connection that this side leaves. Of peers that were refused, those that stay longest are not waited for. */
    void leaves(TcpStream stream) {
        leaving.add(stream);
        if (stream.isOfStranger()) {
            refused.add(stream);
            if (refused.size() > MOST_VISITORS) {
                refused.remove().close();
            }
        }
    }

    @Override
    public void close() {
        super.close();
        if (!selector.isOpen()) {
            return;
        }
        selector.wakeup();
        try (var _ = working.held()) {
            runTasks(); // sends the last acknowledgements
            for (SelectionKey key : selector.keys()) {
                key.channel().close();
            }
            selector.close();
        } catch (IOException ignored) {
            // The descriptors are free in any case.
        }
    }
}
