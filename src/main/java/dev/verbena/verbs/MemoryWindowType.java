package dev.verbena.verbs;

import dev.verbena.internal.raw.rdma_h;

/** The kind of a memory window ({@code enum ibv_mw_type}). */
public enum MemoryWindowType {
    /** The adapter chooses the key; all queue pairs of the protection domain may use the window ({@code IBV_MW_TYPE_1}). */
    TYPE_1(rdma_h.IBV_MW_TYPE_1),
    /** The program chooses part of the key; the program or the peer can invalidate the window ({@code IBV_MW_TYPE_2}). */
    TYPE_2(rdma_h.IBV_MW_TYPE_2),
    /** No type: {@link ProtectionDomain#allocateMemoryWindow} refuses it. */
    UNKNOWN(-1);

    final int code;

    MemoryWindowType(int code) {
        this.code = code;
    }
}
