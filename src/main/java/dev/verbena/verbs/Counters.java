package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_counter_attach_attr;
import dev.verbena.internal.raw.ibv_counters_init_attr;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.flow.FlowAction;
import dev.verbena.verbs.flow.access.FlowAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/**
 * Counters of the packets and bytes that flow rules match ({@code struct ibv_counters}). The adapter keeps them.
 *
 * <p>All threads can use counters of a shared arena; only the arena's thread can use those of a confined arena.
 *
 * {@snippet file="ObjectSnippets.java" region="counters"}
 */
public final class Counters extends ContextObject {
    private static final int MAX = 1 << 16;

    private Counters(ObjectLifetime lifetime, Context context, long address) {
        super(lifetime, context, address);
    }

    static Counters create(Context context, VerbsArena arena) {
        return ObjectLifetime.create(arena, List.of(context), (lifetime, scratch) -> {
            long init = ibv_counters_init_attr.allocate(scratch).address();
            CFunction create = context.function(ContextVerb.CREATE_COUNTERS);
            return new Counters(lifetime, context, Calls.pointer(create, context.name(), context.address(), init));
        });
    }

    @CName("ibv_destroy_counters")
    @Override
    void destroy() {
        Calls.run(context.function(ContextVerb.DESTROY_COUNTERS), this, address);
    }

    /**
     * Returns the action of a flow rule that counts the packets with these counters.
     *
     * @return an action, for {@link dev.verbena.verbs.flow.FlowRule#of}; these counters must outlive the flow
     */
    public FlowAction action() {
        lifetime.checkOpen();
        return FlowAccess.get().count(this, address);
    }

    /**
     * Sets the kind of a counter, for flow rules that will name these counters with {@link #action}
     * ({@code ibv_attach_counters_point_flow}).
     *
     * @param kind packets or bytes
     * @param index the index of the counter, from 0
     */
    @CName("ibv_attach_counters_point_flow")
    public void attach(Kind kind, int index) {
        try (var _ = lifetime.held()) {
            attach(kind, index, 0, "");
        }
    }

    /**
     * Sets the kind of a counter for a flow that exists ({@code ibv_attach_counters_point_flow}).
     *
     * @param kind packets or bytes
     * @param index the index of the counter, from 0
     * @param flow the flow to count
     */
    @CName("ibv_attach_counters_point_flow")
    public void attach(Kind kind, int index, Flow flow) {
        try (var _ = lifetime.held()) {
            flow.use(pointer -> attach(kind, index, pointer, ", " + flow));
        }
    }

    private void attach(Kind kind, int index, long flow, String what) {
        checkIndex(index);
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment how = ibv_counter_attach_attr.allocate(scratch);
            ibv_counter_attach_attr.counter_desc(how, kind.code);
            ibv_counter_attach_attr.index(how, index);
            Calls.run(
                    context.function(ContextVerb.ATTACH_COUNTERS_POINT_FLOW),
                    kind + " as " + index + what,
                    address,
                    how.address(),
                    flow);
        }
    }

    private static void checkIndex(int index) {
        if (index < 0 || index >= MAX) {
            throw new IndexOutOfBoundsException("index of a counter must be from 0 to " + (MAX - 1) + ", got " + index);
        }
    }

    /**
     * Reads the counters ({@code ibv_read_counters}).
     *
     * @param count the number of counters to read, from index 0
     * @param cached true to accept values that the driver has cached ({@code IBV_READ_COUNTERS_ATTR_PREFER_CACHED})
     * @return the values, by index
     */
    @CName("ibv_read_counters")
    public long[] read(int count, boolean cached) {
        checkIndex(count - 1);
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held()) {
            MemorySegment values = scratch.allocate(ValueLayout.JAVA_LONG, count);
            Calls.run(
                    context.function(ContextVerb.READ_COUNTERS),
                    this,
                    address,
                    values.address(),
                    count,
                    cached ? rdma_h.IBV_READ_COUNTERS_ATTR_PREFER_CACHED : 0);
            return values.toArray(ValueLayout.JAVA_LONG);
        }
    }

    /** Returns for example {@code counters of mlx5_0}. */
    @Override
    public String toString() {
        return "counters of " + context.name();
    }

    /** The unit that a counter counts ({@code enum ibv_counter_description}). */
    public enum Kind {
        /** Packets ({@code IBV_COUNTER_PACKETS}). */
        PACKETS(rdma_h.IBV_COUNTER_PACKETS),
        /** Bytes ({@code IBV_COUNTER_BYTES}). */
        BYTES(rdma_h.IBV_COUNTER_BYTES);

        final int code;

        Kind(int code) {
            this.code = code;
        }
    }
}
