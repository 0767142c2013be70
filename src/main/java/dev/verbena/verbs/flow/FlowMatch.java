package dev.verbena.verbs.flow;

import dev.verbena.internal.raw.ibv_flow_esp_filter;
import dev.verbena.internal.raw.ibv_flow_eth_filter;
import dev.verbena.internal.raw.ibv_flow_gre_filter;
import dev.verbena.internal.raw.ibv_flow_ipv4_ext_filter;
import dev.verbena.internal.raw.ibv_flow_ipv6_filter;
import dev.verbena.internal.raw.ibv_flow_mpls_filter;
import dev.verbena.internal.raw.ibv_flow_spec_esp;
import dev.verbena.internal.raw.ibv_flow_spec_eth;
import dev.verbena.internal.raw.ibv_flow_spec_gre;
import dev.verbena.internal.raw.ibv_flow_spec_ipv4_ext;
import dev.verbena.internal.raw.ibv_flow_spec_ipv6;
import dev.verbena.internal.raw.ibv_flow_spec_mpls;
import dev.verbena.internal.raw.ibv_flow_spec_tcp_udp;
import dev.verbena.internal.raw.ibv_flow_spec_tunnel;
import dev.verbena.internal.raw.ibv_flow_tcp_udp_filter;
import dev.verbena.internal.raw.ibv_flow_tunnel_filter;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.Arrays;

/**
 * A header that packets must have, and what must be in it: begin with one of the static methods, and say which fields
 * count. All others may be anything. Each method answers a changed copy. Numbers are as people say them; the byte order
 * of the network is taken care of.
 */
public final class FlowMatch implements FlowSpec {
    private static final int BYTE = 0xff;
    private static final int SHORT = 0xffff;
    private static final int FLOW_LABEL = 0xfffff;

    /** A header's place in C: the struct has the wanted bits, then which of them count. */
    private enum Header {
        ETHERNET(
                rdma_h.IBV_FLOW_SPEC_ETH(),
                ibv_flow_spec_eth.sizeof(),
                ibv_flow_spec_eth.val$offset(),
                ibv_flow_spec_eth.mask$offset()),
        IPV4(
                rdma_h.IBV_FLOW_SPEC_IPV4_EXT(),
                ibv_flow_spec_ipv4_ext.sizeof(),
                ibv_flow_spec_ipv4_ext.val$offset(),
                ibv_flow_spec_ipv4_ext.mask$offset()),
        IPV6(
                rdma_h.IBV_FLOW_SPEC_IPV6(),
                ibv_flow_spec_ipv6.sizeof(),
                ibv_flow_spec_ipv6.val$offset(),
                ibv_flow_spec_ipv6.mask$offset()),
        TCP(
                rdma_h.IBV_FLOW_SPEC_TCP(),
                ibv_flow_spec_tcp_udp.sizeof(),
                ibv_flow_spec_tcp_udp.val$offset(),
                ibv_flow_spec_tcp_udp.mask$offset()),
        UDP(
                rdma_h.IBV_FLOW_SPEC_UDP(),
                ibv_flow_spec_tcp_udp.sizeof(),
                ibv_flow_spec_tcp_udp.val$offset(),
                ibv_flow_spec_tcp_udp.mask$offset()),
        ESP(
                rdma_h.IBV_FLOW_SPEC_ESP(),
                ibv_flow_spec_esp.sizeof(),
                ibv_flow_spec_esp.val$offset(),
                ibv_flow_spec_esp.mask$offset()),
        VXLAN(
                rdma_h.IBV_FLOW_SPEC_VXLAN_TUNNEL(),
                ibv_flow_spec_tunnel.sizeof(),
                ibv_flow_spec_tunnel.val$offset(),
                ibv_flow_spec_tunnel.mask$offset()),
        GRE(
                rdma_h.IBV_FLOW_SPEC_GRE(),
                ibv_flow_spec_gre.sizeof(),
                ibv_flow_spec_gre.val$offset(),
                ibv_flow_spec_gre.mask$offset()),
        MPLS(
                rdma_h.IBV_FLOW_SPEC_MPLS(),
                ibv_flow_spec_mpls.sizeof(),
                ibv_flow_spec_mpls.val$offset(),
                ibv_flow_spec_mpls.mask$offset());

