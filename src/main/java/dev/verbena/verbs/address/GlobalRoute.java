package dev.verbena.verbs.address;

import dev.verbena.CName;
import dev.verbena.internal.Checks;

/**
 * The part of a path that crosses subnets, and that RoCE always needs ({@code struct ibv_global_route}).
 *
 * @param destination the peer's GID
 * @param sourceGidIndex the index of the own GID in the port's table
 * @param flowLabel 20 bits that keep a flow together
 * @param hopLimit how many routers a packet may pass; 1 stays in the subnet
 * @param trafficClass the class of service: on RoCE v2 the DSCP and ECN bits of the IP header
 */
public record GlobalRoute(Gid destination, int sourceGidIndex, int flowLabel, int hopLimit, int trafficClass) {
    /**
     * Makes a route.
     *
     * @throws IllegalArgumentException if a number does not fit into its field
     */
    public GlobalRoute {
        Checks.checkRange("GID index", sourceGidIndex, 0xff);
        Checks.checkRange("flow label", flowLabel, 0xfffff);
        Checks.checkRange("hop limit", hopLimit, 0xff);
        Checks.checkRange("traffic class", trafficClass, 0xff);
    }

    /**
     * The UDP source port that RoCE v2 packets with a flow label have, which networks spread flows by
     * ({@code ibv_flow_label_to_udp_sport}).
     *
     * @return the port, from 0xc000
     */
    @CName("ibv_flow_label_to_udp_sport")
    public int udpSourcePort() {
        int low = flowLabel & 0x3fff;
        int high = flowLabel & 0xfc000;
        return low ^ high >>> 14 | 0xc000;
    }

    /**
     * A route with what most networks want: no flow label, class 0, 64 hops.
     *
     * @param destination the peer's GID
     * @param sourceGidIndex the index of the own GID in the port's table
     * @return the route
     */
    public static GlobalRoute to(Gid destination, int sourceGidIndex) {
        return new GlobalRoute(destination, sourceGidIndex, 0, 64, 0);
    }
}
