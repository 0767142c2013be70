package dev.verbena;

import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/** An enum constant that stands for one bit of a C flag word. */
public interface NativeFlag {
    /**
     * Returns the bit in C.
     *
     * @return a number with one bit set
     */
    int bit();

    /**
     * Returns the constant's name in C.
     *
     * @return a name, such as {@code IBV_ACCESS_LOCAL_WRITE}
     */
    String cName();

    /**
     * Returns the flag word for a set of flags.
     *
     * @param flags the flags
     * @return the bits of all flags
     */
    static int bits(Collection<? extends NativeFlag> flags) {
        int bits = 0;
        for (NativeFlag flag : flags) {
            bits |= flag.bit();
        }
        return bits;
    }

    /**
     * Returns the flags of a flag word. Bits that this release does not know are left out.
     *
     * @param <E> the enum
     * @param type the class of the enum
     * @param bits the flag word
     * @return the flags that are set, unmodifiable
     */
    static <E extends Enum<E> & NativeFlag> Set<E> of(Class<E> type, int bits) {
        EnumSet<E> flags = EnumSet.noneOf(type);
        for (E flag : type.getEnumConstants()) {
            if ((bits & flag.bit()) != 0) {
                flags.add(flag);
            }
        }
        return Collections.unmodifiableSet(flags);
    }
}
