package dev.verbena.verbs.flow;

import static java.lang.foreign.MemoryLayout.PathElement.groupElement;

import dev.verbena.internal.Checks;
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
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.Arrays;

/**
 * A header that packets must have, with the values of some of its fields ({@code struct ibv_flow_spec}).
 *
 * <p>A static method chooses the header. Further methods require values of fields; all other fields may have any value.
 * Instances do not change: each method returns a changed copy. Numbers are in the byte order of Java, and are converted to
 * the byte order of the network.
 */
public final class FlowMatch implements FlowSpec {
    private static final int MAC_BYTES = 6;
    private static final int BYTE = 0xff;
    private static final int SHORT = 0xffff;
    private static final int FLOW_LABEL = 0xfffff;

    /** A kind of header and the layout of its struct, which holds the required values and the mask of the bits that count. */
    private enum Header {
        ETHERNET(rdma_h.IBV_FLOW_SPEC_ETH, ibv_flow_spec_eth.layout()),
        IPV4(rdma_h.IBV_FLOW_SPEC_IPV4_EXT, ibv_flow_spec_ipv4_ext.layout()),
        IPV6(rdma_h.IBV_FLOW_SPEC_IPV6, ibv_flow_spec_ipv6.layout()),
        TCP(rdma_h.IBV_FLOW_SPEC_TCP, ibv_flow_spec_tcp_udp.layout()),
        UDP(rdma_h.IBV_FLOW_SPEC_UDP, ibv_flow_spec_tcp_udp.layout()),
        ESP(rdma_h.IBV_FLOW_SPEC_ESP, ibv_flow_spec_esp.layout()),
        VXLAN(rdma_h.IBV_FLOW_SPEC_VXLAN_TUNNEL, ibv_flow_spec_tunnel.layout()),
        GRE(rdma_h.IBV_FLOW_SPEC_GRE, ibv_flow_spec_gre.layout()),
        MPLS(rdma_h.IBV_FLOW_SPEC_MPLS, ibv_flow_spec_mpls.layout());

        private final int type;
        private final int size;
        private final int value;
        private final int mask;

