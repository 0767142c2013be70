package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Tests results of calls into C with functions of libc. */
class CFunctionTest {
    private static final int EBADF = 9;

    private static MemorySegment libc(String name) {
        return Linker.nativeLinker().defaultLookup().find(name).orElseThrow();
    }

    @Test
    void callReturnsAnIntIfCastToInt() {
        assertThat((int) CFunction.callAt(libc("abs"), -5)).isEqualTo(5);
        assertThat((int) CFunction.callAt(libc("close"), -1)).isEqualTo(-1);
    }

    @Test
    void callReturnsAWholePointer() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocateFrom("verbena");
            assertThat(CFunction.callAt(libc("strchr"), text.address(), 'n')).isEqualTo(text.address() + 5);
            assertThat(CFunction.callAt(libc("strchr"), text.address(), 'x'))
                    .as("NULL")
                    .isZero();
        }
    }

    @Test
    void errnoBelongsToTheLastCall() {
        CFunction.callAt(libc("close"), -1);
        assertThat(CFunction.errno()).isEqualTo(EBADF);
    }

    @Test
    void errnoIsPerThread() throws InterruptedException {
        CFunction.callAt(libc("close"), -1);
        AtomicInteger seen = new AtomicInteger(-1);
        Thread.ofPlatform()
                .start(() -> {
                    try (Arena arena = Arena.ofConfined()) {
                        CFunction.callAt(
                                libc("rmdir"),
                                arena.allocateFrom("/no/such/folder").address());
                    }
                    seen.set(CFunction.errno());
                })
                .join();
        assertThat(seen).hasValue(Errno.ENOENT);
        assertThat(CFunction.errno()).isEqualTo(EBADF);
    }

    @Test
    void missingFunctionIsNamed() {
        CFunction missing = new CFunction(NativeLibraries.VERBS, "ibv_no_such_verb");
        assertThat(missing.isPresent()).isFalse();
        assertThatThrownBy(missing::call)
                .hasMessageContaining("ibv_no_such_verb")
                .hasMessageContaining("libibverbs");
    }
}
