package dev.verbena.sockets;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.AllocationProbe;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.DeviceTest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Reads and writes with direct buffers allocate nothing once they are compiled. */
@DeviceTest
class SocketAllocationTest {
    @Test
    void readsAndWritesAllocateNothing() {
        Set<String> clean =
                AllocationProbe.cleanRows(3, () -> ChildJvm.with("--enable-native-access=ALL-UNNAMED"), Probe.class);
        assertThat(clean)
                .containsExactlyInAnyOrder(
                        "gathering write and read", "non-blocking write and read", "there and back with waits");
    }

    /** A program like {@link AllocationProbe}, for reads and writes of channels with direct buffers. */
    static final class Probe {
        private static final int OPERATIONS = 1_000; // each is slow on an emulated processor
        private static final int SIZE = 64;

        private final ByteBuffer sent = ByteBuffer.allocateDirect(SIZE);
        private final ByteBuffer received = ByteBuffer.allocateDirect(SIZE);
        private final ByteBuffer[] parts = {ByteBuffer.allocateDirect(SIZE / 2), ByteBuffer.allocateDirect(SIZE / 2)};
        private final SocketPair pair = SocketPair.connected();

        private Probe() throws IOException {}

        public static void main(String[] args) throws IOException {
            new Probe().measureAll();
            System.exit(0);
        }

        /** Blocking reads find bytes in the first row, and wait in the last one, whose writes have one buffer. */
        private void measureAll() throws IOException {
            measure("gathering write and read", () -> {
                parts[0].clear();
                parts[1].clear();
                pair.client.write(parts);
                fill(pair.accepted, received);
            });
            pair.client.configureBlocking(false);
            pair.accepted.configureBlocking(false);
            measure("non-blocking write and read", () -> {
                pair.client.write(sent.clear());
                fill(pair.accepted, received);
            });
            pair.client.configureBlocking(true);
            pair.accepted.configureBlocking(true);
            Thread.ofPlatform().daemon().start(this::echo);
            measure("there and back with waits", () -> {
                pair.client.write(sent.clear());
                fill(pair.client, received);
            });
        }

        private void echo() {
            ByteBuffer buffer = ByteBuffer.allocateDirect(SIZE);
            try {
                while (true) {
                    fill(pair.accepted, buffer);
                    pair.accepted.write(buffer.flip());
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        /** Reads until the buffer is full. */
        private static void fill(SocketChannel from, ByteBuffer buffer) throws IOException {
            buffer.clear();
            while (buffer.hasRemaining()) {
                if (from.read(buffer) < 0) {
                    throw new IOException("the stream has ended");
                }
            }
        }

        /** An exchange of bytes. */
        private interface Exchange {
            void run() throws IOException;
        }

        private static void measure(String name, Exchange exchange) {
            AllocationProbe.measure(name, OPERATIONS, () -> {
                try {
                    exchange.run();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
        }
    }
}
