package dev.verbena.support;

import dev.verbena.VerbsArena;
import dev.verbena.support.ChannelLoopback.Connection;
import dev.verbena.verbs.AsyncEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * A program with virtual threads that wait for queues, a channel and asynchronous events while another one works. It
 * runs on one carrier thread, which none of them may pin.
 */
public final class OneCarrier {
    private OneCarrier() {}

    public static void main(String[] arguments) throws Exception {
        try (ChannelLoopback loopback = new ChannelLoopback(VerbsArena.ofShared(), 4);
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<AsyncEvent> event =
                    threads.submit(() -> loopback.context.events().await(Loopback.DEADLINE));
            threads.submit(() -> loopback.channel.await(Loopback.DEADLINE));
            List<Future<Long>> received = new ArrayList<>();
            for (Connection connection : loopback.connections()) {
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
                    for (Connection connection : loopback.connections()) {
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
