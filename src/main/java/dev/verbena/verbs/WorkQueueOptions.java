package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.Options;
import dev.verbena.internal.raw.ibv_wq_init_attr;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Options of a work queue ({@code struct ibv_wq_init_attr}). Begin with {@link #of}. Each option has a method that
 * returns a changed copy. Options never change, so all threads can use them.
 *
 * {@snippet file="ObjectSnippets.java" region="work-queue"}
 */
public final class WorkQueueOptions extends Options<WorkQueueOptions> {
    private static final Keys<WorkQueueOptions> KEYS = new Keys<>();
    static final Key<WorkQueueOptions, @Nullable CompletionQueue> QUEUE = KEYS.always("queue", null);
    static final Key<WorkQueueOptions, Integer> DEPTH = KEYS.always("depth", 0);
    static final Key<WorkQueueOptions, Integer> SGE = KEYS.key("sge", 1);
    static final Key<WorkQueueOptions, Set<Flag>> FLAGS = KEYS.key("flags", Set.of());

    private WorkQueueOptions() {
        super(KEYS);
    }

    /**
     * Returns options for a work queue without flags, for receives of one piece of memory.
     *
     * @param queue the completion queue for the receives
     * @param depth the number of receives that the queue must hold at least
     * @return options for {@link ProtectionDomain#createWorkQueue(WorkQueueOptions)}
     * @throws IllegalArgumentException if the depth is less than 1
     */
    public static WorkQueueOptions of(CompletionQueue queue, int depth) {
        return new WorkQueueOptions().queue(queue).depth(depth);
    }

    CompletionQueue queue() {
        return Objects.requireNonNull(QUEUE.of(this));
    }

    /**
     * Returns a copy with another completion queue for the receives ({@code cq}).
     *
     * @param completions the completion queue
     * @return a changed copy
     */
    public WorkQueueOptions queue(CompletionQueue completions) {
        return with(QUEUE, Objects.requireNonNull(completions, "queue"));
    }

    /**
     * Returns a copy with another number of receives that the queue must hold at least ({@code max_wr}).
     *
     * @param receives the depth
     * @return a changed copy
     * @throws IllegalArgumentException if the depth is less than 1
     */
    public WorkQueueOptions depth(int receives) {
        return with(DEPTH, Checks.checkAtLeast("depth of a work queue", receives, 1));
    }

    /**
     * Returns a copy with another number of pieces of memory that a receive must be able to name ({@code max_sge}).
     *
     * @param pieces the number of pieces; 1 by default
     * @return a changed copy
     * @throws IllegalArgumentException if the number is less than 1
     */
    public WorkQueueOptions sge(int pieces) {
        return with(SGE, Checks.checkAtLeast("number of pieces of a receive", pieces, 1));
    }

    /**
     * Returns a copy with these flags and no others ({@code create_flags}).
     *
     * @param flags the flags; none by default
     * @return a changed copy
     */
    public WorkQueueOptions flags(Flag... flags) {
        return with(FLAGS, EnumCodec.copy(Flag.class, List.of(flags)));
    }

    /** Allocates a {@code struct ibv_wq_init_attr} with these options, for a queue of a domain. */
    MemorySegment write(ProtectionDomain domain, Arena scratch) {
        MemorySegment init = ibv_wq_init_attr.allocate(scratch);
        ibv_wq_init_attr.wq_type(init, rdma_h.IBV_WQT_RQ);
        ibv_wq_init_attr.max_wr(init, DEPTH.of(this));
        ibv_wq_init_attr.max_sge(init, SGE.of(this));
        ibv_wq_init_attr.comp_mask(
                init,
                new InitAttributes(init)
                        .pointer(ibv_wq_init_attr.pd$offset(), domain)
                        .pointer(ibv_wq_init_attr.cq$offset(), queue())
                        .optional(
                                rdma_h.IBV_WQ_INIT_ATTR_FLAGS,
                                ibv_wq_init_attr.create_flags$offset(),
                                Flag.bits(FLAGS.of(this)))
                        .mask());
        return init;
    }

    /** A flag for the way that a work queue treats packets ({@code enum ibv_wq_flags}). */
    public enum Flag {
        /** Removes the VLAN tag ({@code IBV_WQ_FLAGS_CVLAN_STRIPPING}). */
        STRIP_VLAN(rdma_h.IBV_WQ_FLAGS_CVLAN_STRIPPING),
        /** Stores the frame check sequence too ({@code IBV_WQ_FLAGS_SCATTER_FCS}). */
        SCATTER_FCS(rdma_h.IBV_WQ_FLAGS_SCATTER_FCS),
        /** Waits a while for a receive before it drops a packet ({@code IBV_WQ_FLAGS_DELAY_DROP}). */
        DELAY_DROP(rdma_h.IBV_WQ_FLAGS_DELAY_DROP),
        /** Pads the last cache line ({@code IBV_WQ_FLAGS_PCI_WRITE_END_PADDING}). */
        PAD_TO_CACHE_LINE(rdma_h.IBV_WQ_FLAGS_PCI_WRITE_END_PADDING);

        final int bit;

        Flag(int bit) {
            this.bit = bit;
        }

        static int bits(Collection<Flag> flags) {
            return EnumCodec.bits(flags, flag -> flag.bit);
        }
    }
}
