package dev.verbena.examples;

import static dev.verbena.examples.LinuxHost.forget;
import static dev.verbena.examples.LinuxHost.run;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import dev.verbena.support.Slow;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.SplittableRandom;
import java.util.zip.CRC32C;
import java.util.zip.CheckedInputStream;
import java.util.zip.CheckedOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** The example {@code MemoryDisk} under the kernel's own host of NVMe over Fabrics: Linux mounts a disk of a JVM. */
@Slow
@EnabledIfEnvironmentVariable(
        named = "VERBENA_GUEST",
        matches = ".+",
        disabledReason = "modules are loaded in guests only")
class LinuxOnMemoryDiskTest {
    private static final int MIB = 1 << 20;

    private final Path folder = Path.of("/tmp/memory-disk");

    @AfterEach
    void unmount() throws Exception {
        LinuxHost.unmount(folder);
    }

    /** Writes random bytes, and returns their checksum. */
    private static long write(Path file, int mebibytes) throws IOException {
        SplittableRandom random = new SplittableRandom(mebibytes);
        byte[] piece = new byte[MIB];
        try (CheckedOutputStream out = new CheckedOutputStream(Files.newOutputStream(file), new CRC32C())) {
            for (int i = 0; i < mebibytes; i++) {
                random.nextBytes(piece);
                out.write(piece);
            }
            return out.getChecksum().getValue();
        }
    }

    private static long sum(Path file) throws IOException {
        try (CheckedInputStream in = new CheckedInputStream(Files.newInputStream(file), new CRC32C())) {
            in.transferTo(OutputStream.nullOutputStream());
            return in.getChecksum().getValue();
        }
    }

    @Test
    void fileSystemKeepsItsFilesAndGrowsWhileMounted() throws Exception {
        try (Target target = new Target(4420, "128m");
                LinuxHost host = new LinuxHost(target.address, Target.NAME, 30)) {
            run("mkfs.ext4", "-q", host.disk.toString());
            host.mount(folder);
            Path file = folder.resolve("file");
            long written = write(file, 64);
            forget(folder);
            host.mount(folder);
            assertThat(sum(file)).isEqualTo(written);

            target.grow("192m");
            Await.until("the kernel sees the larger disk", () -> host.size() == 192L * MIB);
            run("resize2fs", host.disk.toString());
            Path more = folder.resolve("more");
            long after = write(more, 80);
            forget(folder);
            run("fsck.ext4", "-fn", host.disk.toString());
            host.mount(folder);
            assertThat(sum(file)).isEqualTo(written);
            assertThat(sum(more)).isEqualTo(after);
            run("umount", folder.toString());
        }
    }

    @Test
    void hostReturnsToATargetThatWasKilledAndItsFileIsWhole() throws Exception {
        Path contents = Files.createTempFile(Path.of("/dev/shm"), "disk", null);
        String[] arguments = {"64m", Target.NAME, contents.toString()};
        Target target = new Target(4421, arguments);
        try (LinuxHost host = new LinuxHost(target.address, Target.NAME, 30)) {
            run("mkfs.ext4", "-q", host.disk.toString());
            host.mount(folder);
            long written = write(folder.resolve("before"), 8);
            run("sync");
            target.close();
            Await.until("the kernel misses the target", () -> !host.state().equals("live"));
            target = new Target(4421, arguments);
            long after = write(folder.resolve("after"), 8);
            forget(folder);
            assertThat(host.state()).isEqualTo("live");
            host.mount(folder);
            assertThat(sum(folder.resolve("before"))).isEqualTo(written);
            assertThat(sum(folder.resolve("after"))).isEqualTo(after);
            run("umount", folder.toString());
        } finally {
            target.close();
            Files.delete(contents);
        }
    }
}
