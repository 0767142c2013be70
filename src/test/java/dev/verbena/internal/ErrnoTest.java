package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import org.junit.jupiter.api.Test;

/** Tests names and texts of error numbers. */
class ErrnoTest {
    @Test
    void knownErrnoHasNameAndText() {
        assertThat(Errno.name(12)).isEqualTo("ENOMEM");
        assertThat(Errno.describe(12)).isEqualTo("ENOMEM (cannot allocate memory)");
    }

    @Test
    void unknownErrnoKeepsItsNumber() {
        assertThat(Errno.name(524)).isEqualTo("errno 524");
        assertThat(Errno.describe(524)).isEqualTo("errno 524");
    }

    @Test
    void errnoConstantsHaveTheirNames() throws IllegalAccessException {
        for (var field : Errno.class.getFields()) {
            assertThat(Errno.name(field.getInt(null))).isEqualTo(field.getName());
        }
    }

    /** The C library's own names, of its numbers up to EHWPOISON. */
    @Test
    void knownErrnosHaveTheirNamesInC() throws Throwable {
        Linker linker = Linker.nativeLinker();
        MethodHandle nameOf = linker.downcallHandle(
                linker.defaultLookup().find("strerrorname_np").orElseThrow(),
                FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.JAVA_INT));
        int known = 0;
        for (int errno = 1; errno <= 133; errno++) {
            if (!Errno.name(errno).startsWith("errno")) {
                known++;
                MemorySegment name = (MemorySegment) nameOf.invokeExact(errno);
                assertThat(Errno.name(errno)).isEqualTo(name.reinterpret(64).getString(0));
            }
        }
        assertThat(known).isGreaterThan(30);
    }

    @Test
    void unsupportedIsTrueForThreeNumbers() {
        assertThat(Errno.meansUnsupported(Errno.EOPNOTSUPP)).isTrue();
        assertThat(Errno.meansUnsupported(Errno.ENOSYS)).isTrue();
        assertThat(Errno.meansUnsupported(Errno.EPROTONOSUPPORT)).isTrue();
        assertThat(Errno.meansUnsupported(Errno.EINVAL)).isFalse();
    }
}
