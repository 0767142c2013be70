package dev.verbena.verbs.device;

import dev.verbena.NativeFlag;
import dev.verbena.internal.raw.ibv_device_attr_ex;
import dev.verbena.internal.raw.ibv_odp_caps;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * What a device can do with memory that is not pinned but paged in when it is needed ({@code struct ibv_odp_caps}).
 *
 * @param general whether there is such memory at all
 * @param rc what reliable connections can do with it
 * @param uc what unreliable connections can do with it
 * @param ud what datagrams can do with it
 * @param xrc what extended reliable connections can do with it ({@code xrc_odp_caps})
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
                NativeFlag.of(PagingCapability.class, (int) ibv_odp_caps.general_caps(caps)),
                operations(ibv_odp_caps.per_transport_caps.rc_odp_caps(transports)),
                operations(ibv_odp_caps.per_transport_caps.uc_odp_caps(transports)),
                operations(ibv_odp_caps.per_transport_caps.ud_odp_caps(transports)),
                operations(ibv_device_attr_ex.xrc_odp_caps(attributes)));
    }

    private static Set<PagedOperation> operations(int bits) {
        return NativeFlag.of(PagedOperation.class, bits);
    }

    /**
     * Whether there is such memory.
     *
     * @return true if {@link dev.verbena.verbs.AccessFlag#ON_DEMAND} can be asked for
     */
    public boolean isSupported() {
        return general.contains(PagingCapability.ON_DEMAND);
    }
}
