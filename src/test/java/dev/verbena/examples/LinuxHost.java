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
final class LinuxHost implements AutoCloseable {
    private static final Pattern INSTANCE = Pattern.compile("instance=(\\d+)");

    private final Path controller;
    final Path disk;

    /** Loads the modules, connects, and waits for the disk. On one processor, two kinds of queues are two queues. */
    LinuxHost(InetSocketAddress target, String name) throws Exception {
        run("modprobe", "nvme-rdma");
        run("modprobe", "ext4");
        try (RandomAccessFile fabrics = new RandomAccessFile("/dev/nvme-fabrics", "rw")) {
            fabrics.writeBytes(("transport=rdma,traddr=%s,trsvcid=%d,nqn=%s,nr_io_queues=1,nr_write_queues=1,"
                            + "keep_alive_tmo=30,reconnect_delay=1")
                    .formatted(target.getHostString(), target.getPort(), name));
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
    String state() {
        return read(controller.resolve("state"));
    }

    private static String read(Path file) {
        try {
            return Files.readString(file).strip();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Runs a program that must succeed. */
    static String run(String... command) throws IOException, InterruptedException {
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
