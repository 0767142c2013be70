package dev.verbena.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Await;
import dev.verbena.support.Loopback;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The kernel's own host of NVMe over Fabrics, connected to one target. Closing it disconnects. */
public final class LinuxHost implements AutoCloseable {
    private static final Pattern INSTANCE = Pattern.compile("instance=(\\d+)");

    private final Path controller;
    /** The block device. */
    public final Path disk;

    /**
     * Loads the modules, connects, and waits for the disk. On one processor, two kinds of queues are two queues.
     *
     * @param keepAlive the seconds without an answer after which the kernel connects anew, and the target gives up the host
     */
    public LinuxHost(InetSocketAddress target, String name, int keepAlive) throws Exception {
        run("modprobe", "nvme-rdma");
        run("modprobe", "ext4");
        try (RandomAccessFile fabrics = new RandomAccessFile("/dev/nvme-fabrics", "rw")) {
            fabrics.writeBytes(("transport=rdma,traddr=%s,trsvcid=%d,nqn=%s,nr_io_queues=1,nr_write_queues=1,"
                            + "keep_alive_tmo=%d,reconnect_delay=1")
                    .formatted(target.getHostString(), target.getPort(), name, keepAlive));
            Matcher instance = INSTANCE.matcher(fabrics.readLine());
            assertThat(instance.find()).isTrue();
            controller = Path.of("/sys/class/nvme/nvme" + instance.group(1));
            disk = Path.of("/dev/nvme" + instance.group(1) + "n1");
        }
        Await.until("the disk is there", () -> Files.exists(disk));
    }

    /** Returns the size of the disk in bytes. */
    long size() {
        return Long.parseLong(
                        read(Path.of("/sys/class/block", disk.getFileName().toString(), "size")))
                << 9;
    }

    /** Returns the state of the controller, such as {@code live}. */
    public String state() {
        return read(controller.resolve("state"));
    }

    /** Mounts the file system of the disk. */
    public void mount(Path folder) throws Exception {
        Files.createDirectories(folder);
        run("mount", disk.toString(), folder.toString());
    }

    /** Unmounts a file system, and has the kernel forget what it knows of the disk. */
    public static void forget(Path folder) throws Exception {
        run("umount", folder.toString());
        Files.writeString(Path.of("/proc/sys/vm/drop_caches"), "3");
    }

    /** Unmounts the file system of a test that has failed. */
    public static void unmount(Path folder) throws Exception {
        if (Files.readString(Path.of("/proc/mounts")).contains(" " + folder + " ")) {
            run("umount", folder.toString());
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Runs a program that must succeed. */
    public static String run(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS))
                .as(output)
                .isTrue();
        assertThat(process.exitValue())
                .as(String.join(" ", command) + ":\n" + output)
                .isZero();
        return output;
    }

    @Override
    public void close() throws IOException {
        Files.writeString(controller.resolve("delete_controller"), "1");
    }
}