        Header(int type, MemoryLayout layout) {
            this.type = type;
            this.size = (int) layout.byteSize();
            this.value = (int) layout.byteOffset(groupElement("val"));
            this.mask = (int) layout.byteOffset(groupElement("mask"));
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
     * Matches Ethernet frames ({@code IBV_FLOW_SPEC_ETH}).
     *
     * @return a match for all frames
     */
    public static FlowMatch ethernet() {
        return of(Header.ETHERNET);
    }

    /**
     * Matches IPv4 packets ({@code IBV_FLOW_SPEC_IPV4_EXT}).
     *
     * @return a match for all IPv4 packets
     */
    public static FlowMatch ipv4() {
        return of(Header.IPV4);
    }

    /**
     * Matches IPv6 packets ({@code IBV_FLOW_SPEC_IPV6}).
     *
     * @return a match for all IPv6 packets
     */
    public static FlowMatch ipv6() {
        return of(Header.IPV6);
    }

    /**
     * Matches TCP segments ({@code IBV_FLOW_SPEC_TCP}).
     *
     * @return a match for all TCP segments
     */
    public static FlowMatch tcp() {
        return of(Header.TCP);
    }

    /**
     * Matches UDP datagrams ({@code IBV_FLOW_SPEC_UDP}).
     *
     * @return a match for all UDP datagrams
     */
    public static FlowMatch udp() {
        return of(Header.UDP);
    }

    /**
     * Matches IPsec packets ({@code IBV_FLOW_SPEC_ESP}).
     *
     * @param index the security parameter index
     * @return a match for packets with the index
     */
    public static FlowMatch esp(int index) {
        return of(Header.ESP).with("security parameter index", ibv_flow_esp_filter.spi$offset(), 4, index, -1);
    }

    /**
     * Matches packets in a VXLAN tunnel ({@code IBV_FLOW_SPEC_VXLAN_TUNNEL}).
     *
     * @param network the network identifier, 24 bits
     * @return a match for packets of the network
     */
    public static FlowMatch vxlan(int network) {
        return of(Header.VXLAN).with("VXLAN network", ibv_flow_tunnel_filter.tunnel_id$offset(), 4, network, 0xffffff);
    }

    /**
     * Matches packets in a GRE tunnel ({@code IBV_FLOW_SPEC_GRE}).
     *
     * @param protocol the protocol in the tunnel, as an EtherType
     * @return a match for packets of the protocol
     */
    public static FlowMatch gre(int protocol) {
        return of(Header.GRE).with("GRE protocol", ibv_flow_gre_filter.protocol$offset(), 2, protocol, SHORT);
    }

    /**
     * Matches MPLS packets ({@code IBV_FLOW_SPEC_MPLS}).
     *
     * @param label the label, 20 bits
     * @return a match for packets with the label
     */
    public static FlowMatch mpls(int label) {
        int shift = 12; // below the label: traffic class, bottom of stack, time to live
        Checks.checkRange("MPLS label", label, FLOW_LABEL);
        return of(Header.MPLS)
                .with("MPLS label", ibv_flow_mpls_filter.label$offset(), 4, label << shift, FLOW_LABEL << shift);
    }

    /**
     * Matches the header inside a tunnel ({@code IBV_FLOW_SPEC_INNER}).
     *
     * @return a changed copy
     */
    public FlowMatch inner() {
        return new FlowMatch(header, true, image);
    }

    /**
     * Requires a destination of the Ethernet frame.
     *
     * @param address six bytes
     * @return a changed copy
     */
    public FlowMatch destination(byte[] address) {
        requireMac(address);
        return with(ibv_flow_eth_filter.dst_mac$offset(), address, address.length * Byte.SIZE);
    }

    /**
     * Requires a source of the Ethernet frame.
     *
     * @param address six bytes
     * @return a changed copy
     */
    public FlowMatch source(byte[] address) {
        requireMac(address);
        return with(ibv_flow_eth_filter.src_mac$offset(), address, address.length * Byte.SIZE);
    }

    /**
     * Requires an EtherType of the Ethernet frame.
     *
     * @param type the EtherType, such as 0x0800 for IPv4
     * @return a changed copy
     */
    public FlowMatch etherType(int type) {
        requireHeader("EtherType", Header.ETHERNET);
        return with("EtherType", ibv_flow_eth_filter.ether_type$offset(), 2, type, SHORT);
    }

    /**
     * Requires a VLAN of the Ethernet frame.
     *
     * @param id the number of the VLAN, 12 bits
     * @return a changed copy
     */
    public FlowMatch vlan(int id) {
        requireHeader("VLAN", Header.ETHERNET);
        return with("VLAN", ibv_flow_eth_filter.vlan_tag$offset(), 2, id, 0xfff);
    }

    /**
     * Requires a destination of the IP packet.
     *
     * @param address the address
     * @return a changed copy
     */
    public FlowMatch destination(InetAddress address) {
        return destination(address, address.getAddress().length * Byte.SIZE);
    }

    /**
     * Requires a destination network of the IP packet.
     *
     * @param address an address of the network
     * @param prefix the number of high bits that count
     * @return a changed copy
     */
    public FlowMatch destination(InetAddress address, int prefix) {
        return address(address, prefix, ibv_flow_ipv4_ext_filter.dst_ip$offset(), ibv_flow_ipv6_filter.dst_ip$offset());
    }

    /**
     * Requires a source of the IP packet.
     *
     * @param address the address
     * @return a changed copy
     */
    public FlowMatch source(InetAddress address) {
        return source(address, address.getAddress().length * Byte.SIZE);
    }

    /**
     * Requires a source network of the IP packet.
     *
     * @param address an address of the network
     * @param prefix the number of high bits that count
     * @return a changed copy
     */
    public FlowMatch source(InetAddress address, int prefix) {
        return address(address, prefix, ibv_flow_ipv4_ext_filter.src_ip$offset(), ibv_flow_ipv6_filter.src_ip$offset());
    }

    private FlowMatch address(InetAddress address, int prefix, long offset4, long offset6) {
        byte[] bytes = address.getAddress();
        if (prefix < 0 || prefix > bytes.length * Byte.SIZE) {
            throw new IllegalArgumentException(
                    "prefix of " + address + " must be from 0 to " + bytes.length * Byte.SIZE + " bits, got " + prefix);
        }
        return switch (address) {
            case Inet4Address four -> {
                requireHeader("IPv4 address", Header.IPV4);
                yield with(offset4, bytes, prefix);
            }
            case Inet6Address six -> {
                requireHeader("IPv6 address", Header.IPV6);
                yield with(offset6, bytes, prefix);
            }
            default -> throw new IllegalArgumentException("address must be IPv4 or IPv6, got " + address);
        };
    }

    /**
     * Requires a protocol of the IP packet.
     *
     * @param number the number of the protocol, such as 17 for UDP
     * @return a changed copy
     */
    public FlowMatch protocol(int number) {
        return ofIp(
                "protocol", ibv_flow_ipv4_ext_filter.proto$offset(), ibv_flow_ipv6_filter.next_hdr$offset(), number);
    }

    /**
     * Requires a type of service or traffic class of the IP packet.
     *
     * @param value eight bits
     * @return a changed copy
     */
    public FlowMatch trafficClass(int value) {
        return ofIp(
                "traffic class",
                ibv_flow_ipv4_ext_filter.tos$offset(),
                ibv_flow_ipv6_filter.traffic_class$offset(),
                value);
    }

    /**
     * Requires a time to live or hop limit of the IP packet.
     *
     * @param value the time to live or hop limit
     * @return a changed copy
     */
    public FlowMatch hopLimit(int value) {
        return ofIp("hop limit", ibv_flow_ipv4_ext_filter.ttl$offset(), ibv_flow_ipv6_filter.hop_limit$offset(), value);
    }

    /**
     * Requires a flow label of the IPv6 packet.
     *
     * @param label 20 bits
     * @return a changed copy
     */
    public FlowMatch flowLabel(int label) {
        requireHeader("flow label", Header.IPV6);
        return with("flow label", ibv_flow_ipv6_filter.flow_label$offset(), 4, label, FLOW_LABEL);
    }

    /**
     * Requires a destination port of the TCP segment or UDP datagram.
     *
     * @param port the port
     * @return a changed copy
     */
    public FlowMatch destinationPort(int port) {
        requireHeader("port", Header.TCP, Header.UDP);
        return with("port", ibv_flow_tcp_udp_filter.dst_port$offset(), 2, port, SHORT);
    }

    /**
     * Requires a source port of the TCP segment or UDP datagram.
     *
     * @param port the port
     * @return a changed copy
     */
    public FlowMatch sourcePort(int port) {
        requireHeader("port", Header.TCP, Header.UDP);
        return with("port", ibv_flow_tcp_udp_filter.src_port$offset(), 2, port, SHORT);
    }

    /** Matches a byte of the header of either version. */
    private FlowMatch ofIp(String what, long offset4, long offset6, int value) {
        requireHeader(what, Header.IPV4, Header.IPV6);
        return with(what, header == Header.IPV4 ? offset4 : offset6, 1, value, BYTE);
    }

    private void requireMac(byte[] address) {
        requireHeader("MAC address", Header.ETHERNET);
        if (address.length != MAC_BYTES) {
            throw new IllegalArgumentException("MAC address must have " + MAC_BYTES + " bytes, got " + address.length);
        }
    }

    private void requireHeader(String field, Header... headers) {
        if (!Arrays.asList(headers).contains(header)) {
            throw new IllegalArgumentException(
                    field + " is a field of " + Arrays.toString(headers) + ", not of " + header);
        }
    }

    /** Requires a number of some bytes, the highest first. */
    private FlowMatch with(String what, long offset, int bytes, int value, int mask) {
        if ((value & ~mask) != 0) {
            throw new IllegalArgumentException(what + " must be from 0 to 0x" + Integer.toHexString(mask) + ", got 0x"
                    + Integer.toHexString(value));
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
            int mask = (BYTE << (Byte.SIZE - bits)) & BYTE;
            changed[(int) (header.value + offset) + i] = (byte) (value[i] & mask);
            changed[(int) (header.mask + offset) + i] = (byte) mask;
        }
        return new FlowMatch(header, isInner, changed);
    }

    /** Returns the number of {@code enum ibv_flow_spec_type}. */
    int type() {
        return header.type | (isInner ? rdma_h.IBV_FLOW_SPEC_INNER : 0);
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
