package dev.verbena.verbs.device;

import dev.verbena.NativeFlag;
import dev.verbena.internal.raw.ibv_device_attr;
import dev.verbena.internal.raw.ibv_device_attr_ex;
import dev.verbena.verbs.device.access.DeviceAccess;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/** What a device is and can do ({@code struct ibv_device_attr_ex}, {@code ibv_query_device_ex}). */
public final class DeviceAttributes {
    static {
        DeviceAccess.install(new DeviceAccess() {
            @Override
            public DeviceAttributes attributes(MemorySegment struct) {
                return new DeviceAttributes(struct);
            }

            @Override
            public Port port(String device, int number, MemorySegment struct) {
                return new Port(device, number, struct);
            }
        });
    }

    private final MemorySegment attributes;
    private final MemorySegment extended;

    /** What {@code ibv_query_device_ex} has filled; all zero but the beginning where only {@code ibv_query_device} is. */
    DeviceAttributes(MemorySegment extended) {
        this.extended = extended;
        this.attributes = ibv_device_attr_ex.orig_attr(extended);
    }

    /**
     * The version of the firmware ({@code fw_ver}).
     *
     * @return as the device says it; may be empty
     */
    public String firmwareVersion() {
        return ibv_device_attr.fw_ver(attributes).getString(0);
    }

    /**
     * The GUID of the node ({@code node_guid}).
     *
     * @return the GUID
     */
    public Guid nodeGuid() {
        return new Guid(Long.reverseBytes(ibv_device_attr.node_guid(attributes)));
    }

    /**
     * The GUID of the system the device is part of ({@code sys_image_guid}).
     *
     * @return the GUID
     */
    public Guid systemImageGuid() {
        return new Guid(Long.reverseBytes(ibv_device_attr.sys_image_guid(attributes)));
    }

    /**
     * The largest memory region ({@code max_mr_size}).
     *
     * @return bytes; -1 for no limit
     */
    public long maxMemoryRegionSize() {
        return ibv_device_attr.max_mr_size(attributes);
    }

    /**
     * The sizes of pages the device can work with ({@code page_size_cap}).
     *
     * @return a bit for each power of two
     */
    public long pageSizes() {
        return ibv_device_attr.page_size_cap(attributes);
    }

    /**
     * The vendor ({@code vendor_id}).
     *
     * @return an IEEE number
     */
    public int vendorId() {
        return ibv_device_attr.vendor_id(attributes);
    }

    /**
     * The part, as the vendor counts ({@code vendor_part_id}).
     *
     * @return the number
     */
    public int vendorPartId() {
        return ibv_device_attr.vendor_part_id(attributes);
    }

    /**
     * The version of the hardware ({@code hw_ver}).
     *
     * @return the number
     */
    public int hardwareVersion() {
        return ibv_device_attr.hw_ver(attributes);
    }

    /**
     * How many queue pairs there can be ({@code max_qp}).
     *
     * @return the limit
     */
    public int maxQueuePairs() {
        return ibv_device_attr.max_qp(attributes);
    }

    /**
     * How many work requests a queue of a queue pair can hold ({@code max_qp_wr}).
     *
     * @return the limit
     */
    public int maxWorkRequests() {
        return ibv_device_attr.max_qp_wr(attributes);
    }

    /**
     * What the device can do ({@code device_cap_flags}).
     *
     * @return bits of {@code enum ibv_device_cap_flags}
     */
    public int capabilityFlags() {
        return ibv_device_attr.device_cap_flags(attributes);
    }

    /**
     * How many pieces of memory a work request can name ({@code max_sge}).
     *
     * @return the limit
     */
    public int maxSge() {
        return ibv_device_attr.max_sge(attributes);
    }

    /**
     * How many pieces of memory an RDMA read can name ({@code max_sge_rd}).
     *
     * @return the limit
     */
    public int maxSgeRead() {
        return ibv_device_attr.max_sge_rd(attributes);
    }

    /**
     * How many completion queues there can be ({@code max_cq}).
     *
     * @return the limit
     */
    public int maxCompletionQueues() {
        return ibv_device_attr.max_cq(attributes);
    }

    /**
     * How many completions a completion queue can hold ({@code max_cqe}).
     *
     * @return the limit
     */
    public int maxCompletions() {
        return ibv_device_attr.max_cqe(attributes);
    }

    /**
     * How many memory regions there can be ({@code max_mr}).
     *
     * @return the limit
     */
    public int maxMemoryRegions() {
        return ibv_device_attr.max_mr(attributes);
    }

    /**
     * How many protection domains there can be ({@code max_pd}).
     *
     * @return the limit
     */
    public int maxProtectionDomains() {
        return ibv_device_attr.max_pd(attributes);
    }

    /**
     * How many reads and atomics of a peer a queue pair can serve at once ({@code max_qp_rd_atom}).
     *
     * @return the limit
     */
    public int maxReadAtomic() {
        return ibv_device_attr.max_qp_rd_atom(attributes);
    }

