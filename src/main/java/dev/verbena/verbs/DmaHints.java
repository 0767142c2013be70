package dev.verbena.verbs;

import dev.verbena.internal.Checks;
import dev.verbena.internal.raw.ibv_dmah_init_attr;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * Hints for the bus about the use of memory ({@code struct ibv_dmah_init_attr}). Each hint has a method that returns a
 * changed copy, and a method of the same name that reads it. Hints never change, so all threads can use them.
 *
 * {@snippet file="ObjectSnippets.java" region="dma-handle"}
 */
public final class DmaHints {
    /** The value of a hint that is left out. */
    private static final int NOT_SET = -1;

    private final int cpu;
    private final int processingHint;
    private final int memoryType;

    private DmaHints(int cpu, int processingHint, int memoryType) {
        this.cpu = cpu;
        this.processingHint = processingHint;
        this.memoryType = memoryType;
    }

    /**
     * Returns hints that say nothing yet.
     *
     * @return empty hints
     */
    public static DmaHints none() {
        return new DmaHints(NOT_SET, NOT_SET, NOT_SET);
    }

    private static OptionalInt optional(int value) {
        return value == NOT_SET ? OptionalInt.empty() : OptionalInt.of(value);
    }

    /**
     * Returns the processor that will read the data that the adapter writes ({@code cpu_id}).
     *
     * @return the number of the processor; empty if the hint is left out
     */
    public OptionalInt cpu() {
        return optional(cpu);
    }

    /**
     * Returns a copy with another processor that will read the data that the adapter writes ({@code cpu_id}).
     *
     * @param number the number of the processor, from 0
     * @return a changed copy
     * @throws IllegalArgumentException if the number is negative
     */
    public DmaHints cpu(int number) {
        Checks.checkAtLeast("number of a processor", number, 0);
        return new DmaHints(number, processingHint, memoryType);
    }

    /**
     * Returns the processing hint of PCIe ({@code ph}).
     *
     * @return the two bits; empty if the hint is left out
     */
    public OptionalInt processingHint() {
        return optional(processingHint);
    }

    /**
     * Returns a copy with another processing hint of PCIe ({@code ph}).
     *
     * @param bits 0 to 3
     * @return a changed copy
     * @throws IllegalArgumentException if the hint has more than two bits
     */
    public DmaHints processingHint(int bits) {
        Checks.checkRange("processing hint", bits, 3);
        return new DmaHints(cpu, bits, memoryType);
    }

    /**
     * Returns the type of the memory ({@code tph_mem_type}).
     *
     * @return 0 for volatile memory, 1 for persistent memory; empty if the hint is left out
     */
    public OptionalInt memoryType() {
        return optional(memoryType);
    }

    /**
     * Returns a copy with another type of the memory ({@code tph_mem_type}).
     *
     * @param type 0 for volatile memory, 1 for persistent memory ({@code enum ibv_tph_mem_type})
     * @return a changed copy
     * @throws IllegalArgumentException if the type is neither 0 nor 1
     */
    public DmaHints memoryType(int type) {
        Checks.checkRange("type of memory", type, 1);
        return new DmaHints(cpu, processingHint, type);
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
    public boolean equals(@Nullable Object other) {
        return other instanceof DmaHints hints
                && cpu == hints.cpu
                && processingHint == hints.processingHint
                && memoryType == hints.memoryType;
    }

    @Override
    public int hashCode() {
        return Objects.hash(cpu, processingHint, memoryType);
    }

    /** Returns the hints that are set, for example {@code hints: processor 3 memory type 0}. */
    @Override
    public String toString() {
        return "hints:" + (cpu == NOT_SET ? "" : " processor " + cpu)
                + (processingHint == NOT_SET ? "" : " processing hint " + processingHint)
                + (memoryType == NOT_SET ? "" : " memory type " + memoryType);
    }
}
