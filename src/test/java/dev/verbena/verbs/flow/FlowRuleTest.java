package dev.verbena.verbs.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.internal.raw.ibv_flow_attr;
import dev.verbena.internal.raw.ibv_flow_ipv4_ext_filter;
import dev.verbena.internal.raw.ibv_flow_spec_action_drop;
import dev.verbena.internal.raw.ibv_flow_spec_action_tag;
import dev.verbena.internal.raw.ibv_flow_spec_counter_action;
import dev.verbena.internal.raw.ibv_flow_spec_esp;
import dev.verbena.internal.raw.ibv_flow_spec_eth;
import dev.verbena.internal.raw.ibv_flow_spec_gre;
import dev.verbena.internal.raw.ibv_flow_spec_ipv4_ext;
import dev.verbena.internal.raw.ibv_flow_spec_mpls;
import dev.verbena.internal.raw.ibv_flow_spec_tcp_udp;
import dev.verbena.internal.raw.ibv_flow_spec_tunnel;
import dev.verbena.internal.raw.ibv_flow_tcp_udp_filter;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.flow.access.FlowAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What of a flow rule C sees. */
class FlowRuleTest {
    private final Arena arena = Arena.ofConfined();

    @AfterEach
    void close() {
        arena.close();
    }

    private MemorySegment spec(FlowSpec spec) {
        return write(FlowRule.of(spec)).asSlice(ibv_flow_attr.sizeof());
    }

    private MemorySegment write(FlowRule rule) {
        return FlowAccess.get().write(rule, arena);
    }

    private static byte[] bytes(MemorySegment memory, long offset, int length) {
        return memory.asSlice(offset, length).toArray(ValueLayout.JAVA_BYTE);
    }

    @Test
    void specificationsFollowTheAttributes() {
        FlowRule rule = FlowRule.of(FlowMatch.ethernet(), FlowMatch.udp().destinationPort(4791), FlowAction.tag(0x1234))
                .port(2)
                .priority(7)
                .flags(FlowRule.Flag.EGRESS);
        MemorySegment written = write(rule);

        assertThat(ibv_flow_attr.num_of_specs(written)).isEqualTo((byte) 3);
        assertThat(ibv_flow_attr.port(written)).isEqualTo((byte) 2);
        assertThat(ibv_flow_attr.priority(written)).isEqualTo((short) 7);
        assertThat(ibv_flow_attr.flags(written)).isEqualTo(rdma_h.IBV_FLOW_ATTR_FLAGS_EGRESS());
        assertThat((long) ibv_flow_attr.size(written)).isEqualTo(written.byteSize());
        long udp = ibv_flow_attr.sizeof() + ibv_flow_spec_eth.sizeof();
        MemorySegment second = written.asSlice(udp, ibv_flow_spec_tcp_udp.sizeof());
        assertThat(ibv_flow_spec_tcp_udp.type(second)).isEqualTo(rdma_h.IBV_FLOW_SPEC_UDP());
        assertThat((long) ibv_flow_spec_tcp_udp.size(second)).isEqualTo(ibv_flow_spec_tcp_udp.sizeof());
        MemorySegment third = written.asSlice(udp + ibv_flow_spec_tcp_udp.sizeof(), ibv_flow_spec_action_tag.sizeof());
        assertThat(ibv_flow_spec_action_tag.tag_id(third)).isEqualTo(0x1234);
    }

    /** Stands for counters, which need a device. */
    private static final class Counting extends VerbsObject {
        private Counting(ObjectLifetime lifetime) {
            super(lifetime);
            lifetime.destroyedBy(() -> {});
        }
    }

    /** C packs them: the address of counters may be at a multiple of 4 only. */
    @Test
    void actionsFollowEachOther() {
        try (VerbsArena objects = VerbsArena.ofConfined()) {
            actionsFollowEachOther(ObjectLifetime.create(objects, Counting::new));
        }
    }

