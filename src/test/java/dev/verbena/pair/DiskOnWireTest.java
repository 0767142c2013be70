package dev.verbena.pair;

import static dev.verbena.examples.LinuxHost.run;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.examples.LinuxHost;
import dev.verbena.examples.Target;
import dev.verbena.support.Await;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The example {@code MemoryDisk} in the other guest, under a file system of this guest's kernel. */
@PairTest
class DiskOnWireTest {
    private static final int KEEP_ALIVE = 5; // seconds
    private static final int FEW = 10;
    private static final int SIZE = 64 << 10;

    @RegisterExtension
    final Laboratory laboratory = new Laboratory();

    private final Path folder = Path.of("/tmp/disk-on-wire");
    private volatile boolean ends;
    private volatile int kept;

    @AfterEach
    void unmount() throws Exception {
        LinuxHost.unmount(folder);
    }

    private Path file(int number) {
        return folder.resolve("file" + number);
    }

    private static byte[] contents(int number) {
        byte[] bytes = new byte[SIZE];
        new SplittableRandom(number).nextBytes(bytes);
        return bytes;
    }

    /** Writes one file after another. A file counts when the disk has acknowledged it. */
    private void writeFiles() {
        while (!ends) {
            try (FileChannel file =
                    FileChannel.open(file(kept), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                file.write(ByteBuffer.wrap(contents(kept)));
                file.force(true);
                kept++;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private void awaitMoreFiles() {
        int before = kept;
        Await.until("more files are written", () -> kept >= before + FEW);
    }

    @Test
    void fileSystemLosesNoFileWhenTheWireIsCut() throws Exception {
        Conversation disk = laboratory.start(DiskEnd.class);
        InetSocketAddress address = Laboratory.peer(Integer.parseInt(disk.next()));
        try (LinuxHost host = new LinuxHost(address, Target.NAME, KEEP_ALIVE)) {
            run("mkfs.ext4", "-q", host.disk.toString());
            host.mount(folder);
            Thread writer = Thread.ofPlatform().daemon().start(this::writeFiles);
            awaitMoreFiles();
            String queuePairs = disk.ask("queues");
            laboratory.request("wire netem limit 100000 loss 100%");
            Await.until("the kernel misses the disk", () -> !host.state().equals("live"));
            laboratory.request("wire clear");
            Await.until("the kernel has connected anew", () -> host.state().equals("live"));
            awaitMoreFiles();
            ends = true;
            Await.end(writer);
            LinuxHost.forget(folder);
            run("fsck.ext4", "-fn", host.disk.toString());
            host.mount(folder);
            for (int i = 0; i < kept; i++) {
                assertThat(Files.readAllBytes(file(i)))
                        .as("file %d of %d", i, kept)
                        .isEqualTo(contents(i));
            }
            LinuxHost.forget(folder);
            Await.until(
                    "the disk frees the queues of the lost connection",
                    () -> ask(disk).equals(queuePairs));
        }
        disk.end();
    }

    private static String ask(Conversation disk) {
        try {
            return disk.ask("queues");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
