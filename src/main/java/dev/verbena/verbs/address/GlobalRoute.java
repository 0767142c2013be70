package dev.verbena.verbs.address;

import dev.verbena.CName;
import dev.verbena.internal.Checks;

/**
 * The part of a path that crosses subnets, and that RoCE always needs ({@code struct ibv_global_route}). Methods with
 * an argument return a changed copy.
 *
 * @param destination the peer's GID
 * @param sourceGidIndex the index of the own GID in the port's table
 * @param flowLabel 20 bits that keep a flow together
 * @param hopLimit the number of routers that a packet can pass; 1 stays in the subnet
 * @param trafficClass the class of service: on RoCE v2 the DSCP and ECN bits of the IP header
 */
public record GlobalRoute(Gid destination, int sourceGidIndex, int flowLabel, int hopLimit, int trafficClass) {
    private static final int DEFAULT_HOP_LIMIT = 64;

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
     * Returns a route with defaults that suit most networks: no flow label, class 0, 64 hops.
     *
     * @param destination the peer's GID
     * @param sourceGidIndex the index of the own GID in the port's table
     * @return the route
     */
    public static GlobalRoute to(Gid destination, int sourceGidIndex) {
        return new GlobalRoute(destination, sourceGidIndex, 0, DEFAULT_HOP_LIMIT, 0);
    }

    /**
     * Returns a copy with another flow label ({@code flow_label}).
     *
     * @param label 20 bits
     * @return a changed copy
     */
    public GlobalRoute flowLabel(int label) {
        return new GlobalRoute(destination, sourceGidIndex, label, hopLimit, trafficClass);
    }

    /**
     * Returns a copy with another hop limit ({@code hop_limit}).
     *
     * @param hops the number of routers that a packet can pass, 8 bits
     * @return a changed copy
     */
    public GlobalRoute hopLimit(int hops) {
        return new GlobalRoute(destination, sourceGidIndex, flowLabel, hops, trafficClass);
    }

    /**
     * Returns a copy with another traffic class ({@code traffic_class}).
     *
     * @param value 8 bits
     * @return a changed copy
     */
    public GlobalRoute trafficClass(int value) {
        return new GlobalRoute(destination, sourceGidIndex, flowLabel, hopLimit, value);
    }

    /**
     * Returns the UDP source port of RoCE v2 packets with this flow label ({@code ibv_flow_label_to_udp_sport}).
     * Networks spread flows by this port.
     *
     * @return the port, from 0xc000
     */
    @CName("ibv_flow_label_to_udp_sport")
    public int udpSourcePort() {
        int low = flowLabel & 0x3fff;
        int high = flowLabel & 0xfc000;
        return (low ^ (high >>> 14)) | 0xc000;
    }
}
