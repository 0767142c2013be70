package dev.verbena.verbs.flow;

import dev.verbena.internal.Checks;
import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.Options;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.verbs.flow.access.FlowAccess;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * A rule that steers packets to a queue pair, with actions on them ({@code struct ibv_flow_attr}). Begin with
 * {@link #of}, and give the rule to {@code QueuePair.createFlow}. Each option has a method that returns a changed copy.
 * Rules never change, so all threads can use them.
 *
 * {@snippet file="ObjectSnippets.java" region="flow"}
 */
public final class FlowRule extends Options<FlowRule> {
    static {
        FlowAccess.install(new FlowWriter());
    }

    private static final int MAX_SPECS = 255;

    private static final Keys<FlowRule> KEYS = new Keys<>();
    static final Key<FlowRule, Kind> KIND = KEYS.always("kind", Kind.NORMAL);
    static final Key<FlowRule, Integer> PORT = KEYS.key("port", 1);
    static final Key<FlowRule, Integer> PRIORITY = KEYS.key("priority", 0);
    static final Key<FlowRule, Set<Flag>> FLAGS = KEYS.key("flags", Set.of());
    static final Key<FlowRule, List<FlowSpec>> SPECS = KEYS.key("specifications", List.of());

    private FlowRule() {
        super(KEYS);
    }

    /**
     * Returns a normal rule for port 1, before all others.
     *
     * @param specs headers, from the outermost to the innermost, then actions
     * @return the rule
     * @throws IllegalArgumentException if there are more than 255 specifications
     */
    public static FlowRule of(FlowSpec... specs) {
        return new FlowRule().specs(List.of(specs));
    }

    /**
     * Returns a rule without specifications, for port 1.
     *
     * @param kind the packets that the rule is about
     * @return the rule
     */
    public static FlowRule of(Kind kind) {
        return new FlowRule().kind(kind);
    }

    /**
     * Returns a copy that is about other packets ({@code type}).
     *
     * @param value the kind
     * @return a changed copy
     * @throws IllegalArgumentException if the rule has headers, and the kind is not {@link Kind#NORMAL}
     */
    public FlowRule kind(Kind value) {
        checkHeaders(Objects.requireNonNull(value, "kind"), SPECS.of(this));
        return with(KIND, value);
    }

    /**
     * Returns a copy for another port of the device ({@code port}).
     *
     * @param number the port, from 1; 1 by default
     * @return a changed copy
     */
    public FlowRule port(int number) {
        return with(PORT, Checks.checkRange("port", number, 1, 0xff));
    }

    /**
     * Returns a copy with another place among the rules ({@code priority}).
     *
     * @param value 0 to 65535; 0 by default, which comes first
     * @return a changed copy
     */
    public FlowRule priority(int value) {
        return with(PRIORITY, Checks.checkRange("priority", value, 0xffff));
    }

    /**
     * Returns a copy with these flags and no others ({@code flags}).
     *
     * @param values the flags; none by default
     * @return a changed copy
     */
    public FlowRule flags(Flag... values) {
        return with(FLAGS, EnumCodec.copy(Flag.class, List.of(values)));
    }

    /**
     * Returns a copy with these headers and actions and no others.
     *
     * @param values headers, from the outermost to the innermost, then actions
     * @return a changed copy
     */
    public FlowRule specs(List<FlowSpec> values) {
        if (values.size() > MAX_SPECS) {
            throw new IllegalArgumentException(
                    "a rule has at most " + MAX_SPECS + " specifications, got " + values.size());
        }
        checkHeaders(KIND.of(this), values);
        return with(SPECS, List.copyOf(values));
    }

    private static void checkHeaders(Kind kind, List<FlowSpec> specs) {
        if (kind != Kind.NORMAL && specs.stream().anyMatch(FlowMatch.class::isInstance)) {
            throw new IllegalArgumentException("only a NORMAL rule matches headers, got " + kind);
        }
    }

    /** A property of a flow rule ({@code enum ibv_flow_flags}). */
    public enum Flag {
        /** Matched packets also go on to rules of a lower priority ({@code IBV_FLOW_ATTR_FLAGS_DONT_TRAP}). */
        DO_NOT_TRAP(rdma_h.IBV_FLOW_ATTR_FLAGS_DONT_TRAP),
        /** The rule matches packets that are sent ({@code IBV_FLOW_ATTR_FLAGS_EGRESS}). */
        EGRESS(rdma_h.IBV_FLOW_ATTR_FLAGS_EGRESS);

        final int bit;

        Flag(int bit) {
            this.bit = bit;
        }
    }

    /** The kind of a flow rule, which selects packets ({@code enum ibv_flow_attr_type}). */
    public enum Kind {
        /** A rule for the packets that its specifications match ({@code IBV_FLOW_ATTR_NORMAL}). */
        NORMAL(rdma_h.IBV_FLOW_ATTR_NORMAL),
        /** A rule for all packets that no other rule takes ({@code IBV_FLOW_ATTR_ALL_DEFAULT}). */
        ALL_DEFAULT(rdma_h.IBV_FLOW_ATTR_ALL_DEFAULT),
        /** A rule for all multicast packets that no other rule takes ({@code IBV_FLOW_ATTR_MC_DEFAULT}). */
        MULTICAST_DEFAULT(rdma_h.IBV_FLOW_ATTR_MC_DEFAULT),
        /** A rule for a copy of all packets ({@code IBV_FLOW_ATTR_SNIFFER}). */
        SNIFFER(rdma_h.IBV_FLOW_ATTR_SNIFFER);

        final int code;

        Kind(int code) {
            this.code = code;
        }
    }
}
