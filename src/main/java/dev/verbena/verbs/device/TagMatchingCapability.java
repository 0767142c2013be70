package dev.verbena.verbs.device;

import dev.verbena.internal.raw.rdma_h;

/** A capability of tag matching ({@code enum ibv_tm_cap_flags}). */
public enum TagMatchingCapability {
    /** Tag matching on reliable connections ({@code IBV_TM_CAP_RC}). */
    RC(rdma_h.IBV_TM_CAP_RC);

    final int bit;

    TagMatchingCapability(int bit) {
        this.bit = bit;
    }
}
