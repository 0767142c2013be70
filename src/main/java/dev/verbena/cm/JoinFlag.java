package dev.verbena.cm;

import dev.verbena.internal.raw.rdma_h;

/** A kind of membership in a multicast group ({@code enum rdma_cm_mc_join_flags}). */
public enum JoinFlag {
    /** Sends and receives ({@code RDMA_MC_JOIN_FLAG_FULLMEMBER}). */
    FULL_MEMBER(rdma_h.RDMA_MC_JOIN_FLAG_FULLMEMBER),
    /** Sends only ({@code RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER}). */
    SEND_ONLY(rdma_h.RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER);

    final int code;

    JoinFlag(int code) {
        this.code = code;
    }
}
