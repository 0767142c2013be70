package dev.verbena.examples;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionResources;
import dev.verbena.cm.Listener;
import dev.verbena.examples.valkey.ValkeyConnection;
import dev.verbena.support.Await;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.WorkCompletion;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The example {@code ValkeyConnection} at a server that sends control messages without end. */
@FencedTest
@Timeout(120)
class ValkeyFloodTest {
    private static final int MESSAGE = 32;
    private static final int REGISTER = 2; // the third message of a client
    private static final int FLOOD = 300; // there are more receives
    private static final int RECEIVES = 16;

    /** A call that took all messages would hold the lock, and other threads' reads, for as long as the server goes on. */
    @Test
    void callTakesABoundedNumberOfControlMessages() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                Socket socket = new ValkeyConnection()) {
            Listener listener = Listener.open(new InetSocketAddress("10.9.9.1", 0), arena);
            FutureTask<Void> connecting = new FutureTask<>(() -> {
                socket.connect(listener.address(), (int) DEADLINE.toMillis());
                return null;
            });
            Thread.ofPlatform().daemon().start(connecting);
            Connection server = listener.awaitConnection(
                    DEADLINE,
                    ConnectionResources.of(
                            QueueCapabilities.of(2 * FLOOD, RECEIVES).inlineSize(MESSAGE)),
                    arena);
            MemoryRegion memory = server.register(arena.allocate(RECEIVES * MESSAGE), AccessFlag.LOCAL_WRITE);
            for (int i = 0; i < RECEIVES; i++) {
                server.queuePair().postReceive(i, memory.slice((long) i * MESSAGE, MESSAGE));
            }
            server.accept(DEADLINE);
            connecting.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
            WorkCompletion registered = server.awaitCompletion(DEADLINE).orThrow();
            while (registered.id() != REGISTER) {
                registered = server.awaitCompletion(DEADLINE).orThrow();
            }
            ByteBuffer ring =
                    memory.segment().asSlice(REGISTER * MESSAGE, MESSAGE).asByteBuffer();
            MemorySegment keepAlive = MemorySegment.ofArray(ByteBuffer.allocate(MESSAGE)
                    .putShort(0, ValkeyServer.KEEP_ALIVE)
                    .array());
            for (int i = 0; i < FLOOD; i++) {
                server.queuePair().postSendInline(RECEIVES + i, keepAlive);
            }
            RemoteMemory place = new RemoteMemory(ring.getLong(16), ring.getInt(28), 1);
            server.queuePair().postWriteImmediate(RECEIVES + FLOOD, memory.slice(0, 1), place, 1);
            assertThat(socket.getInputStream().available())
                    .as("the byte behind the messages")
                    .isZero();
            Await.until("the next calls take it", () -> socket.getInputStream().available() == 1);
        }
    }
}
