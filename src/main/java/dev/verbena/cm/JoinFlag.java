package dev.verbena.cm;

import dev.verbena.NativeValue;

/** A kind of membership in a multicast group ({@code enum rdma_cm_mc_join_flags}). */
public enum JoinFlag implements NativeValue {
    /** Sends and receives ({@code RDMA_MC_JOIN_FLAG_FULLMEMBER}). */
    FULL_MEMBER(0, "RDMA_MC_JOIN_FLAG_FULLMEMBER"),
    /** Sends only ({@code RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER}). */
    SEND_ONLY(1, "RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER");

    private final int code;
    private final String cName;

    JoinFlag(int code, String cName) {
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
