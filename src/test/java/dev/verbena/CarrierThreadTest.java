package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.cm.Connection;
import dev.verbena.cm.Listener;
import dev.verbena.support.ChannelLoopback;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.verbs.AsyncEvent;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/**
 * Waits of virtual threads do not pin their carrier thread. In processes of their own, whose virtual threads have one
 * carrier: a wait that pins it is never ended. Whether a wait blocks in C does not depend on the driver: the library waits
 * for descriptors.
 */
@FencedTest
class CarrierThreadTest {
    private static String output(Class<?> program) {
        return ChildJvm.onTheProvider(
                        "-Djdk.virtualThreadScheduler.parallelism=1", "-Djdk.virtualThreadScheduler.maxPoolSize=1")
                .runOnClassPath(program)
                .successfulOutput();
    }

    @Test
    void awaitDoesNotPinItsCarrierThread() {
        assertThat(output(Completing.class)).contains("served 200");
    }

    @Test
    void connectionWaitsDoNotPinTheirCarrierThread() {
        assertThat(output(Connecting.class)).contains("served 20");
    }

    /**
     * A program with virtual threads that wait for queues, a channel and asynchronous events while another one works. It
     * runs on one carrier thread, which none of them may pin.
     */
    static final class Completing {
        public static void main(String[] arguments) throws Exception {
            try (ChannelLoopback loopback = new ChannelLoopback(VerbsArena.ofShared(), 4);
                    ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                Future<AsyncEvent> event =
                        threads.submit(() -> loopback.context.events().await(Loopback.DEADLINE));
                threads.submit(() -> loopback.channel.await(Loopback.DEADLINE));
                List<Future<Long>> received = new ArrayList<>();
                for (ChannelLoopback.Connection connection : loopback.connections()) {
                    for (int i = 0; i < 50; i++) {
                        received.add(threads.submit(() -> connection
                                .right()
                                .queue
                                .await(Loopback.DEADLINE)
                                .orThrow()
                                .id()));
                    }
                }
                Future<?> work = threads.submit(() -> {
                    for (int i = 0; i < 50; i++) {
                        for (ChannelLoopback.Connection connection : loopback.connections()) {
                            connection.right().pair.postReceive(i, connection.right().buffer);
                            connection
                                    .left()
                                    .pair
                                    .postSend(i, connection.left().buffer.slice(0, 8));
                            connection.left().queue.await(Loopback.DEADLINE).orThrow();
                        }
                    }
                    return null;
                });
                work.get();
                for (Future<Long> one : received) {
                    one.get();
                }
                event.cancel(true);
                System.out.println("served " + received.size());
            }
        }
    }

    /** A program with virtual threads that accept, connect and disconnect on one carrier thread, which none may pin. */
    static final class Connecting {
        private static final int CONNECTIONS = 20;

        public static void main(String[] arguments) throws Exception {
            try (VerbsArena arena = VerbsArena.ofShared();
                    ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                Listener listener = Listener.open(new InetSocketAddress("10.9.9.1", 0), arena);
                List<Future<Connection>> servers = new ArrayList<>();
                List<Future<?>> clients = new ArrayList<>();
                for (int i = 0; i < CONNECTIONS; i++) {
                    servers.add(threads.submit(() -> listener.accept(Loopback.DEADLINE)));
                }
                for (int i = 0; i < CONNECTIONS; i++) {
                    clients.add(threads.submit(() -> {
                        Connection client = Connection.open(listener.address(), Loopback.DEADLINE, arena);
                        client.id().awaitEvent(Loopback.DEADLINE); // the end
                        return client;
                    }));
                }
                for (Future<Connection> server : servers) {
                    server.get().id().beginDisconnect();
                }
                for (Future<?> client : clients) {
                    client.get();
                }
                System.out.println("served " + servers.size());
            }
        }
    }
}
