package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_ah_attr;
import dev.verbena.internal.raw.ibv_wc;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Grh;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A path for datagrams, known to the device ({@code struct ibv_ah}). A datagram names the handle, the queue pair at the
 * other end and its key: see {@link SendBatch#to}.
 *
 * <p>Keep the handle open until the datagrams along it have completed: some devices read it when they send. All threads
 * can use a handle of a shared arena; only the arena's thread can use one of a confined arena.
 *
 * {@snippet file="DatagramSnippets.java" region="send"}
 */
public final class AddressHandle extends RequestPart {
    private final ProtectionDomain domain;
    private final AddressVector path;
    private final long address;

    private AddressHandle(ObjectLifetime lifetime, ProtectionDomain domain, AddressVector path, long address) {
        super(lifetime);
        this.domain = domain;
        this.path = path;
        this.address = address;
        lifetime.destroyedBy(this::destroy);
    }

    static AddressHandle make(ProtectionDomain domain, AddressVector path, VerbsArena arena) {
        return ObjectLifetime.create(arena, List.of(domain), (lifetime, scratch) -> {
            MemorySegment attributes = ibv_ah_attr.allocate(scratch);
            AddressCodec.writePath(path, attributes);
            long handle = Calls.pointer(
                    Ibv.CREATE_AH,
                    domain.context.name() + ", " + path,
                    errno -> hint(domain.context.limits(), path, errno),
                    domain.address(),
                    attributes.address());
            return new AddressHandle(lifetime, domain, path, handle);
        });
    }

    private static String hint(DriverLimits limits, AddressVector path, int errno) {
        return switch (errno) {
            case Errno.EOPNOTSUPP -> limits.reason(DriverLimits.Part.QUEUE_PAIRS);
            case Errno.EINVAL ->
                path.globalRoute() == null
                        ? "RoCE needs a global route"
                        : "Check that the port, the GID index and the kinds of the two GIDs (IPv4 or IPv6) match";
            case Errno.ENODATA -> "The port has no GID at this index: Context.gids() lists them";
            case Errno.ETIMEDOUT, Errno.EHOSTUNREACH ->
                "The peer's address can't be resolved: check that the peer is on the network of this GID";
            default -> "";
        };
    }

    /** Returns the path to the sender of a datagram. */
    static AddressVector pathBack(Context context, WorkCompletion received, MemorySegment header, int port) {
        if (!received.isReceive()) {
            throw new IllegalArgumentException("completion must be that of a receive that succeeded, got " + received);
        }
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment completion = ibv_wc.allocate(scratch);
            ibv_wc.slid(completion, (short) received.sourceLid());
            ibv_wc.sl(completion, (byte) received.serviceLevel());
            ibv_wc.dlid_path_bits(completion, (byte) received.pathBits());
            ibv_wc.wc_flags(completion, received.flagBits());
            MemorySegment routing = scratch.allocate(Grh.BYTES, Long.BYTES); // C reads it in any case
            if (received.hasRoutingHeader()) {
                MemorySegment.copy(header, 0, routing, 0, Grh.BYTES);
            }
            MemorySegment attributes = ibv_ah_attr.allocate(scratch);
            Calls.run(
                    Ibv.INIT_AH_FROM_WC,
                    context.name() + ", port " + port,
                    errno ->
                            "Check that the 40 bytes are the beginning of the received memory, and that the destination is "
                                    + "a GID of this port",
                    context.address(),
                    port,
                    completion.address(),
                    routing.address(),
                    attributes.address());
            return AddressCodec.readPath(attributes);
        }
    }

    @CName("ibv_destroy_ah")
    @Override
    void destroy() {
        Calls.run(Ibv.DESTROY_AH, this, address);
    }

    /** Throws if this handle is closed or belongs to another protection domain. */
    void checkUsableIn(@Nullable ProtectionDomain wanted) {
        lifetime.checkOpen();
        if (wanted == null || domain.root() != wanted.root()) {
            throw new IllegalArgumentException(this + " belongs to another protection domain than the queue pair");
        }
    }

    /** Returns the {@code struct ibv_ah}. The caller keeps this handle open while C uses it. */
    long address() {
        return address;
    }

    /**
     * Returns the protection domain that this handle was made in.
     *
     * @return the protection domain
     */
    public ProtectionDomain domain() {
        lifetime.checkOpen();
        return domain;
    }

    /**
     * Returns the path.
     *
     * @return the path
     */
    public AddressVector path() {
        lifetime.checkOpen();
        return path;
    }

    /** Returns for example {@code address handle for port 1, LID 7}. */
    @Override
    public String toString() {
        return "address handle for " + path;
    }
}