    private void actionsFollowEachOther(Counting counters) {
        FlowAction counting = FlowAccess.get().count(counters, 0x5566778899aabbccL);
        assertThat(counting)
                .isEqualTo(FlowAccess.get().count(counters, 1))
                .hasSameHashCodeAs(FlowAccess.get().count(counters, 1));
        FlowRule rule = FlowRule.of(FlowAction.tag(0x1234), new FlowAction.Drop(), counting);
        MemorySegment written = FlowAccess.get().write(rule, arena);
        MemorySegment tag = written.asSlice(ibv_flow_attr.sizeof());
        MemorySegment drop = tag.asSlice(ibv_flow_spec_action_tag.sizeof());
        MemorySegment count = drop.asSlice(ibv_flow_spec_action_drop.sizeof());
        assertThat(ibv_flow_attr.type(written)).isEqualTo(rdma_h.IBV_FLOW_ATTR_NORMAL());
        assertThat(ibv_flow_attr.num_of_specs(written)).isEqualTo((byte) 3);
        assertThat(ibv_flow_spec_action_tag.type(tag)).isEqualTo(rdma_h.IBV_FLOW_SPEC_ACTION_TAG());
        assertThat(ibv_flow_spec_action_tag.size(tag)).isEqualTo((short) ibv_flow_spec_action_tag.sizeof());
        assertThat(ibv_flow_spec_action_tag.tag_id(tag)).isEqualTo(0x1234);
        assertThat(ibv_flow_spec_action_drop.type(drop)).isEqualTo(rdma_h.IBV_FLOW_SPEC_ACTION_DROP());
        assertThat(ibv_flow_spec_action_drop.size(drop)).isEqualTo((short) ibv_flow_spec_action_drop.sizeof());
        assertThat(ibv_flow_spec_counter_action.type(count)).isEqualTo(rdma_h.IBV_FLOW_SPEC_ACTION_COUNT());
        assertThat(ibv_flow_spec_counter_action.size(count)).isEqualTo((short) ibv_flow_spec_counter_action.sizeof());
        assertThat(count.byteSize()).isEqualTo(ibv_flow_spec_counter_action.sizeof());
        assertThat(count.get(ValueLayout.JAVA_LONG_UNALIGNED, ibv_flow_spec_counter_action.counters$offset()))
                .isEqualTo(0x5566778899aabbccL);
    }

    /** The mask of a whole header has no bit in front of its fields, and the value has none behind the mask. */
    @Test
    void valueAndMaskHaveTheirPlaces() {
        MemorySegment mpls = spec(FlowMatch.mpls(0xabcde));
        assertThat(bytes(mpls, ibv_flow_spec_mpls.val$offset(), 4)).containsExactly(0xab, 0xcd, 0xe0, 0);
        assertThat(bytes(mpls, ibv_flow_spec_mpls.mask$offset(), 4)).containsExactly(0xff, 0xff, 0xf0, 0);
        for (FlowMatch match : List.of(FlowMatch.tcp(), FlowMatch.udp())) {
            MemorySegment ports = spec(match.sourcePort(0x1234));
            long port = ibv_flow_tcp_udp_filter.src_port$offset();
            assertThat(bytes(ports, ibv_flow_spec_tcp_udp.val$offset() + port, 2))
                    .containsExactly(0x12, 0x34);
            assertThat(bytes(ports, ibv_flow_spec_tcp_udp.mask$offset() + port, 2))
                    .containsExactly(0xff, 0xff);
        }
    }

    @Test
    void numbersAreInNetworkOrder() {
        MemorySegment udp = spec(FlowMatch.udp().destinationPort(4791).sourcePort(1));
        long value = ibv_flow_spec_tcp_udp.val$offset();
        long mask = ibv_flow_spec_tcp_udp.mask$offset();
        assertThat(bytes(udp, value + ibv_flow_tcp_udp_filter.dst_port$offset(), 2))
                .containsExactly(0x12, 0xb7);
        assertThat(bytes(udp, value + ibv_flow_tcp_udp_filter.src_port$offset(), 2))
                .containsExactly(0, 1);
        assertThat(bytes(udp, mask, 4)).containsOnly(0xff);
    }

    @Test
    void networkMatchMasksThePrefix() throws UnknownHostException {
        MemorySegment ip = spec(
                FlowMatch.ipv4().source(InetAddress.getByName("10.9.9.1"), 20).protocol(17));
        long value = ibv_flow_spec_ipv4_ext.val$offset();
        long mask = ibv_flow_spec_ipv4_ext.mask$offset();
        long source = ibv_flow_ipv4_ext_filter.src_ip$offset();
        assertThat(bytes(ip, value + source, 4)).containsExactly(10, 9, 0, 0);
        assertThat(bytes(ip, mask + source, 4)).containsExactly(0xff, 0xff, 0xf0, 0);
        assertThat(bytes(ip, mask + ibv_flow_ipv4_ext_filter.dst_ip$offset(), 4))
                .as("any destination")
                .containsOnly(0);
        assertThat(bytes(ip, value + ibv_flow_ipv4_ext_filter.proto$offset(), 1))
                .containsExactly(17);
    }

