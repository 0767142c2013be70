package dev.verbena.verbs;

import dev.verbena.NativeFlag;

/** The place that earlier writes must have reached when a flush completes ({@code enum ibv_placement_type}). */
public enum PlacementType implements NativeFlag {
    /** The memory that the peer's whole machine sees ({@code IBV_FLUSH_GLOBAL}). */
    GLOBAL(1, "IBV_FLUSH_GLOBAL"),
    /** The memory that survives a loss of power ({@code IBV_FLUSH_PERSISTENT}). */
    PERSISTENT(1 << 1, "IBV_FLUSH_PERSISTENT");

    private final int bit;
    private final String cName;

    PlacementType(int bit, String cName) {
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
