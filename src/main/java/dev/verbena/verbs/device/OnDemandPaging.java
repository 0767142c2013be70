package dev.verbena.verbs.device;

import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.ibv_device_attr_ex;
import dev.verbena.internal.raw.ibv_odp_caps;
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
        Set<PagingCapability> general,
        Set<PagedOperation> rc,
        Set<PagedOperation> uc,
        Set<PagedOperation> ud,
        Set<PagedOperation> xrc) {
    static OnDemandPaging read(MemorySegment attributes) {
        MemorySegment caps = ibv_device_attr_ex.odp_caps(attributes);
        MemorySegment transports = ibv_odp_caps.per_transport_caps(caps);
        return new OnDemandPaging(
                EnumCodec.flags(PagingCapability.class, flag -> flag.bit, (int) ibv_odp_caps.general_caps(caps)),
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
        return general.contains(PagingCapability.ON_DEMAND);
    }
}
