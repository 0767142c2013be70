package dev.verbena.tools.device;

import dev.verbena.VerbsArena;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.Tool;
import dev.verbena.tools.page.Json;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.device.DeviceAttributes;
import dev.verbena.verbs.device.DeviceCapability;
import dev.verbena.verbs.device.OnDemandPaging;
import dev.verbena.verbs.device.Port;
import dev.verbena.verbs.device.QueuePairType;
import dev.verbena.verbs.device.ReceiveSideScaling;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Prints the attributes of devices and their ports in the format of {@code ibv_devinfo}. */
public final class DeviceInfo {
    private static final String USAGE = """
            usage: verbena devinfo [-d DEVICE] [-i PORT] [-l] [-v] [--json]

            Prints the attributes of devices and their ports in the format of ibv_devinfo.
              -d, --ib-dev=DEVICE   only this device (default: all)
              -i, --ib-port=PORT    only this port (default: all)
              -l, --list            only the names of the devices
              -v, --verbose         all attributes
              --json                prints the same fields as JSON""";

    private static final String FLAG = "\t\t\t\t\t";

    private final Context context;
    private final DeviceAttributes device;
    private final PrintStream out;

    private DeviceInfo(Context context, PrintStream out) {
        this.context = context;
        this.device = context.attributes();
        this.out = out;
    }

