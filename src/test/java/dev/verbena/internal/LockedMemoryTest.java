package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

/** Tests the limits on locked memory and open files, and their hints. */
class LockedMemoryTest {
    @Test
    void hintUsesTheLargerUnitForWholeMultiples() {
        assertThat(LockedMemory.inWords(0)).isEqualTo("0 bytes");
        assertThat(LockedMemory.inWords(1000)).isEqualTo("1000 bytes");
        assertThat(LockedMemory.inWords(65536)).isEqualTo("64 KiB");
        assertThat(LockedMemory.inWords(64L << 20)).isEqualTo("64 MiB");
        assertThat(LockedMemory.inWords(3L << 30)).isEqualTo("3 GiB");
        assertThat(LockedMemory.inWords((1L << 20) + 1)).isEqualTo("1048577 bytes");
        assertThat(LockedMemory.inWords(2048L << 40)).isEqualTo("2048 TiB");
    }

    @Test
    void hintExplainsHowToRaiseTheLimit() {
        if (LockedMemory.limit().isPresent()) {
            assertThat(LockedMemory.hint())
                    .contains("ulimit -l unlimited", "limits.conf", "LimitMEMLOCK=")
                    .contains(LockedMemory.inWords(LockedMemory.limit().get()));
        } else {
            assertThat(LockedMemory.hint()).contains("not limited").doesNotContain("ulimit");
        }
    }

    private static final int RLIMIT_MEMLOCK = 8;
    private static final int RLIMIT_NOFILE = 7;

    private static void withSoftLimit(int resource, long soft, Runnable work) {
        MemorySegment set =
                Linker.nativeLinker().defaultLookup().find("setrlimit").orElseThrow();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment limits = arena.allocate(ValueLayout.JAVA_LONG, 2);
            SystemCall.GETRLIMIT.call(resource, limits.address());
            long before = limits.get(ValueLayout.JAVA_LONG, 0);
            limits.set(ValueLayout.JAVA_LONG, 0, soft);
            assertThat((int) CFunction.at("function", set).call(resource, limits.address()))
                    .isZero();
            try {
                work.run();
            } finally {
                limits.set(ValueLayout.JAVA_LONG, 0, before);
                assertThat((int) CFunction.at("function", set).call(resource, limits.address()))
                        .isZero();
            }
        }
    }

    @Test
    void limitIsThatOfTheProcess() {
        withSoftLimit(RLIMIT_MEMLOCK, 12 << 10, () -> {
            assertThat(LockedMemory.limit()).contains(12L << 10);
            assertThat(LockedMemory.hint())
                    .startsWith("Locked memory is limited to 12 KiB for this process: raise it with 'ulimit -l "
                            + "unlimited'");
        });
        withSoftLimit(RLIMIT_MEMLOCK, 0, () -> assertThat(LockedMemory.limit()).contains(0L));
    }

    @Test
    void limitOfOpenFilesIsThatOfTheProcess() {
        withSoftLimit(RLIMIT_NOFILE, 777, () -> {
            assertThat(OpenFiles.limit()).isEqualTo(777);
            assertThat(OpenFiles.hint(Errno.EMFILE))
                    .startsWith("This process may have 777 open files: raise the limit with 'ulimit -n'");
        });
        assertThat(OpenFiles.hint(Errno.ENFILE))
                .startsWith("All processes together")
                .contains("fs.file-max");
        assertThat(OpenFiles.areTooMany(Errno.EMFILE)).isTrue();
        assertThat(OpenFiles.areTooMany(Errno.ENFILE)).isTrue();
        assertThat(OpenFiles.areTooMany(Errno.ENOMEM)).isFalse();
    }
}
