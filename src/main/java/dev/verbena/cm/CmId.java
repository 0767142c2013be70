package dev.verbena.cm;

import dev.verbena.VerbsException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Memory;
import dev.verbena.internal.Mutex;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_qp_attr;
import dev.verbena.internal.raw.rdma_addr;
import dev.verbena.internal.raw.rdma_cm_id;
import dev.verbena.internal.raw.rdma_route;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A {@code struct rdma_cm_id}: its fields, and calls of C with it. The parts of a {@link ConnectionId} share one. */
final class CmId {
    final ObjectLifetime lifetime;
    final long address;
    final IdEvents events;

    /**
     * Held while C works on the id. C does not guard the id's queue pair against other threads. The kernel refuses a call
     * with EINVAL if the id moves to another channel meanwhile.
     */
    final Mutex inC = new Mutex();

    /** The thread that may read the struct; null for all. */
    private final @Nullable Thread confinedTo;

    private volatile @Nullable Context found;

    CmId(ObjectLifetime lifetime, long address, IdEvents events) {
        this.lifetime = lifetime;
        this.confinedTo = lifetime.owner();
        this.address = address;
        this.events = events;
    }

    /** Returns the struct. The caller holds the lifetime while it reads the struct. */
    MemorySegment struct() {
        return Memory.struct(address, rdma_cm_id.sizeof());
    }

    /** Makes the values that a function of C gets after the id: numbers, and addresses of memory for one call. */
    interface Values {
        long[] in(Arena scratch);
    }

    /** Returns the address of a struct, and more values for C. */
    static long[] values(MemorySegment struct, long... more) {
        long[] all = new long[more.length + 1];
        all[0] = struct.address();
        System.arraycopy(more, 0, all, 1, more.length);
        return all;
    }

    /** Calls a function of C with this id and with numbers. The id is open meanwhile. */
    void call(CFunction function, Object arguments, long... values) {
        call(function, arguments, scratch -> values);
    }

    /** Calls a function of C with this id and with values. */
    void call(CFunction function, Object arguments, Values values) {
        call(function, arguments, errno -> "", values);
    }

    /** Calls a function of C with this id, private data and values. */
    void call(CFunction function, Object arguments, PrivateData data, Values values) {
        call(function, arguments, CmFailures.tooLong(data), values);
    }

