package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.support.OpenFileLimit;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Descriptors that are opened, copied, changed and closed for C. */
class DescriptorsTest {
    private static final int PAGE = 4096;
    private static final int WRITE_AND_APPEND = 02001;
    private static final int NON_BLOCKING = 04000;
    private static final int CLOSE_ON_EXEC = 02000000;

    private static MemorySegment libc(String name) {
        return Linker.nativeLinker().defaultLookup().find(name).orElseThrow();
    }

    private static int flags(int descriptor) throws IOException {
        String about = Files.readString(Path.of("/proc/self/fdinfo/" + descriptor));
        return Integer.parseInt(about.replaceAll("(?s).*flags:\\s+(\\d+).*", "$1"), 8);
    }

    private static Path file(int descriptor) throws IOException {
        return Files.readSymbolicLink(Path.of("/proc/self/fd/" + descriptor));
    }

    /** Maps the second page of the file: also a test of a call with six arguments. */
    @Test
    void openedFileCanBeReadByC(@TempDir Path folder) throws IOException {
        byte[] content = new byte[2 * PAGE];
        content[PAGE] = 77;
        Path path = Files.write(folder.resolve("file"), content);
        long before = OpenFileLimit.count();
        try (OpenFile file = OpenFile.of(path)) {
            assertThat(file(file.descriptor())).isEqualTo(path.toRealPath());
            assertThat(flags(file.descriptor()) & ~0100000).isEqualTo(CLOSE_ON_EXEC); // O_LARGEFILE may be set
            long mapped = CFunction.callAt(libc("mmap"), 0, PAGE, 1, 2, file.descriptor(), PAGE);
            assertThat(mapped).as("errno " + CFunction.errno()).isPositive();
            assertThat(MemorySegment.ofAddress(mapped).reinterpret(PAGE).get(ValueLayout.JAVA_BYTE, 0))
                    .isEqualTo((byte) 77);
            assertThat((int) CFunction.callAt(libc("munmap"), mapped, PAGE)).isZero();
        }
        assertThat(OpenFileLimit.count()).isEqualTo(before);
    }

    @Test
    void missingFileHasNoDescriptor(@TempDir Path folder) {
        long before = OpenFileLimit.count();
        try (OpenFile file = OpenFile.of(folder.resolve("missing"))) {
            assertThat(CFunction.errno()).isEqualTo(Errno.ENOENT);
            assertThat(file.descriptor()).isNegative();
        }
        assertThat(OpenFileLimit.count()).isEqualTo(before);
    }

    @Test
    void duplicateIsASecondDescriptorOfTheFile(@TempDir Path folder) throws IOException {
        Path path = Files.createFile(folder.resolve("file"));
        long before = OpenFileLimit.count();
        OpenFile file = OpenFile.of(path);
        int copy = Descriptors.duplicate(file.descriptor());
        assertThat(copy).isNotEqualTo(file.descriptor());
        assertThat(OpenFileLimit.count()).isEqualTo(before + 2);
        file.close();
        assertThat(file(copy)).isEqualTo(path.toRealPath());
        Descriptors.close(copy);
        assertThat(OpenFileLimit.count()).isEqualTo(before);
    }

    @Test
    void duplicateOfNoDescriptorNamesTheReason() {
        assertThatExceptionOfType(UncheckedIOException.class)
                .isThrownBy(() -> Descriptors.duplicate(-1))
                .withMessageEndingWith("dup(-1): EBADF (bad file descriptor)");
    }

    @Test
    void makeNonBlockingKeepsOtherFlags(@TempDir Path folder) throws IOException {
        Path path = Files.createFile(folder.resolve("file"));
        try (Arena arena = Arena.ofConfined()) {
            int descriptor = (int) CFunction.callAt(
                    libc("open"), arena.allocateFrom(path.toString()).address(), WRITE_AND_APPEND);
            Descriptors.makeNonBlocking(descriptor);
            assertThat(SystemCall.flags(descriptor) & ~0100000).isEqualTo(WRITE_AND_APPEND | NON_BLOCKING);
            Descriptors.close(descriptor);
            assertThat(SystemCall.flags(descriptor)).isNegative();
        }
    }

    @Test
    void makeNonBlockingRefusesNoDescriptor() {
        assertThatExceptionOfType(SystemCallException.class)
                .isThrownBy(() -> Descriptors.makeNonBlocking(-1))
                .withMessage("fcntl: EBADF (bad file descriptor)")
                .satisfies(e -> {
                    assertThat(e.call()).isEqualTo("fcntl");
                    assertThat(e.errno()).isEqualTo(Errno.EBADF);
                });
    }

    @Test
    void failedSystemCallIsNamed() {
        assertThatExceptionOfType(SystemCallException.class)
                .isThrownBy(() -> SystemCall.READ.call(-1, 0, 0))
                .withMessage("read: EBADF (bad file descriptor)")
                .satisfies(e -> assertThat(e.errno()).isEqualTo(Errno.EBADF));
    }
}
