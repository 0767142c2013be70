package dev.verbena.verbs.flow;

import static dev.verbena.verbs.flow.FlowRule.FLAGS;
import static dev.verbena.verbs.flow.FlowRule.KIND;
import static dev.verbena.verbs.flow.FlowRule.PORT;
import static dev.verbena.verbs.flow.FlowRule.PRIORITY;
import static dev.verbena.verbs.flow.FlowRule.SPECS;

import dev.verbena.VerbsObject;
import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.raw.ibv_flow_attr;
import dev.verbena.internal.raw.ibv_flow_spec_action_drop;
import dev.verbena.internal.raw.ibv_flow_spec_action_tag;
import dev.verbena.internal.raw.ibv_flow_spec_counter_action;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.flow.access.FlowAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/** Writes flow rules to C's structs. */
final class FlowWriter implements FlowAccess {
    @Override
    public List<FlowSpec> specs(FlowRule rule) {
        return SPECS.of(rule);
    }

    @Override
    public FlowAction count(VerbsObject counters, long address) {
        return new FlowAction.Count(counters, address);
    }

    @Override
    public MemorySegment write(FlowRule rule, Arena arena) {
        long size = ibv_flow_attr.sizeof()
                + SPECS.of(rule).stream().mapToLong(FlowWriter::sizeOf).sum();
        MemorySegment attributes = arena.allocate(size, ibv_flow_attr.layout().byteAlignment());
        ibv_flow_attr.type(attributes, KIND.of(rule).code);
        ibv_flow_attr.size(attributes, (short) size);
        ibv_flow_attr.priority(attributes, PRIORITY.of(rule).shortValue());
        ibv_flow_attr.num_of_specs(attributes, (byte) SPECS.of(rule).size());
        ibv_flow_attr.port(attributes, PORT.of(rule).byteValue());
        ibv_flow_attr.flags(attributes, EnumCodec.bits(FLAGS.of(rule), flag -> flag.bit));
        long at = ibv_flow_attr.sizeof();
        for (FlowSpec spec : SPECS.of(rule)) {
            long length = sizeOf(spec);
            write(spec, attributes.asSlice(at, length), (short) length);
            at += length;
        }
        return attributes;
    }

    private static long sizeOf(FlowSpec spec) {
        return switch (spec) {
            case FlowMatch match -> match.size();
            case FlowAction.Tag tag -> ibv_flow_spec_action_tag.sizeof();
            case FlowAction.Drop drop -> ibv_flow_spec_action_drop.sizeof();
            case FlowAction.Count count -> ibv_flow_spec_counter_action.sizeof();
        };
    }

    private static void write(FlowSpec spec, MemorySegment target, short size) {
        switch (spec) {
            case FlowMatch match -> match.write(target);
            case FlowAction.Tag tag -> {
                ibv_flow_spec_action_tag.type(target, rdma_h.IBV_FLOW_SPEC_ACTION_TAG);
                ibv_flow_spec_action_tag.size(target, size);
                ibv_flow_spec_action_tag.tag_id(target, tag.id());
            }
            case FlowAction.Drop drop -> {
                ibv_flow_spec_action_drop.type(target, rdma_h.IBV_FLOW_SPEC_ACTION_DROP);
                ibv_flow_spec_action_drop.size(target, size);
            }
            case FlowAction.Count count -> {
                ibv_flow_spec_counter_action.type(target, rdma_h.IBV_FLOW_SPEC_ACTION_COUNT);
                ibv_flow_spec_counter_action.size(target, size);
                // C packs the specifications: an address is at a multiple of 4 only
                target.set(
                        ValueLayout.JAVA_LONG_UNALIGNED,
                        ibv_flow_spec_counter_action.counters$offset(),
                        count.address());
            }
        }
    }
}