    @Test
    void innerHeaderIsMarked() {
        assertThat(ibv_flow_spec_tcp_udp.type(spec(FlowMatch.tcp().inner())))
                .isEqualTo(rdma_h.IBV_FLOW_SPEC_TCP() | rdma_h.IBV_FLOW_SPEC_INNER());
    }

    @Test
    void mplsLabelIsInTheUpperTwentyBits() {
        MemorySegment mpls = spec(FlowMatch.mpls(0xabcde));
        assertThat(bytes(mpls, 6, 10)).containsSequence(0xab, 0xcd, 0xe0, 0);
    }

    @Test
    void matchRefusesFieldsOfOtherHeaders() {
        assertThatIllegalArgumentException().isThrownBy(() -> FlowMatch.udp().etherType(0x0800));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> FlowMatch.ethernet().destination(new byte[5]));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> FlowMatch.ipv4().source(InetAddress.getByName("fe80::1")));
    }

    @Test
    void matchRefusesNumbersThatDoNotFit() {
        assertThatIllegalArgumentException().isThrownBy(() -> FlowMatch.udp().sourcePort(65536));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> FlowMatch.ethernet().vlan(4096));
        assertThatIllegalArgumentException().isThrownBy(() -> FlowMatch.vxlan(1 << 24));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> FlowMatch.ipv4().source(InetAddress.getByName("10.0.0.1"), 33));
    }

    @Test
    void ruleRefusesHeadersUnlessNormal() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> FlowRule.of(FlowMatch.udp()).kind(FlowRule.Kind.SNIFFER));
    }

    private static final InetAddress FOUR = InetAddress.ofLiteral("1.2.3.4");
    private static final InetAddress SIX = InetAddress.ofLiteral("102:304:506:708:90a:b0c:d0e:f10");
    private static final byte[] MAC = {1, 2, 3, 4, 5, 6};

    private static final Map<String, FlowMatch> HEADERS = Map.of(
            "ETHERNET", FlowMatch.ethernet(),
            "IPV4", FlowMatch.ipv4(),
            "IPV6", FlowMatch.ipv6(),
            "TCP", FlowMatch.tcp(),
            "UDP", FlowMatch.udp(),
            "ESP", FlowMatch.esp(1),
            "VXLAN", FlowMatch.vxlan(1),
            "GRE", FlowMatch.gre(1),
            "MPLS", FlowMatch.mpls(1));

    private static final Map<String, UnaryOperator<FlowMatch>> FIELDS = Map.ofEntries(
            Map.entry("dst_mac", match -> match.destination(MAC)),
            Map.entry("src_mac", match -> match.source(MAC)),
            Map.entry("ether_type", match -> match.etherType(0x102)),
            Map.entry("vlan_tag", match -> match.vlan(0x102)),
            Map.entry("dst_ip", match -> match.destination(FOUR)),
            Map.entry("src_ip", match -> match.source(FOUR)),
            Map.entry("dst_ip6", match -> match.destination(SIX)),
            Map.entry("src_ip6", match -> match.source(SIX)),
            Map.entry("proto", match -> match.protocol(1)),
            Map.entry("tos", match -> match.trafficClass(1)),
            Map.entry("ttl", match -> match.hopLimit(1)),
            Map.entry("flow_label", match -> match.flowLabel(0x10203)),
            Map.entry("dst_port", match -> match.destinationPort(0x102)),
            Map.entry("src_port", match -> match.sourcePort(0x102)));

    @ParameterizedTest
    @CsvSource({
        "dst_mac, ETHERNET, ibv_flow_spec_eth, ibv_flow_eth_filter, dst_mac, 6",
        "src_mac, ETHERNET, ibv_flow_spec_eth, ibv_flow_eth_filter, src_mac, 6",
        "ether_type, ETHERNET, ibv_flow_spec_eth, ibv_flow_eth_filter, ether_type, 2",
        "vlan_tag, ETHERNET, ibv_flow_spec_eth, ibv_flow_eth_filter, vlan_tag, 2",
        "dst_ip, IPV4, ibv_flow_spec_ipv4_ext, ibv_flow_ipv4_ext_filter, dst_ip, 4",
        "src_ip, IPV4, ibv_flow_spec_ipv4_ext, ibv_flow_ipv4_ext_filter, src_ip, 4",
        "dst_ip6, IPV6, ibv_flow_spec_ipv6, ibv_flow_ipv6_filter, dst_ip, 16",
        "src_ip6, IPV6, ibv_flow_spec_ipv6, ibv_flow_ipv6_filter, src_ip, 16",
        "proto, IPV4, ibv_flow_spec_ipv4_ext, ibv_flow_ipv4_ext_filter, proto, 1",
        "proto, IPV6, ibv_flow_spec_ipv6, ibv_flow_ipv6_filter, next_hdr, 1",
        "tos, IPV4, ibv_flow_spec_ipv4_ext, ibv_flow_ipv4_ext_filter, tos, 1",
        "tos, IPV6, ibv_flow_spec_ipv6, ibv_flow_ipv6_filter, traffic_class, 1",
        "ttl, IPV4, ibv_flow_spec_ipv4_ext, ibv_flow_ipv4_ext_filter, ttl, 1",
        "ttl, IPV6, ibv_flow_spec_ipv6, ibv_flow_ipv6_filter, hop_limit, 1",
        "flow_label, IPV6, ibv_flow_spec_ipv6, ibv_flow_ipv6_filter, flow_label, 4",
        "dst_port, TCP, ibv_flow_spec_tcp_udp, ibv_flow_tcp_udp_filter, dst_port, 2",
        "dst_port, UDP, ibv_flow_spec_tcp_udp, ibv_flow_tcp_udp_filter, dst_port, 2",
        "src_port, TCP, ibv_flow_spec_tcp_udp, ibv_flow_tcp_udp_filter, src_port, 2",
        "src_port, UDP, ibv_flow_spec_tcp_udp, ibv_flow_tcp_udp_filter, src_port, 2"
    })
    void fieldsHaveTheirPlace(String field, String header, String struct, String filter, String name, int size)
            throws ReflectiveOperationException {
        FlowMatch match = HEADERS.get(header);
        MemorySegment changed = spec(FIELDS.get(field).apply(match));
        long place = number(filter, name + "$offset");
        byte[] value = bytes(changed, number(struct, "val$offset") + place, size);
        byte[] mask = bytes(changed, number(struct, "mask$offset") + place, size);
        int skipped = name.equals("flow_label") ? 1 : 0;
        for (int i = skipped; i < size; i++) {
            assertThat(value[i]).isEqualTo((byte) (i + 1 - skipped));
        }
        assertThat(mask[size - 1]).isEqualTo((byte) 0xff);
        assertThat(ibv_flow_spec_eth.type(changed)).isEqualTo((int) number(
                "rdma_h", "IBV_FLOW_SPEC_" + header.replace("ETHERNET", "ETH").replace("IPV4", "IPV4_EXT")));
        assertThat((long) ibv_flow_spec_eth.size(changed)).isEqualTo(number(struct, "sizeof"));
        byte[] all = bytes(changed, 0, (int) number(struct, "sizeof"));
        for (long at : new long[] {number(struct, "val$offset"), number(struct, "mask$offset")}) {
            Arrays.fill(all, (int) (at + place), (int) (at + place) + size, (byte) 0);
        }
        Arrays.fill(all, 0, (int) number(struct, "val$offset"), (byte) 0);
        assertThat(all).as("all other fields").containsOnly(0);
    }

    private static long number(String type, String method) throws ReflectiveOperationException {
        Object value = Class.forName("dev.verbena.internal.raw." + type)
                .getMethod(method)
                .invoke(null);
        return ((Number) value).longValue();
    }

    @Test
    void fieldsBelongToTheirHeaders() {
        Map<String, Set<String>> allowed = Map.of(
                "ETHERNET", Set.of("dst_mac", "src_mac", "ether_type", "vlan_tag"),
                "IPV4", Set.of("dst_ip", "src_ip", "proto", "tos", "ttl"),
                "IPV6", Set.of("dst_ip6", "src_ip6", "proto", "tos", "ttl", "flow_label"),
                "TCP", Set.of("dst_port", "src_port"),
                "UDP", Set.of("dst_port", "src_port"));
        HEADERS.forEach((header, match) -> FIELDS.forEach((field, change) -> {
            if (allowed.getOrDefault(header, Set.of()).contains(field)) {
                assertThat(change.apply(match)).hasToString(header);
            } else {
                assertThatIllegalArgumentException()
                        .as("%s of %s", field, header)
                        .isThrownBy(() -> change.apply(match))
                        .withMessageContaining("not of " + header);
            }
        }));
    }

    @Test
    void numbersHaveTheirRanges() {
        FlowMatch ethernet = FlowMatch.ethernet();
        FlowMatch six = FlowMatch.ipv6();
        assertThat(ethernet.vlan(0xfff)).isNotNull();
        assertThat(FlowMatch.vxlan(0xffffff)).isNotNull();
        assertThat(FlowMatch.mpls(0xfffff)).isNotNull();
        assertThat(FlowMatch.esp(-1)).isNotNull();
        assertThat(FlowMatch.gre(0xffff)).isNotNull();
        assertThat(six.flowLabel(0xfffff).hopLimit(255).trafficClass(255).protocol(255))
                .isNotNull();
        assertThat(FlowMatch.tcp().sourcePort(0xffff).destinationPort(0xffff)).isNotNull();
        for (ThrowingCallable wrong : List.<ThrowingCallable>of(
                () -> ethernet.vlan(0x1000),
                () -> ethernet.etherType(0x10000),
                () -> FlowMatch.vxlan(0x1000000),
                () -> FlowMatch.mpls(0x100000),
                () -> FlowMatch.gre(0x10000),
                () -> six.flowLabel(0x100000),
                () -> six.hopLimit(256),
                () -> six.trafficClass(256),
                () -> six.protocol(-1),
                () -> FlowMatch.tcp().sourcePort(0x10000),
                () -> FlowMatch.tcp().destinationPort(0x10000),
                () -> six.destination(SIX, 129),
                () -> six.source(SIX, -1),
                () -> FlowMatch.ipv4().source(FOUR, 33),
                () -> ethernet.source(new byte[5]),
                () -> ethernet.destination(new byte[7]))) {
            assertThatIllegalArgumentException().isThrownBy(wrong);
        }
        assertThat(FlowMatch.ipv4().source(FOUR, 32)).isNotNull();
        assertThat(FlowMatch.ipv4().source(FOUR, 0)).isNotNull();
        assertThat(six.source(SIX, 128)).isNotNull();
    }

    @Test
    void matchesOfOneNumberHaveTheirPlace() {
        MemorySegment esp = spec(FlowMatch.esp(0x01020304));
        assertThat(bytes(esp, ibv_flow_spec_esp.val$offset(), 4)).containsExactly(1, 2, 3, 4);
        assertThat(bytes(esp, ibv_flow_spec_esp.mask$offset(), 4)).containsExactly(-1, -1, -1, -1);
        assertThat(ibv_flow_spec_eth.type(esp)).isEqualTo(rdma_h.IBV_FLOW_SPEC_ESP());
        MemorySegment vxlan = spec(FlowMatch.vxlan(0x020304).inner());
        assertThat(bytes(vxlan, ibv_flow_spec_tunnel.val$offset(), 4)).containsExactly(0, 2, 3, 4);
        assertThat(bytes(vxlan, ibv_flow_spec_tunnel.mask$offset(), 4)).containsExactly(0, -1, -1, -1);
        assertThat(ibv_flow_spec_eth.type(vxlan))
                .isEqualTo(rdma_h.IBV_FLOW_SPEC_VXLAN_TUNNEL() | rdma_h.IBV_FLOW_SPEC_INNER());
        MemorySegment gre = spec(FlowMatch.gre(0x0304));
        assertThat(bytes(gre, ibv_flow_spec_gre.val$offset() + 2, 2)).containsExactly(3, 4);
        assertThat(bytes(gre, ibv_flow_spec_gre.mask$offset() + 2, 2)).containsExactly(-1, -1);
        assertThat(ibv_flow_spec_eth.type(gre)).isEqualTo(rdma_h.IBV_FLOW_SPEC_GRE());
        MemorySegment mpls = spec(FlowMatch.mpls(0x12345));
        assertThat(bytes(mpls, ibv_flow_spec_mpls.val$offset(), 4)).containsExactly(0x12, 0x34, 0x50, 0);
        assertThat(bytes(mpls, ibv_flow_spec_mpls.mask$offset(), 4)).containsExactly(-1, -1, 0xf0, 0);
        assertThat(ibv_flow_spec_eth.type(mpls)).isEqualTo(rdma_h.IBV_FLOW_SPEC_MPLS());
    }
}
