package dev.verbena.cm;

import dev.verbena.CName;
import dev.verbena.VerbsObject;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.access.ObjectLifetime;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.RdmaCm;
import dev.verbena.internal.raw.rdma_addr;
import dev.verbena.internal.raw.rdma_cm_id;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.internal.raw.rdma_route;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** What an id is and what is reported to it: its channel, its device, its addresses, its options, its events. */
abstract class ConnectionEnd extends VerbsObject {
    final ObjectLifetime lifetime;
    final long address;
    final PortSpace space;
    final IdEvents inbox;
    volatile int backlog;

    /** Held while C works on the id: C itself does not care what another thread does with the id's queue pair. */
    final ReentrantLock inC = new ReentrantLock();

    /** Who may ask C for what this says of itself; null for all. */
    private final @Nullable Thread confinedTo;

    private volatile @Nullable Context found;

    ConnectionEnd(ObjectLifetime lifetime, PortSpace space, long address, IdEvents inbox) {
        super(lifetime);
        this.lifetime = lifetime;
        this.confinedTo = lifetime.owner();
        lifetime.destroyedBy(this::destroy);
        this.space = space;
        this.address = address;
        this.inbox = inbox;
    }

    /** Calls C to destroy the object. */
    abstract void destroy();

    abstract ConnectionId self();

    /** The {@code struct rdma_cm_id}. Hold this object while C uses it. */
    long address() {
        return address;
    }

    MemorySegment struct() {
        return MemorySegment.ofAddress(address).reinterpret(rdma_cm_id.sizeof());
    }

    /** How many requests may wait to be taken. */
    int backlog() {
        return backlog;
    }

    /** A call of C with this object open. */
    interface Call {
        long of(Arena scratch);
    }

    /** The arguments are made text of when the call has failed, and not before: that takes longer than many a call. */
    final void call(CFunction function, Object arguments, Call call) {
        call(function, arguments, PrivateData.NONE, call);
    }

    /** A call that takes private data, of which there may be too much: how much fits depends on the transport. */
    final void call(CFunction function, Object arguments, PrivateData data, Call call) {
        lifetime.hold();
        inC.lock();
        try (Arena scratch = Arena.ofConfined()) {
            if ((int) call.of(scratch) != 0) {
                int errno = CFunction.errno(); // first, since text of arguments calls C too
                throw CmFailures.failure(function, errno, arguments.toString(), CmFailures.tooLong(errno, data));
            }
        } finally {
            inC.unlock();
            lifetime.release();
        }
    }

    // What it is

    /**
     * Where its events are reported.
     *
     * @return the channel
     */
    public EventChannel channel() {
        lifetime.checkOpen();
        return inbox.channel;
    }

    /**
     * What it is for.
     *
     * @return the port space it was made in
     */
    public PortSpace portSpace() {
        lifetime.checkOpen();
        return space;
    }

    /**
     * The device that it has landed on, as the connection manager has opened it ({@code id->verbs}): make what its queue
     * pair needs in this context. All ids of a channel that are on one device have the same. Those of other channels have
     * another one that stands for the same in C: what is made in one can be used with ids of the other, and its
     * {@linkplain Context#events events} are those of what was made in it, of the device and of the port.
     *
     * @return the context, which the arena of the channel lets go
     * @throws IllegalStateException if it has no device yet: the address must be resolved, or bound to a device's
     */
    public Context context() {
        lifetime.hold();
        try {
            Context known = found;
            if (known != null && known.isOpen()) {
                return known;
            }
            long verbs = rdma_cm_id.verbs(struct()).address();
            if (verbs == 0) {
                throw new IllegalStateException(
                        this + " has no device yet: resolve an address, or bind it to one that is " + "a device's");
            }
            found = known = inbox.channel.context(verbs);
            return known;
        } finally {
            lifetime.release();
        }
    }

    /**
     * Whether it has a device, and so a {@link #context}.
     *
     * @return true once an address was resolved, or bound to a device's
     */
    public boolean hasDevice() {
        lifetime.hold();
        try {
            return rdma_cm_id.verbs(struct()).address() != 0;
        } finally {
            lifetime.release();
        }
    }

