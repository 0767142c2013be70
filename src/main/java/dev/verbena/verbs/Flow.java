package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.lifetime.ObjectLifetime;
import dev.verbena.verbs.flow.FlowAction;
import dev.verbena.verbs.flow.FlowRule;
import dev.verbena.verbs.flow.access.FlowAccess;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;

/**
 * A flow rule at work, which steers packets to a queue pair until it is closed ({@code struct ibv_flow}).
 *
 * <p>All threads can use a flow of a shared arena; only the arena's thread can use one of a confined arena.
 *
 * {@snippet file="ObjectSnippets.java" region="flow"}
 */
public final class Flow extends ContextObject {
    private final QueuePair target;
    private final FlowRule rule;

    private Flow(ObjectLifetime lifetime, QueuePair target, Context context, FlowRule rule, long address) {
        super(lifetime, context, address);
        this.target = target;
        this.rule = rule;
    }

    static Flow create(QueuePair target, Context context, long queuePair, FlowRule rule, VerbsArena arena) {
        List<VerbsObject> parents = new ArrayList<>(List.of(target));
        FlowAccess.get().specs(rule).forEach(spec -> {
            if (spec instanceof FlowAction.Count count) {
                parents.add(count.counters());
            }
        });
        return ObjectLifetime.create(arena, parents, (lifetime, scratch) -> {
            long attributes = FlowAccess.get().write(rule, scratch).address();
            CFunction create = context.function(ContextVerb.CREATE_FLOW);
            long flow = Calls.pointer(create, target + ", " + rule, queuePair, attributes);
            return new Flow(lifetime, target, context, rule, flow);
        });
    }

    @CName("ibv_destroy_flow")
    @Override
    void destroy() {
        Calls.run(context.function(ContextVerb.DESTROY_FLOW), this, address);
    }

    /** Lends the {@code struct ibv_flow} to a function. */
    void use(LongConsumer user) {
        try (var _ = lifetime.held()) {
            user.accept(address);
        }
    }

    /**
     * Returns the queue pair that gets the packets.
     *
     * @return the queue pair
     */
    public QueuePair queuePair() {
        lifetime.checkOpen();
        return target;
    }

    /**
     * Returns the rule.
     *
     * @return the rule that this flow was made with
     */
    public FlowRule rule() {
        lifetime.checkOpen();
        return rule;
    }

    /** Returns for example {@code flow to RAW_PACKET queue pair 17 of mlx5_0 (RTS)}, and the rule. */
    @Override
    public String toString() {
        return "flow to " + target + ", " + rule;
    }
}
