package dev.verbena.verbs;

import dev.verbena.internal.raw.ibv_ah_attr;
import dev.verbena.internal.raw.ibv_global_route;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The path to a peer ({@code struct ibv_ah_attr}).
 *
 * @param port the own port, from 1
 * @param destinationLid the peer's local identifier; 0 on Ethernet
 * @param serviceLevel the service level, 0 to 15
 * @param sourcePathBits the low bits of the own local identifier
 * @param staticRate how fast to send at most ({@code enum ibv_rate}); 0 for as fast as the port
 * @param globalRoute the global part; null within an InfiniBand subnet, never on RoCE
 */
public record AddressVector(int port, int destinationLid, int serviceLevel, int sourcePathBits, int staticRate,
        @Nullable GlobalRoute globalRoute) {
    /**
     * Makes a path.
     *
     * @throws IllegalArgumentException if a number does not fit into its field
     */
    public AddressVector {
        checkRange("port", port, 0xff);
        checkRange("destination LID", destinationLid, 0xffff);
        checkRange("service level", serviceLevel, 15);
        checkRange("source path bits", sourcePathBits, 127);
        checkRange("static rate", staticRate, 0xff);
    }

    static void checkRange(String what, int value, int most) {
        if (value < 0 || value > most) {
            throw new IllegalArgumentException("The " + what + " is from 0 to " + most + ", not " + value);
        }
    }

    void write(MemorySegment target) {
        ibv_ah_attr.dlid(target, (short) destinationLid);
        ibv_ah_attr.sl(target, (byte) serviceLevel);
        ibv_ah_attr.src_path_bits(target, (byte) sourcePathBits);
        ibv_ah_attr.static_rate(target, (byte) staticRate);
        ibv_ah_attr.port_num(target, (byte) port);
        ibv_ah_attr.is_global(target, (byte) (globalRoute == null ? 0 : 1));
        if (globalRoute != null) {
            MemorySegment route = ibv_ah_attr.grh(target);
            globalRoute.destination().write(route, ibv_global_route.dgid$offset());
            ibv_global_route.flow_label(route, globalRoute.flowLabel());
            ibv_global_route.sgid_index(route, (byte) globalRoute.sourceGidIndex());
            ibv_global_route.hop_limit(route, (byte) globalRoute.hopLimit());
            ibv_global_route.traffic_class(route, (byte) globalRoute.trafficClass());
        }
    }

    static AddressVector read(MemorySegment source) {
        return new AddressVector(
                Byte.toUnsignedInt(ibv_ah_attr.port_num(source)),
                Short.toUnsignedInt(ibv_ah_attr.dlid(source)),
                ibv_ah_attr.sl(source) & 15,
                ibv_ah_attr.src_path_bits(source) & 127,
                Byte.toUnsignedInt(ibv_ah_attr.static_rate(source)),
                ibv_ah_attr.is_global(source) == 0 ? null : readRoute(ibv_ah_attr.grh(source)));
    }

    private static GlobalRoute readRoute(MemorySegment route) {
        return new GlobalRoute(
                Gid.read(route, ibv_global_route.dgid$offset()),
                Byte.toUnsignedInt(ibv_global_route.sgid_index(route)),
                ibv_global_route.flow_label(route) & 0xfffff,
                Byte.toUnsignedInt(ibv_global_route.hop_limit(route)),
                Byte.toUnsignedInt(ibv_global_route.traffic_class(route)));
    }
}
