package dev.verbena.verbs;

import dev.verbena.NativeValue;

/** The state of automatic path migration ({@code enum ibv_mig_state}). */
public enum MigrationState implements NativeValue {
    /** The queue pair uses the primary path, and no alternate path is armed ({@code IBV_MIG_MIGRATED}). */
    MIGRATED(0, "IBV_MIG_MIGRATED"),
    /** The alternate path is about to be armed ({@code IBV_MIG_REARM}). */
    REARM(1, "IBV_MIG_REARM"),
    /** The alternate path is ready ({@code IBV_MIG_ARMED}). */
    ARMED(2, "IBV_MIG_ARMED"),
    /** A number that this release does not know. */
    UNKNOWN(-1, "");

    private static final MigrationState[] VALUES = values();

    private final int code;
    private final String cName;

    MigrationState(int code, String cName) {
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

    /**
     * Returns the constant for a number.
     *
     * @param code the number in C
     * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
     */
    public static MigrationState of(int code) {
        return NativeValue.find(VALUES, code, UNKNOWN);
    }
}