        private final int type;
        private final int size;
        private final int value;
        private final int mask;

        Header(int type, long size, long value, long mask) {
            this.type = type;
            this.size = (int) size;
            this.value = (int) value;
            this.mask = (int) mask;
        }
    }

    private final Header header;
    private final boolean isInner;
    private final byte[] image;

    private FlowMatch(Header header, boolean isInner, byte[] image) {
        this.header = header;
        this.isInner = isInner;
        this.image = image;
    }

    private static FlowMatch of(Header header) {
        return new FlowMatch(header, false, new byte[header.size]);
    }

    /**
     * An Ethernet frame ({@code IBV_FLOW_SPEC_ETH}).
     *
     * @return any
     */
    public static FlowMatch ethernet() {
        return of(Header.ETHERNET);
    }

    /**
     * An IPv4 packet ({@code IBV_FLOW_SPEC_IPV4_EXT}).
     *
     * @return any
     */
    public static FlowMatch ipv4() {
        return of(Header.IPV4);
    }

    /**
     * An IPv6 packet ({@code IBV_FLOW_SPEC_IPV6}).
     *
     * @return any
     */
    public static FlowMatch ipv6() {
        return of(Header.IPV6);
    }

    /**
     * A TCP segment ({@code IBV_FLOW_SPEC_TCP}).
     *
     * @return any
     */
    public static FlowMatch tcp() {
        return of(Header.TCP);
    }

    /**
     * A UDP datagram ({@code IBV_FLOW_SPEC_UDP}).
     *
     * @return any
     */
    public static FlowMatch udp() {
        return of(Header.UDP);
    }

    /**
     * An IPsec packet ({@code IBV_FLOW_SPEC_ESP}).
     *
     * @param index the security parameter index
     * @return packets with that index
     */
    public static FlowMatch esp(int index) {
        return of(Header.ESP).with("security parameter index", ibv_flow_esp_filter.spi$offset(), 4, index, -1);
    }

    /**
     * A packet in a VXLAN tunnel ({@code IBV_FLOW_SPEC_VXLAN_TUNNEL}).
     *
     * @param network the network identifier, 24 bits
     * @return packets of that network
     */
    public static FlowMatch vxlan(int network) {
        return of(Header.VXLAN).with("VXLAN network", ibv_flow_tunnel_filter.tunnel_id$offset(), 4, network, 0xffffff);
    }

    /**
     * A packet in a GRE tunnel ({@code IBV_FLOW_SPEC_GRE}).
     *
     * @param protocol what is in the tunnel, as an EtherType
     * @return packets of that protocol
     */
    public static FlowMatch gre(int protocol) {
        return of(Header.GRE).with("GRE protocol", ibv_flow_gre_filter.protocol$offset(), 2, protocol, SHORT);
    }

    /**
     * An MPLS packet ({@code IBV_FLOW_SPEC_MPLS}).
     *
     * @param label the label, 20 bits
     * @return packets with that label
     */
    public static FlowMatch mpls(int label) {
        int shift = 12; // below the label: traffic class, bottom of stack, time to live
        if (label < 0 || label > FLOW_LABEL) {
            throw new IllegalArgumentException("An MPLS label has 20 bits: " + label);
        }
        return of(Header.MPLS)
                .with("MPLS label", ibv_flow_mpls_filter.label$offset(), 4, label << shift, FLOW_LABEL << shift);
    }

    /**
     * The same header, inside a tunnel ({@code IBV_FLOW_SPEC_INNER}).
     *
     * @return a changed copy
     */
    public FlowMatch inner() {
        return new FlowMatch(header, true, image);
    }

