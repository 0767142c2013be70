package dev.verbena.verbs;

import dev.verbena.internal.raw.ibv_ah_attr;
import dev.verbena.internal.raw.ibv_gid_entry;
import dev.verbena.internal.raw.ibv_global_route;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GidEntry;
import dev.verbena.verbs.address.GlobalRoute;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.ByteOrder;

/** Reads and writes C's structs of addresses. */
final class AddressCodec {
    private static final ValueLayout.OfLong BIG_ENDIAN_LONG =
            ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private AddressCodec() {}

    /** Reads a {@code union ibv_gid}. */
    static Gid readGid(MemorySegment source, long offset) {
        return new Gid(source.get(BIG_ENDIAN_LONG, offset), source.get(BIG_ENDIAN_LONG, offset + Long.BYTES));
    }

    /** Writes a {@code union ibv_gid}. */
    static void writeGid(Gid gid, MemorySegment target, long offset) {
        target.set(BIG_ENDIAN_LONG, offset, gid.subnetPrefix());
        target.set(BIG_ENDIAN_LONG, offset + Long.BYTES, gid.interfaceId());
    }

    /** Reads a {@code struct ibv_gid_entry}. */
    static GidEntry readGidEntry(MemorySegment source) {
        return new GidEntry(
                readGid(source, ibv_gid_entry.gid$offset()),
                ibv_gid_entry.port_num(source),
                ibv_gid_entry.gid_index(source),
                GidEntry.Type.of(ibv_gid_entry.gid_type(source)),
                networkDevice(ibv_gid_entry.ndev_ifindex(source)));
    }

    private static String networkDevice(int index) {
        try {
            NetworkInterface found = index == 0 ? null : NetworkInterface.getByIndex(index);
            return found == null ? "" : found.getName();
        } catch (SocketException e) {
            return "";
        }
    }

    /** Reads a {@code struct ibv_ah_attr}. */
    static AddressVector readPath(MemorySegment source) {
        return AddressVector.of(
                        Byte.toUnsignedInt(ibv_ah_attr.port_num(source)),
                        Short.toUnsignedInt(ibv_ah_attr.dlid(source)),
                        ibv_ah_attr.is_global(source) == 0 ? null : readRoute(ibv_ah_attr.grh(source)))
                .serviceLevel(ibv_ah_attr.sl(source) & 15)
                .sourcePathBits(ibv_ah_attr.src_path_bits(source) & 127)
                .staticRateCode(Byte.toUnsignedInt(ibv_ah_attr.static_rate(source)));
    }

    private static GlobalRoute readRoute(MemorySegment route) {
        return new GlobalRoute(
                readGid(route, ibv_global_route.dgid$offset()),
                Byte.toUnsignedInt(ibv_global_route.sgid_index(route)),
                ibv_global_route.flow_label(route) & 0xfffff,
                Byte.toUnsignedInt(ibv_global_route.hop_limit(route)),
                Byte.toUnsignedInt(ibv_global_route.traffic_class(route)));
    }

    /** Writes a {@code struct ibv_ah_attr}. */
    static void writePath(AddressVector path, MemorySegment target) {
        ibv_ah_attr.dlid(target, (short) path.destinationLid());
        ibv_ah_attr.sl(target, (byte) path.serviceLevel());
        ibv_ah_attr.src_path_bits(target, (byte) path.sourcePathBits());
        ibv_ah_attr.static_rate(target, (byte) path.staticRateCode());
        ibv_ah_attr.port_num(target, (byte) path.port());
        GlobalRoute global = path.globalRoute();
        ibv_ah_attr.is_global(target, (byte) (global == null ? 0 : 1));
        if (global != null) {
            MemorySegment route = ibv_ah_attr.grh(target);
            writeGid(global.destination(), route, ibv_global_route.dgid$offset());
            ibv_global_route.flow_label(route, global.flowLabel());
            ibv_global_route.sgid_index(route, (byte) global.sourceGidIndex());
            ibv_global_route.hop_limit(route, (byte) global.hopLimit());
            ibv_global_route.traffic_class(route, (byte) global.trafficClass());
        }
    }
}
