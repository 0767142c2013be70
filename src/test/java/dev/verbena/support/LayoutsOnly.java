package dev.verbena.support;

import dev.verbena.internal.raw.ibv_wc;
import dev.verbena.internal.raw.rdma_h;

/** A program for {@link ChildJvm}: uses those generated bindings that need no library. */
public final class LayoutsOnly {
    private LayoutsOnly() {}

    public static void main(String[] args) {
        System.out.println("IBV_QPS_RTS = " + rdma_h.IBV_QPS_RTS());
        System.out.println("sizeof(struct ibv_wc) = " + ibv_wc.sizeof());
    }
}