    /**
     * The port of the device ({@code id->port_num}).
     *
     * @return the number, from 1; 0 if it has no device yet
     */
    public int devicePort() {
        lifetime.hold();
        try {
            return Byte.toUnsignedInt(rdma_cm_id.port_num(struct()));
        } finally {
            lifetime.release();
        }
    }

    /** Whether what is connected are queue pairs for datagrams. */
    final boolean hasDatagrams() {
        lifetime.hold();
        try {
            return rdma_cm_id.qp_type(struct()) == QueuePairType.UD.code();
        } finally {
            lifetime.release();
        }
    }

    /**
     * Its own address and port ({@code rdma_get_local_addr}, {@code rdma_get_src_port}).
     *
     * @return the address; empty if it has none of IP yet
     */
    @CName({"rdma_get_local_addr", "rdma_get_src_port"})
    public Optional<InetSocketAddress> localAddress() {
        return read(true);
    }

    /**
     * The peer's address and port ({@code rdma_get_peer_addr}, {@code rdma_get_dst_port}).
     *
     * @return the address; empty if it has none of IP
     */
    @CName({"rdma_get_peer_addr", "rdma_get_dst_port"})
    public Optional<InetSocketAddress> peerAddress() {
        return read(false);
    }

    /**
     * Its own address of InfiniBand ({@code rdma_get_local_addr}).
     *
     * @return the address; empty if it has none of InfiniBand
     */
    @CName("rdma_get_local_addr")
    public Optional<IbAddress> localIbAddress() {
        return readIb(true);
    }

    /**
     * The peer's address of InfiniBand ({@code rdma_get_peer_addr}).
     *
     * @return the address; empty if it has none of InfiniBand
     */
    @CName("rdma_get_peer_addr")
    public Optional<IbAddress> peerIbAddress() {
        return readIb(false);
    }

    private Optional<IbAddress> readIb(boolean local) {
        lifetime.hold();
        try {
            MemorySegment route = rdma_route.addr(rdma_cm_id.route(struct()));
            return SocketAddresses.readIb(local ? rdma_addr.src_storage(route) : rdma_addr.dst_storage(route));
        } finally {
            lifetime.release();
        }
    }

    private Optional<InetSocketAddress> read(boolean local) {
        lifetime.hold();
        try {
            MemorySegment route = rdma_route.addr(rdma_cm_id.route(struct()));
            CFunction port = local ? RdmaCm.GET_SRC_PORT : RdmaCm.GET_DST_PORT;
            int number = Short.toUnsignedInt(Short.reverseBytes((short) port.call(address)));
            return SocketAddresses.read(local ? rdma_addr.src_storage(route) : rdma_addr.dst_storage(route))
                    .map(found -> new InetSocketAddress(found.getAddress(), number));
        } finally {
            lifetime.release();
        }
    }

    // Options

    /**
     * Sets the type of service, and so the traffic class ({@code RDMA_OPTION_ID_TOS}). Before the route is resolved.
     *
     * @param value 8 bits
     */
    @CName("rdma_set_option")
    public void typeOfService(int value) {
        check("type of service", value, 0, 255);
        option(rdma_h.RDMA_OPTION_ID_TOS(), value, 1, "type of service " + value);
    }

    /**
     * Sets whether the address may be bound while another one waits for the end of a connection
     * ({@code RDMA_OPTION_ID_REUSEADDR}). Before it is bound.
     *
     * @param on whether so
     */
    @CName("rdma_set_option")
    public void reuseAddress(boolean on) {
        option(rdma_h.RDMA_OPTION_ID_REUSEADDR(), on ? 1 : 0, Integer.BYTES, "reuse address " + on);
    }

    /**
     * Sets whether an id that listens on all addresses of IPv6 leaves out those of IPv4
     * ({@code RDMA_OPTION_ID_AFONLY}). Before it is bound.
     *
     * @param on whether so
     */
    @CName("rdma_set_option")
    public void addressFamilyOnly(boolean on) {
        option(rdma_h.RDMA_OPTION_ID_AFONLY(), on ? 1 : 0, Integer.BYTES, "address family only " + on);
    }

