package dev.verbena.sockets;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Connection;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PrivateData;
import dev.verbena.support.Await;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.OtherThread;
import dev.verbena.support.WakeUps;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.IllegalSelectorException;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Selectors of RDMA channels. {@link ReadinessTest} has what they report of a channel in each state, and after each change. */
@DeviceTest
class SelectorTest {
    private static final long TIMEOUT = Loopback.DEADLINE.toMillis();
    private static final long IDLE_SPAN = 2_000;

    private final Selector selector;

    SelectorTest() throws IOException {
        selector = RdmaSockets.openSelector();
    }

    @AfterEach
    void close() throws IOException {
        selector.close();
    }

    private static SelectionKey register(Selector selector, SocketChannel channel, int operations) throws IOException {
        channel.configureBlocking(false);
        return channel.register(selector, operations);
    }

    /** Selects until a key is ready: a selection may end early. */
    private Set<SelectionKey> select() throws IOException {
        long end = System.nanoTime() + Loopback.DEADLINE.toNanos();
        while (selector.selectedKeys().isEmpty() && System.nanoTime() - end < 0) {
            selector.select(TIMEOUT);
        }
        Set<SelectionKey> ready = new HashSet<>(selector.selectedKeys());
        selector.selectedKeys().clear();
        return ready;
    }

    @Test
    void selectReportsAConnectThatFails() throws Exception {
        SocketAddress nobody = SocketPair.nobody();
        RdmaSocketChannel client = SocketPair.open();
        SelectionKey key = register(selector, client, SelectionKey.OP_CONNECT);
        assertThatThrownBy(() -> {
                    client.connect(nobody); // may fail at once
                    assertThat(select()).containsExactly(key);
                    client.finishConnect();
                })
                .isInstanceOf(ConnectException.class)
                .hasMessageContaining("refused");
        assertThat(client.isOpen()).isFalse();
    }

