package dev.verbena.internal;

import static java.lang.foreign.MemoryLayout.PathElement.groupElement;
import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;

/** Structs of rdma-core releases after 44, whose headers the bindings were generated from. */
public final class NewerStructs {
    /** {@code struct ibv_mr_init_attr} of 59. The last field came with 64; {@code comp_mask} never names it. */
    private static final StructLayout REGISTRATION = MemoryLayout.structLayout(
            JAVA_LONG.withName("length"),
            JAVA_INT.withName("access"),
            MemoryLayout.paddingLayout(4),
            JAVA_LONG.withName("comp_mask"),
            JAVA_LONG.withName("iova"),
            JAVA_LONG.withName("addr"),
            JAVA_INT.withName("fd"),
            MemoryLayout.paddingLayout(4),
            JAVA_LONG.withName("fd_offset"),
            JAVA_LONG.withName("dmah"),
            JAVA_LONG.withName("buf"));

    private static final long MASK_IOVA = 1;
    private static final long MASK_ADDRESS = 1 << 1;
    private static final long MASK_HANDLE = 1 << 4;

    /** {@code struct ibv_dmah_init_attr} of 59. */
    private static final StructLayout DMA_HINTS = MemoryLayout.structLayout(
            JAVA_INT.withName("comp_mask"),
            JAVA_INT.withName("cpu_id"),
            JAVA_BYTE.withName("ph"),
            JAVA_BYTE.withName("tph_mem_type"),
            MemoryLayout.paddingLayout(2));

    /**
     * The offset of {@code wr_flush} in {@code struct ibv_qp_ex}. It is part of the ABI, and unlike the size of the struct it
     * does not depend on the headers that the bindings were generated from.
     */
    private static final long WR_FLUSH = 352;

    private NewerStructs() {}

    /** Allocates an {@code ibv_mr_init_attr} for memory of this process, with a DMA handle. */
    public static MemorySegment registration(Arena arena, long start, long length, int access, long handle) {
        MemorySegment init = arena.allocate(REGISTRATION);
        init.set(JAVA_LONG, offset(REGISTRATION, "length"), length);
        init.set(JAVA_INT, offset(REGISTRATION, "access"), access);
        init.set(JAVA_LONG, offset(REGISTRATION, "comp_mask"), MASK_IOVA | MASK_ADDRESS | MASK_HANDLE);
        init.set(JAVA_LONG, offset(REGISTRATION, "iova"), start);
        init.set(JAVA_LONG, offset(REGISTRATION, "addr"), start);
        init.set(JAVA_LONG, offset(REGISTRATION, "dmah"), handle);
        return init;
    }

    /** Allocates an {@code ibv_dmah_init_attr}. Negative arguments are left out. */
    public static MemorySegment dmaHints(Arena arena, int cpu, int processingHint, int memoryType) {
        MemorySegment init = arena.allocate(DMA_HINTS);
        int mask = (cpu < 0 ? 0 : 1) | (processingHint < 0 ? 0 : 1 << 1) | (memoryType < 0 ? 0 : 1 << 2);
        init.set(JAVA_INT, offset(DMA_HINTS, "comp_mask"), mask);
        init.set(JAVA_INT, offset(DMA_HINTS, "cpu_id"), Math.max(0, cpu));
        init.set(JAVA_BYTE, offset(DMA_HINTS, "ph"), (byte) Math.max(0, processingHint));
        init.set(JAVA_BYTE, offset(DMA_HINTS, "tph_mem_type"), (byte) Math.max(0, memoryType));
        return init;
    }

    /**
     * Returns the member {@code wr_flush} of a {@code struct ibv_qp_ex}, which came with rdma-core 45. The caller makes sure
     * that the installed rdma-core has this member.
     */
    public static MemorySegment wr_flush(MemorySegment queuePair) {
        return MemorySegment.ofAddress(queuePair.address())
                .reinterpret(WR_FLUSH + ADDRESS.byteSize())
                .get(ADDRESS, WR_FLUSH);
    }

    private static long offset(StructLayout layout, String field) {
        return layout.byteOffset(groupElement(field));
    }
}
