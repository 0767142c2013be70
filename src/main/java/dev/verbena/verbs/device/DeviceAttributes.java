package dev.verbena.verbs.device;

import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.WireTime;
import dev.verbena.internal.raw.ibv_cq_moderation_caps;
import dev.verbena.internal.raw.ibv_device_attr;
import dev.verbena.internal.raw.ibv_device_attr_ex;
import dev.verbena.internal.raw.ibv_packet_pacing_caps;
import dev.verbena.internal.raw.ibv_pci_atomic_caps;
import dev.verbena.internal.raw.ibv_tm_caps;
import dev.verbena.internal.raw.ibv_tso_caps;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.device.access.DeviceAccess;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Set;

/**
 * The identity, capabilities and limits of a device ({@code struct ibv_device_attr_ex}, {@code ibv_query_device_ex}).
 *
 * <p>An instance is a copy that does not change. All threads may use it.
 */
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

    /** A {@code struct ibv_device_attr_ex}, which begins with a {@code struct ibv_device_attr}. */
    private final MemorySegment attributes;

    /** Wraps a struct that {@code ibv_query_device_ex} filled, or {@code ibv_query_device} its first part. */
    DeviceAttributes(MemorySegment attributes) {
        this.attributes = attributes;
    }

    /**
     * Returns the version of the firmware ({@code fw_ver}).
     *
     * @return the version as the device reports it; may be empty
     */
    public String firmwareVersion() {
        return ibv_device_attr.fw_ver(attributes).getString(0);
    }

    /**
     * Returns the GUID of the node ({@code node_guid}).
     *
     * @return the GUID
     */
    public Guid nodeGuid() {
        return new Guid(Long.reverseBytes(ibv_device_attr.node_guid(attributes)));
    }

    /**
     * Returns the GUID of the system that contains the device ({@code sys_image_guid}).
     *
     * @return the GUID
     */
    public Guid systemImageGuid() {
        return new Guid(Long.reverseBytes(ibv_device_attr.sys_image_guid(attributes)));
    }

    /**
     * Returns the size of the largest memory region ({@code max_mr_size}).
     *
     * @return the size in bytes; -1 for no limit
     */
    public long maxMemoryRegionSize() {
        return ibv_device_attr.max_mr_size(attributes);
    }

    /**
     * Returns the page sizes that the device supports ({@code page_size_cap}).
     *
     * @return the sum of the sizes, each of which is a power of two
     */
    public long pageSizes() {
        return ibv_device_attr.page_size_cap(attributes);
    }

    /**
     * Returns the vendor ({@code vendor_id}).
     *
     * @return the vendor's IEEE number
     */
    public int vendorId() {
        return ibv_device_attr.vendor_id(attributes);
    }

    /**
     * Returns the vendor's number of the part ({@code vendor_part_id}).
     *
     * @return the number
     */
    public int vendorPartId() {
        return ibv_device_attr.vendor_part_id(attributes);
    }

    /**
     * Returns the version of the hardware ({@code hw_ver}).
     *
     * @return the number
     */
    public int hardwareVersion() {
        return ibv_device_attr.hw_ver(attributes);
    }

    /**
     * Returns the maximum number of queue pairs ({@code max_qp}).
     *
     * @return the limit
     */
    public int maxQueuePairs() {
        return ibv_device_attr.max_qp(attributes);
    }

    /**
     * Returns the maximum number of work requests in a queue of a queue pair ({@code max_qp_wr}).
     *
     * @return the limit
     */
    public int maxWorkRequests() {
        return ibv_device_attr.max_qp_wr(attributes);
    }

    /**
     * Returns the capabilities of the device as a flag word ({@code device_cap_flags}).
     *
     * @return bits of {@code enum ibv_device_cap_flags}
     */
    public int capabilityFlags() {
        return ibv_device_attr.device_cap_flags(attributes);
    }

    /**
     * Returns the maximum number of pieces of memory in a work request ({@code max_sge}).
     *
     * @return the limit
     */
    public int maxSge() {
        return ibv_device_attr.max_sge(attributes);
    }

    /**
     * Returns the maximum number of pieces of memory in an RDMA read ({@code max_sge_rd}).
     *
     * @return the limit
     */
    public int maxSgeRead() {
        return ibv_device_attr.max_sge_rd(attributes);
    }

    /**
     * Returns the maximum number of completion queues ({@code max_cq}).
     *
     * @return the limit
     */
    public int maxCompletionQueues() {
        return ibv_device_attr.max_cq(attributes);
    }

    /**
     * Returns the maximum number of completions in a completion queue ({@code max_cqe}).
     *
     * @return the limit
     */
    public int maxCompletions() {
        return ibv_device_attr.max_cqe(attributes);
    }

    /**
     * Returns the maximum number of memory regions ({@code max_mr}).
     *
     * @return the limit
     */
    public int maxMemoryRegions() {
        return ibv_device_attr.max_mr(attributes);
    }

    /**
     * Returns the maximum number of protection domains ({@code max_pd}).
     *
     * @return the limit
     */
    public int maxProtectionDomains() {
        return ibv_device_attr.max_pd(attributes);
    }

    /**
     * Returns the maximum number of reads and atomics that a queue pair serves at once ({@code max_qp_rd_atom}).
     *
     * @return the limit
     */
    public int maxReadAtomic() {
        return ibv_device_attr.max_qp_rd_atom(attributes);
    }

    /**
     * Returns the maximum number of reads and atomics that a queue pair has under way ({@code max_qp_init_rd_atom}).
     *
     * @return the limit
     */
    public int maxInitiatedReadAtomic() {
        return ibv_device_attr.max_qp_init_rd_atom(attributes);
    }

    /**
     * Returns the maximum number of reads and atomics that the device serves at once ({@code max_res_rd_atom}).
     *
     * @return the limit
     */
    public int maxReadAtomicOfDevice() {
        return ibv_device_attr.max_res_rd_atom(attributes);
    }

    /**
     * Returns the maximum number of reads and atomics that an end-to-end context serves at once
     * ({@code max_ee_rd_atom}).
     *
     * @return the limit; 0 on all but the oldest devices
     */
    public int maxReadAtomicOfEndToEndContext() {
        return ibv_device_attr.max_ee_rd_atom(attributes);
    }

    /**
     * Returns the maximum number of reads and atomics that an end-to-end context has under way
     * ({@code max_ee_init_rd_atom}).
     *
     * @return the limit; 0 on all but the oldest devices
     */
    public int maxInitiatedReadAtomicOfEndToEndContext() {
        return ibv_device_attr.max_ee_init_rd_atom(attributes);
    }

    /**
     * Returns the maximum number of end-to-end contexts of reliable datagrams ({@code max_ee}).
     *
     * @return the limit; 0 on all but the oldest devices
     */
    public int maxEndToEndContexts() {
        return ibv_device_attr.max_ee(attributes);
    }

    /**
     * Returns the maximum number of domains of reliable datagrams ({@code max_rdd}).
     *
     * @return the limit; 0 on all but the oldest devices
     */
    public int maxReliableDatagramDomains() {
        return ibv_device_attr.max_rdd(attributes);
    }

    /**
     * Returns the maximum number of fast memory regions ({@code max_fmr}).
     *
     * @return the limit; 0 on all but the oldest devices
     */
    public int maxFastMemoryRegions() {
        return ibv_device_attr.max_fmr(attributes);
    }

    /**
     * Returns the maximum number of mappings of a fast memory region between flushes ({@code max_map_per_fmr}).
     *
     * @return the limit; 0 on all but the oldest devices
     */
    public int maxMapsPerFastMemoryRegion() {
        return ibv_device_attr.max_map_per_fmr(attributes);
    }

    /**
     * Returns the scope within which atomic operations are atomic ({@code atomic_cap}).
     *
     * @return the capability
     */
    public AtomicCapability atomicCapability() {
        return AtomicCapability.of(ibv_device_attr.atomic_cap(attributes));
    }

    /**
     * Returns the maximum number of memory windows ({@code max_mw}).
     *
     * @return the limit
     */
    public int maxMemoryWindows() {
        return ibv_device_attr.max_mw(attributes);
    }

    /**
     * Returns the maximum number of queue pairs for raw IPv6 ({@code max_raw_ipv6_qp}).
     *
     * @return the limit
     */
    public int maxRawIpv6QueuePairs() {
        return ibv_device_attr.max_raw_ipv6_qp(attributes);
    }

    /**
     * Returns the maximum number of queue pairs for raw EtherTypes ({@code max_raw_ethy_qp}).
     *
     * @return the limit
     */
    public int maxRawEthernetQueuePairs() {
        return ibv_device_attr.max_raw_ethy_qp(attributes);
    }

    /**
     * Returns the maximum number of multicast groups ({@code max_mcast_grp}).
     *
     * @return the limit
     */
    public int maxMulticastGroups() {
        return ibv_device_attr.max_mcast_grp(attributes);
    }

    /**
     * Returns the maximum number of queue pairs in a multicast group ({@code max_mcast_qp_attach}).
     *
     * @return the limit
     */
    public int maxQueuePairsPerMulticastGroup() {
        return ibv_device_attr.max_mcast_qp_attach(attributes);
    }

    /**
     * Returns the maximum number of queue pairs in all multicast groups together ({@code max_total_mcast_qp_attach}).
     *
     * @return the limit
     */
    public int maxMulticastAttachments() {
        return ibv_device_attr.max_total_mcast_qp_attach(attributes);
    }

    /**
     * Returns the maximum number of address handles ({@code max_ah}).
     *
     * @return the limit
     */
    public int maxAddressHandles() {
        return ibv_device_attr.max_ah(attributes);
    }

    /**
     * Returns the maximum number of shared receive queues ({@code max_srq}).
     *
     * @return the limit
     */
    public int maxSharedReceiveQueues() {
        return ibv_device_attr.max_srq(attributes);
    }

    /**
     * Returns the maximum number of receives in a shared receive queue ({@code max_srq_wr}).
     *
     * @return the limit
     */
    public int maxSharedReceives() {
        return ibv_device_attr.max_srq_wr(attributes);
    }

    /**
     * Returns the maximum number of pieces of memory in a receive of a shared receive queue ({@code max_srq_sge}).
     *
     * @return the limit
     */
    public int maxSharedReceiveSge() {
        return ibv_device_attr.max_srq_sge(attributes);
    }

    /**
     * Returns the number of partition keys ({@code max_pkeys}).
     *
     * @return the limit
     */
    public int maxPkeys() {
        return Short.toUnsignedInt(ibv_device_attr.max_pkeys(attributes));
    }

    /**
     * Returns the longest delay of an acknowledgement by this device ({@code local_ca_ack_delay}).
     *
     * @return the delay
     */
    public Duration acknowledgementDelay() {
        return WireTime.exponential(acknowledgementDelayCode());
    }

    /**
     * Returns the code of the longest delay of an acknowledgement by this device ({@code local_ca_ack_delay}).
     *
     * @return an exponent, 0 to 31: the delay is 4.096 us times two to this power
     */
    public int acknowledgementDelayCode() {
        return ibv_device_attr.local_ca_ack_delay(attributes) & 31;
    }

    /**
     * Returns the number of ports ({@code phys_port_cnt}).
     *
     * @return the count: ports are numbered from 1
     */
    public int ports() {
        int more = ibv_device_attr_ex.phys_port_cnt_ex(attributes); // the older field is a byte
        return more > 0 ? more : Byte.toUnsignedInt(ibv_device_attr.phys_port_cnt(attributes));
    }

    /**
     * Returns the capabilities of the device ({@code device_cap_flags_ex}).
     *
     * @return the capabilities that this release knows
     */
    public Set<DeviceCapability> capabilities() {
        return DeviceCapability.of(capabilityBits());
    }

    /**
     * Returns the capabilities of the device, including those that this release does not know
     * ({@code device_cap_flags_ex}).
     *
     * @return bits of {@link DeviceCapability}
     */
    public long capabilityBits() {
        return ibv_device_attr_ex.device_cap_flags_ex(attributes) | Integer.toUnsignedLong(capabilityFlags());
    }

    /**
     * Returns the operations on memory that is paged in on demand ({@code odp_caps}, {@code xrc_odp_caps}).
     *
     * @return the capabilities
     */
    public OnDemandPaging onDemandPaging() {
        return OnDemandPaging.read(attributes);
    }

    /**
     * Returns the mask of the valid bits of a completion's time stamp ({@code completion_timestamp_mask}).
     *
     * @return the mask; 0 where completions have no time stamps
     */
    public long timestampMask() {
        return ibv_device_attr_ex.completion_timestamp_mask(attributes);
    }

    /**
     * Returns the frequency of the device's clock ({@code hca_core_clock}).
     *
     * @return the frequency in kHz; 0 if the device does not report it
     */
    public long coreClockKilohertz() {
        return ibv_device_attr_ex.hca_core_clock(attributes);
    }

    /**
     * Returns the limits of segmented sends ({@code tso_caps}).
     *
     * @return the limits
     */
    public TcpSegmentation segmentation() {
        return TcpSegmentation.read(ibv_device_attr_ex.tso_caps(attributes));
    }

    /**
     * Returns the limits of receive side scaling ({@code rss_caps}).
     *
     * @return the limits
     */
    public ReceiveSideScaling receiveSideScaling() {
        return ReceiveSideScaling.read(ibv_device_attr_ex.rss_caps(attributes));
    }

    /**
     * Returns the maximum number of receive work queues ({@code max_wq_type_rq}).
     *
     * @return the limit; 0 if the device has no work queues
     */
    public int maxWorkQueues() {
        return ibv_device_attr_ex.max_wq_type_rq(attributes);
    }

    /**
     * Returns the limits of the rate of sends ({@code packet_pacing_caps}).
     *
     * @return the limits
     */
    public PacketPacing packetPacing() {
        return PacketPacing.read(ibv_device_attr_ex.packet_pacing_caps(attributes));
    }

    /**
     * Returns the capabilities for raw packets ({@code raw_packet_caps}).
     *
     * @return the capabilities that this release knows
     */
    public Set<RawPacketCapability> rawPackets() {
        return EnumCodec.flags(
                RawPacketCapability.class, flag -> flag.bit, ibv_device_attr_ex.raw_packet_caps(attributes));
    }

    /**
     * Returns the limits of tag matching ({@code tm_caps}).
     *
     * @return the limits
     */
    public TagMatchingLimits tagMatching() {
        return TagMatchingLimits.read(ibv_device_attr_ex.tm_caps(attributes));
    }

    /**
     * Returns the limits of completion moderation ({@code cq_mod_caps}).
     *
     * @return the limits
     */
    public CompletionModeration completionModeration() {
        return CompletionModeration.read(ibv_device_attr_ex.cq_mod_caps(attributes));
    }

    /**
     * Returns the maximum size of {@linkplain dev.verbena.verbs.DeviceMemory device memory} ({@code max_dm_size}).
     *
     * @return the size in bytes; 0 if the device has no memory
     */
    public long maxDeviceMemory() {
        return ibv_device_attr_ex.max_dm_size(attributes);
    }

    /**
     * Returns the atomic operations over PCI Express ({@code pci_atomic_caps}).
     *
     * @return the sizes
     */
    public PciAtomics pciAtomics() {
        return PciAtomics.read(ibv_device_attr_ex.pci_atomic_caps(attributes));
    }

    /** Returns the identity and the most important limits as text. */
    @Override
    public String toString() {
        return "node " + nodeGuid() + (firmwareVersion().isEmpty() ? "" : ", firmware " + firmwareVersion())
                + ", " + ports() + (ports() == 1 ? " port" : " ports") + ", at most " + maxQueuePairs()
                + " queue pairs of " + maxWorkRequests() + " requests with " + maxSge() + " pieces each, "
                + maxCompletionQueues() + " completion queues of " + maxCompletions() + ", " + maxMemoryRegions()
                + " memory regions, atomics: " + atomicCapability();
    }

    /** The scope within which atomic operations are atomic ({@code enum ibv_atomic_cap}). */
    public enum AtomicCapability {
        /** No atomics ({@code IBV_ATOMIC_NONE}). */
        NONE(rdma_h.IBV_ATOMIC_NONE),
        /** Atomic among the queue pairs of this device ({@code IBV_ATOMIC_HCA}). */
        HCA(rdma_h.IBV_ATOMIC_HCA),
        /** Atomic among the queue pairs of this device and with the processor ({@code IBV_ATOMIC_GLOB}). */
        GLOBAL(rdma_h.IBV_ATOMIC_GLOB),
        /** A number that this release does not know. */
        UNKNOWN(-1);

        private final int code;

        AtomicCapability(int code) {
            this.code = code;
        }

        /**
         * Returns the number in C.
         *
         * @return the value of the C constant
         */
        public int code() {
            return code;
        }

        static AtomicCapability of(int code) {
            return EnumCodec.find(values(), value -> value.code, code, UNKNOWN);
        }
    }

    /** The size of an atomic operation over PCI Express ({@code enum ibv_pci_atomic_op_size}). */
    public enum AtomicSize {
        /** 4 bytes ({@code IBV_PCI_ATOMIC_OPERATION_4_BYTE_SIZE_SUP}). */
        FOUR_BYTES(rdma_h.IBV_PCI_ATOMIC_OPERATION_4_BYTE_SIZE_SUP),
        /** 8 bytes ({@code IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP}). */
        EIGHT_BYTES(rdma_h.IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP),
        /** 16 bytes ({@code IBV_PCI_ATOMIC_OPERATION_16_BYTE_SIZE_SUP}). */
        SIXTEEN_BYTES(rdma_h.IBV_PCI_ATOMIC_OPERATION_16_BYTE_SIZE_SUP);

        final int bit;

        AtomicSize(int bit) {
            this.bit = bit;
        }
    }

    /**
     * The atomic operations that a device can do over PCI Express ({@code struct ibv_pci_atomic_caps}).
     *
     * @param fetchAndAdd the supported sizes of fetch-and-add
     * @param swap the supported sizes of swap
     * @param compareAndSwap the supported sizes of compare-and-swap
     */
    public record PciAtomics(Set<AtomicSize> fetchAndAdd, Set<AtomicSize> swap, Set<AtomicSize> compareAndSwap) {
        static PciAtomics read(MemorySegment caps) {
            return new PciAtomics(
                    EnumCodec.flags(AtomicSize.class, size -> size.bit, ibv_pci_atomic_caps.fetch_add(caps)),
                    EnumCodec.flags(AtomicSize.class, size -> size.bit, ibv_pci_atomic_caps.swap(caps)),
                    EnumCodec.flags(AtomicSize.class, size -> size.bit, ibv_pci_atomic_caps.compare_swap(caps)));
        }
    }

    /**
     * The limits of completion moderation ({@code struct ibv_cq_moderation_caps}): a device gathers completions before
     * it raises an event. See {@link dev.verbena.verbs.CompletionQueue#moderate}.
     *
     * @param maxCompletions the maximum number of completions to gather; 0 if the device has no moderation
     * @param maxPeriod the maximum time to gather completions
     */
    public record CompletionModeration(int maxCompletions, Duration maxPeriod) {
        static CompletionModeration read(MemorySegment caps) {
            return new CompletionModeration(
                    Short.toUnsignedInt(ibv_cq_moderation_caps.max_cq_count(caps)),
                    Duration.of(Short.toUnsignedInt(ibv_cq_moderation_caps.max_cq_period(caps)), ChronoUnit.MICROS));
        }
    }

    /**
     * The limits of packet pacing, which bounds the rate of a queue pair's sends
     * ({@code struct ibv_packet_pacing_caps}).
     *
     * @param minKilobits the lowest rate, in kbit/s
     * @param maxKilobits the highest rate, in kbit/s; 0 if rates can't be set
     * @param types the types of queue pairs that can have a rate
     */
    public record PacketPacing(long minKilobits, long maxKilobits, Set<QueuePairType> types) {
        static PacketPacing read(MemorySegment caps) {
            return new PacketPacing(
                    Integer.toUnsignedLong(ibv_packet_pacing_caps.qp_rate_limit_min(caps)),
                    Integer.toUnsignedLong(ibv_packet_pacing_caps.qp_rate_limit_max(caps)),
                    QueuePairType.set(ibv_packet_pacing_caps.supported_qpts(caps)));
        }
    }

    /** A capability of a device for raw packets ({@code enum ibv_raw_packet_caps}). */
    public enum RawPacketCapability {
        /** Removal of the VLAN tag ({@code IBV_RAW_PACKET_CAP_CVLAN_STRIPPING}). */
        CVLAN_STRIPPING(rdma_h.IBV_RAW_PACKET_CAP_CVLAN_STRIPPING),
        /** Delivery of the frame check sequence ({@code IBV_RAW_PACKET_CAP_SCATTER_FCS}). */
        SCATTER_FCS(rdma_h.IBV_RAW_PACKET_CAP_SCATTER_FCS),
        /** Computation of checksums ({@code IBV_RAW_PACKET_CAP_IP_CSUM}). */
        IP_CSUM(rdma_h.IBV_RAW_PACKET_CAP_IP_CSUM),
        /**
         * Delay of packets, instead of their loss, while no receive is posted ({@code IBV_RAW_PACKET_CAP_DELAY_DROP}).
         */
        DELAY_DROP(rdma_h.IBV_RAW_PACKET_CAP_DELAY_DROP);

        final int bit;

        RawPacketCapability(int bit) {
            this.bit = bit;
        }
    }

    /**
     * The limits of segmented sends, which a device cuts into packets ({@code struct ibv_tso_caps}).
     *
     * @param maxBytes the maximum size of the data, in bytes ({@code max_tso}); 0 if the device has no segmented sends
     * @param types the types of queue pairs that have segmented sends
     */
    public record TcpSegmentation(int maxBytes, Set<QueuePairType> types) {
        static TcpSegmentation read(MemorySegment caps) {
            return new TcpSegmentation(
                    ibv_tso_caps.max_tso(caps), QueuePairType.set(ibv_tso_caps.supported_qpts(caps)));
        }
    }

    /**
     * The limits of tag matching ({@code struct ibv_tm_caps}).
     *
     * @param maxRendezvousHeader the maximum size of the header of a rendezvous request, in bytes
     * @param maxTags the maximum number of receives in a list; 0 if the device has no tag matching
     * @param capabilities the capabilities of tag matching
     * @param maxOperations the maximum number of changes of a list under way
     * @param maxSge the maximum number of pieces of memory in a receive
     */
    public record TagMatchingLimits(
            int maxRendezvousHeader,
            int maxTags,
            Set<TagMatchingCapability> capabilities,
            int maxOperations,
            int maxSge) {
        static TagMatchingLimits read(MemorySegment caps) {
            return new TagMatchingLimits(
                    ibv_tm_caps.max_rndv_hdr_size(caps),
                    ibv_tm_caps.max_num_tags(caps),
                    EnumCodec.flags(TagMatchingCapability.class, flag -> flag.bit, ibv_tm_caps.flags(caps)),
                    ibv_tm_caps.max_ops(caps),
                    ibv_tm_caps.max_sge(caps));
        }
    }

    /** A capability of tag matching ({@code enum ibv_tm_cap_flags}). */
    public enum TagMatchingCapability {
        /** Tag matching on reliable connections ({@code IBV_TM_CAP_RC}). */
        RC(rdma_h.IBV_TM_CAP_RC);

        final int bit;

        TagMatchingCapability(int bit) {
            this.bit = bit;
        }
    }
}