    /** The peer is no socket: it takes the request, and answers while the selection sleeps. */
    @Test
    void selectReportsAConnectWhoseEndNoDescriptorTells() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared();
                RdmaSocketChannel client = SocketPair.small(SocketPair.open())) {
            Listener peer =
                    Listener.open(new InetSocketAddress(SocketPair.address().getAddress(), 0), arena);
            SelectionKey key = register(selector, client, SelectionKey.OP_CONNECT);
            assertThat(client.connect(peer.address())).isFalse();
            Connection request = peer.awaitConnection(Loopback.DEADLINE);
            assertThat(selector.selectNow()).isZero();
            OtherThread<Integer> selecting =
                    OtherThread.start(() -> selector.select()); // a limit would end with a look
            Await.until("the selection sleeps in C", selecting::isInC);
            request.reject(PrivateData.NONE);
            assertThat(selecting.join()).isOne();
            assertThat(selector.selectedKeys()).containsExactly(key);
            assertThatThrownBy(client::finishConnect).isInstanceOf(ConnectException.class);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void wakeupEndsASelectionBeforeAndMeanwhile(boolean virtual) throws Exception {
        selector.wakeup();
        assertThat(OtherThread.start(virtual, () -> selector.select()).join()).isZero();
        OtherThread<Integer> selecting = OtherThread.start(virtual, () -> selector.select());
        selector.wakeup();
        assertThat(selecting.join()).isZero();
        selector.wakeup();
        selector.selectNow();
        assertThat(selector.select(1)).as("selectNow took the wake-up").isZero();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void interruptEndsASelection(boolean virtual) throws Exception {
        OtherThread<Boolean> selecting = OtherThread.start(virtual, () -> {
            selector.select();
            return Thread.interrupted();
        });
        selecting.thread().interrupt();
        assertThat(selecting.join()).isTrue();
        assertThat(selector.isOpen()).isTrue();
    }

    @Test
    void closeEndsASelectionAndItsKeys() throws Exception {
        try (SocketPair pair = SocketPair.connected()) {
            SelectionKey key = register(selector, pair.client, SelectionKey.OP_READ);
            OtherThread<Integer> selecting = OtherThread.start(false, () -> {
                try {
                    return selector.select();
                } catch (ClosedSelectorException e) {
                    return 0; // closed before the selection began
                }
            });
            selector.close();
            assertThat(selecting.join()).isZero();
            assertThat(key.isValid()).isFalse();
            assertThat(pair.client.isRegistered()).isFalse();
            assertThatThrownBy(() -> selector.select()).isInstanceOf(ClosedSelectorException.class);
            pair.client.configureBlocking(true);
        }
    }

    @Test
    void channelThatIsClosedDuringASelectionGoes() throws Exception {
        try (SocketPair pair = SocketPair.connected()) {
            register(selector, pair.client, SelectionKey.OP_READ);
            OtherThread<Integer> selecting = OtherThread.start(false, () -> selector.select(TIMEOUT));
            pair.client.close();
            Await.until("the peer sees the end", () -> {
                try {
                    pair.accepted.configureBlocking(false);
                    return pair.accepted.read(ByteBuffer.allocate(1)) == -1;
                } catch (IOException e) {
                    return true;
                }
            });
            selector.wakeup();
            selecting.join();
            selector.selectNow();
            assertThat(selector.keys()).isEmpty();
        }
    }

    @Test
    void interestOfAnotherThreadCountsFromTheNextSelection() throws Exception {
        try (SocketPair pair = SocketPair.connected()) {
            SelectionKey key = register(selector, pair.client, 0);
            OtherThread<Integer> selecting = OtherThread.start(false, () -> {
                int count;
                do {
                    count = selector.select(TIMEOUT);
                } while (count == 0);
                return count;
            });
            key.interestOps(SelectionKey.OP_WRITE);
            selector.wakeup();
            assertThat(selecting.join()).isEqualTo(1);
        }
    }

    @Test
    void jdkChannelsAreSelectedTogetherWithRdmaChannels() throws Exception {
        try (SocketPair pair = SocketPair.connected();
                DatagramChannel datagrams = RdmaSelectorProvider.shared().openDatagramChannel()) {
            Pipe pipe = RdmaSelectorProvider.shared().openPipe();
            datagrams
                    .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                    .configureBlocking(false);
            SelectionKey datagram = datagrams.register(selector, SelectionKey.OP_READ);
            pipe.source().configureBlocking(false);
            SelectionKey piped = pipe.source().register(selector, SelectionKey.OP_READ);
            SelectionKey rdma = register(selector, pair.client, SelectionKey.OP_READ);
            for (int round = 0; round < 5; round++) {
                assertThat(selector.selectNow()).isZero();
                datagrams.send(ByteBuffer.allocate(1), datagrams.getLocalAddress());
                assertThat(select()).containsExactly(datagram);
                datagrams.receive(ByteBuffer.allocate(1));
                pipe.sink().write(ByteBuffer.allocate(1));
                assertThat(select()).containsExactly(piped);
                pipe.source().read(ByteBuffer.allocate(1));
                pair.accepted.write(ByteBuffer.allocate(1));
                assertThat(select()).containsExactly(rdma);
                pair.client.read(ByteBuffer.allocate(1));
            }
            piped.cancel();
            selector.selectNow();
            assertThat(selector.keys()).containsExactlyInAnyOrder(datagram, rdma);
            pipe.source().configureBlocking(true);
            pipe.source().close();
            pipe.sink().close();
        }
    }

    @Test
    void jdkSelectorRefusesRdmaChannels() throws Exception {
        try (RdmaSocketChannel channel = SocketPair.open();
                Selector jdk = Selector.open()) {
            channel.configureBlocking(false);
            assertThatThrownBy(() -> channel.register(jdk, SelectionKey.OP_READ))
                    .isInstanceOf(IllegalSelectorException.class);
        }
    }

    /** The state of a thread and the number of times that it went to sleep or was made to wait, as the kernel counts. */
    private static String scheduling(Path thread) {
        try (Stream<String> lines = Files.lines(thread.resolve("status"))) {
            return lines.filter(line -> line.startsWith("State:") || line.contains("ctxt_switches:"))
                    .collect(Collectors.joining(" "));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Threads that select the accepted ends of connections on which nothing happens, each with a selector of its own. */
    private static final class IdleServer implements AutoCloseable {
        private final List<Selector> selectors = new ArrayList<>();
        private final List<SocketChannel> ends = new ArrayList<>();
        private final List<Path> tasks = new ArrayList<>();

        IdleServer(SelectorProvider provider, int count) throws Exception {
            try (ServerSocketChannel server = provider.openServerSocketChannel()) {
                server.setOption(StandardSocketOptions.SO_RCVBUF, SocketPair.BUFFER);
                server.bind(new InetSocketAddress(SocketPair.address().getAddress(), 0));
                for (int i = 0; i < count; i++) {
                    SocketChannel client = provider.openSocketChannel();
                    ends.add(client);
                    client.connect(server.getLocalAddress());
                    start(provider.openSelector(), server.accept());
                }
            }
            Await.until("selections that sleep", () -> tasks.stream().allMatch(IdleServer::sleeps));
        }

        private void start(Selector selector, SocketChannel accepted) throws Exception {
            selectors.add(selector);
            ends.add(accepted);
            register(selector, accepted, SelectionKey.OP_READ);
            CompletableFuture<Path> task = new CompletableFuture<>();
            Thread.ofPlatform().daemon().start(() -> {
                try {
                    task.complete(Path.of("/proc").resolve(Files.readSymbolicLink(Path.of("/proc/thread-self"))));
                    selector.select();
                } catch (IOException e) {
                    task.completeExceptionally(e);
                }
            });
            tasks.add(task.get(TIMEOUT, TimeUnit.MILLISECONDS));
        }

        private static boolean sleeps(Path task) {
            String before = scheduling(task);
            return before.contains("S (sleeping)")
                    && IntStream.range(0, 3).allMatch(i -> scheduling(task).equals(before));
        }

        List<String> schedulings() {
            return tasks.stream().map(SelectorTest::scheduling).toList();
        }

        @Override
        public void close() throws IOException {
            for (Selector selector : selectors) {
                selector.close();
            }
            for (SocketChannel end : ends) {
                end.close();
            }
        }
    }

    @Test
    void roundTripsLoseNoWakeUpAndWakeNoIdleSelector() throws Exception {
        try (IdleServer idle = new IdleServer(RdmaSelectorProvider.shared(), 8);
                SocketPair pair = SocketPair.connected()) {
            List<String> before = idle.schedulings();
            echo(pair, 150, false);
            assertThat(idle.schedulings()).isEqualTo(before);
        }
    }

    /** The library's threads look for peers that were killed, together as often as one that sleeps for a tenth of a second. */
    @Test
    void idleServerSleeps() throws Exception {
        try (IdleServer idle = new IdleServer(RdmaSelectorProvider.shared(), 8)) {
            List<String> before = idle.schedulings();
            Await.until("threads of the library that sleep", () -> {
                long wakeUps = WakeUps.of("verbena-");
                long began = System.nanoTime();
                selector.select(IDLE_SPAN); // for nothing
                long looks = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began) / 100;
                return WakeUps.of("verbena-") - wakeUps <= looks && WakeUps.sleep("verbena-");
            });
            assertThat(idle.schedulings()).isEqualTo(before);
        }
    }

    @Test
    void channelOfTwoSelectorsIsReportedByBoth() throws Exception {
        try (SocketPair pair = SocketPair.connected();
                Selector second = RdmaSockets.openSelector()) {
            register(selector, pair.accepted, SelectionKey.OP_READ);
            register(second, pair.accepted, SelectionKey.OP_READ);
            ByteBuffer one = ByteBuffer.allocateDirect(1);
            for (int i = 0; i < 25; i++) {
                OtherThread<Boolean> other = OtherThread.start(false, () -> {
                    while (second.selectedKeys().isEmpty()) {
                        second.select(TIMEOUT);
                    }
                    second.selectedKeys().clear();
                    return true;
                });
                pair.client.write(one.clear());
                assertThat(select()).hasSize(1);
                assertThat(other.join()).isTrue();
                SocketPair.readFully(pair.accepted, one.clear());
            }
        }
    }

    private static List<Thread> socketThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().matches("verbena-(selector|socket-.*|events|reader)"))
                .toList();
    }

    /** A virtual thread echoes, for which a thread of the library selects. Others select a pipe, watch and close sockets. */
    @Test
    void threadsOfSocketsGoOnAfterInterrupts() throws Exception {
        Pipe pipe = RdmaSelectorProvider.shared().openPipe();
        try (Pipe.SinkChannel sink = pipe.sink();
                Pipe.SourceChannel source = pipe.source()) {
            source.configureBlocking(false);
            SelectionKey piped = source.register(selector, SelectionKey.OP_READ);
            AtomicBoolean enough = new AtomicBoolean();
            OtherThread<Integer> interrupting = OtherThread.start(false, () -> {
                int times = 0;
                while (times < 300 || !enough.get()) {
                    List<Thread> threads = socketThreads();
                    for (int i = 0; i < 50; i++, times++) {
                        threads.forEach(Thread::interrupt);
                        Thread.yield();
                    }
                }
                return times;
            });
            try (SocketPair pair = SocketPair.connected()) {
                echo(pair, 50, true);
                SocketPair.connected().close();
                enough.set(true);
                interrupting.join();
                for (Thread thread : socketThreads()) {
                    Await.until(
                            "the end of the interrupt of " + thread.getName(),
                            () -> !thread.isAlive() || !thread.isInterrupted() || Await.isAsleep(thread));
                }
                sink.write(ByteBuffer.allocate(1));
                assertThat(select()).containsExactly(piped);
            }
            Await.until(
                    "all sockets are closed",
                    () -> socketThreads().stream()
                            .noneMatch(thread -> thread.getName().matches("verbena-socket-(closer|last-data)")));
        }
    }

    /** Sends single bytes, which a thread with the selector echoes. */
    private void echo(SocketPair pair, int rounds, boolean virtual) throws Exception {
        SelectionKey key = register(selector, pair.client, SelectionKey.OP_READ);
        OtherThread<Integer> selecting = OtherThread.start(virtual, () -> {
            int bytes = 0;
            ByteBuffer buffer = ByteBuffer.allocateDirect(16);
            while (bytes < rounds) {
                for (SelectionKey ready : select()) {
                    assertThat(ready).isEqualTo(key);
                    buffer.clear();
                    bytes += Math.max(0, pair.client.read(buffer));
                    buffer.flip();
                    pair.client.write(buffer);
                }
            }
            return bytes;
        });
        ByteBuffer one = ByteBuffer.allocateDirect(1);
        for (int i = 0; i < rounds; i++) {
            pair.accepted.write(one.clear());
            SocketPair.readFully(pair.accepted, one.clear());
        }
        assertThat(selecting.join()).isEqualTo(rounds);
    }

    @Test
    void selectorTakesManyChannels() throws Exception {
        int count = Integer.getInteger("dev.verbena.sockets.channels", 24);
        List<SocketChannel> ends = new ArrayList<>();
        try (ServerSocketChannel server = SocketPair.listening()) {
            for (int i = 0; i < count; i++) {
                RdmaSocketChannel client = SocketPair.small(SocketPair.open());
                client.connect(server.getLocalAddress());
                ends.add(client);
                SocketChannel accepted = server.accept();
                ends.add(accepted);
                register(selector, accepted, SelectionKey.OP_READ);
            }
            for (int i = 0; i < 2 * count; i += 2) {
                ends.get(i).write(ByteBuffer.wrap(new byte[] {(byte) i}));
            }
            Set<SelectionKey> seen = new HashSet<>();
            while (seen.size() < count) {
                for (SelectionKey key : select()) {
                    ((SocketChannel) key.channel()).read(ByteBuffer.allocate(2));
                    seen.add(key);
                }
            }
            assertThat(selector.keys()).hasSize(count);
        } finally {
            for (SocketChannel end : ends) {
                end.close();
            }
        }
    }
}
