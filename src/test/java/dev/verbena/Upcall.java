package dev.verbena;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/** Java code that runs in the middle of a call into C, which has been given a segment (C's {@code bsearch}). */
final class Upcall {
    private final Runnable work;

    private Upcall(Runnable work) {
        this.work = work;
    }

    static void during(MemorySegment segment, Arena stubs, Runnable work) {
        Linker linker = Linker.nativeLinker();
        FunctionDescriptor comparison = FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS);
        try {
            MethodHandle search = linker.downcallHandle(
                    linker.defaultLookup().find("bsearch").orElseThrow(),
                    FunctionDescriptor.of(ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS));
            MethodHandle compare = MethodHandles.lookup()
                    .findVirtual(
                            Upcall.class,
                            "compare",
                            MethodType.methodType(int.class, MemorySegment.class, MemorySegment.class));
            MemorySegment stub = linker.upcallStub(compare.bindTo(new Upcall(work)), comparison, stubs);
            MemorySegment found = (MemorySegment) search.invokeExact(segment, segment, 1L, 1L, stub);
            assert found.address() == segment.address();
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    @SuppressWarnings("unused") // C calls it
    int compare(MemorySegment a, MemorySegment b) {
        work.run();
        return 0;
    }
}
