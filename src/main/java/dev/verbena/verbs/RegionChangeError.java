package dev.verbena.verbs;

import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.rdma_h;

/** The step of {@code ibv_rereg_mr} that failed ({@code enum ibv_rereg_mr_err_code}, with names as in C). */
enum RegionChangeError {
    /** The arguments are wrong ({@code IBV_REREG_MR_ERR_INPUT}). */
    INPUT(rdma_h.IBV_REREG_MR_ERR_INPUT),
    /** The new memory can't be kept from children ({@code IBV_REREG_MR_ERR_DONT_FORK_NEW}). */
    DONT_FORK_NEW(rdma_h.IBV_REREG_MR_ERR_DONT_FORK_NEW),
    /** The old memory is still kept from children ({@code IBV_REREG_MR_ERR_DO_FORK_OLD}). */
    DO_FORK_OLD(rdma_h.IBV_REREG_MR_ERR_DO_FORK_OLD),
    /** The kernel refused ({@code IBV_REREG_MR_ERR_CMD}). */
    CMD(rdma_h.IBV_REREG_MR_ERR_CMD),
    /** The kernel refused, and the new memory is still kept from children ({@code IBV_REREG_MR_ERR_CMD_AND_DO_FORK_NEW}). */
    CMD_AND_DO_FORK_NEW(rdma_h.IBV_REREG_MR_ERR_CMD_AND_DO_FORK_NEW),
    /** A number that this release does not know. */
    UNKNOWN(0);

    final int code;

    RegionChangeError(int code) {
        this.code = code;
    }

    static RegionChangeError of(int code) {
        return EnumCodec.find(values(), value -> value.code, code, UNKNOWN);
    }
}
