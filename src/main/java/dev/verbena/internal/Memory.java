package dev.verbena.internal;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * Reads and writes of memory by address, for the data path. A segment in a field costs several loads and checks after each
 * call into C. The caller makes sure that the address is valid: nothing is checked here.
 */
public final class Memory {
    /** All memory, for the handles. */
    public static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED;
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED;

    /** Bits for an address space of 61 bits. {@link #word} returns no more, so C2 drops the check of bounds. */
    private static final long WORD_MASK = (1L << 58) - 1;

    /**
     * The {@code long}s of a segment. The coordinates are {@link #ALL} and {@link #at}.
     *
     * <p>The hot path uses this handle itself, and not the methods below. C2 inlines fifteen levels, of which a segment's
     * {@code get} takes nine. This handle takes six: its frames of method handles do not count. An access of which one level
     * is not inlined costs a call. The handle is the layout's own: a handle that is made of others, such as one of all
     * memory, makes the JDK spin some thirty classes before a program's first post.
     */
    public static final VarHandle LONG_AT = ValueLayout.JAVA_LONG.varHandle();

    /**
     * The {@code int}s of a segment. The coordinates are {@link #ALL} and {@link #atInt}. A processor reads what C has just
     * written fastest in the size that C wrote.
     */
    public static final VarHandle INT_AT = ValueLayout.JAVA_INT.varHandle();

    private Memory() {}

    /** Returns the offset of the word that is a number of words after a {@link #word}. */
    public static long at(long word, int more) {
        return (word + more) << 3;
    }

    /** Returns the offset of the {@code int} that is a number of {@code int}s after a {@link #word}. */
    public static long atInt(long word, int more) {
        return (word << 3) + (more << 2);
    }

    /** Returns the word at an address that is a multiple of 8, for {@link #at}. */
    public static long word(long address) {
        return address >>> 3 & WORD_MASK;
    }

    /**
     * Returns the segment of a struct of C. {@code MemorySegment.reinterpret} looks at the stack of its caller each time,
     * which takes longer than many a call of C.
     */
    public static MemorySegment struct(long address, long size) {
        return ALL.asSlice(address, size);
    }

    /** Returns the {@code long} at an address. */
    public static long getLong(long address) {
        return ALL.get(LONG, address);
    }

    /** Returns the {@code int} at an address. */
    public static int getInt(long address) {
        return ALL.get(INT, address);
    }

    /** Returns the {@code short} at an address. */
    public static short getShort(long address) {
        return ALL.get(SHORT, address);
    }

    /** Returns the {@code byte} at an address. */
    public static byte getByte(long address) {
        return ALL.get(ValueLayout.JAVA_BYTE, address);
    }

    /** Stores a {@code long} at an address. */
    public static void set(long address, long value) {
        ALL.set(LONG, address, value);
    }

    /** Stores an {@code int} at an address. */
    public static void set(long address, int value) {
        ALL.set(INT, address, value);
    }

    /** Stores a {@code short} at an address. */
    public static void set(long address, short value) {
        ALL.set(SHORT, address, value);
    }

    /** Stores a {@code byte} at an address. */
    public static void set(long address, byte value) {
        ALL.set(ValueLayout.JAVA_BYTE, address, value);
    }

    /** Fills memory with a byte ({@code memset}). */
    public static void fill(long address, long size, byte value) {
        Fill.fill(address, size, value);
    }

    /** Holds the function, which is linked on the first use. */
    private static final class Fill {
        private static final LinkedHandle LINK = new LinkedHandle(
                LinkedHandle.Kind.CRITICAL,
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_INT,
                ValueLayout.JAVA_LONG);
        private static volatile @Nullable MemorySegment memset;

        private static final class Linked {
            static final MethodHandle HANDLE = LINK.get();
        }

        /** The most bytes of one call. A critical call delays safepoints: a call of this size by some 20 microseconds. */
        private static final long MAX_AT_ONCE = 1 << 20;

        static void fill(long address, long size, byte value) {
            MemorySegment function = memset;
            if (function == null) {
                LINK.get();
                memset = function = NativeLibraries.C.symbol("memset").orElseThrow();
            }
            try {
                for (long done = 0; done < size; done += MAX_AT_ONCE) {
                    long ignored = (long) Linked.HANDLE.invokeExact(
                            function, address + done, (int) value, Math.min(MAX_AT_ONCE, size - done));
                }
            } catch (Throwable t) {
                throw CFunction.unexpected(t);
            }
        }
    }
}