    /**
     * How many reads and atomics a queue pair can have under way ({@code max_qp_init_rd_atom}).
     *
     * @return the limit
     */
    public int maxInitiatedReadAtomic() {
        return ibv_device_attr.max_qp_init_rd_atom(attributes);
    }

    /**
     * How many reads and atomics of peers the device can serve at once ({@code max_res_rd_atom}).
     *
     * @return the limit
     */
    public int maxReadAtomicOfDevice() {
        return ibv_device_attr.max_res_rd_atom(attributes);
    }

    /**
     * How many reads and atomics an end-to-end context can serve at once ({@code max_ee_rd_atom}).
     *
     * @return the limit; 0 on all but the oldest devices
     */
    public int maxReadAtomicOfEndToEndContext() {
        return ibv_device_attr.max_ee_rd_atom(attributes);
    }

    /**
     * How many reads and atomics an end-to-end context can have under way ({@code max_ee_init_rd_atom}).
     *
     * @return the limit; 0 on all but the oldest devices
     */
    public int maxInitiatedReadAtomicOfEndToEndContext() {
        return ibv_device_attr.max_ee_init_rd_atom(attributes);
    }

    /**
     * How many end-to-end contexts of reliable datagrams there can be ({@code max_ee}).
     *
     * @return the limit; 0 on all but the oldest devices
     */
    public int maxEndToEndContexts() {
        return ibv_device_attr.max_ee(attributes);
    }

    /**
     * How many domains of reliable datagrams there can be ({@code max_rdd}).
     *
     * @return the limit; 0 on all but the oldest devices
     */
    public int maxReliableDatagramDomains() {
        return ibv_device_attr.max_rdd(attributes);
    }

    /**
     * How many fast memory regions there can be ({@code max_fmr}).
     *
     * @return the limit; 0 on all but the oldest devices
     */
    public int maxFastMemoryRegions() {
        return ibv_device_attr.max_fmr(attributes);
    }

    /**
     * How often a fast memory region can be mapped until it has to be flushed ({@code max_map_per_fmr}).
     *
     * @return the limit; 0 on all but the oldest devices
     */
    public int maxMapsPerFastMemoryRegion() {
        return ibv_device_attr.max_map_per_fmr(attributes);
    }

    /**
     * How far atomics are atomic ({@code atomic_cap}).
     *
     * @return the capability
     */
    public AtomicCapability atomicCapability() {
        return AtomicCapability.of(ibv_device_attr.atomic_cap(attributes));
    }

    /**
     * How many memory windows there can be ({@code max_mw}).
     *
     * @return the limit
     */
    public int maxMemoryWindows() {
        return ibv_device_attr.max_mw(attributes);
    }

    /**
     * How many queue pairs for raw IPv6 there can be ({@code max_raw_ipv6_qp}).
     *
     * @return the limit
     */
    public int maxRawIpv6QueuePairs() {
        return ibv_device_attr.max_raw_ipv6_qp(attributes);
    }

    /**
     * How many queue pairs for raw Ethertypes there can be ({@code max_raw_ethy_qp}).
     *
     * @return the limit
     */
    public int maxRawEthernetQueuePairs() {
        return ibv_device_attr.max_raw_ethy_qp(attributes);
    }

    /**
     * How many multicast groups the device can join ({@code max_mcast_grp}).
     *
     * @return the limit
     */
    public int maxMulticastGroups() {
        return ibv_device_attr.max_mcast_grp(attributes);
    }

    /**
     * How many queue pairs a multicast group can have ({@code max_mcast_qp_attach}).
     *
     * @return the limit
     */
    public int maxQueuePairsPerMulticastGroup() {
        return ibv_device_attr.max_mcast_qp_attach(attributes);
    }

    /**
     * How many queue pairs all multicast groups can have together ({@code max_total_mcast_qp_attach}).
     *
     * @return the limit
     */
    public int maxMulticastAttachments() {
        return ibv_device_attr.max_total_mcast_qp_attach(attributes);
    }

    /**
     * How many address handles there can be ({@code max_ah}).
     *
     * @return the limit
     */
    public int maxAddressHandles() {
        return ibv_device_attr.max_ah(attributes);
    }

    /**
     * How many shared receive queues there can be ({@code max_srq}).
     *
     * @return the limit
     */
    public int maxSharedReceiveQueues() {
        return ibv_device_attr.max_srq(attributes);
    }

    /**
     * How many receives a shared receive queue can hold ({@code max_srq_wr}).
     *
     * @return the limit
     */
    public int maxSharedReceives() {
        return ibv_device_attr.max_srq_wr(attributes);
    }

    /**
     * How many pieces of memory a receive of a shared receive queue can name ({@code max_srq_sge}).
     *
     * @return the limit
     */
    public int maxSharedReceiveSge() {
        return ibv_device_attr.max_srq_sge(attributes);
    }

    /**
     * How many partition keys there are ({@code max_pkeys}).
     *
     * @return the limit
     */
    public int maxPkeys() {
        return Short.toUnsignedInt(ibv_device_attr.max_pkeys(attributes));
    }

