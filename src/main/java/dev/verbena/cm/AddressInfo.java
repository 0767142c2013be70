package dev.verbena.cm;

import dev.verbena.CName;
import dev.verbena.NativeFlag;
import dev.verbena.Rdma;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.RdmaCm;
import dev.verbena.internal.raw.rdma_addrinfo;
import dev.verbena.verbs.device.QueuePairType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Where a service is, and how it is reached ({@code struct rdma_addrinfo}); or hints what to look for. A copy: there is
 * nothing to free.
 *
 * <pre>{@code
 * AddressInfo server = AddressInfo.find("node7", "7471", AddressInfo.hints().space(PortSpace.TCP), timeout).getFirst();
 * ConnectionId id = channel.createEndpoint(server, timeout);
 * }</pre>
 */
public final class AddressInfo {
    private static final AddressInfo HINTS = new AddressInfo(
            Set.of(),
            AddressFamily.ANY,
            QueuePairType.UNKNOWN,
            PortSpace.UNKNOWN,
            null,
            null,
            "",
            "",
            new byte[0],
            new byte[0]);
    private static final long LONGEST = 1 << 16;

    private final Set<AddressFlag> flags;
    private final AddressFamily family;
    private final QueuePairType type;
    private final PortSpace space;
    private final @Nullable SocketAddress source;
    private final @Nullable SocketAddress destination;
    private final String sourceName;
    private final String destinationName;
    private final byte[] route;
    private final byte[] connect;

    private AddressInfo(
            Set<AddressFlag> flags,
            AddressFamily family,
            QueuePairType type,
            PortSpace space,
            @Nullable SocketAddress source,
            @Nullable SocketAddress destination,
            String sourceName,
            String destinationName,
            byte[] route,
            byte[] connect) {
        this.flags = flags;
        this.family = family;
        this.type = type;
        this.space = space;
        this.source = source;
        this.destination = destination;
        this.sourceName = sourceName;
        this.destinationName = destinationName;
        this.route = route;
        this.connect = connect;
    }

    /**
     * Hints that say nothing yet: name what is sought with the methods that follow.
     *
     * @return hints for {@link #find}
     */
    public static AddressInfo hints() {
        return HINTS;
    }

    /**
     * With flags.
     *
     * @param how the flags
     * @return a changed copy
     */
    public AddressInfo flags(AddressFlag... how) {
        return new AddressInfo(
                Set.of(how), family, type, space, source, destination, sourceName, destinationName, route, connect);
    }

    /**
     * Of a family. C looks at it with {@link AddressFlag#FAMILY} only.
     *
     * @param wanted the family
     * @return a changed copy
     */
    public AddressInfo family(AddressFamily wanted) {
        return new AddressInfo(
                flags, wanted, type, space, source, destination, sourceName, destinationName, route, connect);
    }

    /**
     * For queue pairs of a kind.
     *
     * @param wanted the kind
     * @return a changed copy
     */
    public AddressInfo type(QueuePairType wanted) {
        return new AddressInfo(
                flags, family, wanted, space, source, destination, sourceName, destinationName, route, connect);
    }

    /**
     * In a port space.
     *
     * @param wanted the port space
     * @return a changed copy
     */
    public AddressInfo space(PortSpace wanted) {
        return new AddressInfo(
                flags, family, type, wanted, source, destination, sourceName, destinationName, route, connect);
    }

    /**
     * From an own address.
     *
     * @param own the address
     * @return a changed copy
     */
    public AddressInfo from(SocketAddress own) {
        return new AddressInfo(
                flags, family, type, space, own, destination, sourceName, destinationName, route, connect);
    }

    /**
     * To an address that is known, where neither node nor service is looked up.
     *
     * @param peer the address
     * @return a changed copy
     */
    public AddressInfo to(SocketAddress peer) {
        return new AddressInfo(flags, family, type, space, source, peer, sourceName, destinationName, route, connect);
    }

    /**
     * Looks up where a service is ({@code rdma_getaddrinfo}).
     *
     * <p>C asks the name services of this machine, and on InfiniBand its address service, and may take long. A thread of
     * its own does so, which lives until C returns: whoever waits can give up.
     *
     * @param node a host's name or numeric address; null for this machine, or what the hints name
     * @param service the port's number or name; null for any, or what the hints name
     * @param hints what to look for; {@link AddressFlag#PASSIVE} to listen there
     * @param timeout how long to wait
     * @return what was found, the best first
     * @throws VerbsException if the name or the service is not known
     * @throws VerbsTimeoutException if it was not clear in time
     * @throws InterruptedException if the thread was interrupted
     */
    @CName({"rdma_getaddrinfo", "rdma_freeaddrinfo"})
    public static List<AddressInfo> find(
            @Nullable String node, @Nullable String service, AddressInfo hints, Duration timeout)
            throws InterruptedException {
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

    /** The numbers of {@code getaddrinfo} ({@code EAI_*}). */
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

    /** Copies a list of C's. */
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
        return new AddressInfo(
                NativeFlag.of(AddressFlag.class, rdma_addrinfo.ai_flags(from)),
                AddressFamily.of(rdma_addrinfo.ai_family(from)),
                QueuePairType.of(rdma_addrinfo.ai_qp_type(from)),
                PortSpace.of(rdma_addrinfo.ai_port_space(from)),
                address(rdma_addrinfo.ai_src_addr(from), rdma_addrinfo.ai_src_len(from)),
                address(rdma_addrinfo.ai_dst_addr(from), rdma_addrinfo.ai_dst_len(from)),
                name(rdma_addrinfo.ai_src_canonname(from)),
                name(rdma_addrinfo.ai_dst_canonname(from)),
                bytes(rdma_addrinfo.ai_route(from), rdma_addrinfo.ai_route_len(from)),
                bytes(rdma_addrinfo.ai_connect(from), rdma_addrinfo.ai_connect_len(from)));
    }

