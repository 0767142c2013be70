package dev.verbena.bench;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.MemoryRegion;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;
import java.util.Locale;

/** Compares copying and filling registered memory with {@code memcpy} and {@code memset}. */
final class BulkMemory {
    private static final int WARM = 40;
    private static final int ROUNDS = 60;
    private static final long BYTES_A_ROUND = 1 << 23;
    private static final int MAX_A_ROUND = 20_000;

    private final MethodHandle copy;
    private final MethodHandle fill;
    private final MemoryRegion region;
    private final MemorySegment registered;
    private final MemorySegment own;
    private final byte[] heap;

    private BulkMemory(SymbolLookup twin, MemoryRegion region, MemorySegment own) {
        FunctionDescriptor shape = FunctionDescriptor.of(
                ValueLayout.JAVA_LONG,
                ValueLayout.ADDRESS,
                ValueLayout.ADDRESS,
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_LONG);
        this.copy = Linker.nativeLinker().downcallHandle(twin.find("twin_copy").orElseThrow(), shape);
        this.fill = Linker.nativeLinker().downcallHandle(twin.find("twin_fill").orElseThrow(), shape);
        this.region = region;
        this.registered = region.segment();
        this.own = own;
        this.heap = new byte[(int) registered.byteSize()];
    }

    /** One round of operations. */
    @FunctionalInterface
    private interface Round {
        void run(int operations) throws Throwable;
    }

    /** Argument: the library of the loops in C. */
    public static void main(String[] args) throws Throwable {
        System.out.println(Report.machine());
        System.out.printf("%-32s %12s %12s %7s%n", "", "C ns", "Java ns", "ratio");
        for (int size : new int[] {64, 4096, 1 << 20}) {
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                Context context = Device.named("stub0").open(arena);
                MemoryRegion region =
                        context.allocateProtectionDomain().register(arena.allocate(size, 4096), LOCAL_WRITE);
                new BulkMemory(
                                SymbolLookup.libraryLookup(Path.of(args[0]), Arena.global()),
                                region,
                                arena.allocate(size, 4096))
                        .measureAll(size);
            }
        }
    }

    private void measureAll(int size) throws Throwable {
        Round memcpy = n -> {
            long ignored = (long) copy.invokeExact(registered, own, (long) size, (long) n);
        };
        Round memset = n -> {
            long ignored = (long) fill.invokeExact(registered, own, (long) size, (long) n);
        };
        compare(size + " B, segment to registered", size, memcpy, n -> {
            for (int i = 0; i < n; i++) {
                MemorySegment.copy(own, 0, registered, 0, size);
            }
        });
        compare(size + " B, byte[] to registered", size, memcpy, n -> {
            for (int i = 0; i < n; i++) {
                MemorySegment.copy(heap, 0, registered, ValueLayout.JAVA_BYTE, 0, size);
            }
        });
        compare(size + " B, registered to byte[]", size, memcpy, n -> {
            for (int i = 0; i < n; i++) {
                MemorySegment.copy(registered, ValueLayout.JAVA_BYTE, 0, heap, 0, size);
            }
        });
        compare(size + " B, segment.fill", size, memset, n -> {
            for (int i = 0; i < n; i++) {
                registered.fill((byte) i);
            }
        });
        compare(size + " B, fill of registered memory", size, memset, n -> {
            for (int i = 0; i < n; i++) {
                region.fill((byte) i);
            }
        });
    }

    private static void compare(String name, int size, Round c, Round java) throws Throwable {
        int n = Math.clamp(BYTES_A_ROUND / size, 4, MAX_A_ROUND);
        ByTurns turns = ByTurns.<Throwable>measure(WARM, ROUNDS, () -> nanos(c, n), () -> nanos(java, n));
        System.out.printf(
                Locale.ROOT,
                "%-32s %12.2f %12.2f %6.2fx%n",
                name,
                turns.least(0),
                turns.least(1),
                turns.least(1) / turns.least(0));
    }

    private static double nanos(Round round, int n) throws Throwable {
        long start = System.nanoTime();
        round.run(n);
        return (double) (System.nanoTime() - start) / n;
    }
}
