package dev.verbena;

import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/** An enum constant that stands for one bit of a C flag word. */
public interface NativeFlag {
    /**
     * The bit in C.
     *
     * @return a number with one bit set
     */
    int bit();

    /**
     * The constant's name in C.
     *
     * @return for example {@code IBV_ACCESS_LOCAL_WRITE}
     */
    String cName();

    /**
     * The flag word for a set of flags.
     *
     * @param flags the flags
     * @return their bits, together
     */
    static int bits(Collection<? extends NativeFlag> flags) {
        int bits = 0;
        for (NativeFlag flag : flags) {
            bits |= flag.bit();
        }
        return bits;
    }

    /**
     * The flags of a flag word. Bits that this release does not know are left out.
     *
     * @param <E> the enum
     * @param type its class
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