    private static @Nullable SocketAddress address(MemorySegment pointer, int length) {
        return pointer.address() == 0 || length == 0
                ? null
                : SocketAddresses.readAny(pointer.reinterpret(length)).orElse(null);
    }

    private static String name(MemorySegment pointer) {
        return pointer.address() == 0 ? "" : pointer.reinterpret(LONGEST).getString(0);
    }

    private static byte[] bytes(MemorySegment pointer, long length) {
        return pointer.address() == 0 || length <= 0
                ? new byte[0]
                : pointer.reinterpret(Math.min(length, LONGEST)).toArray(ValueLayout.JAVA_BYTE);
    }

    /** A struct of C's for it, without a next one. */
    MemorySegment write(Arena scratch) {
        MemorySegment to = scratch.allocate(rdma_addrinfo.layout());
        rdma_addrinfo.ai_flags(to, NativeFlag.bits(flags));
        rdma_addrinfo.ai_family(to, Math.max(0, family.code()));
        rdma_addrinfo.ai_qp_type(to, Math.max(0, type.code()));
        rdma_addrinfo.ai_port_space(to, Math.max(0, space.code()));
        if (source != null) {
            rdma_addrinfo.ai_src_addr(to, SocketAddresses.write(source, scratch));
            rdma_addrinfo.ai_src_len(to, SocketAddresses.length(source));
        }
        if (destination != null) {
            rdma_addrinfo.ai_dst_addr(to, SocketAddresses.write(destination, scratch));
            rdma_addrinfo.ai_dst_len(to, SocketAddresses.length(destination));
        }
        if (route.length > 0) {
            rdma_addrinfo.ai_route(to, scratch.allocateFrom(ValueLayout.JAVA_LONG, longs(route)));
            rdma_addrinfo.ai_route_len(to, route.length);
        }
        if (connect.length > 0) {
            rdma_addrinfo.ai_connect(to, scratch.allocateFrom(ValueLayout.JAVA_BYTE, connect));
            rdma_addrinfo.ai_connect_len(to, connect.length);
        }
        return to;
    }

    /** Aligned as C's structs are. */
    private static long[] longs(byte[] bytes) {
        long[] longs = new long[(bytes.length + Long.BYTES - 1) / Long.BYTES];
        MemorySegment.copy(MemorySegment.ofArray(bytes), 0, MemorySegment.ofArray(longs), 0, bytes.length);
        return longs;
    }

    /**
     * How it was looked up.
     *
     * @return the flags
     */
    public Set<AddressFlag> flags() {
        return flags;
    }

    /**
     * The kind of the addresses.
     *
     * @return the family
     */
    public AddressFamily family() {
        return family;
    }

    /**
     * The kind of queue pair.
     *
     * @return the kind; {@link QueuePairType#UNKNOWN} if that is open
     */
    public QueuePairType type() {
        return type;
    }

    /**
     * Whose ports they are.
     *
     * @return the port space; {@link PortSpace#UNKNOWN} if that is open
     */
    public PortSpace space() {
        return space;
    }

    /**
     * The own address: where to listen, with {@link AddressFlag#PASSIVE}.
     *
     * @return the address, if there is one
     */
    public Optional<SocketAddress> source() {
        return Optional.ofNullable(source);
    }

    /**
     * The peer's address.
     *
     * @return the address, if there is one
     */
    public Optional<SocketAddress> destination() {
        return Optional.ofNullable(destination);
    }

    /**
     * The name of the own address.
     *
     * @return the name; empty if none was found
     */
    public String sourceName() {
        return sourceName;
    }

    /**
     * The name of the peer's address.
     *
     * @return the name; empty if none was found
     */
    public String destinationName() {
        return destinationName;
    }

    /**
     * The way to the peer, as InfiniBand's address service has it ({@code struct ibv_path_data}).
     *
     * @return a new read-only buffer; empty if the connection manager is to find the way
     */
    public ByteBuffer route() {
        return ByteBuffer.wrap(route).asReadOnlyBuffer();
    }

    /**
     * What goes before the private data of a request, so that the peer finds its service ({@code ai_connect}).
     *
     * @return a new read-only buffer; most often empty
     */
    public ByteBuffer connectData() {
        return ByteBuffer.wrap(connect).asReadOnlyBuffer();
    }

    /** For example {@code TCP, RC, from any to 10.9.9.1:7471}. */
    @Override
    public String toString() {
        return space + ", " + type + ", from " + words(source) + " to " + words(destination);
    }

    private static String words(@Nullable SocketAddress address) {
        return address == null ? "any" : ConnectionException.text(address);
    }
}
