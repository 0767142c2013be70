package dev.verbena.verbs.device;

import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.ibv_device_attr_ex;
import dev.verbena.internal.raw.ibv_odp_caps;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * The support of a device for memory that is paged in on demand instead of pinned ({@code struct ibv_odp_caps}).
 *
 * @param general the kinds of regions that can be paged in
 * @param rc the operations of reliable connections on such memory
 * @param uc the operations of unreliable connections on such memory
 * @param ud the operations of datagrams on such memory
 * @param xrc the operations of extended reliable connections on such memory ({@code xrc_odp_caps})
 */
public record OnDemandPaging(
        Set<Capability> general,
        Set<PagedOperation> rc,
        Set<PagedOperation> uc,
        Set<PagedOperation> ud,
        Set<PagedOperation> xrc) {
    static OnDemandPaging read(MemorySegment attributes) {
        MemorySegment caps = ibv_device_attr_ex.odp_caps(attributes);
        MemorySegment transports = ibv_odp_caps.per_transport_caps(caps);
        return new OnDemandPaging(
                EnumCodec.flags(Capability.class, flag -> flag.bit, (int) ibv_odp_caps.general_caps(caps)),
                operations(ibv_odp_caps.per_transport_caps.rc_odp_caps(transports)),
                operations(ibv_odp_caps.per_transport_caps.uc_odp_caps(transports)),
                operations(ibv_odp_caps.per_transport_caps.ud_odp_caps(transports)),
                operations(ibv_device_attr_ex.xrc_odp_caps(attributes)));
    }

    private static Set<PagedOperation> operations(int bits) {
        return EnumCodec.flags(PagedOperation.class, operation -> operation.bit, bits);
    }

    /**
     * Returns true if the device can page memory in on demand.
     *
     * @return true if {@link dev.verbena.verbs.AccessFlag#ON_DEMAND} is supported
     */
    public boolean isSupported() {
        return general.contains(Capability.ON_DEMAND);
    }

    /** A kind of memory region that a device can page in on demand ({@code enum ibv_odp_general_caps}). */
    public enum Capability {
        /**
         * A region whose memory is not pinned: see {@link dev.verbena.verbs.AccessFlag#ON_DEMAND}
         * ({@code IBV_ODP_SUPPORT}).
         */
        ON_DEMAND(rdma_h.IBV_ODP_SUPPORT),
        /** A region over the whole address space ({@code IBV_ODP_SUPPORT_IMPLICIT}). */
        IMPLICIT(rdma_h.IBV_ODP_SUPPORT_IMPLICIT);

        final int bit;

        Capability(int bit) {
            this.bit = bit;
        }
    }

    /** An operation on memory that is paged in on demand ({@code enum ibv_odp_transport_cap_bits}). */
    public enum PagedOperation {
        /** Sends ({@code IBV_ODP_SUPPORT_SEND}). */
        SEND(rdma_h.IBV_ODP_SUPPORT_SEND),
        /** Receives ({@code IBV_ODP_SUPPORT_RECV}). */
        RECEIVE(rdma_h.IBV_ODP_SUPPORT_RECV),
        /** RDMA writes ({@code IBV_ODP_SUPPORT_WRITE}). */
        WRITE(rdma_h.IBV_ODP_SUPPORT_WRITE),
        /** RDMA reads ({@code IBV_ODP_SUPPORT_READ}). */
        READ(rdma_h.IBV_ODP_SUPPORT_READ),
        /** Atomics ({@code IBV_ODP_SUPPORT_ATOMIC}). */
        ATOMIC(rdma_h.IBV_ODP_SUPPORT_ATOMIC),
        /** Receives of a shared receive queue ({@code IBV_ODP_SUPPORT_SRQ_RECV}). */
        SHARED_RECEIVE(rdma_h.IBV_ODP_SUPPORT_SRQ_RECV),
        /** Flushes ({@code IBV_ODP_SUPPORT_FLUSH}). */
        FLUSH(rdma_h.IBV_ODP_SUPPORT_FLUSH),
        /** Atomic writes ({@code IBV_ODP_SUPPORT_ATOMIC_WRITE}). */
        ATOMIC_WRITE(rdma_h.IBV_ODP_SUPPORT_ATOMIC_WRITE);

        final int bit;

        PagedOperation(int bit) {
            this.bit = bit;
        }
    }
}
