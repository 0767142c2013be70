package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.internal.Deadline;
import dev.verbena.internal.JdkSelectorProvider;
import dev.verbena.internal.Waiters;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.MemoryRegion;
import java.io.Closeable;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The transport of a node over TCP. One thread takes the part of the adapter for all channels of the node: it sends,
 * receives, and reads and writes memory for the peers, also while the program makes no progress.
 */
final class TcpCarrier extends Carrier {
    /** Numbers that atomics change. */
    static final VarHandle NUMBER = ValueLayout.JAVA_LONG.varHandle();

    private static final int BUFFER = 1 << 16;
    private static final long TICK_MILLIS = 100;

    /** The number of visitors from which on others are not told why they are refused. */
    private static final int MOST_VISITORS = 1 << 10;

    /** The number of visitors for each peer that may wait to be accepted: a visitor costs little. */
    private static final int VISITORS_PER_WAITING = 8;

    private final Engine engine;
    private final InetSocketAddress address;
    private final Selector selector;
    private final ServerSocketChannel listener;
    private final SelectionKey accepting;
    private final TcpMemory memory;
    private final SelectorProvider provider = provider();
    private final Waiters waiters = new Waiters();

    /** A completion or an event of a channel. */
    private record Report(ChannelCore core, Runnable action) {
        void run() {
            try (var _ = core.lock.held()) {
                action.run();
            } catch (RuntimeException | Error failed) {
                core.fail(failed);
            }
        }
    }

    /** Completions and events, for the thread that makes progress. */
    private final ConcurrentLinkedQueue<Report> reports = new ConcurrentLinkedQueue<>();

    /** The connections that other threads have changed. */
    private final ConcurrentLinkedQueue<Runnable> tasks = new ConcurrentLinkedQueue<>();

    private volatile @Nullable Thread thread;

    /** The other transport of the node; null if it has only this one. */
    private @Nullable RdmaCarrier beside;

    private final long handshakeNanos;

    // For the thread only
    private final ByteBuffer shared = ByteBuffer.allocateDirect(BUFFER);
    private final List<TcpStream> leaving = new ArrayList<>();

    /** The visitors, the oldest first. */
    private final Set<TcpVisitor> visitors = new LinkedHashSet<>();

    /** The number of visitors that may become channels, and how many there may be. */
    private int guests;

    private final int mostGuests;
    private boolean reported;

