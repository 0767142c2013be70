package dev.verbena.verbs.flow;

import dev.verbena.internal.Checks;
import dev.verbena.verbs.flow.access.FlowAccess;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A rule that steers packets to a queue pair, with actions on them ({@code struct ibv_flow_attr}). Begin with
 * {@link #of}, and give the rule to {@code QueuePair.createFlow}. Each option has a method that returns a changed copy,
 * and a method of the same name that reads it. Rules never change, so all threads can use them.
 *
 * {@snippet file="ObjectSnippets.java" region="flow"}
 */
public final class FlowRule {
    static {
        FlowAccess.install(FlowWriter::write);
    }

    private static final int MAX_SPECS = 255;

    private final FlowKind kind;
    private final int port;
    private final int priority;
    private final Set<FlowFlag> flags;
    private final List<FlowSpec> specs;

    private FlowRule(FlowKind kind, int port, int priority, Set<FlowFlag> flags, List<FlowSpec> specs) {
        Checks.checkRange("port", port, 1, 0xff);
        Checks.checkRange("priority", priority, 0xffff);
        if (specs.size() > MAX_SPECS) {
            throw new IllegalArgumentException(
                    "a rule has at most " + MAX_SPECS + " specifications, got " + specs.size());
        }
        if (kind != FlowKind.NORMAL && specs.stream().anyMatch(FlowMatch.class::isInstance)) {
            throw new IllegalArgumentException("only a NORMAL rule matches headers, got " + kind);
        }
        this.kind = kind;
        this.port = port;
        this.priority = priority;
        this.flags = flags;
        this.specs = specs;
    }

    /**
     * Returns a normal rule for port 1, before all others.
     *
     * @param specs headers, from the outermost to the innermost, then actions
     * @return the rule
     * @throws IllegalArgumentException if there are more than 255 specifications
     */
    public static FlowRule of(FlowSpec... specs) {
        return new FlowRule(FlowKind.NORMAL, 1, 0, Set.of(), List.of(specs));
    }

    /**
     * Returns a rule without specifications, for port 1.
     *
     * @param kind the packets that the rule is about
     * @return the rule
     */
    public static FlowRule of(FlowKind kind) {
        return new FlowRule(kind, 1, 0, Set.of(), List.of());
    }

    /**
     * Returns the packets that the rule is about ({@code type}).
     *
     * @return the kind
     */
    public FlowKind kind() {
        return kind;
    }

    /**
     * Returns a copy that is about other packets ({@code type}).
     *
     * @param value the kind
     * @return a changed copy
     * @throws IllegalArgumentException if the rule has headers, and the kind is not {@link FlowKind#NORMAL}
     */
    public FlowRule kind(FlowKind value) {
        return new FlowRule(value, port, priority, flags, specs);
    }

    /**
     * Returns the port of the device ({@code port}).
     *
     * @return the port, from 1
     */
    public int port() {
        return port;
    }

    /**
     * Returns a copy for another port of the device ({@code port}).
     *
     * @param number the port, from 1; 1 by default
     * @return a changed copy
     */
    public FlowRule port(int number) {
        return new FlowRule(kind, number, priority, flags, specs);
    }

    /**
     * Returns the place of the rule among others ({@code priority}).
     *
     * @return the priority; 0 comes first
     */
    public int priority() {
        return priority;
    }

    /**
     * Returns a copy with another place among the rules ({@code priority}).
     *
     * @param value 0 to 65535; 0 by default, which comes first
     * @return a changed copy
     */
    public FlowRule priority(int value) {
        return new FlowRule(kind, port, value, flags, specs);
    }

    /**
     * Returns the flags ({@code flags}).
     *
     * @return the flags, unmodifiable
     */
    public Set<FlowFlag> flags() {
        return flags;
    }

    /**
     * Returns a copy with these flags and no others ({@code flags}).
     *
     * @param values the flags; none by default
     * @return a changed copy
     */
    public FlowRule flags(Collection<FlowFlag> values) {
        EnumSet<FlowFlag> copy = EnumSet.noneOf(FlowFlag.class);
        copy.addAll(values);
        return new FlowRule(kind, port, priority, Collections.unmodifiableSet(copy), specs);
    }

    /**
     * Returns the headers and actions.
     *
     * @return headers, from the outermost to the innermost, then actions; unmodifiable
     */
    public List<FlowSpec> specs() {
        return specs;
    }

    /**
     * Returns a copy with these headers and actions and no others.
     *
     * @param values headers, from the outermost to the innermost, then actions
     * @return a changed copy
     */
    public FlowRule specs(List<FlowSpec> values) {
        return new FlowRule(kind, port, priority, flags, List.copyOf(values));
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof FlowRule rule
                && kind == rule.kind
                && port == rule.port
                && priority == rule.priority
                && flags.equals(rule.flags)
                && specs.equals(rule.specs);
    }

    @Override
    public int hashCode() {
        return Objects.hash(kind, port, priority, flags, specs);
    }

    /** Returns the rule, for example {@code NORMAL rule of port 1, priority 0: [ETH]}. */
    @Override
    public String toString() {
        return kind + " rule of port " + port + ", priority " + priority + (flags.isEmpty() ? "" : ", flags " + flags)
                + ": " + specs;
    }
}
