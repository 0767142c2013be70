package dev.verbena.verbs.flow;

/** An action on the packets that a flow rule matches. */
public sealed interface FlowAction extends FlowSpec {
    /**
     * An action that adds a number to each completion ({@code struct ibv_flow_spec_action_tag}).
     *
     * @param id the number
     */
    record Tag(int id) implements FlowAction {}

    /** An action that drops the packets ({@code struct ibv_flow_spec_action_drop}). */
    record Drop() implements FlowAction {}

    /**
     * An action that counts the packets ({@code struct ibv_flow_spec_counter_action}).
     *
     * @param counters the counters, which must outlive the flow
     */
    record Count(FlowCounters counters) implements FlowAction {}

    /**
     * Returns an action that adds a number to each completion.
     *
     * @param id the number
     * @return the action
     */
    static FlowAction tag(int id) {
        return new Tag(id);
    }

    /**
     * Returns an action that drops the packets.
     *
     * @return the action
     */
    static FlowAction drop() {
        return new Drop();
    }

    /**
     * Returns an action that counts the packets.
     *
     * @param counters the counters, which must outlive the flow
     * @return the action
     */
    static FlowAction count(FlowCounters counters) {
        return new Count(counters);
    }
}
