package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import dev.verbena.internal.Options;
import dev.verbena.internal.raw.ibv_dmah_init_attr;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Hints for the bus about the use of memory ({@code struct ibv_dmah_init_attr}). Each hint has a method that returns a
 * changed copy. Hints never change, so all threads can use them.
 *
 * {@snippet file="ObjectSnippets.java" region="dma-handle"}
 */
public final class DmaHints extends Options<DmaHints> {
    private static final Keys<DmaHints> KEYS = new Keys<>();
    static final Key<DmaHints, @Nullable Integer> CPU = KEYS.key("processor", null);
    static final Key<DmaHints, @Nullable Integer> PROCESSING_HINT = KEYS.key("processing hint", null);
    static final Key<DmaHints, @Nullable Integer> MEMORY_TYPE = KEYS.key("memory type", null);
    private static final DmaHints NONE = new DmaHints();

    private DmaHints() {
        super(KEYS);
    }

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
        return with(CPU, Checks.checkAtLeast("number of a processor", number, 0));
    }

    /**
     * Returns a copy with another processing hint of PCIe ({@code ph}).
     *
     * @param bits 0 to 3
     * @return a changed copy
     * @throws IllegalArgumentException if the hint has more than two bits
     */
    public DmaHints processingHint(int bits) {
        return with(PROCESSING_HINT, Checks.checkRange("processing hint", bits, 3));
    }

    /**
     * Returns a copy with another type of the memory ({@code tph_mem_type}).
     *
     * @param type 0 for volatile memory, 1 for persistent memory ({@code enum ibv_tph_mem_type})
     * @return a changed copy
     * @throws IllegalArgumentException if the type is neither 0 nor 1
     */
    public DmaHints memoryType(int type) {
        return with(MEMORY_TYPE, Checks.checkRange("type of memory", type, 1));
    }

    /** Allocates a {@code struct ibv_dmah_init_attr} with the hints that are set. */
    MemorySegment write(Arena scratch) {
        MemorySegment init = ibv_dmah_init_attr.allocate(scratch);
        int mask = 0;
        Integer cpu = CPU.of(this);
        if (cpu != null) {
            mask |= rdma_h.IBV_DMAH_INIT_ATTR_MASK_CPU_ID;
            ibv_dmah_init_attr.cpu_id(init, cpu);
        }
        Integer hint = PROCESSING_HINT.of(this);
        if (hint != null) {
            mask |= rdma_h.IBV_DMAH_INIT_ATTR_MASK_PH;
            ibv_dmah_init_attr.ph(init, hint.byteValue());
        }
        Integer type = MEMORY_TYPE.of(this);
        if (type != null) {
            mask |= rdma_h.IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE;
            ibv_dmah_init_attr.tph_mem_type(init, type.byteValue());
        }
        ibv_dmah_init_attr.comp_mask(init, mask);
        return init;
    }
}