    /**
     * How long an acknowledgement may take here ({@code local_ca_ack_delay}).
     *
     * @return 4.096 us times two to this power
     */
    public int acknowledgementDelay() {
        return Byte.toUnsignedInt(ibv_device_attr.local_ca_ack_delay(attributes));
    }

    /**
     * How many ports the device has ({@code phys_port_cnt}).
     *
     * @return the count: ports are numbered from 1
     */
    public int ports() {
        int more = ibv_device_attr_ex.phys_port_cnt_ex(extended); // a device can have more than a byte can tell
        return more > 0 ? more : Byte.toUnsignedInt(ibv_device_attr.phys_port_cnt(attributes));
    }

    /**
     * What the device can do ({@code device_cap_flags_ex}).
     *
     * @return the capabilities that this release knows
     */
    public Set<DeviceCapability> capabilities() {
        return DeviceCapability.of(capabilityBits());
    }

    /**
     * What the device can do, also what this release does not know ({@code device_cap_flags_ex}).
     *
     * @return bits of {@link DeviceCapability}
     */
    public long capabilityBits() {
        return ibv_device_attr_ex.device_cap_flags_ex(extended) | Integer.toUnsignedLong(capabilityFlags());
    }

    /**
     * What it can do with memory that is paged in on demand ({@code odp_caps}, {@code xrc_odp_caps}).
     *
     * @return the capabilities
     */
    public OnDemandPaging onDemandPaging() {
        return OnDemandPaging.read(extended);
    }

    /**
     * Which bits of a {@linkplain dev.verbena.verbs.ExtendedCompletions#timestamp time stamp} count ({@code completion_timestamp_mask}).
     *
     * @return the mask; 0 where completions have no time stamps
     */
    public long timestampMask() {
        return ibv_device_attr_ex.completion_timestamp_mask(extended);
    }

    /**
     * How fast the device's clock runs ({@code hca_core_clock}).
     *
     * @return kHz; 0 where it is not told
     */
    public long coreClockKilohertz() {
        return ibv_device_attr_ex.hca_core_clock(extended);
    }

    /**
     * Its segmented sends ({@code tso_caps}).
     *
     * @return the limits
     */
    public TcpSegmentation segmentation() {
        return TcpSegmentation.read(ibv_device_attr_ex.tso_caps(extended));
    }

    /**
     * How it spreads packets over work queues ({@code rss_caps}).
     *
     * @return the limits
     */
    public ReceiveSideScaling receiveSideScaling() {
        return ReceiveSideScaling.read(ibv_device_attr_ex.rss_caps(extended));
    }

    /**
     * How many receive work queues there can be ({@code max_wq_type_rq}).
     *
     * @return the limit; 0 where there are none
     */
    public int maxWorkQueues() {
        return ibv_device_attr_ex.max_wq_type_rq(extended);
    }

    /**
     * How far sends can be slowed down ({@code packet_pacing_caps}).
     *
     * @return the limits
     */
    public PacketPacing packetPacing() {
        return PacketPacing.read(ibv_device_attr_ex.packet_pacing_caps(extended));
    }

    /**
     * What it can do for raw packets ({@code raw_packet_caps}).
     *
     * @return the capabilities that this release knows
     */
    public Set<RawPacketCapability> rawPackets() {
        return NativeFlag.of(RawPacketCapability.class, ibv_device_attr_ex.raw_packet_caps(extended));
    }

    /**
     * What its tag matching can hold ({@code tm_caps}).
     *
     * @return the limits
     */
    public TagMatchingLimits tagMatching() {
        return TagMatchingLimits.read(ibv_device_attr_ex.tm_caps(extended));
    }

    /**
     * How many completions it can gather before it raises an event ({@code cq_mod_caps}).
     *
     * @return the limits
     */
    public CompletionModeration completionModeration() {
        return CompletionModeration.read(ibv_device_attr_ex.cq_mod_caps(extended));
    }

    /**
     * The largest piece of {@linkplain dev.verbena.verbs.DeviceMemory memory of the device} ({@code max_dm_size}).
     *
     * @return bytes; 0 where it has none
     */
    public long maxDeviceMemory() {
        return ibv_device_attr_ex.max_dm_size(extended);
    }

    /**
     * Which atomics it can do together with the processor ({@code pci_atomic_caps}).
     *
     * @return the sizes
     */
    public PciAtomics pciAtomics() {
        return PciAtomics.read(ibv_device_attr_ex.pci_atomic_caps(extended));
    }

    /** The identity and the limits that are looked at most. */
    @Override
    public String toString() {
        return "node " + nodeGuid() + (firmwareVersion().isEmpty() ? "" : ", firmware " + firmwareVersion())
                + ", " + ports() + (ports() == 1 ? " port" : " ports") + ", at most " + maxQueuePairs()
                + " queue pairs of " + maxWorkRequests() + " requests with " + maxSge() + " pieces each, "
                + maxCompletionQueues() + " completion queues of " + maxCompletions() + ", " + maxMemoryRegions()
                + " memory regions, atomics: " + atomicCapability();
    }
}
