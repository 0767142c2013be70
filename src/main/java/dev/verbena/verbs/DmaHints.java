package dev.verbena.verbs;

/**
 * Hints about how memory will be used ({@code struct ibv_dmah_init_attr}). Each is left out when negative.
 *
 * @param cpu the processor that will read what the adapter writes
 * @param processingHint PCIe's two bits of processing hint (PH)
 * @param memoryType 0 for volatile memory, 1 for persistent memory ({@code enum ibv_tph_mem_type})
 */
public record DmaHints(int cpu, int processingHint, int memoryType) {
    private static final int NONE = -1;

    /**
     * Checks the ranges.
     *
     * @throws IllegalArgumentException if the processing hint has more than two bits, or the type of memory more than one
     */
    public DmaHints {
        if (processingHint > 3) {
            throw new IllegalArgumentException("A processing hint is from 0 to 3: " + processingHint);
        }
        if (memoryType > 1) {
            throw new IllegalArgumentException("A type of memory is 0 or 1: " + memoryType);
        }
    }

    /**
     * That a processor will read what the adapter writes.
     *
     * @param cpu the number of the processor
     * @return hints
     */
    public static DmaHints forProcessor(int cpu) {
        return new DmaHints(cpu, NONE, NONE);
    }
}
