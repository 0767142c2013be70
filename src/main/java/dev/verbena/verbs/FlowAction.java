package dev.verbena.verbs;

import dev.verbena.VerbsObject;
import dev.verbena.internal.raw.ibv_flow_spec_action_drop;
import dev.verbena.internal.raw.ibv_flow_spec_action_tag;
import dev.verbena.internal.raw.ibv_flow_spec_counter_action;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** What happens to the packets that a flow rule matches. */
public sealed interface FlowAction extends FlowSpec {
    /**
     * A number that comes with each completion ({@code struct ibv_flow_spec_action_tag}).
     *
     * @param id the number
     */
    record Tag(int id) implements FlowAction {
        @Override
        public int type() {
            return rdma_h.IBV_FLOW_SPEC_ACTION_TAG();
        }

        @Override
        public int size() {
            return (int) ibv_flow_spec_action_tag.sizeof();
        }

        @Override
        public void write(MemorySegment target) {
            ibv_flow_spec_action_tag.type(target, type());
            ibv_flow_spec_action_tag.size(target, (short) size());
            ibv_flow_spec_action_tag.tag_id(target, id);
        }
    }

    /** They are dropped ({@code struct ibv_flow_spec_action_drop}). */
    record Drop() implements FlowAction {
        @Override
        public int type() {
            return rdma_h.IBV_FLOW_SPEC_ACTION_DROP();
        }

        @Override
        public int size() {
            return (int) ibv_flow_spec_action_drop.sizeof();
        }

        @Override
        public void write(MemorySegment target) {
            ibv_flow_spec_action_drop.type(target, type());
            ibv_flow_spec_action_drop.size(target, (short) size());
        }
    }

    /**
     * They are counted ({@code struct ibv_flow_spec_counter_action}).
     *
     * @param counters the counters, which must outlive the flow
     */
    record Count(Counters counters) implements FlowAction {
        @Override
        public int type() {
            return rdma_h.IBV_FLOW_SPEC_ACTION_COUNT();
        }

        @Override
        public int size() {
            return (int) ibv_flow_spec_counter_action.sizeof();
        }

        @Override
        public void write(MemorySegment target) {
            ibv_flow_spec_counter_action.type(target, type());
            ibv_flow_spec_counter_action.size(target, (short) size());
            ibv_flow_spec_counter_action.counters(target, MemorySegment.ofAddress(counters.address()));
        }

        @Override
        public Optional<VerbsObject> names() {
            return Optional.of(counters);
        }
    }

    /**
     * A number that comes with each completion.
     *
     * @param id the number
     * @return the action
     */
    static FlowAction tag(int id) {
        return new Tag(id);
    }

    /**
     * They are dropped.
     *
     * @return the action
     */
    static FlowAction drop() {
        return new Drop();
    }

    /**
     * They are counted.
     *
     * @param counters the counters, which must outlive the flow
     * @return the action
     */
    static FlowAction count(Counters counters) {
        return new Count(counters);
    }
}
