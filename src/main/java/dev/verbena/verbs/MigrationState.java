package dev.verbena.verbs;

import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.rdma_h;

/** The state of automatic path migration ({@code enum ibv_mig_state}). */
public enum MigrationState {
    /** The queue pair uses the primary path, and no alternate path is armed ({@code IBV_MIG_MIGRATED}). */
    MIGRATED(rdma_h.IBV_MIG_MIGRATED),
    /** The alternate path is about to be armed ({@code IBV_MIG_REARM}). */
    REARM(rdma_h.IBV_MIG_REARM),
    /** The alternate path is ready ({@code IBV_MIG_ARMED}). */
    ARMED(rdma_h.IBV_MIG_ARMED),
    /** A number that this release does not know. */
    UNKNOWN(-1);

    final int code;

    MigrationState(int code) {
        this.code = code;
    }

    static MigrationState of(int code) {
        return EnumCodec.find(values(), value -> value.code, code, UNKNOWN);
    }
}
