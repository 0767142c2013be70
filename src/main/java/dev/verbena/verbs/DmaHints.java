package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import dev.verbena.internal.Options;
import dev.verbena.internal.raw.ibv_dmah_init_attr;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Hints for the bus about the use of memory ({@code struct ibv_dmah_init_attr}). Each hint has a method that returns a
 * changed copy. Hints never change, so all threads can use them.
 *
 * {@snippet file="ObjectSnippets.java" region="dma-handle"}
 */
public final class DmaHints extends Options<DmaHints> {
    /** The value of a hint that is left out. */
    private static final int NOT_SET = -1;

    private static final DmaHints NONE = new DmaHints();

    private int cpu = NOT_SET;
    private int processingHint = NOT_SET;
    private int memoryType = NOT_SET;

    private DmaHints() {}

    /**
     * Returns hints that say nothing yet.
     *
     * @return empty hints
     */
    public static DmaHints none() {
        return NONE;
    }

    /**
     * Returns a copy with another processor that will read the data that the adapter writes ({@code cpu_id}).
     *
     * @param number the number of the processor, from 0
     * @return a changed copy
     * @throws IllegalArgumentException if the number is negative
     */
    public DmaHints cpu(int number) {
        return with(copy -> copy.cpu = Checks.checkAtLeast("number of a processor", number, 0));
    }

    /**
     * Returns a copy with another processing hint of PCIe ({@code ph}).
     *
     * @param bits 0 to 3
     * @return a changed copy
     * @throws IllegalArgumentException if the hint has more than two bits
     */
    public DmaHints processingHint(int bits) {
        return with(copy -> copy.processingHint = Checks.checkRange("processing hint", bits, 3));
    }

    /**
     * Returns a copy with another type of the memory ({@code tph_mem_type}).
     *
     * @param type 0 for volatile memory, 1 for persistent memory ({@code enum ibv_tph_mem_type})
     * @return a changed copy
     * @throws IllegalArgumentException if the type is neither 0 nor 1
     */
    public DmaHints memoryType(int type) {
        return with(copy -> copy.memoryType = Checks.checkRange("type of memory", type, 1));
    }

    /** Allocates a {@code struct ibv_dmah_init_attr} with the hints that are set. */
    MemorySegment write(Arena scratch) {
        MemorySegment init = ibv_dmah_init_attr.allocate(scratch);
        int mask = 0;
        if (cpu != NOT_SET) {
            mask |= rdma_h.IBV_DMAH_INIT_ATTR_MASK_CPU_ID;
            ibv_dmah_init_attr.cpu_id(init, cpu);
        }
        if (processingHint != NOT_SET) {
            mask |= rdma_h.IBV_DMAH_INIT_ATTR_MASK_PH;
            ibv_dmah_init_attr.ph(init, (byte) processingHint);
        }
        if (memoryType != NOT_SET) {
            mask |= rdma_h.IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE;
            ibv_dmah_init_attr.tph_mem_type(init, (byte) memoryType);
        }
        ibv_dmah_init_attr.comp_mask(init, mask);
        return init;
    }

    @Override
    protected List<Option> options() {
        return List.of(
                option("processor", cpu, NOT_SET),
                option("processing hint", processingHint, NOT_SET),
                option("memory type", memoryType, NOT_SET));
    }
}
