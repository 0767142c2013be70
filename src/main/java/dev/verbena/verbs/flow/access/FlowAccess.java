package dev.verbena.verbs.flow.access;

import dev.verbena.VerbsObject;
import dev.verbena.verbs.flow.FlowAction;
import dev.verbena.verbs.flow.FlowRule;
import dev.verbena.verbs.flow.FlowSpec;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The door that writes flow rules to C's structs, and makes actions from addresses, which users cannot do. */
public interface FlowAccess {
    /**
     * Writes a {@code struct ibv_flow_attr}, followed by the specifications.
     *
     * @param rule the rule
     * @param arena allocates the memory
     */
    MemorySegment write(FlowRule rule, Arena arena);

    /**
     * Returns an action that counts packets.
     *
     * @param counters the counters
     * @param address the address of the {@code struct ibv_counters}
     */
    FlowAction count(VerbsObject counters, long address);

    /** Returns the headers and actions of a rule. */
    List<FlowSpec> specs(FlowRule rule);

    /** Installs the instance that {@link #get} returns. Only {@link FlowRule} calls this. */
    static void install(FlowAccess access) {
        Installed.access = access;
    }

    /** Returns the installed instance. */
    static FlowAccess get() {
        if (Installed.access == null) {
            try {
                MethodHandles.lookup().ensureInitialized(FlowRule.class); // installs it
            } catch (IllegalAccessException e) {
                throw new AssertionError(e);
            }
        }
        return Objects.requireNonNull(Installed.access);
    }

    /** Holds the instance. */
    final class Installed {
        private static volatile @Nullable FlowAccess access;

        private Installed() {}
    }
}
