package dev.verbena.verbs.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.verbena.internal.raw.ibv_flow_attr;
import dev.verbena.internal.raw.ibv_flow_ipv4_ext_filter;
import dev.verbena.internal.raw.ibv_flow_spec_action_tag;
import dev.verbena.internal.raw.ibv_flow_spec_eth;
import dev.verbena.internal.raw.ibv_flow_spec_ipv4_ext;
import dev.verbena.internal.raw.ibv_flow_spec_tcp_udp;
import dev.verbena.internal.raw.ibv_flow_tcp_udp_filter;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.flow.access.FlowAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

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
        return FlowAccess.get().write(rule, arena, counters -> 0);
    }

    private static byte[] bytes(MemorySegment memory, long offset, int length) {
        return memory.asSlice(offset, length).toArray(ValueLayout.JAVA_BYTE);
    }

    @Test
    void specificationsFollowTheAttributes() {
        FlowRule rule = FlowRule.of(FlowMatch.ethernet(), FlowMatch.udp().destinationPort(4791), FlowAction.tag(0x1234))
                .port(2)
                .priority(7)
                .flags(Set.of(FlowFlag.EGRESS));
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
                .isThrownBy(() -> FlowRule.of(FlowMatch.udp()).kind(FlowKind.SNIFFER));
    }
}
