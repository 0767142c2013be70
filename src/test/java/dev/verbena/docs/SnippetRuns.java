package dev.verbena.docs;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.Listener;
import dev.verbena.support.CmAddress;
import dev.verbena.support.DatagramPair;
import dev.verbena.support.Loopback;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkStatus;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests that the examples of the Javadoc do what their text says, on the device that there is. */
abstract class SnippetRuns {
    @Test
    void arenaClosesTheObjectsOfADevice() {
        DeviceSnippets.arena(TestDevice.get().name());
        DeviceSnippets.list();
        CompletionQueue queue;
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            queue = DeviceSnippets.open(TestDevice.get().name(), arena);
            assertThat(queue.isOpen()).isTrue();
        }
        assertThat(queue.isOpen()).isFalse();
    }

    @Test
    void eventsEndWithATimeoutWhenNothingHappens() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            assertThatThrownBy(() -> DeviceSnippets.event(TestDevice.get().open(arena), Duration.ofMillis(10)))
                    .isInstanceOf(VerbsTimeoutException.class);
        }
    }

    @Test
    void registeredMemoryIsSharedAsABytesMessage(@TempDir Path folder) throws Exception {
        Path path = Files.writeString(folder.resolve("file"), "file");
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain = TestDevice.get().open(arena).allocateProtectionDomain();
            MemoryRegion buffer = MemorySnippets.register(domain);
            assertThat(MemorySnippets.share(buffer)).isEqualTo(buffer.remote().slice(0, 64));
            assertThat(MemorySnippets.file(domain, path).length()).isEqualTo(4);
        }
    }

    @Test
    void poolLendsBuffersForReceives() throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain = TestDevice.get().open(arena).allocateProtectionDomain();
            CompletionQueue cq = domain.context().createCompletionQueue(16);
            QueuePair self = domain.createQueuePair(QueuePair.rc(cq));
            self.connect(self.endpoint());
            assertThat(MemorySnippets.pool(domain, self, cq, DEADLINE)).isEqualTo("hello");
        }
    }

    @Test
    void cacheRegistersMemoryOfOthers() throws Exception {
        try (Loopback loopback = Loopback.connected()) {
            loopback.right.pair.postReceive(1, loopback.right.buffer);
            WorkCompletion sent = MemorySnippets.cache(
                    loopback.domain,
                    loopback.left.pair,
                    loopback.left.queue,
                    Arena.ofAuto().allocateFrom("cached"),
                    DEADLINE);
            assertThat(sent.isSuccess()).isTrue();
            loopback.right.done();
            assertThat(loopback.right.buffer.segment().getString(0)).isEqualTo("cached");
        }
    }

    @Test
    void endpointsThatWereExchangedConnect() throws Exception {
        try (Loopback loopback = Loopback.unconnected(VerbsArena.ofConfined(), options -> options)) {
            MessageSnippets.connect(
                    loopback.left.pair, own -> loopback.right.pair.endpoint().toBytes());
            MessageSnippets.connect(
                    loopback.right.pair, own -> loopback.left.pair.endpoint().toBytes());
            assertThat(MessageSnippets.receive(
                            loopback.right.pair,
                            loopback.right.queue,
                            loopback.right.buffer,
                            () -> send(loopback.left),
                            DEADLINE))
                    .isEqualTo("7 hello");
        }
    }

    private static void send(Loopback.Side side) {
        try {
            MessageSnippets.send(side.pair, side.queue, side.buffer, DEADLINE);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void modifyTakesAQueuePairToInit() {
        try (Loopback loopback = Loopback.unconnected(VerbsArena.ofConfined(), options -> options)) {
            MessageSnippets.modify(loopback.left.pair);
            assertThat(loopback.left.pair.state()).isEqualTo(QueuePairState.INIT);
        }
    }

    @Test
    void remoteMemoryIsWrittenReadAndCountedIn() throws Exception {
        try (Loopback loopback = Loopback.connected()) {
            Loopback.Side left = loopback.left;
            MemoryRegion right = loopback.right.buffer;
            RemoteAccessSnippets.write(left.pair, left.queue, left.buffer, right.remote(), DEADLINE);
            assertThat(right.segment().getString(0)).isEqualTo("written by the peer");
            right.segment().setString(0, "read by the peer");
            assertThat(RemoteAccessSnippets.read(left.pair, left.queue, left.buffer, right.remote(), DEADLINE))
                    .isEqualTo("read by the peer");
            right.segment().set(ValueLayout.JAVA_LONG, 64, 41);
            assertThat(RemoteAccessSnippets.count(
                            left.pair, left.queue, left.buffer, right.remote().slice(64, 8), DEADLINE))
                    .isEqualTo(41);
            assertThat(right.segment().get(ValueLayout.JAVA_LONG, 64)).isEqualTo(42);
        }
    }

    @Test
    void completionsAreAwaitedAndPolled() throws Exception {
        try (Loopback loopback = Loopback.connected()) {
            Loopback.Side left = loopback.left;
            left.pair.postWrite(3, left.buffer, loopback.right.buffer.remote());
            assertThat(CompletionSnippets.await(left.queue)).isEqualTo(3);
            left.pair.postWrite(4, left.buffer, loopback.right.buffer.remote());
            List<Long> ids = new ArrayList<>();
            assertThat(CompletionSnippets.spin(left.queue, ids::add)).isEqualTo(1);
            assertThat(ids).containsExactly(4L);
        }
    }

    @Test
    void channelTellsWhichQueueHasCompletions() throws Exception {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain = TestDevice.get().open(arena).allocateProtectionDomain();
            List<CompletionQueue> queues = CompletionSnippets.channel(domain.context());
            QueuePair self = domain.createQueuePair(QueuePair.rc(queues.getLast()));
            self.connect(self.endpoint());
            MemoryRegion buffer = MemorySnippets.register(domain);
            self.postRead(5, buffer.slice(0, 8), buffer.slice(8, 8).remote());
            List<Long> ids = new ArrayList<>();
            CompletionSnippets.serve(queues.getFirst().channel().orElseThrow(), ids::add, DEADLINE);
            assertThat(ids).containsExactly(5L);
        }
    }

    @Test
    void batchesPostManyRequests() throws Exception {
        try (Loopback loopback = Loopback.connected()) {
            Loopback.Side left = loopback.left;
            Loopback.Side right = loopback.right;
            BatchSnippets.receives(right.pair, right.buffer);
            BatchSnippets.mixed(left.pair, left.buffer, right.buffer.remote());
            assertThat(left.done().id()).isEqualTo(2);
            assertThat(right.done().immediate()).isEqualTo(42);
            assertThat(BatchSnippets.loop(left.pair, left.queue, left.buffer, right.buffer.remote(), 10))
                    .isEqualTo(10 * (0 + 1 + 2 + 3));
        }
    }

    @Test
    void clientSendsToServer() throws Exception {
        CompletableFuture<InetSocketAddress> ready = new CompletableFuture<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<String> text = threads.submit(() -> {
                try {
                    return ConnectionSnippets.server(CmAddress.four(0), ready::complete, DEADLINE);
                } catch (Throwable failed) {
                    ready.completeExceptionally(failed);
                    throw failed;
                }
            });
            ConnectionSnippets.client(ready.get(DEADLINE.toSeconds(), SECONDS), DEADLINE);
            assertThat(text.get(DEADLINE.toSeconds(), SECONDS)).isEqualTo("hello");
        }
    }

    @Test
    void connectionsShareObjects() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Listener listener = Listener.open(CmAddress.four(0), arena);
            Future<List<Connection>> accepted = threads.submit(() -> ConnectionSnippets.share(listener, DEADLINE));
            Connection.open(listener.address(), DEADLINE, arena);
            Connection.open(listener.address(), DEADLINE, arena);
            List<Connection> servers = accepted.get(DEADLINE.toSeconds(), SECONDS);
            assertThat(servers.getFirst().completionQueue())
                    .isSameAs(servers.getLast().completionQueue());
        }
    }

    @Test
    void idsConnectStepByStep() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Listener listener = Listener.open(CmAddress.four(0), arena);
            EventChannel channel = EventChannel.create(arena);
            Future<Connection> accepted = threads.submit(() -> listener.accept(DEADLINE));
            QueuePair qp = ConnectionSnippets.id(channel, listener.address(), DEADLINE);
            assertThat(qp.state()).isEqualTo(QueuePairState.RTS);
            assertThat(accepted.get(DEADLINE.toSeconds(), SECONDS).queuePair().state())
                    .isEqualTo(QueuePairState.RTS);
            ConnectionId found = ConnectionSnippets.find(
                    channel,
                    listener.address().getAddress().getHostAddress(),
                    Integer.toString(listener.address().getPort()),
                    DEADLINE);
            assertThat(found.peerAddress()).contains(listener.address());
        }
    }

    @Test
    void parametersCarryPrivateData() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Listener listener = Listener.open(CmAddress.four(0), arena);
            Future<Connection> accepted = threads.submit(() -> listener.accept(DEADLINE));
            ConnectionSnippets.greet(
                    Connection.to(listener.address(), DEADLINE, arena).id(), DEADLINE);
            assertThat(accepted.get(DEADLINE.toSeconds(), SECONDS).privateData().text())
                    .isEqualTo("hello");
        }
    }

    @Test
    void datagramsAreSentAndAnswered() throws Exception {
        try (DatagramPair pairs = DatagramPair.ready(VerbsArena.ofConfined())) {
            QueuePair sender = DatagramSnippets.open(pairs.domain, pairs.left.queue);
            QueuePair receiver = DatagramSnippets.open(pairs.domain, pairs.right.queue);
            assertThat(DatagramSnippets.receive(
                                    receiver,
                                    pairs.right.queue,
                                    pairs.right.buffer,
                                    () -> datagram(sender, pairs.left, receiver),
                                    DEADLINE)
                            .isOpen())
                    .isTrue();
            assertThat(DatagramSnippets.sender(pairs.right.buffer))
                    .isEqualTo(sender.endpoint().gid());
        }
    }

    private static void datagram(QueuePair sender, Loopback.Side from, QueuePair receiver) {
        try {
            DatagramSnippets.send(sender, from.queue, from.buffer, receiver.endpoint(), DEADLINE);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void failuresOfCompletionsAreToldApart() throws Exception {
        try (Loopback loopback = Loopback.connected()) {
            assertThat(ErrorSnippets.verb(loopback.domain, loopback.arena.allocate(64)))
                    .isEqualTo("registered 64 bytes");
            assertThat(ErrorSnippets.completion(loopback.left.queue, Duration.ofMillis(10)))
                    .isEqualTo("nothing completed in time");
            MemoryRegion unreadable = loopback.domain.register(loopback.arena.allocate(64));
            loopback.left.pair.postRead(
                    6, loopback.left.buffer.slice(0, 8), unreadable.remote().slice(0, 8));
            WorkCompletion failed = loopback.left.next();
            assertThat(failed.status()).isEqualTo(WorkStatus.REMOTE_ACCESS_ERROR);
            assertThat(ErrorSnippets.retry(failed)).isFalse();
            loopback.left.pair.postRead(
                    7,
                    loopback.left.buffer.slice(0, 8),
                    loopback.right.buffer.remote().slice(0, 8));
            assertThat(ErrorSnippets.completion(loopback.left.queue, DEADLINE))
                    .isEqualTo("request 7 failed: " + WorkStatus.WORK_REQUEST_FLUSHED);
        }
    }
}
