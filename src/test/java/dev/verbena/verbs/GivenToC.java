package dev.verbena.verbs;

import dev.verbena.support.Fenced;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.PaddingLayout;
import java.lang.foreign.UnionLayout;
import java.lang.foreign.ValueLayout;
import java.util.HexFormat;
import java.util.Set;
import java.util.StringJoiner;
import java.util.stream.LongStream;

/** What the provider for tests was given, as text that has all of it. */
final class GivenToC {
    /** Pointers to memory that a call has for itself. */
    private static final Set<String> PASSING = Set.of("ind_tbl", "rx_hash_key", "sg_list");

    private GivenToC() {}

    /** Returns the fields that are not zero of the struct that a function was given last, with values in hexadecimal. */
    static String given(String function, String struct) {
        return text(struct, Fenced.given(function));
    }

    /** Returns the numbers that a function was given last. */
    static LongStream words(String function) {
        return LongStream.of(Fenced.given(function).toArray(ValueLayout.JAVA_LONG));
    }

    /** Returns attributes that a function was given last, with values in hexadecimal: see {@link Fenced#noted}. */
    static String noted(String function, String... attributes) {
        StringJoiner text = new StringJoiner(" ");
        for (String attribute : attributes) {
            text.add(attribute + " " + Long.toHexString(Fenced.noted(function + "." + attribute)));
        }
        return text.toString();
    }

    /** Returns the fields that are not zero of a struct, which may end early. */
    static String text(String struct, MemorySegment memory) {
        StringJoiner text = new StringJoiner(" ");
        append(text, "", layout(struct), memory);
        return text.toString();
    }

    private static GroupLayout layout(String struct) {
        try {
            return (GroupLayout) Class.forName("dev.verbena.internal.raw." + struct)
                    .getMethod("layout")
                    .invoke(null);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    private static void append(StringJoiner text, String prefix, GroupLayout group, MemorySegment memory) {
        long offset = 0;
        for (MemoryLayout member : group.memberLayouts()) {
            if (offset + member.byteSize() > memory.byteSize()) {
                return; // the older one of two structs that begin in the same way
            }
            MemorySegment part = memory.asSlice(offset, member.byteSize());
            boolean isZero = part.mismatch(MemorySegment.ofArray(new byte[(int) member.byteSize()])) < 0;
            String name = prefix + member.name().orElse("");
            if (!isZero && !(member instanceof PaddingLayout)) {
                switch (member) {
                    case GroupLayout inner -> append(text, name.contains("$anon") ? prefix : name + ".", inner, part);
                    case ValueLayout _ ->
                        text.add(name + " " + (PASSING.contains(member.name().orElse("")) ? "&" : number(part)));
                    default -> text.add(name + " " + HexFormat.of().formatHex(part.toArray(ValueLayout.JAVA_BYTE)));
                }
            }
            if (group instanceof UnionLayout) {
                return; // the first member has all bytes
            }
            offset += member.byteSize();
        }
    }

    private static String number(MemorySegment little) {
        long value = 0;
        for (long i = little.byteSize(); i > 0; i--) {
            value = value << 8 | little.get(ValueLayout.JAVA_BYTE, i - 1) & 0xff;
        }
        return Long.toHexString(value);
    }
}
