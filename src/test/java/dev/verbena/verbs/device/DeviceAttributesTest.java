package dev.verbena.verbs.device;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.raw.ibv_cq_moderation_caps;
import dev.verbena.internal.raw.ibv_device_attr;
import dev.verbena.internal.raw.ibv_device_attr_ex;
import dev.verbena.internal.raw.ibv_odp_caps;
import dev.verbena.internal.raw.ibv_packet_pacing_caps;
import dev.verbena.internal.raw.ibv_pci_atomic_caps;
import dev.verbena.internal.raw.ibv_port_attr;
import dev.verbena.internal.raw.ibv_rss_caps;
import dev.verbena.internal.raw.ibv_tm_caps;
import dev.verbena.internal.raw.ibv_tso_caps;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.device.access.DeviceAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Each attribute of a device and a port is read from its own field of C's struct. The structs are filled in here. */
class DeviceAttributesTest {
    private final Arena arena = Arena.ofConfined();
    private final MemorySegment extended = arena.allocate(ibv_device_attr_ex.layout());
    private final MemorySegment plain = ibv_device_attr_ex.orig_attr(extended);
    private final MemorySegment portStruct = arena.allocate(ibv_port_attr.layout());
    private final DeviceAttributes attributes = DeviceAccess.get().attributes(extended);
    private final Port port = DeviceAccess.get().port("mlx5_0", 1, portStruct);

    @AfterEach
    void close() {
        arena.close();
    }

    private static Arguments field(
            String name, Function<MemorySegment, ? extends Number> field, ToLongFunction<DeviceAttributes> getter) {
        return Arguments.of(name, field, getter);
    }

