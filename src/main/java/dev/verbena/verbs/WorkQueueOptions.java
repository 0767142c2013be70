package dev.verbena.verbs;

import java.util.Set;

/**
 * What a work queue is to be like ({@code struct ibv_wq_init_attr}).
 *
 * @param queue where the ends of receives are reported
 * @param depth how many receives it must hold
 * @param pieces how many pieces of memory a receive must be able to name
 * @param flags what it does with packets
 */
public record WorkQueueOptions(CompletionQueue queue, int depth, int pieces, Set<WorkQueueFlag> flags) {
    /**
     * Checks what C would refuse with a bare number.
     *
     * @throws IllegalArgumentException if a size is less than 1
     */
    public WorkQueueOptions {
        if (depth < 1 || pieces < 1) {
            throw new IllegalArgumentException(
                    "A work queue holds at least one receive of one piece: " + depth + ", " + pieces);
        }
        flags = Set.copyOf(flags);
    }

    /**
     * A work queue without flags, for receives of one piece.
     *
     * @param queue where the ends of receives are reported
     * @param depth how many receives it must hold
     * @return options for {@link ProtectionDomain#createWorkQueue}
     */
    public static WorkQueueOptions of(CompletionQueue queue, int depth) {
        return new WorkQueueOptions(queue, depth, 1, Set.of());
    }
}
