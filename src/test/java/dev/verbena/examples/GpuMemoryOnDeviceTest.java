package dev.verbena.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.examples.gpu.GpuMemory;
import dev.verbena.support.Slow;
import dev.verbena.support.TestDevice;
import dev.verbena.support.Unsupported;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The example {@code GpuMemory} on a device, with a DMA buffer of the kernel in place of a GPU's. Kernels without
 * {@code /dev/udmabuf} give none; drivers that take none refuse before they look. {@link GpuMemoryTest} has the example on the
 * provider for tests, and {@code MemoryKindsTest} how a device takes or refuses a DMA buffer.
 */
@Slow
class GpuMemoryOnDeviceTest {
    @Test
    void dmaBufferIsRegisteredOrRefusedByTheDriver(@TempDir Path folder) throws Exception {
        StandInCuda cuda = new StandInCuda(folder);
        try (GpuMemory memory = GpuMemory.allocate(cuda.file.toString(), 0, 100_000);
                VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain = TestDevice.get().open(arena).allocateProtectionDomain();
            boolean refused = Unsupported.isRefused("ibv_reg_dmabuf_mr", () -> {
                MemoryRegion region = memory.register(domain, 5000, 50_000, AccessFlag.REMOTE_READ);
                assertThat(region.remote().length()).isEqualTo(50_000);
            });
            boolean taken = cuda.dmaBuffers() == 1 && !refused;
            System.out.println(TestDevice.get().name() + ": a DMA buffer of the kernel: " + cuda.dmaBuffers()
                    + ", taken: " + taken);
            assertThat(cuda.dmaBuffers()).isEqualTo(Files.exists(Path.of("/dev/udmabuf")) ? 1 : 0);
        }
        assertThat(cuda.left()).isZero();
    }
}
