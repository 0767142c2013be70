package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsObject;
import dev.verbena.access.ObjectLifetime;
import dev.verbena.internal.ContextVerb;
import dev.verbena.verbs.flow.FlowAction;
import dev.verbena.verbs.flow.FlowRule;
import dev.verbena.verbs.flow.access.FlowAccess;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;

/** A flow rule at work ({@code struct ibv_flow}): it steers packets to a queue pair until it is closed. */
public final class Flow extends VerbsObject {
    private final ObjectLifetime lifetime;
    private final QueuePair target;
    private final Context context;
    private final FlowRule rule;
    private final long address;

    private Flow(ObjectLifetime lifetime, QueuePair target, Context context, FlowRule rule, long address) {
        super(lifetime);
        this.lifetime = lifetime;
        lifetime.destroyedBy(this::destroy);
        this.target = target;
        this.context = context;
        this.rule = rule;
        this.address = address;
    }

    static Flow create(QueuePair target, Context context, long queuePair, FlowRule rule, VerbsArena arena) {
        List<VerbsObject> parents = new ArrayList<>(List.of(target));
        rule.specs().forEach(spec -> {
            if (spec instanceof FlowAction.Count count) {
                parents.add((Counters) count.counters());
            }
        });
        return ObjectLifetime.create(
                arena,
                lifetime -> {
                    try (Arena scratch = Arena.ofConfined()) {
                        return new Flow(
                                lifetime,
                                target,
                                context,
                                rule,
                                VerbFailures.pointer(
                                        ContextVerb.CREATE_FLOW,
                                        context,
                                        target + ", " + rule,
                                        queuePair,
                                        FlowAccess.get()
                                                .write(rule, scratch, counters -> ((Counters) counters).address())
                                                .address()));
                    }
                },
                parents.toArray(VerbsObject[]::new));
    }

    @CName("ibv_destroy_flow")
    private void destroy() {
        VerbFailures.check(ContextVerb.DESTROY_FLOW, context, toString(), address);
    }

    /** Lends the {@code struct ibv_flow}. */
    void use(LongConsumer user) {
        lifetime.hold();
        try {
            user.accept(address);
        } finally {
            lifetime.release();
        }
    }

    /**
     * The queue pair that gets the packets.
     *
     * @return the queue pair
     */
    public QueuePair target() {
        lifetime.checkOpen();
        return target;
    }

    /**
     * The rule.
     *
     * @return what it was made with
     */
    public FlowRule rule() {
        lifetime.checkOpen();
        return rule;
    }

    @Override
    public String toString() {
        return "flow to " + target + ", " + rule;
    }
}
