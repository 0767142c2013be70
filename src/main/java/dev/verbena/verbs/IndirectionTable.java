package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_rwq_ind_table_init_attr;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.LinkedHashSet;
import java.util.List;

/**
 * A table of the work queues over which a queue pair spreads packets ({@code struct ibv_rwq_ind_table}).
 *
 * {@snippet file="ObjectSnippets.java" region="receive-hash"}
 *
 * <p>All threads may use a table of a {@linkplain VerbsArena#ofShared shared} arena; one of a confined arena belongs to
 * the arena's thread. The arena destroys the table, or {@link #close} does.
 */
public final class IndirectionTable extends ContextObject {
    private final List<WorkQueue> queues;

    private IndirectionTable(ObjectLifetime lifetime, Context context, List<WorkQueue> queues, long address) {
        super(lifetime, context, address);
        this.queues = queues;
    }

    static IndirectionTable create(Context context, List<WorkQueue> queues, VerbsArena arena) {
        List<WorkQueue> entries = List.copyOf(queues);
        if (Integer.bitCount(entries.size()) != 1) {
            throw new IllegalArgumentException(
                    "entry count must be a power of two, got " + entries.size() + ": a queue may have several entries");
        }
        entries.forEach(queue -> queue.checkIn(context, "the table"));
        LinkedHashSet<VerbsObject> parents = new LinkedHashSet<>(entries);
        parents.add(context);
        return ObjectLifetime.create(arena, parents, (lifetime, scratch) -> {
            long[] queuesInC = entries.stream().mapToLong(WorkQueue::address).toArray();
            MemorySegment init = ibv_rwq_ind_table_init_attr.allocate(scratch);
            ibv_rwq_ind_table_init_attr.log_ind_tbl_size(init, Integer.numberOfTrailingZeros(entries.size()));
            ibv_rwq_ind_table_init_attr.ind_tbl(init, scratch.allocateFrom(ValueLayout.JAVA_LONG, queuesInC));
            long table = Calls.pointer(
                    context.function(ContextVerb.CREATE_RWQ_IND_TABLE),
                    context.name() + ", " + entries.size() + " entries",
                    context.address(),
                    init.address());
            return new IndirectionTable(lifetime, context, entries, table);
        });
    }

    @CName("ibv_destroy_rwq_ind_table")
    @Override
    void destroy() {
        Calls.run(context.function(ContextVerb.DESTROY_RWQ_IND_TABLE), this, address);
    }

    /**
     * Returns the work queues.
     *
     * @return the entries, in order
     */
    public List<WorkQueue> queues() {
        lifetime.checkOpen();
        return queues;
    }

    @Override
    public String toString() {
        return "indirection table of " + context.name() + " with " + queues.size() + " entries";
    }
}
