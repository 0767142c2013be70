package dev.verbena.cm;

import dev.verbena.CName;
import dev.verbena.Rdma;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.Options;
import dev.verbena.internal.raw.rdma_addrinfo;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The address of a service and the way to it ({@code struct rdma_addrinfo}), or hints for a search. Begin with
 * {@link #hints} or {@link #find}. Each option has a method that returns a changed copy, and a method of the same name
 * that reads it. An address copies C's memory and never changes, so all threads can use it.
 *
 * {@snippet file="ConnectionSnippets.java" region="find"}
 */
public final class AddressInfo extends Options<AddressInfo> {
    private static final long LONGEST = 1 << 16;
    private static final Keys<AddressInfo> KEYS = new Keys<>();
    private static final Key<AddressInfo, PortSpace> SPACE = KEYS.key("space", PortSpace.UNKNOWN);
    private static final Key<AddressInfo, QueuePairType> TYPE = KEYS.key("type", QueuePairType.UNKNOWN);
    private static final Key<AddressInfo, Family> FAMILY = KEYS.key("family", Family.ANY);
    private static final Key<AddressInfo, Set<Flag>> FLAGS = KEYS.key("flags", Set.of());
    private static final Key<AddressInfo, Place> SOURCE = KEYS.key("from", Place.ANY);
    private static final Key<AddressInfo, Place> DESTINATION = KEYS.key("to", Place.ANY);
    private static final Key<AddressInfo, ByteBuffer> ROUTE = KEYS.hidden("route", ByteBuffer.allocate(0));
    private static final Key<AddressInfo, ByteBuffer> CONNECT_DATA =
            KEYS.hidden("connect data", ByteBuffer.allocate(0));
    private static final AddressInfo HINTS = new AddressInfo();

    /** An address with the text that messages have, or any address. */
    private record Place(@Nullable SocketAddress address) {
        static final Place ANY = new Place(null);

        @Override
        public String toString() {
            return address == null ? "any" : ConnectionException.text(address);
        }
    }

    private AddressInfo() {
        super(KEYS);
    }

    /**
     * Returns hints that restrict nothing yet.
     *
     * @return hints for {@link #find}
     */
    public static AddressInfo hints() {
        return HINTS;
    }

    /**
     * Returns the flags of the search ({@code ai_flags}).
     *
     * @return the flags
     */
    public Set<Flag> flags() {
        return FLAGS.of(this);
    }

    /**
     * Returns a copy with these flags and no others ({@code ai_flags}).
     *
     * @param flags the flags
     * @return a changed copy
     */
    public AddressInfo flags(Flag... flags) {
        return with(FLAGS, EnumCodec.copy(Flag.class, List.of(flags)));
    }

    /**
     * Returns the family of the addresses ({@code ai_family}).
     *
     * @return the family
     */
    public Family family() {
        return FAMILY.of(this);
    }

    /**
     * Returns a copy with another family of addresses ({@code ai_family}). C reads it only with
     * {@link Flag#FAMILY}.
     *
     * @param wanted the family
     * @return a changed copy
     */
    public AddressInfo family(Family wanted) {
        return with(FAMILY, Objects.requireNonNull(wanted, "family"));
    }

    /**
     * Returns the kind of queue pair ({@code ai_qp_type}).
     *
     * @return the kind; {@link QueuePairType#UNKNOWN} for any
     */
    public QueuePairType type() {
        return TYPE.of(this);
    }

    /**
     * Returns a copy with another kind of queue pair ({@code ai_qp_type}).
     *
     * @param wanted the kind
     * @return a changed copy
     */
    public AddressInfo type(QueuePairType wanted) {
        return with(TYPE, Objects.requireNonNull(wanted, "type"));
    }

    /**
     * Returns the port space ({@code ai_port_space}).
     *
     * @return the port space; {@link PortSpace#UNKNOWN} for any
     */
    public PortSpace space() {
        return SPACE.of(this);
    }

    /**
     * Returns a copy with another port space ({@code ai_port_space}).
     *
     * @param wanted the port space
     * @return a changed copy
     */
    public AddressInfo space(PortSpace wanted) {
        return with(SPACE, Objects.requireNonNull(wanted, "space"));
    }

    /**
     * Returns the own address ({@code ai_src_addr}): with {@link Flag#PASSIVE}, the address to listen at.
     *
     * @return the address; empty for any
     */
    public Optional<SocketAddress> source() {
        return Optional.ofNullable(SOURCE.of(this).address);
    }

    /**
     * Returns a copy with another own address ({@code ai_src_addr}).
     *
     * @param own the address
     * @return a changed copy
     */
    public AddressInfo source(SocketAddress own) {
        return with(SOURCE, new Place(own));
    }

    /**
     * Returns the peer's address ({@code ai_dst_addr}).
     *
     * @return the address; empty for any
     */
    public Optional<SocketAddress> destination() {
        return Optional.ofNullable(DESTINATION.of(this).address);
    }

    /**
     * Returns a copy with another address of the peer ({@code ai_dst_addr}), for a search without node and service.
     *
     * @param peer the address
     * @return a changed copy
     */
    public AddressInfo destination(SocketAddress peer) {
        return with(DESTINATION, new Place(peer));
    }

    /**
     * Finds the addresses of a service ({@code rdma_getaddrinfo}).
     *
     * <p>C asks the name services of this machine, and on InfiniBand its address service, which can take long. A thread
     * of its own makes this call and lives until C returns, so that the caller can stop waiting.
     *
     * @param node a host's name or numeric address; null for this machine, or the address in the hints
     * @param service the port's number or name; null for any, or the port in the hints
     * @param hints the restrictions of the search; {@link Flag#PASSIVE} finds an address to listen at
     * @param timeout the longest time to wait
     * @return the addresses, the best first
     * @throws VerbsException if the name or the service is not known
     * @throws VerbsTimeoutException if there is no answer in time
     * @throws InterruptedException if the thread is interrupted
     */
    @CName({"rdma_getaddrinfo", "rdma_freeaddrinfo"})
    public static List<AddressInfo> find(
            @Nullable String node, @Nullable String service, AddressInfo hints, Duration timeout)
            throws InterruptedException {
        Objects.requireNonNull(hints, "hints"); // before C looks up anything
        Objects.requireNonNull(timeout, "timeout");
        Rdma.requireConnectionManager();
        String what = (node == null ? "any node" : node) + (service == null ? "" : ", service " + service);
        return new BlockingCall<>(RdmaCm.GETADDRINFO.name(), what, () -> find(node, service, hints, what), found -> {})
                .await(timeout);
    }

    private static List<AddressInfo> find(
            @Nullable String node, @Nullable String service, AddressInfo hints, String what) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment found = scratch.allocate(ValueLayout.JAVA_LONG);
            int result = (int) RdmaCm.GETADDRINFO.call(
                    text(node, scratch),
                    text(service, scratch),
                    hints.write(scratch).address(),
                    found.address());
            if (result != 0) {
                int errno = CFunction.errno();
                throw result == -1
                        ? CmFailures.failure(RdmaCm.GETADDRINFO, errno, what, "")
                        : new VerbsException(RdmaCm.GETADDRINFO.name(), what, 0, reason(result));
            }
            long first = found.get(ValueLayout.JAVA_LONG, 0);
            try {
                return list(first);
            } finally {
                RdmaCm.FREEADDRINFO.call(first);
            }
        }
    }

    /** Returns the meaning of a number of {@code getaddrinfo} ({@code EAI_*}). */
    private static String reason(int code) {
        return switch (code) {
            case -2 -> "EAI_NONAME: this node or service is not known";
            case -3 -> "EAI_AGAIN: the name service does not answer at present";
            case -4 -> "EAI_FAIL: the name service has failed";
            case -5 -> "EAI_NODATA: this node has no address";
            case -6 -> "EAI_FAMILY: there are no addresses of this family";
            case -8 -> "EAI_SERVICE: this kind of service has no such name or port";
            case -9 -> "EAI_ADDRFAMILY: this node has no address of this family";
            default -> "EAI code " + code;
        };
    }

    static long text(@Nullable String text, Arena scratch) {
        return text == null ? 0 : scratch.allocateFrom(text).address();
    }

    /** Copies a list of C structs. */
    static List<AddressInfo> list(long first) {
        List<AddressInfo> all = new ArrayList<>();
        for (long next = first; next != 0; ) {
            MemorySegment info = MemorySegment.ofAddress(next).reinterpret(rdma_addrinfo.sizeof());
            all.add(read(info));
            next = rdma_addrinfo.ai_next(info).address();
        }
        return List.copyOf(all);
    }

    private static AddressInfo read(MemorySegment from) {
        return HINTS.with(FLAGS, EnumCodec.flags(Flag.class, flag -> flag.bit, rdma_addrinfo.ai_flags(from)))
                .with(FAMILY, Family.of(rdma_addrinfo.ai_family(from)))
                .with(TYPE, QueuePairType.of(rdma_addrinfo.ai_qp_type(from)))
                .with(SPACE, PortSpace.of(rdma_addrinfo.ai_port_space(from)))
                .with(SOURCE, place(rdma_addrinfo.ai_src_addr(from), rdma_addrinfo.ai_src_len(from)))
                .with(DESTINATION, place(rdma_addrinfo.ai_dst_addr(from), rdma_addrinfo.ai_dst_len(from)))
                .with(ROUTE, bytes(rdma_addrinfo.ai_route(from), rdma_addrinfo.ai_route_len(from)))
                .with(CONNECT_DATA, bytes(rdma_addrinfo.ai_connect(from), rdma_addrinfo.ai_connect_len(from)));
    }

    private static Place place(MemorySegment pointer, int length) {
        return pointer.address() == 0 || length == 0
                ? Place.ANY
                : new Place(SocketAddresses.readAny(pointer.reinterpret(length)).orElse(null));
    }

    private static ByteBuffer bytes(MemorySegment pointer, long length) {
        return ByteBuffer.wrap(
                pointer.address() == 0 || length <= 0
                        ? new byte[0]
                        : pointer.reinterpret(Math.min(length, LONGEST)).toArray(ValueLayout.JAVA_BYTE));
    }

    /** Writes a struct for C, without a next one. */
    MemorySegment write(Arena scratch) {
        MemorySegment to = rdma_addrinfo.allocate(scratch);
        rdma_addrinfo.ai_flags(to, EnumCodec.bits(flags(), flag -> flag.bit));
        rdma_addrinfo.ai_family(to, Math.max(0, family().code));
        rdma_addrinfo.ai_qp_type(to, Math.max(0, type().code()));
        rdma_addrinfo.ai_port_space(to, Math.max(0, space().code()));
        SocketAddress source = SOURCE.of(this).address;
        if (source != null) {
            rdma_addrinfo.ai_src_addr(to, SocketAddresses.write(source, scratch));
            rdma_addrinfo.ai_src_len(to, SocketAddresses.length(source));
        }
        SocketAddress destination = DESTINATION.of(this).address;
        if (destination != null) {
            rdma_addrinfo.ai_dst_addr(to, SocketAddresses.write(destination, scratch));
            rdma_addrinfo.ai_dst_len(to, SocketAddresses.length(destination));
        }
        ByteBuffer route = ROUTE.of(this);
        if (route.hasRemaining()) {
            rdma_addrinfo.ai_route(to, copy(route, scratch));
            rdma_addrinfo.ai_route_len(to, route.remaining());
        }
        ByteBuffer connect = CONNECT_DATA.of(this);
        if (connect.hasRemaining()) {
            rdma_addrinfo.ai_connect(to, copy(connect, scratch));
            rdma_addrinfo.ai_connect_len(to, connect.remaining());
        }
        return to;
    }

    /** Copies bytes to memory that is aligned as C's structs are. */
    private static MemorySegment copy(ByteBuffer bytes, Arena scratch) {
        return scratch.allocate(bytes.remaining(), Long.BYTES).copyFrom(MemorySegment.ofBuffer(bytes));
    }

    /** A family of addresses ({@code AF_*}). */
    public enum Family {
        /** Any family ({@code AF_UNSPEC}). */
        ANY(0),
        /** IPv4 ({@code AF_INET}). */
        IPV4(2),
        /** IPv6 ({@code AF_INET6}). */
        IPV6(10),
        /** InfiniBand: {@link IbAddress} ({@code AF_IB}). */
        IB(27),
        /** A number that this release does not know. */
        UNKNOWN(-1);

        final int code;

        Family(int code) {
            this.code = code;
        }

        static Family of(int code) {
            return EnumCodec.find(values(), value -> value.code, code, UNKNOWN);
        }
    }

    /** A flag for looking up an address ({@code RAI_*}). */
    public enum Flag {
        /** Looks up an address to listen at, not to connect to ({@code RAI_PASSIVE}). */
        PASSIVE(rdma_h.RAI_PASSIVE),
        /** Takes the node as a numeric address, and asks no name service ({@code RAI_NUMERICHOST}). */
        NUMERIC_HOST(rdma_h.RAI_NUMERICHOST),
        /** Leaves out the route ({@code RAI_NOROUTE}). */
        NO_ROUTE(rdma_h.RAI_NOROUTE),
        /** Looks up only addresses of the hints' family ({@code RAI_FAMILY}). */
        FAMILY(rdma_h.RAI_FAMILY),
        /** Asks the subnet administrator, in {@link ConnectionId#resolveAddressInfo} ({@code RAI_SA}, rdma-core 60). */
        SUBNET_ADMINISTRATOR(rdma_h.RAI_SA),
        /** Asks by name and address, in {@link ConnectionId#resolveAddressInfo} ({@code RAI_DNS}, rdma-core 60). */
        NAME(rdma_h.RAI_DNS);

        final int bit;

        Flag(int bit) {
            this.bit = bit;
        }
    }
}
