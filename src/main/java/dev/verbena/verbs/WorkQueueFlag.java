package dev.verbena.verbs;

import dev.verbena.NativeFlag;

/** A flag for the way that a work queue treats packets ({@code enum ibv_wq_flags}). */
public enum WorkQueueFlag implements NativeFlag {
    /** Removes the VLAN tag ({@code IBV_WQ_FLAGS_CVLAN_STRIPPING}). */
    STRIP_VLAN(1, "IBV_WQ_FLAGS_CVLAN_STRIPPING"),
    /** Stores the frame check sequence too ({@code IBV_WQ_FLAGS_SCATTER_FCS}). */
    SCATTER_FCS(1 << 1, "IBV_WQ_FLAGS_SCATTER_FCS"),
    /** Waits a while for a receive before it drops a packet ({@code IBV_WQ_FLAGS_DELAY_DROP}). */
    DELAY_DROP(1 << 2, "IBV_WQ_FLAGS_DELAY_DROP"),
    /** Pads the last cache line ({@code IBV_WQ_FLAGS_PCI_WRITE_END_PADDING}). */
    PAD_TO_CACHE_LINE(1 << 3, "IBV_WQ_FLAGS_PCI_WRITE_END_PADDING");

    private final int bit;
    private final String cName;

    WorkQueueFlag(int bit, String cName) {
        this.bit = bit;
        this.cName = cName;
    }

    @Override
    public int bit() {
        return bit;
    }

    @Override
    public String cName() {
        return cName;
    }
}
