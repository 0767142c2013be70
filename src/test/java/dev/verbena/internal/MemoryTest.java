package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

/** Access to memory by address. */
class MemoryTest {
    /** A program for {@link ChildJvm}: uses memory, and fills it if there is an argument. */
    public static final class Use {
        private Use() {}

        public static void main(String[] args) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment memory = arena.allocate(8);
                Memory.set(memory.address(), 42L);
                if (args.length > 0) {
                    Memory.fill(memory.address(), 8, (byte) 1);
                }
                System.out.println("value " + Memory.getLong(memory.address()));
            }
        }
    }

    private static String loadedClasses(String... arguments) {
        return ChildJvm.with("--enable-native-access=ALL-UNNAMED", "-Xlog:class+load")
                .runOnClassPath(Use.class, arguments)
                .successfulOutput();
    }

    /** Linking a function takes milliseconds, which most programs need not spend on memset. */
    @Test
    void memsetIsLinkedWhenFirstUsed() {
        assertThat(loadedClasses())
                .contains("value 42")
                .contains("dev.verbena.internal.Memory ")
                .doesNotContain("dev.verbena.internal.Memory$");
        assertThat(loadedClasses("fill")).contains("value 72340172838076673").contains("dev.verbena.internal.Memory$");
    }

    @Test
    void fillWritesNothingElse() {
        try (Arena arena = Arena.ofConfined()) {
            int size = (1 << 20) + 5; // more than one call
            MemorySegment memory = arena.allocate(size + 2);
            Memory.fill(memory.address() + 1, size, (byte) -7);
            assertThat(memory.get(ValueLayout.JAVA_BYTE, 0)).isZero();
            assertThat(memory.get(ValueLayout.JAVA_BYTE, size + 1)).isZero();
            assertThat(memory.asSlice(1, size).mismatch(arena.allocate(size).fill((byte) -7)))
                    .isEqualTo(-1);
        }
    }

    /** Addresses are unaligned, and each access touches its own bytes only. */
    @Test
    void accessesReadAndWriteTheirOwnBytes() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(24, 8);
            long at = memory.address() + 1;
            Memory.set(at, 0x0807060504030201L);
            Memory.set(at + 8, 0x0c0b0a09);
            Memory.set(at + 12, (short) 0x0e0d);
            Memory.set(at + 14, (byte) 0x0f);
            for (int i = 0; i < 24; i++) {
                assertThat(memory.get(ValueLayout.JAVA_BYTE, i)).isEqualTo((byte) (i < 16 ? i : 0));
            }
            assertThat(Memory.getLong(at)).isEqualTo(0x0807060504030201L);
            assertThat(Memory.getInt(at + 8)).isEqualTo(0x0c0b0a09);
            assertThat(Memory.getShort(at + 12)).isEqualTo((short) 0x0e0d);
            assertThat(Memory.getByte(at + 14)).isEqualTo((byte) 0x0f);
        }
    }

    @Test
    void wordsAreCountedFromAnAddress() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(32, 8);
            long word = Memory.word(memory.address());
            Memory.LONG_AT.set(Memory.ALL, Memory.at(word, 1), 0x1122334455667788L);
            Memory.INT_AT.set(Memory.ALL, Memory.atInt(word, 5), 0x01020304);
            assertThat(memory.get(ValueLayout.JAVA_LONG, 0)).isZero();
            assertThat(memory.get(ValueLayout.JAVA_LONG, 8)).isEqualTo(0x1122334455667788L);
            assertThat(memory.get(ValueLayout.JAVA_LONG, 16)).isEqualTo(0x01020304L << 32);
            assertThat(memory.get(ValueLayout.JAVA_LONG, 24)).isZero();
            assertThat((int) Memory.INT_AT.get(Memory.ALL, Memory.atInt(word, 2)))
                    .isEqualTo(0x55667788);
            assertThat((int) Memory.INT_AT.get(Memory.ALL, Memory.atInt(word, 3)))
                    .isEqualTo(0x11223344);
        }
    }
}
