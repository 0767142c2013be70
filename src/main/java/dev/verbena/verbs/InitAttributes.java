package dev.verbena.verbs;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;

/**
 * Writes a struct of which C makes an object ({@code ibv_*_init_attr}), and collects the bits of its {@code comp_mask}. C
 * reads an optional field only if its bit is set.
 */
final class InitAttributes {
    private final MemorySegment struct;
    private int mask;

    InitAttributes(MemorySegment struct) {
        this.struct = struct;
    }

    /** Writes a pointer to an object; nothing if there is none. */
    InitAttributes pointer(long offset, @Nullable ContextObject object) {
        return object == null ? this : pointer(offset, object.address);
    }

    /** Writes a pointer. */
    InitAttributes pointer(long offset, long address) {
        struct.set(ValueLayout.JAVA_LONG, offset, address);
        return this;
    }

    /** Writes a pointer to an object and sets the field's bit; nothing if there is none. */
    InitAttributes optional(int bit, long offset, @Nullable ContextObject object) {
        return object == null ? this : pointer(offset, object.address).has(bit);
    }

    /** Writes an {@code int} of flags and sets the field's bit; nothing if there are no flags. */
    InitAttributes optional(int bit, long offset, int flags) {
        if (flags != 0) {
            struct.set(ValueLayout.JAVA_INT, offset, flags);
            has(bit);
        }
        return this;
    }

    /** Sets the bits of fields that the caller writes. */
    InitAttributes has(int bits) {
        mask |= bits;
        return this;
    }

    /** Returns the bits that are set. */
    int mask() {
        return mask;
    }
}
