package dev.verbena.bench;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

/** The loops in C, with their own queues. One call runs a whole round, so that the cost of the call does not show. */
final class Twin {
    private static final Linker LINKER = Linker.nativeLinker();
    private static final FunctionDescriptor LOOP =
            FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG);

    private final MethodHandle loop;
    private final long twin;

    private final MethodHandle giveAddresses;
    private final MethodHandle posts;
    private final MethodHandle takes;
    private final MethodHandle hold;
    private final MethodHandle step;

    /** The bit of queues that belong to a thread domain. */
    static final int THREAD_DOMAIN = 1 << 30;

    Twin(Path library, String function, int kinds, int gidIndex) throws Throwable {
        SymbolLookup lookup = SymbolLookup.libraryLookup(library, Arena.global());
        this.loop = LINKER.downcallHandle(lookup.find(function).orElseThrow(), LOOP);
        MethodHandle open = LINKER.downcallHandle(
                lookup.find("twin_open").orElseThrow(),
                FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
        this.twin = (long) open.invokeExact(kinds, gidIndex);
        this.giveAddresses = LINKER.downcallHandle(
                lookup.find("twin_addresses").orElseThrow(),
                FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG, ValueLayout.ADDRESS));
        FunctionDescriptor half = LOOP.appendArgumentLayouts(ValueLayout.JAVA_LONG);
        this.posts = lookup.find(function + "_posts")
                .map(found -> LINKER.downcallHandle(found, half))
                .orElse(null);
        this.takes = lookup.find(function + "_takes")
                .map(found -> LINKER.downcallHandle(found, half))
                .orElse(null);
        this.hold = LINKER.downcallHandle(
                lookup.find("twin_hold").orElseThrow(), FunctionDescriptor.ofVoid(ValueLayout.JAVA_INT));
        this.step = LINKER.downcallHandle(lookup.find("twin_step").orElseThrow(), FunctionDescriptor.ofVoid());
        if (twin == 0) {
            throw new IllegalStateException("C can't connect a queue pair to itself over GID " + gidIndex);
        }
    }

    /** Runs operations and returns the number of errors. */
    long run(int operations) {
        try {
            return (long) loop.invokeExact(twin, (long) operations);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Posts, or polls, for a number of operations from an id on, and returns the number of errors. */
    long half(boolean post, long from, int operations) {
        try {
            return post
                    ? (long) posts.invokeExact(twin, from, (long) operations)
                    : (long) takes.invokeExact(twin, from, (long) operations);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Keeps the adapter without hardware from working but in steps. */
    void hold() {
        try {
            hold.invokeExact(1);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Has the adapter complete what is posted. */
    void step() {
        try {
            step.invokeExact();
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    /** Returns the addresses of the queues and of the functions that work on them. */
    long[] addresses(int count) {
        try (Arena scratch = Arena.ofConfined()) {
            MemorySegment into = scratch.allocate(ValueLayout.JAVA_LONG, count);
            giveAddresses.invokeExact(twin, into);
            return into.toArray(ValueLayout.JAVA_LONG);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }
}