    /**
     * Sets how long a queue pair waits for an acknowledgement ({@code RDMA_OPTION_ID_ACK_TIMEOUT}). Before it is connected.
     *
     * @param exponent 4.096 µs times 2 to the power of this; 5 bits
     */
    @CName("rdma_set_option")
    public void ackTimeout(int exponent) {
        check("acknowledgement timeout", exponent, 0, 31);
        option(rdma_h.RDMA_OPTION_ID_ACK_TIMEOUT(), exponent, 1, "acknowledgement timeout " + exponent);
    }

    private void option(int name, int value, int size, String what) {
        call(RdmaCm.SET_OPTION, this + ", " + what, scratch -> {
            MemorySegment memory = scratch.allocateFrom(ValueLayout.JAVA_INT, value);
            if (size == 1) {
                memory.set(ValueLayout.JAVA_BYTE, 0, (byte) value);
            }
            return RdmaCm.SET_OPTION.call(address, rdma_h.RDMA_OPTION_ID(), name, memory.address(), size);
        });
    }

    static void check(String what, int value, int least, int most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException("The " + what + " is from " + least + " to " + most + ", not " + value);
        }
    }

    // Events

    /**
     * Takes this id's next event, if there is one.
     *
     * @return the event, acknowledged already
     */
    public Optional<CmEvent> pollEvent() {
        lifetime.checkOpen();
        return Optional.ofNullable(take(type -> true));
    }

    /**
     * Waits for this id's next event, and takes it.
     *
     * @param timeout how long to wait
     * @return the event, acknowledged already
     * @throws VerbsTimeoutException if none came in time
     * @throws InterruptedException if the thread was interrupted
     * @throws IllegalStateException if the id is closed, also while waiting
     */
    public CmEvent nextEvent(Duration timeout) throws InterruptedException {
        return waitFor("rdma_get_cm_event", timeout, "", type -> true);
    }

    final CmEvent step(CFunction function, Duration timeout, CmEventType... success) throws InterruptedException {
        List<CmEventType> wanted = List.of(success);
        CmEvent event = waitFor(
                function.name(),
                timeout,
                "The peer may be slow, or nobody there accepts",
                type -> wanted.contains(type) || type.isEnd() || type == CmEventType.MULTICAST_ERROR);
        if (!wanted.contains(event.type()) || event.status() != 0) {
            throw new ConnectionException(function.name(), event, peerAddress().orElse(null), "");
        }
        return event;
    }

    final CmEvent waitFor(String verb, Duration timeout, String hint, Predicate<CmEventType> wanted)
            throws InterruptedException {
        CmEvent event = inbox.waiters.await(
                () -> {
                    lifetime.checkOpen();
                    return take(wanted);
                },
                () -> inbox.channel.watch(),
                timeout);
        if (event == null) {
            throw new VerbsTimeoutException(verb, toString(), timeout, hint);
        }
        return event;
    }

    /** Takes an event from the channel, also if the id moves to another one meanwhile. */
    final @Nullable CmEvent take(Predicate<CmEventType> wanted) {
        while (true) {
            EventChannel at = inbox.channel;
            try {
                CmEvent event = at.next(self(), inbox, wanted);
                if (event != null || at == inbox.channel) {
                    return event;
                }
            } catch (IllegalStateException closed) {
                if (at == inbox.channel) {
                    throw closed;
                }
            }
        }
    }

    /** Whom it is to reach, as text when it is asked for. */
    record Peer(ConnectionEnd of) {
        @Override
        public String toString() {
            return "to " + ConnectRequest.text(of.peerAddress().orElse(null));
        }
    }

    /** For example {@code TCP id 10.9.9.1:39551 to 10.9.9.1:7174}. */
    @Override
    public String toString() {
        if (!isOpen()) {
            return space + " id (closed)";
        }
        if (confinedTo != null && confinedTo != Thread.currentThread()) {
            return space + " id";
        }
        try {
            Optional<InetSocketAddress> local = localAddress();
            Optional<InetSocketAddress> peer = peerAddress().filter(found -> found.getPort() != 0);
            return space + " id"
                    + local.map(found -> " " + ConnectionException.text(found)).orElse("")
                    + peer.map(found -> " to " + ConnectionException.text(found))
                            .orElse("")
                    + (backlog > 0 ? " (listening)" : "");
        } catch (IllegalStateException closedMeanwhile) {
            return space + " id (closed)";
        }
    }
}
