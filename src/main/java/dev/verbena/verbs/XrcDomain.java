package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Errno;
import dev.verbena.internal.OpenFile;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_xrcd_init_attr;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A domain of extended reliable connections ({@code struct ibv_xrcd}). Its receiving queue pairs and its shared receive
 * queues serve all processes of a machine that open the domain by the same file.
 *
 * <p>All threads can use a domain of a shared arena; only the arena's thread can use one of a confined arena.
 *
 * {@snippet file="ObjectSnippets.java" region="xrc"}
 */
public final class XrcDomain extends VerbsObject {
    private final ObjectLifetime lifetime;
    private static final int NO_FILE = -1;

    private final Context context;
    private final long address;

    private XrcDomain(ObjectLifetime lifetime, Context context, long address) {
        super(lifetime);
        this.lifetime = lifetime;
        this.context = context;
        this.address = address;
        lifetime.destroyedBy(this::destroy);
    }

    static XrcDomain open(Context context, @Nullable Path file, VerbsArena arena) {
        return ObjectLifetime.create(
                arena,
                lifetime -> {
                    if (file == null) {
                        return new XrcDomain(lifetime, context, callOpen(context, NO_FILE, "no file"));
                    }
                    try (OpenFile opened = OpenFile.of(file)) {
                        if (opened.descriptor() < 0) {
                            throw VerbFailures.failure("open", CFunction.errno(), file.toString(), "");
                        }
                        return new XrcDomain(
                                lifetime, context, callOpen(context, opened.descriptor(), file.toString()));
                    }
                },
                context);
    }

    private static long callOpen(Context context, int descriptor, String file) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment attributes = ibv_xrcd_init_attr.allocate(scratch);
            ibv_xrcd_init_attr.comp_mask(attributes, rdma_h.IBV_XRCD_INIT_ATTR_FD | rdma_h.IBV_XRCD_INIT_ATTR_OFLAGS);
            ibv_xrcd_init_attr.fd(attributes, descriptor);
            ibv_xrcd_init_attr.oflags(attributes, OpenFile.CREATE);
            long xrcd = ContextVerb.OPEN_XRCD
                    .in(context.address())
                    .map(open -> CFunction.callAt(open, context.address(), attributes.address()))
                    .orElseThrow(() -> failed(context, file, Errno.EOPNOTSUPP));
            if (xrcd == 0) {
                throw failed(context, file, CFunction.errno());
            }
            return xrcd;
        }
    }

    private static VerbsException failed(Context context, String file, int errno) {
        return VerbFailures.failure(
                ContextVerb.OPEN_XRCD.verb(),
                errno,
                context.name() + ", " + file,
                errno == Errno.EOPNOTSUPP ? "This device or its driver has no extended reliable connections" : "");
    }

    @CName("ibv_close_xrcd")
    private void destroy() {
        String verb = ContextVerb.CLOSE_XRCD.verb();
        MemorySegment close = ContextVerb.CLOSE_XRCD
                .in(context.address())
                .orElseThrow(() -> VerbFailures.failure(verb, Errno.EOPNOTSUPP, toString(), ""));
        VerbFailures.check(verb, (int) CFunction.callAt(close, address), toString(), "");
    }

    /** Returns the {@code struct ibv_xrcd}. The caller holds this object while C uses it. */
    long address() {
        return address;
    }

    /**
     * Returns the context that this domain was made from.
     *
     * @return the context
     */
    public Context context() {
        lifetime.checkOpen();
        return context;
    }

    Context contextEvenIfClosed() {
        return context;
    }

    /**
     * Opens a receiving queue pair that another process made in this domain, closed by this domain's arena
     * ({@code ibv_open_qp}).
     *
     * @param number the number of the queue pair
     * @return the queue pair
     */
    @CName("ibv_open_qp")
    public QueuePair openQueuePair(int number) {
        return openQueuePair(number, arena());
    }

    /**
     * Opens a receiving queue pair that another process made in this domain ({@code ibv_open_qp}).
     *
     * @param number the number of the queue pair
     * @param arena the arena that will close the queue pair
     * @return the queue pair
     */
    @CName("ibv_open_qp")
    public QueuePair openQueuePair(int number, VerbsArena arena) {
        return QueuePairCreation.open(this, number, arena);
    }

    /** Returns for example {@code XRC domain of mlx5_0}. */
    @Override
    public String toString() {
        return "XRC domain of " + context.name();
    }
}
