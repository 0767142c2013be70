package dev.verbena.sockets;

import dev.verbena.support.Await;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Channels and selectors that are closed at once, while threads wait for them. */
@DeviceTest
@Timeout(120)
class SocketCloseTest {
    @Test
    void channelsAndSelectorsCloseAtOnceUnderThreadsThatWait() throws Exception {
        ExecutorService threads =
                Executors.newCachedThreadPool(Thread.ofPlatform().daemon().factory());
        try {
            for (int round = 0; round < 30; round++) {
                SocketPair pair = SocketPair.connected();
                Selector selector = RdmaSockets.openSelector();
                pair.client.configureBlocking(false);
                pair.client.register(selector, SelectionKey.OP_READ);
                List<Thread> asleep = new ArrayList<>();
                List<Callable<?>> waits = List.of(
                        () -> pair.accepted.read(ByteBuffer.allocate(8)),
                        () -> pair.accepted.read(ByteBuffer.allocateDirect(8)),
                        pair.server::accept,
                        selector::select);
                for (Callable<?> wait : waits) {
                    asleep.add(Thread.ofPlatform().daemon().start(() -> {
                        try {
                            wait.call();
                        } catch (IOException | ClosedSelectorException closed) {
                            // as it should be
                        } catch (Exception wrong) {
                            throw new AssertionError(wrong);
                        }
                    }));
                }
                List<AutoCloseable> all = new ArrayList<>(List.of(
                        pair.server, pair.accepted, pair.accepted, pair.client, pair.client, selector, selector));
                CyclicBarrier together = new CyclicBarrier(all.size());
                List<Future<Void>> closers = new ArrayList<>();
                for (AutoCloseable each : all) {
                    closers.add(threads.submit(() -> {
                        together.await();
                        each.close();
                        return null;
                    }));
                }
                for (Future<Void> closer : closers) {
                    closer.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS);
                }
                for (Thread thread : asleep) {
                    Await.end(thread);
                }
            }
        } finally {
            threads.shutdownNow();
        }
    }
}