    static Stream<Arguments> fields() {
        return Stream.of(
                field("max_mr_size", ibv_device_attr::max_mr_size, DeviceAttributes::maxMemoryRegionSize),
                field("page_size_cap", ibv_device_attr::page_size_cap, DeviceAttributes::pageSizes),
                field("vendor_id", ibv_device_attr::vendor_id, DeviceAttributes::vendorId),
                field("vendor_part_id", ibv_device_attr::vendor_part_id, DeviceAttributes::vendorPartId),
                field("hw_ver", ibv_device_attr::hw_ver, DeviceAttributes::hardwareVersion),
                field("max_qp", ibv_device_attr::max_qp, DeviceAttributes::maxQueuePairs),
                field("max_qp_wr", ibv_device_attr::max_qp_wr, DeviceAttributes::maxWorkRequests),
                field("device_cap_flags", ibv_device_attr::device_cap_flags, DeviceAttributes::capabilityFlags),
                field("max_sge", ibv_device_attr::max_sge, DeviceAttributes::maxSge),
                field("max_sge_rd", ibv_device_attr::max_sge_rd, DeviceAttributes::maxSgeRead),
                field("max_cq", ibv_device_attr::max_cq, DeviceAttributes::maxCompletionQueues),
                field("max_cqe", ibv_device_attr::max_cqe, DeviceAttributes::maxCompletions),
                field("max_mr", ibv_device_attr::max_mr, DeviceAttributes::maxMemoryRegions),
                field("max_pd", ibv_device_attr::max_pd, DeviceAttributes::maxProtectionDomains),
                field("max_qp_rd_atom", ibv_device_attr::max_qp_rd_atom, DeviceAttributes::maxReadAtomic),
                field(
                        "max_qp_init_rd_atom",
                        ibv_device_attr::max_qp_init_rd_atom,
                        DeviceAttributes::maxInitiatedReadAtomic),
                field("max_res_rd_atom", ibv_device_attr::max_res_rd_atom, DeviceAttributes::maxReadAtomicOfDevice),
                field(
                        "max_ee_rd_atom",
                        ibv_device_attr::max_ee_rd_atom,
                        DeviceAttributes::maxReadAtomicOfEndToEndContext),
                field(
                        "max_ee_init_rd_atom",
                        ibv_device_attr::max_ee_init_rd_atom,
                        DeviceAttributes::maxInitiatedReadAtomicOfEndToEndContext),
                field("max_ee", ibv_device_attr::max_ee, DeviceAttributes::maxEndToEndContexts),
                field("max_rdd", ibv_device_attr::max_rdd, DeviceAttributes::maxReliableDatagramDomains),
                field("max_fmr", ibv_device_attr::max_fmr, DeviceAttributes::maxFastMemoryRegions),
                field(
                        "max_map_per_fmr",
                        ibv_device_attr::max_map_per_fmr,
                        DeviceAttributes::maxMapsPerFastMemoryRegion),
                field("max_mw", ibv_device_attr::max_mw, DeviceAttributes::maxMemoryWindows),
                field("max_raw_ipv6_qp", ibv_device_attr::max_raw_ipv6_qp, DeviceAttributes::maxRawIpv6QueuePairs),
                field("max_raw_ethy_qp", ibv_device_attr::max_raw_ethy_qp, DeviceAttributes::maxRawEthernetQueuePairs),
                field("max_mcast_grp", ibv_device_attr::max_mcast_grp, DeviceAttributes::maxMulticastGroups),
                field(
                        "max_mcast_qp_attach",
                        ibv_device_attr::max_mcast_qp_attach,
                        DeviceAttributes::maxQueuePairsPerMulticastGroup),
                field(
                        "max_total_mcast_qp_attach",
                        ibv_device_attr::max_total_mcast_qp_attach,
                        DeviceAttributes::maxMulticastAttachments),
                field("max_ah", ibv_device_attr::max_ah, DeviceAttributes::maxAddressHandles),
                field("max_srq", ibv_device_attr::max_srq, DeviceAttributes::maxSharedReceiveQueues),
                field("max_srq_wr", ibv_device_attr::max_srq_wr, DeviceAttributes::maxSharedReceives),
                field("max_srq_sge", ibv_device_attr::max_srq_sge, DeviceAttributes::maxSharedReceiveSge),
                field(
                        "max_pkeys",
                        struct -> Short.toUnsignedInt(ibv_device_attr.max_pkeys(struct)),
                        DeviceAttributes::maxPkeys),
                field(
                        "phys_port_cnt",
                        struct -> Byte.toUnsignedInt(ibv_device_attr.phys_port_cnt(struct)),
                        DeviceAttributes::ports),
                field(
                        "completion_timestamp_mask",
                        ibv_device_attr_ex::completion_timestamp_mask,
                        DeviceAttributes::timestampMask),
                field("hca_core_clock", ibv_device_attr_ex::hca_core_clock, DeviceAttributes::coreClockKilohertz),
                field(
                        "device_cap_flags_ex, whose low half is device_cap_flags",
                        it -> ibv_device_attr_ex.device_cap_flags_ex(it)
                                | Integer.toUnsignedLong(ibv_device_attr.device_cap_flags(it)),
                        DeviceAttributes::capabilityBits),
                field("max_wq_type_rq", ibv_device_attr_ex::max_wq_type_rq, DeviceAttributes::maxWorkQueues),
                field("max_dm_size", ibv_device_attr_ex::max_dm_size, DeviceAttributes::maxDeviceMemory));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("fields")
    void attributeIsReadFromItsField(
            String name, Function<MemorySegment, ? extends Number> field, ToLongFunction<DeviceAttributes> getter) {
        for (long i = 0; i < extended.byteSize(); i++) {
            extended.set(ValueLayout.JAVA_BYTE, i, (byte) (i * 37 + 11)); // no two fields are alike, and none is 0
        }
        assertThat(getter.applyAsLong(attributes))
                .isEqualTo(field.apply(extended).longValue())
                .isNotZero();
    }

    @Test
    void identityIsReadInTheOrderOfTheNetwork() {
        MemorySegment version = ibv_device_attr.fw_ver(plain);
        version.setString(0, "20.1.2");
        ibv_device_attr.node_guid(plain, Long.reverseBytes(0x0102030405060708L));
        ibv_device_attr.sys_image_guid(plain, Long.reverseBytes(0x1112131415161718L));
        assertThat(attributes.firmwareVersion()).isEqualTo("20.1.2");
        assertThat(attributes.nodeGuid()).isEqualTo(new Guid(0x0102030405060708L));
        assertThat(attributes.systemImageGuid()).isEqualTo(new Guid(0x1112131415161718L));
    }

    @Test
    void acknowledgementDelayIsAPowerOfTwoTimesFourMicroseconds() {
        ibv_device_attr.local_ca_ack_delay(plain, (byte) (0xe0 | 15));
        assertThat(attributes.acknowledgementDelayCode()).as("five bits").isEqualTo(15);
        assertThat(attributes.acknowledgementDelay()).isEqualTo(Duration.ofNanos(4096L << 15));
    }

    @Test
    void capabilitiesAreThoseOfBothStructs() {
        ibv_device_attr.atomic_cap(plain, DeviceAttributes.AtomicCapability.GLOBAL.code());
        ibv_device_attr_ex.raw_packet_caps(extended, DeviceAttributes.RawPacketCapability.SCATTER_FCS.bit);
        ibv_device_attr_ex.device_cap_flags_ex(
                extended, DeviceCapability.XRC.bit() | DeviceCapability.FLUSH_GLOBAL.bit());
        assertThat(attributes.atomicCapability()).isEqualTo(DeviceAttributes.AtomicCapability.GLOBAL);
        assertThat(attributes.rawPackets()).containsExactly(DeviceAttributes.RawPacketCapability.SCATTER_FCS);
        assertThat(attributes.capabilities())
                .containsExactlyInAnyOrder(DeviceCapability.XRC, DeviceCapability.FLUSH_GLOBAL);
    }

    @Test
    void onDemandPagingHasTheOperationsOfEachTransport() {
        MemorySegment caps = ibv_device_attr_ex.odp_caps(extended);
        MemorySegment transports = ibv_odp_caps.per_transport_caps(caps);
        assertThat(attributes.onDemandPaging().isSupported()).isFalse();
        ibv_odp_caps.general_caps(caps, OnDemandPaging.Capability.ON_DEMAND.bit);
        ibv_odp_caps.per_transport_caps.rc_odp_caps(transports, OnDemandPaging.PagedOperation.SEND.bit);
        ibv_odp_caps.per_transport_caps.uc_odp_caps(transports, OnDemandPaging.PagedOperation.RECEIVE.bit);
        ibv_odp_caps.per_transport_caps.ud_odp_caps(transports, OnDemandPaging.PagedOperation.WRITE.bit);
        ibv_device_attr_ex.xrc_odp_caps(extended, OnDemandPaging.PagedOperation.READ.bit);
        assertThat(attributes.onDemandPaging().isSupported()).isTrue();
        assertThat(attributes.onDemandPaging())
                .isEqualTo(new OnDemandPaging(
                        Set.of(OnDemandPaging.Capability.ON_DEMAND),
                        Set.of(OnDemandPaging.PagedOperation.SEND),
                        Set.of(OnDemandPaging.PagedOperation.RECEIVE),
                        Set.of(OnDemandPaging.PagedOperation.WRITE),
                        Set.of(OnDemandPaging.PagedOperation.READ)));
    }

    @Test
    void limitsOfRareFeaturesAreReadFieldByField() {
        MemorySegment scaling = ibv_device_attr_ex.rss_caps(extended);
        ibv_rss_caps.supported_qpts(scaling, 1 << rdma_h.IBV_QPT_RAW_PACKET());
        ibv_rss_caps.max_rwq_indirection_tables(scaling, 3);
        ibv_rss_caps.max_rwq_indirection_table_size(scaling, 4);
        ibv_rss_caps.rx_hash_fields_mask(scaling, ReceiveSideScaling.HashField.SOURCE_IPV4.bit());
        ibv_rss_caps.rx_hash_function(scaling, (byte) ReceiveSideScaling.HashFunction.TOEPLITZ.bit());
        assertThat(attributes.receiveSideScaling())
                .isEqualTo(new ReceiveSideScaling(
                        Set.of(QueuePairType.RAW_PACKET),
                        3,
                        4,
                        Set.of(ReceiveSideScaling.HashField.SOURCE_IPV4),
                        Set.of(ReceiveSideScaling.HashFunction.TOEPLITZ)));

        MemorySegment pacing = ibv_device_attr_ex.packet_pacing_caps(extended);
        ibv_packet_pacing_caps.qp_rate_limit_min(pacing, 5);
        ibv_packet_pacing_caps.qp_rate_limit_max(pacing, -2);
        ibv_packet_pacing_caps.supported_qpts(pacing, 1 << rdma_h.IBV_QPT_RC());
        assertThat(attributes.packetPacing())
                .isEqualTo(new DeviceAttributes.PacketPacing(5, 0xffff_fffeL, Set.of(QueuePairType.RC)));

        MemorySegment segmentation = ibv_device_attr_ex.tso_caps(extended);
        ibv_tso_caps.max_tso(segmentation, 6);
        ibv_tso_caps.supported_qpts(segmentation, 1 << rdma_h.IBV_QPT_UD());
        assertThat(attributes.segmentation())
                .isEqualTo(new DeviceAttributes.TcpSegmentation(6, Set.of(QueuePairType.UD)));

        MemorySegment tags = ibv_device_attr_ex.tm_caps(extended);
        ibv_tm_caps.max_rndv_hdr_size(tags, 7);
        ibv_tm_caps.max_num_tags(tags, 8);
        ibv_tm_caps.flags(tags, DeviceAttributes.TagMatchingCapability.values()[0].bit);
        ibv_tm_caps.max_ops(tags, 9);
        ibv_tm_caps.max_sge(tags, 10);
        assertThat(attributes.tagMatching())
                .isEqualTo(new DeviceAttributes.TagMatchingLimits(
                        7, 8, Set.of(DeviceAttributes.TagMatchingCapability.values()[0]), 9, 10));

        MemorySegment moderation = ibv_device_attr_ex.cq_mod_caps(extended);
        ibv_cq_moderation_caps.max_cq_count(moderation, (short) -1);
        ibv_cq_moderation_caps.max_cq_period(moderation, (short) 12);
        assertThat(attributes.completionModeration())
                .isEqualTo(new DeviceAttributes.CompletionModeration(0xffff, Duration.ofNanos(12_000)));

        DeviceAttributes.AtomicSize[] sizes = DeviceAttributes.AtomicSize.values();
        MemorySegment pci = ibv_device_attr_ex.pci_atomic_caps(extended);
        ibv_pci_atomic_caps.fetch_add(pci, (short) sizes[0].bit);
        ibv_pci_atomic_caps.swap(pci, (short) sizes[1].bit);
        ibv_pci_atomic_caps.compare_swap(pci, (short) (sizes[0].bit | sizes[1].bit));
        assertThat(attributes.pciAtomics())
                .isEqualTo(new DeviceAttributes.PciAtomics(
                        Set.of(sizes[0]), Set.of(sizes[1]), EnumSet.of(sizes[0], sizes[1])));
    }

    @Test
    void attributesToStringCountsPorts() {
        ibv_device_attr.phys_port_cnt(plain, (byte) 1);
        assertThat(attributes.toString()).contains(", 1 port, ").doesNotContain("firmware");
        ibv_device_attr.phys_port_cnt(plain, (byte) 2);
        ibv_device_attr.fw_ver(plain).setString(0, "7.8");
        assertThat(attributes.toString()).contains(", 2 ports, ").contains(", firmware 7.8, ");
    }

    private static Arguments portField(
            String name, Function<MemorySegment, ? extends Number> field, ToLongFunction<Port> getter) {
        return Arguments.of(name, field, getter);
    }

    private static long unsigned(byte value) {
        return Byte.toUnsignedLong(value);
    }

    static Stream<Arguments> portFields() {
        return Stream.of(
                portField("gid_tbl_len", ibv_port_attr::gid_tbl_len, Port::gidTableLength),
                portField("port_cap_flags", ibv_port_attr::port_cap_flags, Port::capabilityFlags),
                portField(
                        "max_msg_sz", it -> Integer.toUnsignedLong(ibv_port_attr.max_msg_sz(it)), Port::maxMessageSize),
                portField("bad_pkey_cntr", ibv_port_attr::bad_pkey_cntr, Port::badPkeys),
                portField("qkey_viol_cntr", ibv_port_attr::qkey_viol_cntr, Port::qkeyViolations),
                portField(
                        "pkey_tbl_len",
                        it -> Short.toUnsignedLong(ibv_port_attr.pkey_tbl_len(it)),
                        Port::pkeyTableLength),
                portField("lid", it -> Short.toUnsignedLong(ibv_port_attr.lid(it)), Port::lid),
                portField("sm_lid", it -> Short.toUnsignedLong(ibv_port_attr.sm_lid(it)), Port::subnetManagerLid),
                portField("lmc", it -> unsigned(ibv_port_attr.lmc(it)), Port::lidMaskControl),
                portField("max_vl_num", it -> unsigned(ibv_port_attr.max_vl_num(it)), Port::maxVirtualLanes),
                portField("sm_sl", it -> unsigned(ibv_port_attr.sm_sl(it)), Port::subnetManagerServiceLevel),
                portField("init_type_reply", it -> unsigned(ibv_port_attr.init_type_reply(it)), Port::initTypeReply),
                portField("active_width", it -> unsigned(ibv_port_attr.active_width(it)), Port::widthCode),
                portField("phys_state", it -> unsigned(ibv_port_attr.phys_state(it)), Port::physicalState),
                portField(
                        "port_cap_flags2",
                        it -> Short.toUnsignedLong(ibv_port_attr.port_cap_flags2(it)),
                        Port::capabilityFlags2));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("portFields")
    void portAttributeIsReadFromItsField(
            String name, Function<MemorySegment, ? extends Number> field, ToLongFunction<Port> getter) {
        for (long i = 0; i < portStruct.byteSize(); i++) {
            portStruct.set(ValueLayout.JAVA_BYTE, i, (byte) (i * 37 + 139));
        }
        assertThat(getter.applyAsLong(port))
                .isEqualTo(field.apply(portStruct).longValue())
                .isNotZero();
    }

    @Test
    void subnetTimeoutIsAPowerOfTwoTimesFourMicroseconds() {
        ibv_port_attr.subnet_timeout(portStruct, (byte) (0xe0 | 18));
        assertThat(port.subnetTimeoutCode()).as("five bits").isEqualTo(18);
        assertThat(port.subnetTimeout()).isEqualTo(Duration.ofNanos(4096L << 18));
    }
}
