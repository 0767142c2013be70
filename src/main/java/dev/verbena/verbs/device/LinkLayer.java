package dev.verbena.verbs.device;

import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.rdma_h;

/** The link layer below RDMA on a port ({@code IBV_LINK_LAYER_*}). */
public enum LinkLayer {
    /** Not reported, which means InfiniBand ({@code IBV_LINK_LAYER_UNSPECIFIED}). */
    UNSPECIFIED(rdma_h.IBV_LINK_LAYER_UNSPECIFIED),
    /** InfiniBand ({@code IBV_LINK_LAYER_INFINIBAND}). */
    INFINIBAND(rdma_h.IBV_LINK_LAYER_INFINIBAND),
    /** Ethernet: RoCE or iWARP ({@code IBV_LINK_LAYER_ETHERNET}). */
    ETHERNET(rdma_h.IBV_LINK_LAYER_ETHERNET),
    /** A number that this release does not know. */
    UNKNOWN(-1);

    final int code;

    LinkLayer(int code) {
        this.code = code;
    }

    static LinkLayer of(int code) {
        return EnumCodec.find(values(), value -> value.code, code, UNKNOWN);
    }
}
