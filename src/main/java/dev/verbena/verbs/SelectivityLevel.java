package dev.verbena.verbs;

import dev.verbena.NativeValue;

/** The extent of a flush ({@code enum ibv_selectivity_level}). */
public enum SelectivityLevel implements NativeValue {
    /** The named range ({@code IBV_FLUSH_RANGE}). */
    RANGE(0, "IBV_FLUSH_RANGE"),
    /** The whole memory region ({@code IBV_FLUSH_MR}). */
    MEMORY_REGION(1, "IBV_FLUSH_MR");

    private final int code;
    private final String cName;

    SelectivityLevel(int code, String cName) {
        this.code = code;
        this.cName = cName;
    }

    @Override
    public int code() {
        return code;
    }

    @Override
    public String cName() {
        return cName;
    }
}