    TcpCarrier(Engine engine, InetSocketAddress own, NodeOptions options, VerbsArena arena) {
        this.engine = engine;
        memory = TcpMemory.create(arena);
        handshakeNanos = Deadline.nanoseconds(options.handshakeTimeout());
        mostGuests = Math.min(MOST_VISITORS, VISITORS_PER_WAITING * Math.max(1, options.maxWaiting()));
        try {
            selector = provider.openSelector();
            try {
                listener = provider.openServerSocketChannel();
                try {
                    listener.configureBlocking(false);
                    listener.setOption(StandardSocketOptions.SO_REUSEADDR, true);
                    listener.bind(own, Math.max(1, options.maxWaiting()));
                    address = (InetSocketAddress) listener.getLocalAddress();
                    accepting = listener.register(selector, SelectionKey.OP_ACCEPT);
                } catch (Throwable t) {
                    listener.close();
                    throw t;
                }
            } catch (Throwable t) {
                selector.close();
                throw t;
            }
        } catch (IOException e) {
            throw new ChannelException(
                    EndReason.FAILED, "node " + Engine.text(own), "It can't listen over TCP: " + e.getMessage(), e);
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

    /** Notes the other transport of the node, before this one starts. It hears of all that happens. */
    void standBeside(RdmaCarrier rdma) throws IOException {
        beside = rdma;
        if (rdma.isOverTcp()) {
            listener.close();
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
    InetSocketAddress address() {
        return address;
    }

    @Override
    Context context() {
        throw new UnsupportedOperationException("a node over TCP has no device");
    }

    @Override
    String device() {
        return "TCP";
    }

    @Override
    boolean hasKeysOfChannels() {
        return true;
    }

    @Override
    Set<AccessFlag> rightsToExport(Set<AccessFlag> access) {
        return Set.of();
    }

    @Override
    public MemoryRegion register(MemorySegment segment, Collection<AccessFlag> access, VerbsArena arena) {
        return memory.register(segment, access, arena);
    }

    // For all threads

    @Override
    Attempt attempt() {
        return core -> {
            TcpStream stream = new TcpStream(this, memory, core, false);
            core.connecting(stream);
            if (core.prepare()) {
                connect(stream);
            }
        };
    }

    /** Connects a channel if the peer has no RDMA. Else the channel ends, and {@link TcpStream#askedForRdma} tells. */
    void ask(ChannelCore core) {
        TcpStream stream = new TcpStream(this, memory, core, true);
        core.connecting(stream);
        connect(stream);
    }

    private void connect(TcpStream stream) {
        InetSocketAddress own = new InetSocketAddress(address.getAddress(), 0);
        run(() -> stream.connect(own, selector));
    }

    /** Lets the thread run a task. */
    void run(Runnable task) {
        tasks.add(task);
        if (Thread.currentThread() != thread) {
            selector.wakeup();
        }
    }

    @Override
    <T> @Nullable T await(Supplier<? extends @Nullable T> attempt, Duration timeout) throws InterruptedException {
        return waiters.await(attempt, timeout);
    }

    @Override
    void wake() {
        RdmaCarrier other = beside;
        if (other == null) {
            waiters.wake();
        } else {
            other.wake(); // all threads of the node wait there
        }
    }

    @Override
    int poll() {
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
    void start() {
        engine.startThread("sockets", this::carry);
    }

    private void carry() {
        thread = Thread.currentThread();
        while (!engine.isClosed()) {
            try {
                turn();
            } catch (IOException | RuntimeException | Error ended) {
                engine.failed(ended); // what the channels say at their end is sent
            }
        }
    }

    /** Handles what there is, or waits for it. */
    void turn() throws IOException {
        boolean ticks = !leaving.isEmpty() || !visitors.isEmpty() || isFull();
        selector.select(this::ready, ticks ? TICK_MILLIS : 0);
        if (Thread.interrupted()) { // the selector would not sleep any more
            engine.interrupted();
        }
        runTasks();
        if (ticks) {
            tick();
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

    private void tick() {
        long now = System.nanoTime();
        leaving.removeIf(stream -> stream.hasLeft(now));
        for (TcpVisitor visitor : List.copyOf(visitors)) {
            if (visitor.isLate(now)) {
                late(visitor);
            }
        }
        if (isFull()) {
            accepting.interestOps(SelectionKey.OP_ACCEPT);
        }
    }

    /** Returns true if a peer could not be accepted for lack of descriptors. */
    private boolean isFull() {
        return accepting.isValid() && accepting.interestOps() == 0;
    }

    private void ready(SelectionKey key) {
        if (key.attachment() instanceof TcpStream stream) {
            stream.ready(shared);
        } else if (key.attachment() instanceof TcpVisitor visitor) {
            ready(visitor);
        } else if (key.isValid() && key.isAcceptable()) {
            accept();
        }
    }

    private void accept() {
        SocketChannel made;
        try {
            made = listener.accept();
        } catch (IOException noDescriptors) {
            accepting.interestOps(0); // and try again a little later
            return;
        }
        if (made == null) {
            return;
        }
        try {
            TcpVisitor visitor = new TcpVisitor(made, System.nanoTime() + handshakeNanos);
            made.configureBlocking(false);
            made.setOption(StandardSocketOptions.TCP_NODELAY, true);
            made.register(selector, SelectionKey.OP_READ, visitor);
            makeRoom();
            visitors.add(visitor);
            guests++;
            engine.comes();
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
            present.removeIf(visitor -> visitor.step() == TcpVisitor.Step.LEAVING);
            dismiss(Objects.requireNonNull(Engine.oldestOfMost(present, visitor -> visitor.peer.getAddress())));
        }
    }

    private void ready(TcpVisitor visitor) {
        try {
            if (visitor.read(shared)) {
                if (visitor.step() == TcpVisitor.Step.HELLO) {
                    hello(visitor);
                } else {
                    greeted(visitor);
                }
            }
        } catch (IOException | RuntimeException gone) {
            dismiss(visitor);
        }
    }

    /** Forgets a visitor. */
    private void remove(TcpVisitor visitor) {
        if (visitors.remove(visitor) && visitor.step() != TcpVisitor.Step.LEAVING) {
            guests--;
            engine.hasCome();
        }
    }

    private void dismiss(TcpVisitor visitor) {
        remove(visitor);
        closeQuietly(visitor.socket);
    }

    private void late(TcpVisitor visitor) {
        try {
            if (visitor.step() == TcpVisitor.Step.GREETING) {
                leave(visitor, EndReason.HANDSHAKE_TIMEOUT.code);
                return;
            }
        } catch (IOException gone) {
            // It is not told.
        }
        dismiss(visitor);
    }

    /** Answers a visitor whose first bytes have come. */
    private void hello(TcpVisitor visitor) throws IOException {
        ByteBuffer hello = visitor.input();
        if (!TcpFrame.isHello(hello)) {
            leave(visitor, EndReason.PROTOCOL_ERROR.code);
        } else if (TcpFrame.version(hello) != TcpFrame.VERSION) {
            leave(visitor, EndReason.OTHER_VERSION.code);
        } else if (hasRdma() && TcpFrame.hasRdma(hello)) {
            leave(visitor, 0);
        } else {
            visitor.welcome(hasRdma());
        }
    }

    /** Makes a channel of a visitor that has greeted. */
    private void greeted(TcpVisitor visitor) throws IOException {
        ChannelCore core = visitor.hasGreeted() ? engine.admit(visitor.peer) : null;
        if (core != null) {
            remove(visitor);
            admit(visitor, core);
        } else {
            leave(visitor, (visitor.hasGreeted() ? EndReason.TOO_MANY_CHANNELS : EndReason.PROTOCOL_ERROR).code);
        }
    }

    /** Answers a visitor who does not become a channel. */
    private void leave(TcpVisitor visitor, int reason) throws IOException {
        remove(visitor); // before the answer: the peer may connect by RDMA then
        if (visitors.size() < MOST_VISITORS) {
            visitor.leave(hasRdma(), reason);
            visitors.add(visitor);
        } else {
            closeQuietly(visitor.socket);
        }
    }

    private void admit(TcpVisitor visitor, ChannelCore core) {
        TcpStream stream = new TcpStream(this, memory, core, false);
        try {
            stream.take(visitor.socket, selector);
            if (core.accept(stream)) {
                stream.greeted(visitor.input().flip());
            } else { // the channel has ended already
                stream.close();
            }
        } catch (IOException | RuntimeException | Error failed) {
            stream.close();
            core.fail(failed);
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
    void report(ChannelCore core, Runnable action) {
        reports.add(new Report(core, action));
        reported = true;
    }

    /** Notes a connection that this side leaves. */
    void leaves(TcpStream stream) {
        leaving.add(stream);
    }

    @Override
    void close() {
        super.close();
        if (!selector.isOpen()) {
            return;
        }
        runTasks(); // sends the last acknowledgements
        try {
            for (SelectionKey key : selector.keys()) {
                key.channel().close();
            }
            selector.close();
        } catch (IOException ignored) {
            // The descriptors are free in any case.
        }
    }
}