    /**
     * Calls a function of C that returns 0 on success. The arguments become text only on failure: text takes longer than
     * many a call.
     *
     * @param hints returns the hint for an error number; an empty one stands for the usual hint
     */
    void call(CFunction function, Object arguments, IntFunction<String> hints, Values values) {
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held();
                var _ = inC.held()) {
            if ((int) function.call(values(struct(), values.in(scratch))) != 0) {
                int errno = CFunction.errno(); // first: text of arguments calls C too
                throw CmFailures.failure(function, errno, arguments.toString(), hints.apply(errno));
            }
        }
    }

    /** Calls C while the id is open. The call converts failures itself. */
    <T> T call(Supplier<T> work) {
        try (var _ = lifetime.held();
                var _ = inC.held()) {
            return work.get();
        }
    }

    /** Reads fields of the struct while the id is open. */
    <T> T read(Function<MemorySegment, T> reader) {
        try (var _ = lifetime.held()) {
            return reader.apply(struct());
        }
    }

    /** Returns the context of the id's device. */
    Context context() {
        lifetime.checkOpen();
        Context known = found;
        if (known != null && known.isOpen()) {
            return known;
        }
        return call(
                () -> { // the id does not move meanwhile: the channel stays open
                    long verbs = device();
                    if (verbs == 0) {
                        throw new IllegalStateException(this
                                + " has no device yet: resolve an address, or bind the id to an address of a device");
                    }
                    Context made = events.channel.context(verbs);
                    found = made;
                    return made;
                });
    }

    /** Has the removal of the id's device seen, if the id has one. */
    void noteDevice() {
        try (var _ = lifetime.held()) {
            events.channel.reader().noteDevice(address, events);
        }
    }

    /**
     * Returns a better exception for a failed call if the reason is that the peer has left. The kernel reports no event of
     * that before the peer is accepted: it forgets the request.
     */
    VerbsException explain(VerbsException failed) {
        return failed.errno() == Errno.EINVAL && peerHasLeft()
                ? ConnectionException.peerHasLeft(failed, peerAddress().orElse(null))
                : failed;
    }

    /** Returns true if the kernel has forgotten the handshake, and so knows no attributes of it for a queue pair. */
    private boolean peerHasLeft() {
        if (!RdmaCm.INIT_QP_ATTR.isPresent()) {
            return false;
        }
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held()) {
            MemorySegment attributes = ibv_qp_attr.allocate(scratch);
            MemorySegment mask = scratch.allocate(ValueLayout.JAVA_INT);
            ibv_qp_attr.qp_state(attributes, QueuePairState.INIT.code());
            return (int) RdmaCm.INIT_QP_ATTR.call(address, attributes.address(), mask.address()) != 0
                    && CFunction.errno() == Errno.EINVAL;
        }
    }

    boolean hasDevice() {
        return read(struct -> device() != 0);
    }

    /** Returns the address of the {@code struct ibv_context}; 0 without a device. The caller holds the lifetime. */
    private long device() {
        return Memory.getLong(address + rdma_cm_id.verbs$offset());
    }

    /** Returns the number of the device's port; 0 without a device. */
    int devicePort() {
        return read(struct -> Byte.toUnsignedInt(rdma_cm_id.port_num(struct)));
    }

    /** Returns true if the id connects queue pairs for datagrams. */
    boolean hasDatagrams() {
        return read(struct -> rdma_cm_id.qp_type(struct) == QueuePairType.UD.code());
    }

    Optional<InetSocketAddress> localAddress() {
        return read(struct -> ipAddress(struct, true));
    }

    Optional<InetSocketAddress> peerAddress() {
        return read(struct -> ipAddress(struct, false));
    }

    Optional<IbAddress> localIbAddress() {
        return read(struct -> SocketAddresses.readIb(storage(struct, true)));
    }

    Optional<IbAddress> peerIbAddress() {
        return read(struct -> SocketAddresses.readIb(storage(struct, false)));
    }

    private Optional<InetSocketAddress> ipAddress(MemorySegment struct, boolean local) {
        CFunction port = local ? RdmaCm.GET_SRC_PORT : RdmaCm.GET_DST_PORT;
        int number = Short.toUnsignedInt(Short.reverseBytes((short) port.call(address)));
        return SocketAddresses.read(storage(struct, local))
                .map(known -> new InetSocketAddress(known.getAddress(), number));
    }

    private static MemorySegment storage(MemorySegment struct, boolean local) {
        MemorySegment route = rdma_route.addr(rdma_cm_id.route(struct));
        return local ? rdma_addr.src_storage(route) : rdma_addr.dst_storage(route);
    }

    /** Returns an IP address of a {@code struct rdma_cm_id} that the caller keeps, as text; empty if there is none. */
    static String addressText(long id, boolean local) {
        return SocketAddresses.read(storage(Memory.struct(id, rdma_cm_id.sizeof()), local))
                .map(ConnectionException::text)
                .orElse("");
    }

    /** Returns an object that is the text "to" and the peer's address, made when the text is asked for. */
    Object toPeer() {
        return new ToPeer(this);
    }

    private record ToPeer(CmId of) {
        @Override
        public String toString() {
            return "to " + ConnectionException.text(of.peerAddress().orElse(null));
        }
    }

    @Override
    public String toString() {
        PortSpace space = events.space;
        if (lifetime.isClosed()) {
            return space + " id (closed)";
        }
        if (confinedTo != null && confinedTo != Thread.currentThread()) {
            return space + " id";
        }
        try {
            Optional<InetSocketAddress> local = localAddress();
            Optional<InetSocketAddress> peer = peerAddress().filter(known -> known.getPort() != 0);
            return space + " id"
                    + local.map(known -> " " + ConnectionException.text(known)).orElse("")
                    + peer.map(known -> " to " + ConnectionException.text(known))
                            .orElse("")
                    + (events.backlog > 0 ? " (listening)" : "");
        } catch (IllegalStateException closedMeanwhile) {
            return space + " id (closed)";
        }
    }
}