    /**
     * Runs the tool.
     *
     * @param args the options
     * @param out takes the output
     * @return the exit status
     */
    public static int run(String[] args, PrintStream out) {
        Options options = Options.parse(args, USAGE, 0);
        int only = options.number("-i", 0, 1, 255);
        List<Device> devices = options.devices();
        if (options.has("-l")) {
            if (options.has("--json")) {
                out.print(Json.of(
                        Json.map("devices", devices.stream().map(Device::name).toList())));
                return Tool.OK;
            }
            out.println(devices.size() + (devices.size() == 1 ? " HCA found:" : " HCAs found:"));
            devices.forEach(device -> out.println("\t" + device.name()));
            out.println();
            return Tool.OK;
        }
        if (devices.isEmpty()) {
            Device.first(); // throws, with advice on how to get a device
        }
        List<Object> all = new ArrayList<>();
        for (Device device : devices) {
            ByteArrayOutputStream text = new ByteArrayOutputStream();
            PrintStream lines = options.has("--json") ? new PrintStream(text, true, StandardCharsets.UTF_8) : out;
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                new DeviceInfo(device.open(arena), lines).print(only, options.has("-v"));
            }
            all.add(InfoFields.json(text.toString(StandardCharsets.UTF_8)));
        }
        if (options.has("--json")) {
            out.print(Json.of(Json.map("devices", all)));
        }
        return Tool.OK;
    }

    private void print(int only, boolean all) {
        line("hca_id:\t%s", context.device().name());
        line("\ttransport:\t\t\t%s", transport());
        line("\tfw_ver:\t\t\t\t%s", device.firmwareVersion());
        line("\tnode_guid:\t\t\t%s", device.nodeGuid());
        line("\tsys_image_guid:\t\t\t%s", device.systemImageGuid());
        line("\tvendor_id:\t\t\t0x%04x", device.vendorId());
        line("\tvendor_part_id:\t\t\t%d", device.vendorPartId());
        line("\thw_ver:\t\t\t\t0x%X", device.hardwareVersion());
        String board = board();
        if (!board.isEmpty()) {
            line("\tboard_id:\t\t\t%s", board);
        }
        line("\tphys_port_cnt:\t\t\t%d", device.ports());
        if (all) {
            limits();
            paging();
            clocks();
            line("\tdevice_cap_flags_ex:\t\t0x%X", device.capabilityBits());
            capabilities(device.capabilityBits() & ~0xffff_ffffL);
            offloads();
            line("\tnum_comp_vectors:\t\t%d", context.completionVectors());
        }
        for (Port port : only == 0 ? context.ports() : List.of(context.port(only))) {
            new PortInfo(context, port, out).print(all);
        }
        out.println();
    }

    private void line(String format, Object... values) {
        line(out, format, values);
    }

    static void line(PrintStream out, String format, Object... values) {
        out.println(String.format(java.util.Locale.ROOT, format, values));
    }

    private String transport() {
        String name = switch (context.device().transport()) {
            case IB -> "InfiniBand";
            case IWARP -> "iWARP";
            case USNIC -> "usNIC";
            case USNIC_UDP -> "usNIC UDP";
            case UNSPECIFIED -> "unspecified";
            case UNKNOWN -> "invalid transport";
        };
        return name + " (" + context.device().transport().code() + ")";
    }

    private String board() {
        try {
            return Files.readString(
                            Path.of("/sys/class/infiniband", context.device().name(), "board_id"))
                    .strip();
        } catch (IOException unknown) {
            return "";
        }
    }

    private void limits() {
        line("\tmax_mr_size:\t\t\t0x%x", device.maxMemoryRegionSize());
        line("\tpage_size_cap:\t\t\t0x%x", device.pageSizes());
        line("\tmax_qp:\t\t\t\t%d", device.maxQueuePairs());
        line("\tmax_qp_wr:\t\t\t%d", device.maxWorkRequests());
        line("\tdevice_cap_flags:\t\t0x%08x", device.capabilityFlags());
        capabilities(Integer.toUnsignedLong(device.capabilityFlags()));
        line("\tmax_sge:\t\t\t%d", device.maxSge());
        line("\tmax_sge_rd:\t\t\t%d", device.maxSgeRead());
        line("\tmax_cq:\t\t\t\t%d", device.maxCompletionQueues());
        line("\tmax_cqe:\t\t\t%d", device.maxCompletions());
        line("\tmax_mr:\t\t\t\t%d", device.maxMemoryRegions());
        line("\tmax_pd:\t\t\t\t%d", device.maxProtectionDomains());
        line("\tmax_qp_rd_atom:\t\t\t%d", device.maxReadAtomic());
        line("\tmax_ee_rd_atom:\t\t\t%d", device.maxReadAtomicOfEndToEndContext());
        line("\tmax_res_rd_atom:\t\t%d", device.maxReadAtomicOfDevice());
        line("\tmax_qp_init_rd_atom:\t\t%d", device.maxInitiatedReadAtomic());
        line("\tmax_ee_init_rd_atom:\t\t%d", device.maxInitiatedReadAtomicOfEndToEndContext());
        line(
                "\tatomic_cap:\t\t\t%s (%d)",
                "ATOMIC_"
                        + (device.atomicCapability() == DeviceAttributes.AtomicCapability.GLOBAL
                                ? "GLOB"
                                : device.atomicCapability()),
                device.atomicCapability().code());
        line("\tmax_ee:\t\t\t\t%d", device.maxEndToEndContexts());
        line("\tmax_rdd:\t\t\t%d", device.maxReliableDatagramDomains());
        line("\tmax_mw:\t\t\t\t%d", device.maxMemoryWindows());
        line("\tmax_raw_ipv6_qp:\t\t%d", device.maxRawIpv6QueuePairs());
        line("\tmax_raw_ethy_qp:\t\t%d", device.maxRawEthernetQueuePairs());
        line("\tmax_mcast_grp:\t\t\t%d", device.maxMulticastGroups());
        line("\tmax_mcast_qp_attach:\t\t%d", device.maxQueuePairsPerMulticastGroup());
        line("\tmax_total_mcast_qp_attach:\t%d", device.maxMulticastAttachments());
        line("\tmax_ah:\t\t\t\t%d", device.maxAddressHandles());
        line("\tmax_fmr:\t\t\t%d", device.maxFastMemoryRegions());
        if (device.maxFastMemoryRegions() != 0) {
            line("\tmax_map_per_fmr:\t\t%d", device.maxMapsPerFastMemoryRegion());
        }
        line("\tmax_srq:\t\t\t%d", device.maxSharedReceiveQueues());
        if (device.maxSharedReceiveQueues() != 0) {
            line("\tmax_srq_wr:\t\t\t%d", device.maxSharedReceives());
            line("\tmax_srq_sge:\t\t\t%d", device.maxSharedReceiveSge());
        }
        line("\tmax_pkeys:\t\t\t%d", device.maxPkeys());
        line("\tlocal_ca_ack_delay:\t\t%d", device.acknowledgementDelayCode());
    }

    private void capabilities(long bits) {
        long unknown = bits;
        for (DeviceCapability capability : DeviceCapability.values()) {
            if ((bits & capability.bit()) != 0 && capability.cName().startsWith("IBV_")) { // the C tool knows no others
                line(FLAG + capability.cName().replaceFirst("IBV_DEVICE_", ""));
                unknown &= ~capability.bit();
            }
        }
        if (unknown != 0) {
            line(FLAG + "Unknown flags: 0x%X", unknown);
        }
    }

    private void paging() {
        OnDemandPaging paging = device.onDemandPaging();
        line("\tgeneral_odp_caps:");
        paging.general()
                .forEach(flag ->
                        line(FLAG + "ODP_SUPPORT" + (flag == OnDemandPaging.Capability.IMPLICIT ? "_IMPLICIT" : "")));
        paging("rc", paging.rc());
        paging("uc", paging.uc());
        paging("ud", paging.ud());
        paging("xrc", paging.xrc());
    }

    private void paging(String transport, Set<OnDemandPaging.PagedOperation> operations) {
        line("\t" + transport + "_odp_caps:");
        if (operations.isEmpty()) {
            line(FLAG + "NO SUPPORT");
        }
        operations.forEach(operation -> line(FLAG + "SUPPORT_"
                + switch (operation) {
                    case RECEIVE -> "RECV";
                    case SHARED_RECEIVE -> "SRQ";
                    default -> operation;
                }));
    }

    private void clocks() {
        if (device.timestampMask() == 0) {
            line("\tcompletion_timestamp_mask not supported");
        } else {
            line("\tcompletion_timestamp_mask:\t\t\t0x%016x", device.timestampMask());
        }
        if (device.coreClockKilohertz() == 0) {
            line("\tcore clock not supported");
        } else {
            line("\thca_core_clock:\t\t\t%dkHZ", device.coreClockKilohertz());
        }
    }

    private void offloads() {
        if (!device.rawPackets().isEmpty()) {
            line("\traw packet caps:");
            for (DeviceAttributes.RawPacketCapability capability : device.rawPackets()) {
                line(FLAG + capability);
            }
        }
        DeviceAttributes.TcpSegmentation tso = device.segmentation();
        line("\ttso_caps:");
        line("\t\tmax_tso:\t\t\t%d", tso.maxBytes());
        types(tso.types());
        ReceiveSideScaling rss = device.receiveSideScaling();
        line("\trss_caps:");
        line("\t\tmax_rwq_indirection_tables:\t\t\t%d", rss.maxTables());
        line("\t\tmax_rwq_indirection_table_size:\t\t\t%d", rss.maxTableSize());
        line(
                "\t\trx_hash_function:\t\t\t\t0x%x",
                rss.functions().stream()
                        .mapToInt(ReceiveSideScaling.HashFunction::bit)
                        .sum());
        line(
                "\t\trx_hash_fields_mask:\t\t\t\t0x%X",
                rss.fields().stream()
                        .mapToInt(ReceiveSideScaling.HashField::bit)
                        .sum());
        types(rss.types());
        line("\tmax_wq_type_rq:\t\t\t%d", device.maxWorkQueues());
        DeviceAttributes.PacketPacing pacing = device.packetPacing();
        line("\tpacket_pacing_caps:");
        line("\t\tqp_rate_limit_min:\t%dkbps", pacing.minKilobits());
        line("\t\tqp_rate_limit_max:\t%dkbps", pacing.maxKilobits());
        types(pacing.types());
        DeviceAttributes.TagMatchingLimits tags = device.tagMatching();
        if (tags.maxTags() == 0) {
            line("\ttag matching not supported");
        } else {
            line("\tmax_rndv_hdr_size:\t\t%d", tags.maxRendezvousHeader());
            line("\tmax_num_tags:\t\t\t%d", tags.maxTags());
            line("\tmax_ops:\t\t\t%d", tags.maxOperations());
            line("\tmax_sge:\t\t\t%d", tags.maxSge());
            line("\tflags:");
            tags.capabilities().forEach(flag -> line(FLAG + flag));
        }
        DeviceAttributes.CompletionModeration moderation = device.completionModeration();
        if (moderation.maxCompletions() != 0 || !moderation.maxPeriod().isZero()) {
            line("\tcq moderation caps:");
            line("\t\tmax_cq_count:\t%d", moderation.maxCompletions());
            line("\t\tmax_cq_period:\t%d us", moderation.maxPeriod().toNanos() / 1_000);
        }
        if (device.maxDeviceMemory() != 0) {
            line("\tmaximum available device memory:\t%dBytes", device.maxDeviceMemory());
        }
    }

    private void types(Set<QueuePairType> types) {
        if (!types.isEmpty()) {
            line("\t\tsupported_qp:");
            types.forEach(type -> line(FLAG + "SUPPORT_" + type));
        }
    }

    static String coded(String word, int code) {
        return word + " (" + code + ")";
    }
}
