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
}
