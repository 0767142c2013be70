package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.support.OpenFileLimit;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
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

    private static int open(Path path) {
        try (Arena arena = Arena.ofConfined()) {
            return SystemCall.OPEN.call(arena.allocateFrom(path.toString()).address(), CLOSE_ON_EXEC);
        }
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
        Set<String> before = OpenFileLimit.files();
        int descriptor = open(path);
        assertThat(file(descriptor)).isEqualTo(path.toRealPath());
        assertThat(flags(descriptor) & ~0100000).isEqualTo(CLOSE_ON_EXEC); // O_LARGEFILE may be set
        long mapped = CFunction.at("mmap", libc("mmap")).call(0, PAGE, 1, 2, descriptor, PAGE);
        assertThat(mapped).as("errno " + CFunction.errno()).isPositive();
        assertThat(MemorySegment.ofAddress(mapped).reinterpret(PAGE).get(ValueLayout.JAVA_BYTE, 0))
                .isEqualTo((byte) 77);
        assertThat((int) CFunction.at("munmap", libc("munmap")).call(mapped, PAGE))
                .isZero();
        SystemCall.close(descriptor);
        assertThat(OpenFileLimit.openedSince(before)).isEmpty();
    }

    @Test
    void missingFileHasNoDescriptor(@TempDir Path folder) {
        Set<String> before = OpenFileLimit.files();
        assertThatExceptionOfType(SystemCallException.class)
                .isThrownBy(() -> open(folder.resolve("missing")))
                .withMessage("open: ENOENT (no such file or directory)");
        assertThat(OpenFileLimit.openedSince(before)).isEmpty();
    }

    @Test
    void duplicateIsASecondDescriptorOfTheFile(@TempDir Path folder) throws IOException {
        Path path = Files.createFile(folder.resolve("file"));
        Set<String> before = OpenFileLimit.files();
        int file = open(path);
        int copy = SystemCall.DUP.call(file);
        assertThat(copy).isNotEqualTo(file);
        assertThat(OpenFileLimit.openedSince(before)).hasSize(2);
        SystemCall.close(file);
        assertThat(file(copy)).isEqualTo(path.toRealPath());
        SystemCall.close(copy);
        assertThat(OpenFileLimit.openedSince(before)).isEmpty();
    }

    @Test
    void duplicateOfNoDescriptorNamesTheReason() {
        assertThatExceptionOfType(SystemCallException.class)
                .isThrownBy(() -> SystemCall.DUP.call(-1))
                .withMessage("dup: EBADF (bad file descriptor)");
    }

    @Test
    void makeNonBlockingKeepsOtherFlags(@TempDir Path folder) throws IOException {
        Path path = Files.createFile(folder.resolve("file"));
        try (Arena arena = Arena.ofConfined()) {
            int descriptor = (int) CFunction.at("open", libc("open"))
                    .call(arena.allocateFrom(path.toString()).address(), WRITE_AND_APPEND);
            SystemCall.makeNonBlocking(descriptor);
            assertThat(SystemCall.flags(descriptor) & ~0100000).isEqualTo(WRITE_AND_APPEND | NON_BLOCKING);
            SystemCall.close(descriptor);
            assertThat(SystemCall.flags(descriptor)).isNegative();
        }
    }

    @Test
    void makeNonBlockingRefusesNoDescriptor() {
        assertThatExceptionOfType(SystemCallException.class)
                .isThrownBy(() -> SystemCall.makeNonBlocking(-1))
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
