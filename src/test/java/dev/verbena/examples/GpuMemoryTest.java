package dev.verbena.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.examples.gpu.GpuMemory;
import dev.verbena.internal.Errno;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePairAttributes;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The example {@code GpuMemory} on a library in place of the GPU's driver, and on the provider for tests. */
@FencedTest
class GpuMemoryTest {
    private static final int LENGTH = 100_000;
    private static final int OUT_OF_MEMORY = 2;

    @TempDir
    static Path folder;

    private static StandInCuda cuda;

    private final Loopback loopback = Loopback.connected(VerbsArena.ofShared(), QueuePairAttributes.none());

    @BeforeAll
    static void compile() throws Exception {
        cuda = new StandInCuda(folder);
    }

    @AfterEach
    void close() {
        loopback.close();
        cuda.support(true);
        assertThat(cuda.left()).as("contexts and allocations").isZero();
    }

    private static GpuMemory allocate() {
        return GpuMemory.allocate(cuda.file.toString(), 0, LENGTH);
    }

    /** Registers a part, and returns what the adapter's driver was given: offset, length, address, descriptor, rights. */
    private List<Long> register(GpuMemory memory, long offset, long size) {
        try (MemoryRegion region = memory.register(loopback.domain, offset, size, AccessFlag.REMOTE_READ)) {
            MemorySegment given = Fenced.given("ibv_reg_dmabuf_mr");
            assertThat(region.length()).isEqualTo(size);
            assertThat(region.address()).isEqualTo(given.getAtIndex(ValueLayout.JAVA_LONG, 2));
            return LongStream.range(0, 5)
                    .mapToObj(i -> given.getAtIndex(ValueLayout.JAVA_LONG, i))
                    .toList();
        }
    }

    /** The library in place of the driver refuses ranges that are not whole pages. */
    @ParameterizedTest
    @ValueSource(longs = {0, 1, 3583, 3584, 3585, 7680, 50_000})
    void partIsRegisteredByItsOffsetInThePage(long offset) {
        try (GpuMemory memory = allocate()) {
            long first = register(memory, 0, 1).get(2);
            long address = first + offset;
            for (long size : new long[] {1, 511, 4096, 4097, LENGTH - offset}) {
                assertThat(register(memory, offset, size).subList(0, 3))
                        .containsExactly(address % cuda.pageSize(), size, address);
            }
        }
    }

    @Test
    void rightsAreThoseOfTheCaller() {
        try (GpuMemory memory = allocate()) {
            assertThat(register(memory, 8, 8).get(4)).isEqualTo((long) rdma_h.IBV_ACCESS_REMOTE_READ);
        }
    }

    @Test
    void descriptorIsClosedAfterTheRegistration() {
        try (GpuMemory memory = allocate()) {
            long descriptor = register(memory, 0, 8).get(3);
            assertThat(register(memory, 0, 8).get(3)).as("the lowest free one").isEqualTo(descriptor);
            Fenced.fail("ibv_reg_dmabuf_mr", 1, Errno.EOPNOTSUPP);
            assertThatThrownBy(() -> memory.register(loopback.domain, 0, 8)).isInstanceOf(VerbsException.class);
            assertThat(register(memory, 0, 8).get(3)).as("after a refusal").isEqualTo(descriptor);
        }
    }

    @Test
    void partBeyondTheMemoryIsRefused() {
        try (GpuMemory memory = allocate()) {
            for (long[] bad : new long[][] {{-1, 8}, {0, LENGTH + 1}, {LENGTH, 1}, {1, Long.MAX_VALUE}}) {
                assertThatThrownBy(() -> memory.register(loopback.domain, bad[0], bad[1]))
                        .isInstanceOf(IndexOutOfBoundsException.class);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "cuInit, 100, 'cuInit: error 100, which the driver has no name for'",
        "cuDeviceGet, 101, cuDeviceGet: CUDA_ERROR_INVALID_DEVICE",
        "cuDeviceGetAttribute, 1, cuDeviceGetAttribute: CUDA_ERROR_INVALID_VALUE",
        "cuDevicePrimaryCtxRetain, 2, cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY",
        "cuCtxSetCurrent, 201, cuCtxSetCurrent: CUDA_ERROR_INVALID_CONTEXT",
        "cuMemAlloc_v2, 2, cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY"
    })
    void failedAllocationHasTheNameOfTheErrorAndLeavesNothing(String function, int error, String message) {
        cuda.fail(function, error);
        assertThatThrownBy(GpuMemoryTest::allocate)
                .isInstanceOf(IllegalStateException.class)
                .hasMessage(message);
        assertThat(cuda.left()).isZero();
        allocate().close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"cuCtxSetCurrent", "cuMemGetHandleForAddressRange"})
    void failedRegistrationHasTheNameOfTheError(String function) {
        try (GpuMemory memory = allocate()) {
            cuda.fail(function, OUT_OF_MEMORY);
            assertThatThrownBy(() -> memory.register(loopback.domain, 0, 8))
                    .hasMessage(function + ": CUDA_ERROR_OUT_OF_MEMORY");
            register(memory, 0, 8);
        }
    }

    @Test
    void otherGpuIsRefusedByItsDriver() {
        assertThatThrownBy(() -> GpuMemory.allocate(cuda.file.toString(), 1, LENGTH))
                .hasMessage("cuDeviceGet: CUDA_ERROR_INVALID_DEVICE");
    }

    @Test
    void gpuWithoutDmaBuffersIsRefused() {
        cuda.support(false);
        assertThatThrownBy(GpuMemoryTest::allocate)
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("GPU 0 hands out no DMA buffers");
    }

    @Test
    void missingLibraryIsNamed() {
        assertThatThrownBy(() -> GpuMemory.allocate("libnone.so.1", 0, LENGTH))
                .hasMessage("libnone.so.1 can't be loaded: install the driver of the GPU");
    }

    @Test
    void missingFunctionIsNamed() {
        assertThatThrownBy(() -> GpuMemory.allocate("libc.so.6", 0, LENGTH))
                .hasMessage("this driver has no cuInit: install a newer one");
    }

    @Test
    void programPrintsTheRegion() throws Exception {
        assertThat(ChildJvm.startedBy(
                                "env",
                                "LD_LIBRARY_PATH=" + folder,
                                "LD_PRELOAD=" + System.getProperty("dev.verbena.libibverbs"))
                        .option(
                                "--enable-native-access=ALL-UNNAMED",
                                "-Ddev.verbena.libibverbs=" + System.getProperty("dev.verbena.libibverbs"))
                        .runOnClassPath(GpuMemory.class, "0")
                        .successfulOutput())
                .contains("memory region of 1 MiB of DMA buffer");
    }

    @Test
    void programWithoutArgumentsPrintsItsUsage() {
        ChildJvm.Result result = ChildJvm.with().runOnClassPath(GpuMemory.class);
        assertThat(result.status()).isEqualTo(2);
        assertThat(result.output()).startsWith("usage: GpuMemory GPU [DEVICE]");
    }
}
