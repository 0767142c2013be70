package dev.verbena.verbs.flow;

import dev.verbena.verbs.flow.access.FlowAccess;
import java.util.List;
import java.util.Set;

/**
 * Which packets a queue pair gets, and what happens to them ({@code struct ibv_flow_attr}). For {@code
 * QueuePair.createFlow}.
 *
 * @param kind which packets it is about
 * @param port the port of the device, from 1
 * @param priority the order among rules: 0 comes first
 * @param flags how it works
 * @param specs headers, from the outermost to the innermost, then actions
 */
public record FlowRule(FlowKind kind, int port, int priority, Set<FlowFlag> flags, List<FlowSpec> specs) {
    static {
        FlowAccess.install(FlowWriter::write);
    }

    private static final int MAX_SPECS = 255;

    /**
     * Checks what C would cut off.
     *
     * @throws IllegalArgumentException if a number is out of range, or only a normal rule could have headers
     */
    public FlowRule {
        if (port < 1 || port > 255) {
            throw new IllegalArgumentException("Ports are numbered from 1: " + port);
        }
        if (priority < 0 || priority > 0xffff) {
            throw new IllegalArgumentException("A priority is from 0 to 65535: " + priority);
        }
        if (specs.size() > MAX_SPECS) {
            throw new IllegalArgumentException("A rule has at most " + MAX_SPECS + " specifications");
        }
        if (kind != FlowKind.NORMAL && specs.stream().anyMatch(FlowMatch.class::isInstance)) {
            throw new IllegalArgumentException("Only a NORMAL rule matches headers, not " + kind);
        }
        flags = Set.copyOf(flags);
        specs = List.copyOf(specs);
    }

    /**
     * A normal rule for port 1, before all others.
     *
     * @param specs headers, from the outermost to the innermost, then actions
     * @return the rule
     */
    public static FlowRule of(FlowSpec... specs) {
        return new FlowRule(FlowKind.NORMAL, 1, 0, Set.of(), List.of(specs));
    }
}
