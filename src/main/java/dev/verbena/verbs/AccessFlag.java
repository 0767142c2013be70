package dev.verbena.verbs;

import dev.verbena.internal.raw.rdma_h;
import java.util.Collection;

/** A right to access registered memory, or to access memory through a queue pair ({@code enum ibv_access_flags}). */
public enum AccessFlag {
    /** The adapter may write to the memory: receives, and results of reads and atomics ({@code IBV_ACCESS_LOCAL_WRITE}). */
    LOCAL_WRITE(rdma_h.IBV_ACCESS_LOCAL_WRITE),
    /** Peers may write to the memory; needs {@link #LOCAL_WRITE} ({@code IBV_ACCESS_REMOTE_WRITE}). */
    REMOTE_WRITE(rdma_h.IBV_ACCESS_REMOTE_WRITE),
    /** Peers may read the memory ({@code IBV_ACCESS_REMOTE_READ}). */
    REMOTE_READ(rdma_h.IBV_ACCESS_REMOTE_READ),
    /** Peers may do atomic operations on the memory; needs {@link #LOCAL_WRITE} ({@code IBV_ACCESS_REMOTE_ATOMIC}). */
    REMOTE_ATOMIC(rdma_h.IBV_ACCESS_REMOTE_ATOMIC),
    /** Memory windows may be bound to the region ({@code IBV_ACCESS_MW_BIND}). */
    MW_BIND(rdma_h.IBV_ACCESS_MW_BIND),
    /** Peers address the memory from zero instead of by its own address ({@code IBV_ACCESS_ZERO_BASED}). */
    ZERO_BASED(rdma_h.IBV_ACCESS_ZERO_BASED),
    /** Pages are brought in when they are used, instead of being pinned at once ({@code IBV_ACCESS_ON_DEMAND}). */
    ON_DEMAND(rdma_h.IBV_ACCESS_ON_DEMAND),
    /** The memory consists of huge pages ({@code IBV_ACCESS_HUGETLB}). */
    HUGETLB(rdma_h.IBV_ACCESS_HUGETLB),
    /**
     * Peers may flush earlier writes, so that the whole system sees them ({@code IBV_ACCESS_FLUSH_GLOBAL}). The region and
     * the queue pair of the peer that is flushed both need the flag. The device needs the capability of the same name.
     */
    FLUSH_GLOBAL(rdma_h.IBV_ACCESS_FLUSH_GLOBAL),
    /**
     * Peers may flush earlier writes to persistent memory ({@code IBV_ACCESS_FLUSH_PERSISTENT}), as with
     * {@link #FLUSH_GLOBAL}. A region must consist of persistent memory.
     */
    FLUSH_PERSISTENT(rdma_h.IBV_ACCESS_FLUSH_PERSISTENT),
    /** Writes may arrive out of order; ignored by kernels without the flag ({@code IBV_ACCESS_RELAXED_ORDERING}). */
    RELAXED_ORDERING(rdma_h.IBV_ACCESS_RELAXED_ORDERING);

    final int bit;

    AccessFlag(int bit) {
        this.bit = bit;
    }

    static int bits(Collection<AccessFlag> flags) {
        int bits = 0;
        for (AccessFlag flag : flags) {
            bits |= flag.bit;
        }
        return bits;
    }
}
