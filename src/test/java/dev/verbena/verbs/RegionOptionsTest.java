package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.raw.ibv_mr_init_attr;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What C is given for a region with all options. */
class RegionOptionsTest {
    @Test
    void dmaBufferIsNamedByItsDescriptorAndOffset() {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment init = RegionOptions.dmaBuf(7, 4096, 64)
                    .access(List.of(AccessFlag.LOCAL_WRITE))
                    .write(scratch);
            assertThat(ibv_mr_init_attr.fd(init)).isEqualTo(7);
            assertThat(ibv_mr_init_attr.fd_offset(init)).isEqualTo(4096);
            assertThat(ibv_mr_init_attr.iova(init)).isEqualTo(4096);
            assertThat(ibv_mr_init_attr.length(init)).isEqualTo(64);
            assertThat(ibv_mr_init_attr.access(init)).isEqualTo(rdma_h.IBV_ACCESS_LOCAL_WRITE());
            assertThat(ibv_mr_init_attr.addr(init)).isEqualTo(MemorySegment.NULL);
            assertThat(ibv_mr_init_attr.comp_mask(init))
                    .isEqualTo(rdma_h.IBV_REG_MR_MASK_FD()
                            | rdma_h.IBV_REG_MR_MASK_FD_OFFSET()
                            | rdma_h.IBV_REG_MR_MASK_IOVA());
        }
    }

    @Test
    void memoryIsNamedByItsAddressAndThatOfItsPeers() {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment memory = scratch.allocate(64, 8);
            MemorySegment init = RegionOptions.of(memory).address(8).write(scratch);
            assertThat(ibv_mr_init_attr.addr(init).address()).isEqualTo(memory.address());
            assertThat(ibv_mr_init_attr.iova(init)).isEqualTo(8);
            assertThat(ibv_mr_init_attr.length(init)).isEqualTo(64);
            assertThat(ibv_mr_init_attr.fd(init)).isZero();
            assertThat(ibv_mr_init_attr.comp_mask(init))
                    .isEqualTo(rdma_h.IBV_REG_MR_MASK_ADDR() | rdma_h.IBV_REG_MR_MASK_IOVA());
        }
    }
}
