package dev.verbena.verbs.flow;

import dev.verbena.VerbsObject;
import org.jspecify.annotations.Nullable;

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
     * {@link dev.verbena.verbs.Counters#action} returns it.
     */
    final class Count implements FlowAction {
        private final VerbsObject counters;
        private final long address;

        Count(VerbsObject counters, long address) {
            this.counters = counters;
            this.address = address;
        }

        /**
         * Returns the counters, which must outlive the flow.
         *
         * @return a {@link dev.verbena.verbs.Counters}
         */
        public VerbsObject counters() {
            return counters;
        }

        /** Returns the address of the {@code struct ibv_counters}. */
        long address() {
            return address;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Count count && count.counters == counters;
        }

        @Override
        public int hashCode() {
            return counters.hashCode();
        }

        @Override
        public String toString() {
            return "Count[counters=" + counters + "]";
        }
    }

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
}
