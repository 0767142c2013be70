package dev.verbena.verbs;

import dev.verbena.VerbsObject;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** One part of a {@link FlowRule}: a header that packets must have, or what happens to them ({@code struct ibv_flow_spec}). */
public sealed interface FlowSpec permits FlowMatch, FlowAction {
    /**
     * The kind of specification ({@code enum ibv_flow_spec_type}).
     *
     * @return the number in C, with {@code IBV_FLOW_SPEC_INNER} for a header inside a tunnel
     */
    int type();

    /**
     * How many bytes it takes in a rule.
     *
     * @return the size of its struct in C
     */
    int size();

    /**
     * Writes the struct.
     *
     * @param target zeroed memory of {@link #size} bytes
     */
    void write(MemorySegment target);

    /**
     * What must outlive the flow.
     *
     * @return the object that the specification names, if it names one
     */
    default Optional<VerbsObject> names() {
        return Optional.empty();
    }
}
