package dev.verbena.internal.link;

import dev.verbena.VerbsArena;
import dev.verbena.internal.Memory;
import dev.verbena.internal.wire.EndCode;
import dev.verbena.internal.wire.FirstVersion;
import dev.verbena.internal.wire.TcpFrame;
import dev.verbena.internal.wire.Wire;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.WorkStatus;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.Collection;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The TCP connection of a channel. It takes the part of a queue pair: sends the requests of the {@link TcpLink}, carries out
 * the requests of the peer, and reports completions to the {@link TcpCarrier}. All methods but those of
 * {@link Connection} and {@link #hasWork} are for the carrier's thread.
 */
public final class TcpStream extends Carrier.Connection {
    /** The most bytes that are read or written at once. */
    private static final int CHUNK = 1 << 18;

    /** The most bytes that are read before other connections have their turn. */
    private static final int TURN = 1 << 20;

    /** From this size on, data is read straight into the memory. */
    private static final int LARGE = 1 << 13;

    /** The longest time to wait for the peer's end of a connection that is being closed. */
    private static final long LEAVING_NANOS = 1_000_000_000L;

    private enum State {
        CONNECTING,
        OPEN,
        /** Input is dropped: the peer broke a rule, for example. */
        DEAF,
        /** This side leaves: input is dropped, and no more requests are sent. */
        LEAVING,
        /** This side has ended its output, and awaits the end of the peer's. */
        SHUT,
        CLOSED;

        /** Returns true once this side has begun to leave. */
        boolean isGone() {
            return compareTo(LEAVING) >= 0;
        }
    }

    /** A message that has come. A lambda with as many values takes a program's start longer than a record. */
    private record Received(LinkOwner owner, int place, int bytes) implements Runnable {
        @Override
        public void run() {
            owner.received(place, bytes);
        }
    }

    private final TcpCarrier tcp;
    private final TcpMemory memory;
    private final LinkOwner owner;
    private final boolean asks;
    private final AtomicBoolean scheduled = new AtomicBoolean();
    private final Runnable attending = this::attend;
    private volatile @Nullable TcpLink link;

    /** True if the channel has ended because both sides have RDMA. */
    private volatile boolean askedForRdma;

    /** True if the connection could not be made. */
    volatile boolean unreachable;

    /** True since a part of a large frame has gone or come. */
    private volatile boolean progressed;

    private State state = State.CONNECTING;
    private @Nullable SocketChannel channel;
    private @Nullable SelectionKey selection;

    /** The time at which a connection that this side leaves is closed in any case. */
    private long leaveBy;

    private final TcpOutput output;

    // Input
    private final ByteBuffer header = ByteBuffer.allocate(TcpFrame.BYTES);
    private final TcpFrame in = new TcpFrame();

    /** The data of a write of one number. */
    private final ByteBuffer number = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.nativeOrder());

    private long inAddress;
    private int inKey;
    private long inLeft;

    /** The number of the receive that the message comes into. */
    private int into;

    /**
     * Makes a connection.
     *
     * @param asks true to connect only if the peer has no RDMA
     */
    public TcpStream(TcpCarrier carrier, TcpMemory memory, LinkOwner owner, boolean asks) {
        super(true, carrier);
        this.tcp = carrier;
        this.memory = memory;
        this.owner = owner;
        this.asks = asks;
        this.output = new TcpOutput(memory);
    }

    // For the channel

    @Override
    public MemoryRegion register(MemorySegment segment, Collection<AccessFlag> access, VerbsArena arena) {
        return memory.register(segment, access, arena);
    }

    @Override
    public boolean asks() {
        return asks;
    }

    @Override
    public boolean isApart() {
        return false;
    }

    @Override
    public Link link() {
        TcpLink made = new TcpLink(memory, this, tcp.sizes, owner);
        link = made;
        return made;
    }

    @Override
    public void accept() {
        // The carrier has: the peer's greeting comes by this connection.
    }

    @Override
    public boolean isRedirected() {
        return askedForRdma;
    }

    @Override
    public void disconnect() {
        tcp.run(this::leave);
    }

    @Override
    public boolean takeProgress() {
        boolean moves = output.takeProgress() || progressed; // in this order: both are noted
        progressed = false;
        return moves;
    }

    @Override
    public void forget() {
        disconnect();
    }

    /** Lets the carrier's thread look at this connection. */
    void hasWork() {
        if (scheduled.compareAndSet(false, true)) {
            try {
                tcp.run(attending);
            } catch (Throwable shortage) {
                scheduled.set(false);
                throw shortage;
            }
        }
    }

    // The life of the connection

    /** Begins to connect. */
    public void connect(InetSocketAddress own, InetSocketAddress peer, Selector selector) {
        if (state == State.CLOSED) {
            return; // the program has given up already
        }
        try {
            SocketChannel made = tcp.openSocket();
            channel = made;
            made.configureBlocking(false);
            made.bind(own);
            tcp.setOptions(made);
            boolean done = made.connect(peer);
            selection = made.register(selector, SelectionKey.OP_CONNECT, this);
            if (done) {
                connected();
            }
        } catch (IOException | RuntimeException refused) {
            unreachable(refused);
        }
    }

    /** Takes a connection that the peer has made, and whose greeting has come. */
    public void take(SocketChannel made, Selector selector) throws IOException {
        channel = made;
        selection = made.register(selector, SelectionKey.OP_READ, this);
        state = State.OPEN;
    }

    /** Handles the frame of the greeting, which was read already. */
    void greeted(ByteBuffer greeting) {
        consume(greeting);
        hasWork();
    }

    private void unreachable(Exception why) {
        unreachable = true;
        close(); // first, because it allocates nothing
        tcp.report(owner, () -> owner.end(EndCode.UNREACHABLE, String.valueOf(why.getMessage()), why));
    }

    private void connected() {
        state = State.OPEN;
        interest(SelectionKey.OP_READ);
        tcp.report(owner, owner::established);
    }

    private TcpLink queues() {
        return Objects.requireNonNull(link); // there are queues before the connection is open
    }

    private SocketChannel open() {
        return Objects.requireNonNull(channel); // it is there from the first step on
    }

    private void interest(int operations) {
        SelectionKey known = Objects.requireNonNull(selection);
        if (known.interestOps() != operations) {
            known.interestOps(operations);
        }
    }

    /** Handles what the selector has found. */
    void ready(ByteBuffer shared) {
        try {
            if (state == State.CONNECTING) {
                finishConnect();
            } else if (Objects.requireNonNull(selection).isReadable()) {
                read(shared);
            }
            if (state != State.OPEN || !output.owesOnlyAcknowledgements() || !tcp.isPutOff(attending)) {
                work();
            }
        } catch (IOException | RuntimeException | Error failure) {
            lost(String.valueOf(failure.getMessage()));
        }
    }

    private void finishConnect() throws IOException {
        try {
            open().finishConnect();
        } catch (IOException refused) {
            unreachable(refused);
            return;
        }
        connected();
    }

    /** Handles what other threads have posted. */
    private void attend() {
        scheduled.set(false);
        try {
            work();
        } catch (IOException | RuntimeException | Error failure) {
            lost(String.valueOf(failure.getMessage()));
        }
    }

    private void work() throws IOException {
        if (state == State.CLOSED) {
            return;
        }
        boolean done = output.write(open(), link, !state.isGone());
        if (done && state == State.LEAVING) {
            state = State.SHUT;
            open().shutdownOutput(); // and close when the peer has done so: else what it has not read would be lost
        }
        interest(done ? SelectionKey.OP_READ : SelectionKey.OP_READ | SelectionKey.OP_WRITE);
    }

    /** Leaves this connection: sends what is begun, and then awaits the peer's end for a while. */
    private void leave() {
        if (state.isGone()) {
            return;
        }
        leaveBy = System.nanoTime() + LEAVING_NANOS;
        tcp.leaves(this);
        if (state == State.CONNECTING) {
            close();
        } else {
            state = State.LEAVING;
            inLeft = 0; // no memory changes after the end
            attend();
        }
    }

    boolean isOfStranger() {
        return owner.isOfStranger();
    }

    /** Returns true once this connection, which this side has left, is closed. */
    public boolean hasLeft(long now) {
        if (state != State.CLOSED && now - leaveBy > 0) {
            close();
        }
        return state == State.CLOSED;
    }

    private void lost(String details) {
        close(); // first, because it allocates nothing
        tcp.report(owner, () -> owner.disconnected(details));
    }

    /** Closes the socket. */
    void close() {
        state = State.CLOSED;
        if (channel != null) {
            TcpCarrier.closeQuietly(channel);
        }
    }

    /** Drops all further input. */
    private void deafen() {
        state = State.DEAF;
        inLeft = 0;
    }

    /** Drops all further input, and tells the channel its end. */
    private void stop(Runnable end) {
        deafen();
        tcp.report(owner, end);
    }

    private void broken(String details) {
        stop(() -> owner.wireBroken(details));
    }

    // Input

    private void read(ByteBuffer shared) throws IOException {
        SocketChannel from = open();
        for (int turn = 0; turn < TURN && state != State.CLOSED; ) {
            int found;
            boolean more;
            if (inLeft >= LARGE) {
                int most = (int) Math.min(inLeft, CHUNK);
                found = readStraight(from, most);
                more = found == most;
            } else {
                shared.clear();
                found = from.read(shared);
                more = !shared.hasRemaining();
                consume(shared.flip());
            }
            if (found < 0) {
                if (TcpFrame.mayBegin(header)) {
                    lost("The peer has closed the connection");
                } else if (FirstVersion.began(header)) {
                    stop(() -> owner.abort(EndCode.OTHER_VERSION, FirstVersion.SPOKEN));
                } else {
                    broken("Its first bytes are not those of a node over TCP");
                }
                return;
            }
            if (!more) {
                return;
            }
            turn += found;
        }
    }

    private int readStraight(SocketChannel from, int most) throws IOException {
        try (var _ = memory.use()) {
            MemorySegment target = target(most);
            if (target == null) {
                return 1; // the rest is dropped
            }
            int found = from.read(target.asByteBuffer());
            if (found > 0) {
                arrived(found);
            }
            return found;
        }
    }

    private void consume(ByteBuffer bytes) {
        while (bytes.hasRemaining() && state == State.OPEN) {
            if (in.type == TcpFrame.WRITE && in.length == Long.BYTES && inLeft > 0) {
                takeNumber(bytes);
            } else if (inLeft > 0) {
                int size = (int) Math.min(inLeft, bytes.remaining());
                try (var _ = memory.use()) {
                    MemorySegment target = target(size);
                    if (target != null) {
                        target.copyFrom(MemorySegment.ofBuffer(bytes).asSlice(0, size));
                        bytes.position(bytes.position() + size);
                        arrived(size);
                    }
                }
            } else {
                while (header.hasRemaining() && bytes.hasRemaining()) {
                    header.put(bytes.get());
                }
                if (!header.hasRemaining()) {
                    headerCame();
                }
            }
        }
    }

    /** Takes the data of a write of 8 bytes, which a program may poll: it appears at once, and after earlier writes. */
    private void takeNumber(ByteBuffer bytes) {
        while (number.hasRemaining() && bytes.hasRemaining()) {
            number.put(bytes.get());
        }
        if (number.hasRemaining()) {
            return;
        }
        number.clear();
        try (var _ = memory.use()) {
            MemorySegment target = target(Long.BYTES);
            if (target != null) {
                VarHandle.releaseFence();
                Memory.set(target.address(), number.getLong(0));
                arrived(Long.BYTES);
            }
        }
    }

    private void headerCame() {
        boolean known = in.readFrom(header);
        header.clear();
        if (known) {
            begin();
        } else {
            broken("Frame of type " + in.type + " with " + in.length + " bytes is malformed");
        }
    }

    /** Begins to handle a frame, whose data follows. */
    private void begin() {
        TcpLink on = queues();
        if (in.needsAnswer() && output.owesMostAnswers()) {
            broken("It has more than " + TcpFrame.MAX_READS + " reads and atomics under way");
            return;
        }
        switch (in.type) {
            case TcpFrame.SEND -> {
                TcpLink.Receive next = on.takeReceive();
                if (next == null) {
                    broken("It sent more messages than this side has receives");
                } else if (in.length > next.length()) {
                    broken("Message of " + in.length + " bytes is larger than the " + next.length()
                            + " that this side receives");
                } else {
                    into = next.place();
                    data(next.address(), next.key());
                }
            }
            case TcpFrame.WRITE -> {
                if (in.length == 0 || allows(in.length, AccessFlag.REMOTE_WRITE)) {
                    data(in.address, in.key);
                } else {
                    deny();
                }
            }
            case TcpFrame.READ -> {
                if (in.length == 0 || allows(in.length, AccessFlag.REMOTE_READ)) {
                    TcpFrame answer = output.promise(TcpFrame.DATA);
                    answer.dataAddress = in.address;
                    answer.dataKey = in.key;
                    answer.length = in.length;
                } else {
                    deny();
                }
            }
            case TcpFrame.FETCH_AND_ADD, TcpFrame.COMPARE_AND_SWAP -> changeNumber();
            case TcpFrame.ACKNOWLEDGEMENT -> acknowledged(on);
            case TcpFrame.DATA -> {
                TcpFrame oldest = on.unanswered();
                if (oldest == null || oldest.type != TcpFrame.READ || oldest.length != in.length) {
                    broken("It sent data that this side has not asked for");
                } else {
                    data(oldest.dataAddress, oldest.dataKey);
                }
            }
            case TcpFrame.VALUE -> {
                TcpFrame oldest = on.unanswered();
                if (oldest == null || !oldest.isAtomic()) {
                    broken("It sent a value that this side has not asked for");
                } else {
                    valueCame(on, oldest);
                }
            }
            case TcpFrame.DENIAL -> {
                if (on.unanswered() == null) {
                    broken("It denied a request that this side has not made");
                } else {
                    fail(on, WorkStatus.REMOTE_ACCESS_ERROR);
                }
            }
            default -> throw new AssertionError(in.type);
        }
    }

    private boolean allows(long length, AccessFlag right) {
        try (var _ = memory.use()) {
            return memory.find(link, in.key, in.address, length, right) != null;
        }
    }

    /** Begins to receive data. */
    private void data(long address, int key) {
        inAddress = address;
        inKey = key;
        inLeft = in.length;
        if (inLeft == 0) {
            finish();
        }
    }

    /** Returns the memory for the next data. If it may not be used any more, the rest of the input is dropped. */
    private @Nullable MemorySegment target(int size) {
        boolean remote = in.type == TcpFrame.WRITE;
        MemorySegment found = memory.find(
                remote ? link : null,
                inKey,
                inAddress,
                size,
                remote ? AccessFlag.REMOTE_WRITE : AccessFlag.LOCAL_WRITE);
        if (found == null) {
            switch (in.type) {
                case TcpFrame.WRITE -> deny();
                case TcpFrame.DATA -> fail(queues(), WorkStatus.LOCAL_PROTECTION_ERROR);
                default -> deafen(); // the channel is closed
            }
        }
        return found;
    }

    private void arrived(int size) {
        progressed |= in.type == TcpFrame.DATA;
        inAddress += size;
        inLeft -= size;
        if (inLeft == 0) {
            finish();
        }
    }

    /** Ends a frame, all of whose data has come. */
    private void finish() {
        if (in.type == TcpFrame.DATA) {
            done(queues());
            return;
        }
        if (asks && isRedirection()) {
            askedForRdma = true;
            stop(() -> owner.end(EndCode.UNREACHABLE, "Both sides have RDMA, and connect by it", null));
            return;
        }
        output.acknowledge();
        if (in.type == TcpFrame.SEND) {
            tcp.report(owner, new Received(owner, into, in.length));
        }
    }

    /** Returns true if the message that has come is the answer of a peer that has RDMA too. It is the first one, if any. */
    private boolean isRedirection() {
        if (in.type != TcpFrame.SEND || in.length != Wire.HEADER_BYTES) {
            return false;
        }
        MemorySegment message = owner.target(into);
        return Wire.kind(message) == Wire.GOODBYE && Wire.call(message) == Wire.USE_RDMA;
    }

    private void changeNumber() {
        try (var _ = memory.use()) {
            MemorySegment at = in.address % Long.BYTES == 0
                    ? memory.find(link, in.key, in.address, Long.BYTES, AccessFlag.REMOTE_ATOMIC)
                    : null;
            if (at == null) {
                deny();
            } else {
                output.promise(TcpFrame.VALUE).first = in.type == TcpFrame.FETCH_AND_ADD
                        ? (long) Memory.LONG_AT.getAndAdd(at, 0L, in.first)
                        : (long) Memory.LONG_AT.compareAndExchange(at, 0L, in.first, in.second);
            }
        }
    }

    // Answers of the peer

    private void acknowledged(TcpLink on) {
        if (in.number <= 0) {
            broken("It acknowledged " + in.number + " requests");
        }
        for (int left = in.number; left > 0; left--) {
            TcpFrame oldest = on.unanswered();
            if (oldest == null || oldest.needsAnswer()) {
                broken("It acknowledged a request that this side has not made");
                return;
            }
            done(on);
        }
    }

    private void valueCame(TcpLink on, TcpFrame oldest) {
        try (var _ = memory.use()) {
            MemorySegment result =
                    memory.find(null, oldest.dataKey, oldest.dataAddress, Long.BYTES, AccessFlag.LOCAL_WRITE);
            if (result == null) {
                deafen(); // the channel is closed
                return;
            }
            Memory.set(result.address(), in.first);
        }
        done(on);
    }

    private void done(TcpLink on) {
        int place = on.answered();
        tcp.report(owner, () -> owner.sent(place));
    }

    private void fail(TcpLink on, WorkStatus status) {
        int place = on.answered();
        stop(() -> owner.failed(place, status, () -> null));
    }

    /** Denies a request, which ends the connection, as an adapter does. */
    private void deny() {
        output.answer(TcpFrame.DENIAL);
        stop(() -> owner.disconnected("It used memory without the right, out of range, or with a wrong key"));
    }
}
