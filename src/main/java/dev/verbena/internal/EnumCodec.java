package dev.verbena.internal;

import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import java.util.function.ToIntFunction;

/**
 * Converts between the constants of an enum and the numbers of C. The enum keeps the number of each constant, or its bit in
 * a flag word, in a field: callers name the field by a function.
 *
 * <p>The enums that every program meets before its first completion have the loop themselves: six lambda expressions there
 * take such a program 9 ms more of processor time, of 680 ms (fresh JVMs by turns on one core, 2026-11-25).
 */
public final class EnumCodec {
    private EnumCodec() {}

    /** Returns the constant with a number, or {@code unknown} if no other constant has the number. */
    public static <E> E find(E[] values, ToIntFunction<E> code, int wanted, E unknown) {
        for (E value : values) {
            if (code.applyAsInt(value) == wanted && value != unknown) {
                return value;
            }
        }
        return unknown;
    }

    /** Returns the flag word for a set of flags. */
    public static <E> int bits(Collection<E> flags, ToIntFunction<E> bit) {
        int bits = 0;
        for (E flag : flags) {
            bits |= bit.applyAsInt(flag);
        }
        return bits;
    }

    /** Returns the flags of a flag word, unmodifiable. Bits that no constant has are left out. */
    public static <E extends Enum<E>> Set<E> flags(Class<E> type, ToIntFunction<E> bit, int bits) {
        EnumSet<E> flags = EnumSet.allOf(type);
        flags.removeIf(flag -> (bits & bit.applyAsInt(flag)) == 0);
        return Collections.unmodifiableSet(flags);
    }

    /** Returns an unmodifiable copy of constants, in the order of their declaration. */
    public static <E extends Enum<E>> Set<E> copy(Class<E> type, Collection<E> constants) {
        EnumSet<E> copy = EnumSet.noneOf(type);
        copy.addAll(constants);
        return Collections.unmodifiableSet(copy);
    }
}
