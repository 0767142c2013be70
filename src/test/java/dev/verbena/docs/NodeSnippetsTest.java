package dev.verbena.docs;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.AccessFlag;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that the examples of nodes do what their text says. */
@FencedTest
@Timeout(120)
class NodeSnippetsTest {
    private static final InetSocketAddress OWN = new InetSocketAddress("10.9.9.1", 0);
    private static final NodeOptions QUICK = NodeOptions.defaults().closeTimeout(Duration.ofMillis(50));

    private final VerbsArena arena = VerbsArena.ofShared();
    private final ExecutorService threads =
            Executors.newCachedThreadPool(Thread.ofPlatform().daemon().factory());

    @AfterEach
    void close() {
        threads.shutdownNow();
        arena.close();
    }

    private <T> Future<T> start(Callable<T> work) {
        return threads.submit(work);
    }

    private static <T> T end(Future<T> work) throws Exception {
        return work.get(DEADLINE.toSeconds(), SECONDS);
    }

    @Test
    void serverAnswersClientOfMessages() throws Exception {
        CompletableFuture<InetSocketAddress> ready = new CompletableFuture<>();
        Future<?> server = start(() -> {
            try {
                NodeSnippets.server(OWN, ready::complete, DEADLINE);
            } catch (Throwable refused) {
                ready.completeExceptionally(refused);
                throw refused;
            }
            return null;
        });
        assertThat(NodeSnippets.client(OWN, end(ready), DEADLINE)).isEqualTo("hello");
        end(server);
    }

    @Test
    void serverAnswersAndRefusesCalls() throws Exception {
        Node server = Node.open(OWN, QUICK, arena);
        Node client = Node.open(OWN, QUICK, arena);
        Future<Channel> accepted = start(() -> server.accept(DEADLINE));
        Channel channel = client.connect(server.address(), DEADLINE);
        Channel other = end(accepted);
        Future<?> serving = start(() -> {
            for (int i = 0; i < 4; i++) {
                CallSnippets.server(other, DEADLINE);
            }
            return null;
        });
        assertThat(CallSnippets.client(channel, 12, DEADLINE)).isEqualTo(144);
        assertThat(CallSnippets.client(channel, -12, DEADLINE)).isEqualTo(-1);
        assertThat(CallSnippets.polling(client, channel, 5, DEADLINE)).isEqualTo(25);
        assertThat(end(CallSnippets.future(channel, 6, DEADLINE))).isEqualTo(36);
        end(serving);
    }

    @Test
    void handlerEchoesRequests() throws Exception {
        CompletableFuture<InetSocketAddress> ready = new CompletableFuture<>();
        CountDownLatch stop = new CountDownLatch(1);
        Future<?> server = start(() -> {
            CallSnippets.handlers(OWN, ready::complete, stop);
            return null;
        });
        try (Channel channel = Node.open(OWN, arena).connect(end(ready), DEADLINE)) {
            assertThat(CallSnippets.client(channel, 12, DEADLINE)).isEqualTo(12);
        }
        stop.countDown();
        end(server);
    }

    @Test
    void clientReadsAnEntryOfAnExportedTable() throws Exception {
        Node server = Node.open(OWN, QUICK, arena);
        Node client = Node.open(OWN, QUICK, arena);
        server.listen((channel, message) -> {});
        ExportSnippets.export(server, arena);
        MemorySegment numbers = arena.allocate(ValueLayout.JAVA_LONG, 8);
        numbers.setAtIndex(ValueLayout.JAVA_LONG, 0, 99);
        server.export("numbers", numbers, AccessFlag.REMOTE_READ);
        Channel channel = client.connect(server.address(), DEADLINE);
        assertThat(ExportSnippets.read(client, channel, arena, 999, DEADLINE)).isZero();
        var entry = client.register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
        ExportSnippets.ticket(client, channel, entry, channel.remote("numbers", DEADLINE));
        assertThat(entry.segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(99);
        numbers.setAtIndex(ValueLayout.JAVA_LONG, 0, 100);
        assertThat(end(ExportSnippets.future(channel, entry, channel.remote("numbers", DEADLINE))))
                .isEqualTo(100);
    }

    @Test
    void nodeServesItsCountersAlone() throws Exception {
        Node server = Node.open(OWN, QUICK, arena);
        Node client = Node.open(OWN, QUICK, arena);
        MemorySegment counters = arena.allocate(64, 8);
        ExportSnippets.acceptAll(server, counters);
        Channel channel = client.connect(server.address(), DEADLINE);
        channel.writeLong(channel.remote("counters", DEADLINE).slice(0, 8), 5, DEADLINE);
        assertThat(counters.get(ValueLayout.JAVA_LONG, 0)).isEqualTo(5);
    }

    @Test
    void readerSeesTheEntryOfANotice() throws Exception {
        Node server = Node.open(OWN, QUICK, arena);
        Node client = Node.open(OWN, QUICK, arena);
        Future<Channel> accepted = start(() -> server.accept(DEADLINE));
        Channel channel = client.connect(server.address(), DEADLINE);
        Channel other = end(accepted);
        MemorySegment table = arena.allocate(64 * 1000);
        server.export("table", table, AccessFlag.REMOTE_WRITE);
        Future<Long> seen = start(() -> ExportSnippets.notified(other, table, DEADLINE));
        var entry = client.register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
        entry.segment().set(ValueLayout.JAVA_LONG, 0, 77);
        ExportSnippets.notify(channel, entry, channel.remote("table", DEADLINE), 9, DEADLINE);
        assertThat(end(seen)).isEqualTo(77);
    }

    @Test
    void receiverTakesOrRefusesATransfer() throws Exception {
        Node server = Node.open(OWN, QUICK, arena);
        Node client = Node.open(OWN, QUICK, arena);
        Future<Channel> accepted = start(() -> server.accept(DEADLINE));
        Channel channel = client.connect(server.address(), DEADLINE);
        Channel other = end(accepted);
        Future<MemorySegment> received = start(() -> TransferSnippets.receiver(other, arena, 5000, DEADLINE));
        TransferSnippets.sender(channel, arena, 5000, DEADLINE);
        assertThat(end(received).byteSize()).isEqualTo(5000);
    }
}
