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
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A transfer of more bytes than an {@code int} counts, with or without a sign. Over TCP no memory is pinned for it. What lies
 * far before the bound is not fetched.
 */
@Timeout(300)
class LargeTransferTest {
    private static final InetSocketAddress OWN = new InetSocketAddress("127.0.0.1", 0);
    private static final long POSITION = (1L << 33) + 11;
    private static final Duration LONG = DEADLINE.multipliedBy(4);

    @ParameterizedTest
    @ValueSource(longs = {1L << 31, 1L << 32})
    void bytesBeyondAnIntArriveAtTheirPlaces(long bound, @TempDir Path folder) throws Exception {
        long skipped = bound - (1 << 20) - 7; // a piece ends beyond the bound
        long size = bound + (3 << 20) + 5;
        Map<Long, Byte> bytes = Map.of(
                skipped, (byte) 1, bound - 1, (byte) 2, bound, (byte) 3, bound + 1, (byte) 4, size - 1, (byte) 5);
        Path source = folder.resolve("source");
        try (FileChannel file = FileChannel.open(source, CREATE_NEW, SPARSE, READ, WRITE);
                VerbsArena arena = VerbsArena.ofShared()) {
            for (Map.Entry<Long, Byte> each : bytes.entrySet()) {
                file.write(ByteBuffer.wrap(new byte[] {each.getValue()}), POSITION + each.getKey());
            }
            NodeOptions options = NodeOptions.defaults().transport(Transport.TCP);
            Node server = Node.open(OWN, options, arena);
            CompletableFuture<Map<Long, Byte>> arrived = new CompletableFuture<>();
            AtomicLong progress = new AtomicLong();
            server.listen((channel, message) -> {
                Transfer transfer = message.transfer();
                transfer.skipped = skipped;
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
            channel.offer(file, POSITION, size, new byte[0], LONG);
            assertThat(arrived.get(DEADLINE.toSeconds(), SECONDS)).isEqualTo(bytes);
            assertThat(progress).hasValue(size);
        } finally {
            Files.delete(source);
        }
    }
}
