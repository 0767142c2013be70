package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Errno;
import dev.verbena.internal.SystemCall;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_xrcd_init_attr;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A domain of extended reliable connections ({@code struct ibv_xrcd}). Its receiving queue pairs and its shared receive
 * queues serve all processes of a machine that open the domain by the same file.
 *
 * <p>All threads can use a domain of a shared arena; only the arena's thread can use one of a confined arena.
 *
 * {@snippet file="ObjectSnippets.java" region="xrc"}
 */
public final class XrcDomain extends ContextObject {
    private static final int NO_FILE = -1;
    private static final int CREATE = 0100; // O_CREAT
    private static final int CLOSE_ON_EXEC = 02000000; // O_CLOEXEC

    private XrcDomain(ObjectLifetime lifetime, Context context, long address) {
        super(lifetime, context, address);
    }

    static XrcDomain open(Context context, @Nullable Path file, VerbsArena arena) {
        return ObjectLifetime.create(arena, List.of(context), (lifetime, scratch) -> {
            if (file == null) {
                return new XrcDomain(lifetime, context, callOpen(context, NO_FILE, "no file", scratch));
            }
            long name = scratch.allocateFrom(file.toString()).address();
            int descriptor = Calls.number(SystemCall.OPEN.function(), file, name, CLOSE_ON_EXEC);
            try {
                return new XrcDomain(lifetime, context, callOpen(context, descriptor, file.toString(), scratch));
            } finally {
                SystemCall.close(descriptor);
            }
        });
    }

    private static long callOpen(Context context, int descriptor, String file, Arena scratch) {
        MemorySegment attributes = ibv_xrcd_init_attr.allocate(scratch);
        ibv_xrcd_init_attr.comp_mask(attributes, rdma_h.IBV_XRCD_INIT_ATTR_FD | rdma_h.IBV_XRCD_INIT_ATTR_OFLAGS);
        ibv_xrcd_init_attr.fd(attributes, descriptor);
        ibv_xrcd_init_attr.oflags(attributes, CREATE);
        return Calls.pointer(
                context.function(ContextVerb.OPEN_XRCD),
                context.name() + ", " + file,
                errno -> errno == Errno.EOPNOTSUPP
                        ? "This device or its driver has no extended reliable connections"
                        : "",
                context.address(),
                attributes.address());
    }

    @CName("ibv_close_xrcd")
    @Override
    void destroy() {
        Calls.run(context.function(ContextVerb.CLOSE_XRCD), this, address);
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