    /**
     * The destination of an Ethernet frame.
     *
     * @param address six bytes
     * @return a changed copy
     */
    public FlowMatch destination(byte[] address) {
        require("A MAC address", address.length == 6, Header.ETHERNET);
        return with(ibv_flow_eth_filter.dst_mac$offset(), address, address.length * Byte.SIZE);
    }

    /**
     * The source of an Ethernet frame.
     *
     * @param address six bytes
     * @return a changed copy
     */
    public FlowMatch source(byte[] address) {
        require("A MAC address", address.length == 6, Header.ETHERNET);
        return with(ibv_flow_eth_filter.src_mac$offset(), address, address.length * Byte.SIZE);
    }

    /**
     * What is in an Ethernet frame.
     *
     * @param type for example 0x0800, which is IPv4
     * @return a changed copy
     */
    public FlowMatch etherType(int type) {
        require("An EtherType", true, Header.ETHERNET);
        return with("EtherType", ibv_flow_eth_filter.ether_type$offset(), 2, type, SHORT);
    }

    /**
     * The VLAN of an Ethernet frame.
     *
     * @param id its number, 12 bits
     * @return a changed copy
     */
    public FlowMatch vlan(int id) {
        require("A VLAN", true, Header.ETHERNET);
        return with("VLAN", ibv_flow_eth_filter.vlan_tag$offset(), 2, id, 0xfff);
    }

    /**
     * Where an IP packet goes.
     *
     * @param address the address
     * @return a changed copy
     */
    public FlowMatch destination(InetAddress address) {
        return destination(address, address.getAddress().length * Byte.SIZE);
    }

    /**
     * Where an IP packet goes.
     *
     * @param address an address of the network
     * @param prefix how many of its bits count
     * @return a changed copy
     */
    public FlowMatch destination(InetAddress address, int prefix) {
        return address(address, prefix, ibv_flow_ipv4_ext_filter.dst_ip$offset(), ibv_flow_ipv6_filter.dst_ip$offset());
    }

    /**
     * Where an IP packet comes from.
     *
     * @param address the address
     * @return a changed copy
     */
    public FlowMatch source(InetAddress address) {
        return source(address, address.getAddress().length * Byte.SIZE);
    }

    /**
     * Where an IP packet comes from.
     *
     * @param address an address of the network
     * @param prefix how many of its bits count
     * @return a changed copy
     */
    public FlowMatch source(InetAddress address, int prefix) {
        return address(address, prefix, ibv_flow_ipv4_ext_filter.src_ip$offset(), ibv_flow_ipv6_filter.src_ip$offset());
    }

    private FlowMatch address(InetAddress address, int prefix, long offset4, long offset6) {
        byte[] bytes = address.getAddress();
        if (prefix < 0 || prefix > bytes.length * Byte.SIZE) {
            throw new IllegalArgumentException(
                    "A prefix of " + address + " has at most " + bytes.length * Byte.SIZE + " bits, not " + prefix);
        }
        return switch (address) {
            case Inet4Address four -> {
                require("An IPv4 address", true, Header.IPV4);
                yield with(offset4, bytes, prefix);
            }
            case Inet6Address six -> {
                require("An IPv6 address", true, Header.IPV6);
                yield with(offset6, bytes, prefix);
            }
            default -> throw new IllegalArgumentException("Neither IPv4 nor IPv6: " + address);
        };
    }

    /**
     * What is in an IP packet.
     *
     * @param number for example 17, which is UDP
     * @return a changed copy
     */
    public FlowMatch protocol(int number) {
        require("A protocol", true, Header.IPV4, Header.IPV6);
        return with(
                "protocol",
                header == Header.IPV4
                        ? ibv_flow_ipv4_ext_filter.proto$offset()
                        : ibv_flow_ipv6_filter.next_hdr$offset(),
                1,
                number,
                BYTE);
    }

    /**
     * The type of service or traffic class of an IP packet.
     *
     * @param value eight bits
     * @return a changed copy
     */
    public FlowMatch trafficClass(int value) {
        require("A traffic class", true, Header.IPV4, Header.IPV6);
        return with(
                "traffic class",
                header == Header.IPV4
                        ? ibv_flow_ipv4_ext_filter.tos$offset()
                        : ibv_flow_ipv6_filter.traffic_class$offset(),
                1,
                value,
                BYTE);
    }

