package dev.verbena.examples.gpu;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.RegionOptions;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * Memory of an NVIDIA GPU that an RDMA adapter reads and writes, without a copy in the host's memory. The GPU's driver
 * hands out a part of the memory as a DMA buffer, and the adapter's driver registers that.
 *
 * <p><b>No GPU has been seen:</b> this was written from the documentation of both drivers, and is tested on a library in
 * place of the GPU's driver.
 *
 * <p>A GPU needs NVIDIA's open kernel modules, CUDA 11.7 or newer, and Linux 5.12 or newer, to hand out DMA buffers. Close the
 * regions before this memory. One thread at a time can use this memory.
 */
public final class GpuMemory implements AutoCloseable {
    private static final int DMA_BUF_SUPPORTED = 124; // CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED
    private static final int DMA_BUF = 1; // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD

    private final Cuda cuda;
    private final int gpu;
    private final MemorySegment context; // the one that all parts of the process share, as the runtime of CUDA does
    private final long address;
    private final long length;

    private GpuMemory(Cuda cuda, int gpu, MemorySegment context, long address, long length) {
        this.cuda = cuda;
        this.gpu = gpu;
        this.context = context;
        this.address = address;
        this.length = length;
    }

    /**
     * Allocates memory of a GPU.
     *
     * @param library the library of the driver, {@code libcuda.so.1}
     * @param number the number that the driver gives the GPU
     */
    public static GpuMemory allocate(String library, int number, long length) {
        Cuda cuda = new Cuda(library);
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment result = scratch.allocate(JAVA_LONG); // zero
            cuda.call("cuInit", 0);
            cuda.call("cuDeviceGet", result, number);
            int gpu = result.get(JAVA_INT, 0);
            cuda.call("cuDeviceGetAttribute", result, DMA_BUF_SUPPORTED, gpu);
            if (result.get(JAVA_INT, 0) == 0) {
                throw new UnsupportedOperationException("GPU " + number + " hands out no DMA buffers:"
                        + " they need NVIDIA's open kernel modules, CUDA 11.7 and Linux 5.12, or newer ones");
            }
            cuda.call("cuDevicePrimaryCtxRetain", result, gpu);
            MemorySegment context = result.get(ADDRESS, 0);
            try {
                cuda.call("cuCtxSetCurrent", context);
                cuda.call("cuMemAlloc_v2", result, length);
                return new GpuMemory(cuda, gpu, context, result.get(JAVA_LONG, 0), length);
            } catch (RuntimeException | Error e) {
                cuda.call("cuDevicePrimaryCtxRelease_v2", gpu);
                throw e;
            }
        }
    }

    /**
     * Registers a part of this memory with the arena of a protection domain. The region has the addresses that kernels of the
     * GPU use.
     *
     * @throws dev.verbena.UnsupportedVerbException if the driver of the adapter takes no DMA buffers, such as soft-RoCE's
     */
    public MemoryRegion register(ProtectionDomain domain, long offset, long size, AccessFlag... access) {
        Objects.checkFromIndexSize(offset, size, length);
        long page = Cuda.pageSize();
        long first = address + offset;
        long start = first & -page, end = first + size + page - 1 & -page; // a DMA buffer is of whole pages of the host
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment descriptor = scratch.allocate(JAVA_INT);
            cuda.call("cuCtxSetCurrent", context);
            cuda.call("cuMemGetHandleForAddressRange", descriptor, start, end - start, DMA_BUF, 0L);
            int buffer = descriptor.get(JAVA_INT, 0);
            try {
                return domain.register(RegionOptions.dmaBuf(buffer, first - start, size)
                        .address(first)
                        .access(access));
            } finally {
                Cuda.close(buffer); // the region keeps the buffer itself
            }
        }
    }

    @Override
    public void close() {
        cuda.call("cuCtxSetCurrent", context);
        cuda.call("cuMemFree_v2", address);
        cuda.call("cuDevicePrimaryCtxRelease_v2", gpu);
    }

    /** Registers a mebibyte of a GPU, and prints the region. */
    public static void main(String[] arguments) {
        if (arguments.length < 1 || arguments.length > 2) {
            System.out.println("""
                    usage: GpuMemory GPU [DEVICE]

                    Registers 1 MiB of a GPU with an RDMA device, by default with the first one, and prints the region.""");
            System.exit(2);
        }
        try (GpuMemory memory = allocate("libcuda.so.1", Integer.parseInt(arguments[0]), 1 << 20);
                VerbsArena arena = VerbsArena.ofConfined()) {
            Device device = arguments.length > 1 ? Device.named(arguments[1]) : Device.first();
            ProtectionDomain domain = device.open(arena).allocateProtectionDomain();
            MemoryRegion region = memory.register(domain, 0, 1 << 20, AccessFlag.REMOTE_READ);
            System.out.println(region + ": " + region.remote());
        }
    }
}
