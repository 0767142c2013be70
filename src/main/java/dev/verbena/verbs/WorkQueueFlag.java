package dev.verbena.verbs;

import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.rdma_h;
import java.util.Collection;

/** A flag for the way that a work queue treats packets ({@code enum ibv_wq_flags}). */
public enum WorkQueueFlag {
    /** Removes the VLAN tag ({@code IBV_WQ_FLAGS_CVLAN_STRIPPING}). */
    STRIP_VLAN(rdma_h.IBV_WQ_FLAGS_CVLAN_STRIPPING),
    /** Stores the frame check sequence too ({@code IBV_WQ_FLAGS_SCATTER_FCS}). */
    SCATTER_FCS(rdma_h.IBV_WQ_FLAGS_SCATTER_FCS),
    /** Waits a while for a receive before it drops a packet ({@code IBV_WQ_FLAGS_DELAY_DROP}). */
    DELAY_DROP(rdma_h.IBV_WQ_FLAGS_DELAY_DROP),
    /** Pads the last cache line ({@code IBV_WQ_FLAGS_PCI_WRITE_END_PADDING}). */
    PAD_TO_CACHE_LINE(rdma_h.IBV_WQ_FLAGS_PCI_WRITE_END_PADDING);

    final int bit;

    WorkQueueFlag(int bit) {
        this.bit = bit;
    }

    static int bits(Collection<WorkQueueFlag> flags) {
        return EnumCodec.bits(flags, flag -> flag.bit);
    }
}