    /**
     * How far an IP packet may still go.
     *
     * @param value the time to live or hop limit
     * @return a changed copy
     */
    public FlowMatch hopLimit(int value) {
        require("A hop limit", true, Header.IPV4, Header.IPV6);
        return with(
                "hop limit",
                header == Header.IPV4 ? ibv_flow_ipv4_ext_filter.ttl$offset() : ibv_flow_ipv6_filter.hop_limit$offset(),
                1,
                value,
                BYTE);
    }

    /**
     * The flow label of an IPv6 packet.
     *
     * @param label 20 bits
     * @return a changed copy
     */
    public FlowMatch flowLabel(int label) {
        require("A flow label", true, Header.IPV6);
        return with("flow label", ibv_flow_ipv6_filter.flow_label$offset(), 4, label, FLOW_LABEL);
    }

    /**
     * The port that a TCP segment or UDP datagram goes to.
     *
     * @param port the port
     * @return a changed copy
     */
    public FlowMatch destinationPort(int port) {
        require("A port", true, Header.TCP, Header.UDP);
        return with("port", ibv_flow_tcp_udp_filter.dst_port$offset(), 2, port, SHORT);
    }

    /**
     * The port that a TCP segment or UDP datagram comes from.
     *
     * @param port the port
     * @return a changed copy
     */
    public FlowMatch sourcePort(int port) {
        require("A port", true, Header.TCP, Header.UDP);
        return with("port", ibv_flow_tcp_udp_filter.src_port$offset(), 2, port, SHORT);
    }

    private void require(String what, boolean isRight, Header... headers) {
        if (!isRight) {
            throw new IllegalArgumentException(what + " has another length");
        }
        if (!Arrays.asList(headers).contains(header)) {
            throw new IllegalArgumentException(what + " belongs to " + Arrays.toString(headers) + ", not to " + header);
        }
    }

    /** A number of some bytes, the highest first. */
    private FlowMatch with(String what, long offset, int bytes, int value, int mask) {
        if ((value & ~mask) != 0) {
            throw new IllegalArgumentException(what + " has no more than the bits of 0x" + Integer.toHexString(mask)
                    + ": 0x" + Integer.toHexString(value));
        }
        byte[] changed = image.clone();
        for (int i = 0; i < bytes; i++) {
            int shift = (bytes - 1 - i) * Byte.SIZE;
            changed[(int) (header.value + offset) + i] = (byte) (value >>> shift);
            changed[(int) (header.mask + offset) + i] = (byte) (mask >>> shift);
        }
        return new FlowMatch(header, isInner, changed);
    }

    private FlowMatch with(long offset, byte[] value, int prefix) {
        byte[] changed = image.clone();
        for (int i = 0; i < value.length; i++) {
            int bits = Math.clamp(prefix - (long) i * Byte.SIZE, 0, Byte.SIZE);
            int mask = BYTE << Byte.SIZE - bits & BYTE;
            changed[(int) (header.value + offset) + i] = (byte) (value[i] & mask);
            changed[(int) (header.mask + offset) + i] = (byte) mask;
        }
        return new FlowMatch(header, isInner, changed);
    }

    /** Returns the number of {@code enum ibv_flow_spec_type}. */
    int type() {
        return header.type | (isInner ? rdma_h.IBV_FLOW_SPEC_INNER() : 0);
    }

    /** Returns the size of the struct. */
    int size() {
        return header.size;
    }

    /** Writes the struct to zeroed memory. */
    void write(MemorySegment target) {
        MemorySegment.copy(image, 0, target, ValueLayout.JAVA_BYTE, 0, header.size);
        // All specifications begin alike.
        ibv_flow_spec_eth.type(target, type());
        ibv_flow_spec_eth.size(target, (short) header.size);
    }

    @Override
    public String toString() {
        return (isInner ? "inner " : "") + header;
    }
}
