package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_comp_cntr_caps;
import dev.verbena.internal.raw.ibv_comp_cntr_init_attr;
import dev.verbena.internal.raw.ibv_qp_attach_comp_cntr_attr;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * A counter of the completed operations of queue pairs ({@code struct ibv_comp_cntr}). The adapter adds to the counter
 * when an operation completes. Programs that only need to know how many operations have completed read the counter, and
 * take no completions from a queue.
 *
 * <p>A counter has two values: one of operations that succeeded, and one of operations that failed. Both are unsigned,
 * and begin again at 0 after the device's {@link Limits#maxValue}.
 *
 * <p>{@link #attach} makes a queue pair add to the counter until the queue pair is closed. A counter can't be closed
 * before its queue pairs. An arena that owns them all closes them in the right order.
 *
 * <p>All threads can use a counter of a shared arena; only the arena's thread can use one of a confined arena.
 *
 * {@snippet file="ObjectSnippets.java" region="completion-counter"}
 */
public final class CompletionCounter extends ContextObject {
    private final Unit unit;

    private CompletionCounter(ObjectLifetime lifetime, Context context, Unit unit, long address) {
        super(lifetime, context, address);
        this.unit = unit;
    }

    static CompletionCounter create(Context context, Unit unit, VerbsArena arena) {
        String arguments = context.name() + ", " + Objects.requireNonNull(unit, "unit");
        return ObjectLifetime.create(arena, List.of(context), (lifetime, scratch) -> {
            MemorySegment init = ibv_comp_cntr_init_attr.allocate(scratch);
            ibv_comp_cntr_init_attr.type(init, unit.code);
            long counter = Calls.pointer(Ibv.CREATE_COMP_CNTR, arguments, context.address(), init.address());
            return new CompletionCounter(lifetime, context, unit, counter);
        });
    }

    @CName("ibv_destroy_comp_cntr")
    @Override
    void destroy() {
        Calls.run(Ibv.DESTROY_COMP_CNTR, this, address);
    }

    /**
     * Returns the unit of this counter's values.
     *
     * @return completed requests or bytes
     */
    public Unit unit() {
        lifetime.checkOpen();
        return unit;
    }

    /**
     * Makes a queue pair add to this counter until the queue pair is closed ({@code ibv_qp_attach_comp_cntr}).
     *
     * @param pair a queue pair of the same context, in {@link QueuePairState#RESET} or {@link QueuePairState#INIT}
     * @param operations the operations to count, at least one
     * @see #attach(QueuePair, Collection)
     */
    @CName("ibv_qp_attach_comp_cntr")
    public void attach(QueuePair pair, CountedOperation... operations) {
        attach(pair, List.of(operations));
    }

    /**
     * Makes a queue pair add to this counter until the queue pair is closed ({@code ibv_qp_attach_comp_cntr}). A counter
     * can have several queue pairs. A queue pair can have several counters, but only one for each operation.
     *
     * @param pair a queue pair of the same context, in {@link QueuePairState#RESET} or {@link QueuePairState#INIT}
     * @param operations the operations to count, at least one
     * @throws IllegalArgumentException if the queue pair belongs to another context, or no operation is given
     * @throws dev.verbena.UnsupportedVerbException if the device does not count one of the operations: see
     *     {@link Limits#operations}
     * @throws dev.verbena.VerbsException if the queue pair is in another state, or has a counter for one of the operations
     */
    @CName("ibv_qp_attach_comp_cntr")
    public void attach(QueuePair pair, Collection<CountedOperation> operations) {
        if (operations.isEmpty()) {
            throw new IllegalArgumentException("a counter needs at least one operation to count, got none");
        }
        Set<CountedOperation> counted = EnumSet.copyOf(operations);
        lifetime.checkOpen();
        pair.checkIn(context, "the counter");
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment how = ibv_qp_attach_comp_cntr_attr.allocate(scratch);
            ibv_qp_attach_comp_cntr_attr.op_mask(how, EnumCodec.bits(counted, operation -> operation.bit));
            pair.lifetime.addParent(this, () -> attach(pair, counted, how));
        }
    }

    private void attach(QueuePair pair, Set<CountedOperation> operations, MemorySegment how) {
        Calls.run(
                Ibv.QP_ATTACH_COMP_CNTR,
                pair + ", " + this + ", " + operations,
                errno -> switch (errno) {
                    case Errno.EINVAL -> "The queue pair must be in RESET or INIT: attach counters before it connects";
                    case Errno.EBUSY -> "The queue pair has a counter for one of these operations";
                    default -> "";
                },
                pair.address,
                address,
                how.address());
    }

    /**
     * Reads the count of operations that succeeded, or of their bytes ({@code ibv_read_comp_cntr}). A change by
     * {@link #set} or {@link #add} may show later.
     *
     * @return the value, unsigned
     */
    @CName("ibv_read_comp_cntr")
    public long value() {
        return read(Ibv.READ_COMP_CNTR);
    }

    /**
     * Reads the count of operations that failed, or of their bytes ({@code ibv_read_err_comp_cntr}). A change by
     * {@link #setErrors} or {@link #addErrors} may show later.
     *
     * @return the value, unsigned
     */
    @CName("ibv_read_err_comp_cntr")
    public long errors() {
        return read(Ibv.READ_ERR_COMP_CNTR);
    }

    /**
     * Sets the count of operations that succeeded ({@code ibv_set_comp_cntr}). Operations that complete at the same time
     * may be lost.
     *
     * @param value the new value, unsigned
     */
    @CName("ibv_set_comp_cntr")
    public void set(long value) {
        write(Ibv.SET_COMP_CNTR, value);
    }

    /**
     * Sets the count of operations that failed ({@code ibv_set_err_comp_cntr}). Operations that fail at the same time may
     * be lost.
     *
     * @param value the new value, unsigned
     */
    @CName("ibv_set_err_comp_cntr")
    public void setErrors(long value) {
        write(Ibv.SET_ERR_COMP_CNTR, value);
    }

    /**
     * Adds to the count of operations that succeeded ({@code ibv_inc_comp_cntr}).
     *
     * @param amount the number to add, unsigned
     */
    @CName("ibv_inc_comp_cntr")
    public void add(long amount) {
        write(Ibv.INC_COMP_CNTR, amount);
    }

    /**
     * Adds to the count of operations that failed ({@code ibv_inc_err_comp_cntr}).
     *
     * @param amount the number to add, unsigned
     */
    @CName("ibv_inc_err_comp_cntr")
    public void addErrors(long amount) {
        write(Ibv.INC_ERR_COMP_CNTR, amount);
    }

    private long read(CFunction function) {
        try (Arena scratch = Arena.ofConfined();
                var _ = lifetime.held()) {
            MemorySegment value = scratch.allocate(ValueLayout.JAVA_LONG);
            Calls.run(function, this, address, value.address());
            return value.get(ValueLayout.JAVA_LONG, 0);
        }
    }

    private void write(CFunction function, long value) {
        try (var _ = lifetime.held()) {
            Calls.run(function, this + ", " + Long.toUnsignedString(value), address, value);
        }
    }

    /** Returns for example {@code completion counter of efa_0 (WORK_REQUESTS)}. */
    @Override
    public String toString() {
        return "completion counter of " + context.name() + " (" + unit + ")";
    }

    /**
     * The limits of completion counters ({@code struct ibv_comp_cntr_caps}).
     *
     * @param maxValue the greatest value of a counter, unsigned; the next increment makes it begin again at 0
     * @param maxCounters the maximum number of counters, unsigned
     * @param operations the operations that the device can count
     */
    public record Limits(long maxValue, int maxCounters, Set<CountedOperation> operations) {
        static Limits read(MemorySegment caps) {
            return new Limits(
                    ibv_comp_cntr_caps.max_value(caps),
                    ibv_comp_cntr_caps.max_counters(caps),
                    EnumCodec.flags(
                            CountedOperation.class,
                            operation -> operation.bit,
                            ibv_comp_cntr_caps.supported_qp_attach_ops(caps)));
        }
    }

    /** The unit of a completion counter ({@code enum ibv_comp_cntr_type}). */
    public enum Unit {
        /** Completed work requests ({@code IBV_COMP_CNTR_TYPE_WRS}). */
        WORK_REQUESTS(rdma_h.IBV_COMP_CNTR_TYPE_WRS),
        /** Bytes of completed work requests ({@code IBV_COMP_CNTR_TYPE_BYTES}). */
        BYTES(rdma_h.IBV_COMP_CNTR_TYPE_BYTES);

        final int code;

        Unit(int code) {
            this.code = code;
        }
    }

    /** An operation of a queue pair that a completion counter can count ({@code enum ibv_qp_attach_comp_cntr_op}). */
    public enum CountedOperation {
        /** Sends of this queue pair ({@code IBV_QP_ATTACH_COMP_CNTR_OP_SEND}). */
        SEND(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_SEND),
        /** Receives of this queue pair ({@code IBV_QP_ATTACH_COMP_CNTR_OP_RECV}). */
        RECEIVE(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_RECV),
        /** RDMA reads of this queue pair ({@code IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_READ}). */
        RDMA_READ(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_READ),
        /** RDMA reads of the peer ({@code IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ}). */
        REMOTE_RDMA_READ(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ),
        /** RDMA writes of this queue pair ({@code IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE}). */
        RDMA_WRITE(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE),
        /** RDMA writes of the peer ({@code IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE}). */
        REMOTE_RDMA_WRITE(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE);

        final int bit;

        CountedOperation(int bit) {
            this.bit = bit;
        }
    }
}
