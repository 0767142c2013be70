package dev.verbena.verbs;

import dev.verbena.VerbsObject;
import dev.verbena.internal.raw.ibv_flow_attr;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;

/**
 * Which packets a queue pair gets, and what happens to them ({@code struct ibv_flow_attr}). For
 * {@link QueuePair#createFlow}.
 *
 * @param kind which packets it is about
 * @param port the port of the device, from 1
 * @param priority the order among rules: 0 comes first
 * @param flags how it works
 * @param specs headers, from the outermost to the innermost, then actions
 */
public record FlowRule(FlowKind kind, int port, int priority, Set<FlowFlag> flags, List<FlowSpec> specs) {
    private static final int MOST_SPECS = 255;

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
        if (specs.size() > MOST_SPECS) {
            throw new IllegalArgumentException("A rule has at most " + MOST_SPECS + " specifications");
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

    /** The struct, followed by the specifications. */
    MemorySegment write(Arena arena) {
        long size = ibv_flow_attr.sizeof() + specs.stream().mapToLong(FlowSpec::size).sum();
        MemorySegment attributes = arena.allocate(size, ibv_flow_attr.layout().byteAlignment());
        ibv_flow_attr.type(attributes, kind.code());
        ibv_flow_attr.size(attributes, (short) size);
        ibv_flow_attr.priority(attributes, (short) priority);
        ibv_flow_attr.num_of_specs(attributes, (byte) specs.size());
        ibv_flow_attr.port(attributes, (byte) port);
        ibv_flow_attr.flags(attributes, NativeFlag.bits(flags));
        long at = ibv_flow_attr.sizeof();
        for (FlowSpec spec : specs) {
            spec.write(attributes.asSlice(at, spec.size()));
            at += spec.size();
        }
        return attributes;
    }

    /** The objects that the specifications name. */
    List<VerbsObject> names() {
        return specs.stream().flatMap(spec -> spec.names().stream()).toList();
    }
}
