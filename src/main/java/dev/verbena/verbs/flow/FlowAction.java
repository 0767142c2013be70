package dev.verbena.verbs.flow;

/** What happens to the packets that a flow rule matches. */
public sealed interface FlowAction extends FlowSpec {
    /**
     * A number that comes with each completion ({@code struct ibv_flow_spec_action_tag}).
     *
     * @param id the number
     */
    record Tag(int id) implements FlowAction {}

    /** They are dropped ({@code struct ibv_flow_spec_action_drop}). */
    record Drop() implements FlowAction {}

    /**
     * They are counted ({@code struct ibv_flow_spec_counter_action}).
     *
     * @param counters the counters, which must outlive the flow
     */
    record Count(FlowCounters counters) implements FlowAction {}

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
    static FlowAction count(FlowCounters counters) {
        return new Count(counters);
    }
}
