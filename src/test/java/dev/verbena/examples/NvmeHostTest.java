package dev.verbena.examples;

import static dev.verbena.examples.LinuxHost.run;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.CmAddress;
import dev.verbena.support.Slow;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** The example {@code NvmeHost} at the kernel's own target of NVMe over Fabrics, which serves a file. */
@Slow
@EnabledIfEnvironmentVariable(
        named = "VERBENA_GUEST",
        matches = ".+",
        disabledReason = "modules are loaded in guests only")
class NvmeHostTest {
    private static final String NAME = "nqn.2026-11.dev.verbena:kernel";
    private static final Path TARGET = Path.of("/sys/kernel/config/nvmet");
    private static final Path SUBSYSTEM = TARGET.resolve("subsystems/" + NAME);
    private static final Path NAMESPACE = SUBSYSTEM.resolve("namespaces/1");
    private static final Path PORT = TARGET.resolve("ports/1");
    private static final Path LINK = PORT.resolve("subsystems/" + NAME);
    private static final String ADDRESS = CmAddress.four(0).getHostString() + ":4423";

    private final byte[] contents = new byte[2 << 20];
    private Path folder;
    private Path disk;

    /** Has the kernel serve a file in memory: on the guest's own file system, the blocks of a file would have one byte. */
    @BeforeEach
    void serve() throws Exception {
        folder = Files.createTempDirectory(Path.of("/dev/shm"), "nvmet");
        disk = folder.resolve("disk");
        new SplittableRandom(1).nextBytes(contents);
        Files.write(disk, contents);
        run("modprobe", "nvmet-rdma");
        if (!Files.exists(TARGET)) {
            run("mount", "-t", "configfs", "none", "/sys/kernel/config");
        }
        Files.createDirectory(SUBSYSTEM);
        Files.writeString(SUBSYSTEM.resolve("attr_allow_any_host"), "1");
        Files.createDirectory(NAMESPACE);
        Files.writeString(NAMESPACE.resolve("device_path"), disk.toString());
        Files.writeString(NAMESPACE.resolve("buffered_io"), "1"); // this memory has no direct access
        Files.writeString(NAMESPACE.resolve("enable"), "1");
        Files.createDirectory(PORT);
        Files.writeString(PORT.resolve("addr_trtype"), "rdma");
        Files.writeString(PORT.resolve("addr_adrfam"), "ipv4");
        Files.writeString(PORT.resolve("addr_traddr"), CmAddress.four(0).getHostString());
        Files.writeString(PORT.resolve("addr_trsvcid"), "4423");
        Files.createSymbolicLink(LINK, SUBSYSTEM);
    }

    @AfterEach
    void endServing() throws Exception {
        for (Path each : new Path[] {LINK, PORT, NAMESPACE, SUBSYSTEM, disk}) {
            Files.deleteIfExists(each);
        }
        run("rm", "-r", folder.toString());
    }

    private static String host(String... arguments) throws Exception {
        return ChildJvm.with("--enable-native-access=ALL-UNNAMED")
                .runOnClassPath(Class.forName("dev.verbena.examples.nvme.NvmeHost"), arguments)
                .successfulOutput();
    }

    @Test
    void hostReadsAndWritesADiskOfTheKernel() throws Exception {
        assertThat(host(ADDRESS)).contains(NAME);

        Path got = Files.write(folder.resolve("got"), new byte[contents.length]);
        assertThat(host(ADDRESS, NAME, "get", got.toString())).contains("of " + contents.length + " bytes");
        assertThat(Files.readAllBytes(got)).isEqualTo(contents);

        byte[] other = new byte[300 << 10];
        new SplittableRandom(2).nextBytes(other);
        host(ADDRESS, NAME, "put", Files.write(folder.resolve("put"), other).toString());
        System.arraycopy(other, 0, contents, 0, other.length);
        assertThat(Files.readAllBytes(disk)).isEqualTo(contents);
    }
}
