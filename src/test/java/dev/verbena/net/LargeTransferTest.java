package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.SPARSE;
import static java.nio.file.StandardOpenOption.WRITE;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A transfer of more bytes than an {@code int} counts, with or without a sign. Over TCP no memory is pinned for it. */
@Timeout(300)
class LargeTransferTest {
    private static final InetSocketAddress OWN = new InetSocketAddress("127.0.0.1", 0);
    private static final long SIZE = (1L << 32) + (3 << 20) + 5;
    private static final long POSITION = (1L << 33) + 11;
    private static final Duration LONG = DEADLINE.multipliedBy(4);

    /** Bytes in a file with holes, on both sides of the bounds of 32 bits, and at both ends. */
    private static final Map<Long, Byte> BYTES = Map.of(
            0L,
            (byte) 1,
            (1L << 31) - 1,
            (byte) 2,
            1L << 31,
            (byte) 3,
            (1L << 32) - 1,
            (byte) 4,
            1L << 32,
            (byte) 5,
            SIZE - 1,
            (byte) 6);

    @Test
    void bytesBeyondAnIntArriveAtTheirPlaces(@TempDir Path folder) throws Exception {
        Path source = folder.resolve("source");
        try (FileChannel file = FileChannel.open(source, CREATE_NEW, SPARSE, READ, WRITE);
                VerbsArena arena = VerbsArena.ofShared()) {
            for (Map.Entry<Long, Byte> each : BYTES.entrySet()) {
                file.write(ByteBuffer.wrap(new byte[] {each.getValue()}), POSITION + each.getKey());
            }
            NodeOptions options = NodeOptions.defaults().transport(Transport.TCP);
            Node server = Node.open(OWN, options, arena);
            CompletableFuture<Map<Long, Byte>> arrived = new CompletableFuture<>();
            AtomicLong progress = new AtomicLong();
            server.listen((channel, message) -> {
                Transfer transfer = message.transfer();
                Thread.ofVirtual().start(() -> {
                    try (transfer;
                            FoundBytes found = new FoundBytes(POSITION)) {
                        transfer.fetch(found, POSITION, progress::set, LONG);
                        transfer.confirm();
                        arrived.complete(found.bytes);
                    } catch (Throwable failed) {
                        arrived.completeExceptionally(failed);
                    }
                });
            });
            Channel channel = Node.open(OWN, options, arena).connect(server.address(), DEADLINE);
            channel.offer(file, POSITION, SIZE, new byte[0], LONG);
            assertThat(arrived.get(DEADLINE.toSeconds(), SECONDS)).isEqualTo(BYTES);
            assertThat(progress).hasValue(SIZE);
        } finally {
            Files.delete(source);
        }
    }
}
