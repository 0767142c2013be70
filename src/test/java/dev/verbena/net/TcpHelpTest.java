package dev.verbena.net;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.internal.wire.TcpFrame;
import dev.verbena.support.Await;
import dev.verbena.support.WakeUps;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Threads of the program that do the work of the sockets' thread while they make progress. */
class TcpHelpTest extends TcpTest {
    private static final NodeOptions CALLER =
            NodePair.SMALL.progress(NodeOptions.Progress.CALLER).closeTimeout(SHORT);
    private static final String SOCKETS = "verbena-node-sockets";
    private static final ThreadMXBean TIMES = ManagementFactory.getThreadMXBean();

    @BeforeEach
    void useCallers() {
        use(CALLER);
    }

    private NodePair.Ends connect() throws Exception {
        Future<Channel> connecting = nodes.start(() -> nodes.client.connect(nodes.server.address(), DEADLINE));
        Channel server = nodes.server.accept(DEADLINE);
        return new NodePair.Ends(NodePair.end(connecting), server);
    }

    private static List<Thread> socketsThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith(SOCKETS))
                .toList();
    }

    private static long processorTime(List<Thread> threads) {
        return threads.stream()
                .mapToLong(thread -> TIMES.getThreadCpuTime(thread.threadId()))
                .sum();
    }

    /** Sends a number there and back by polling alone. */
    private void echo(NodePair.Ends ends, long value) {
        pollSend(ends.client(), value);
        assertThat(pollReceive(nodes.server, ends.server())).isEqualTo(value);
        pollSend(ends.server(), -value);
        assertThat(pollReceive(nodes.client, ends.client())).isEqualTo(-value);
    }

    private void pollSend(Channel by, long value) {
        Message[] message = {null};
        Await.until("there is a free message", () -> {
            nodes.client.progress();
            nodes.server.progress();
            message[0] = by.pollMessage();
            return message[0] != null;
        });
        message[0].length(Long.BYTES).segment().set(ValueLayout.JAVA_LONG_UNALIGNED, 0, value);
        Await.until("the message is sent", () -> {
            nodes.client.progress();
            nodes.server.progress();
            return by.trySend(message[0]);
        });
    }

    private static long pollReceive(Node node, Channel on) {
        long end = System.nanoTime() + DEADLINE.toNanos();
        Message message = on.pollReceive();
        while (message == null) {
            assertThat(System.nanoTime() - end).as("waits in vain").isNegative();
            node.progress();
            message = on.pollReceive();
        }
        try (Message received = message) {
            return received.segment().get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
        }
    }

    @Test
    void threadOfTheSocketsRestsWhileTheProgramMakesProgress() throws Exception {
        NodePair.Ends ends = connect();
        echo(ends, 1);
        assertThat(socketsThreads()).hasSizeGreaterThanOrEqualTo(2);
        long before = WakeUps.of(SOCKETS);
        long began = System.nanoTime();
        for (int i = 1; i <= 10_000; i++) {
            echo(ends, i);
        }
        long looks = 1
                + Duration.ofNanos(System.nanoTime() - began).toMillis(); // of each thread, which has rested meanwhile
        assertThat(WakeUps.of(SOCKETS) - before)
                .as("times, and not for each message")
                .isLessThan(8 * looks);
    }

    @Test
    void peerIsServedAfterTheProgramHasMadeProgress() throws Exception {
        TcpPeer peer = greeted();
        peer.await(TcpFrame.SEND);
        for (int i = 0; i < 100; i++) {
            nodes.server.progress();
            peer.frame(TcpFrame.WRITE, frame -> {});
            assertThat(peer.await(TcpFrame.ACKNOWLEDGEMENT).number).isPositive();
        }
    }

    /** Operations of a channel that blocks would close it for a thread that was interrupted. */
    @Test
    void interruptOfAThreadThatMakesProgressEndsNoChannel() throws Exception {
        NodePair.Ends ends = connect();
        for (int i = 1; i <= 1_000; i++) {
            Thread.currentThread().interrupt();
            echo(ends, i);
            assertThat(Thread.interrupted()).isTrue();
        }
        Thread.currentThread().interrupt();
        assertThatExceptionOfType(InterruptedException.class)
                .isThrownBy(() -> ends.client().receive(DEADLINE));
        Thread waiting = Thread.currentThread();
        Future<?> interrupting = nodes.run(() -> {
            Await.until("the other thread waits", () -> waiting.getState() != Thread.State.NEW);
            waiting.interrupt();
        });
        assertThatExceptionOfType(InterruptedException.class)
                .isThrownBy(() -> ends.client().receive(DEADLINE));
        NodePair.end(interrupting);
        echo(ends, 7);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void manyThreadsWaitAtOneNode(boolean virtual) throws Exception {
        use(CALLER.maxChannels(16));
        nodes.server.listen((channel, request) -> request.reply().length(8).send());
        List<Channel> channels = new ArrayList<>();
        Thread serving = Thread.ofPlatform().daemon().start(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                nodes.server.progress();
            }
        });
        for (int i = 0; i < 8; i++) {
            channels.add(nodes.client.connect(nodes.server.address(), DEADLINE));
        }
        List<Throwable> failures = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (Channel channel : channels) {
            Runnable calls = () -> {
                try {
                    for (int i = 0; i < 200; i++) {
                        channel.call(channel.message(DEADLINE).length(8), DEADLINE)
                                .close();
                    }
                } catch (InterruptedException | RuntimeException | Error failure) {
                    synchronized (failures) {
                        failures.add(failure);
                    }
                }
            };
            threads.add(
                    virtual
                            ? Thread.startVirtualThread(calls)
                            : Thread.ofPlatform().start(calls));
        }
        for (Thread thread : threads) {
            Await.end(thread);
        }
        serving.interrupt();
        Await.end(serving);
        assertThat(failures).isEmpty();
    }

    /** Each message that waited for a tick would take a tenth of a second. */
    @ParameterizedTest
    @EnumSource(NodeOptions.Progress.class)
    void messagesWaitForNoTick(NodeOptions.Progress progress) throws Exception {
        use(CALLER.progress(progress));
        NodePair.Ends ends = nodes.connect();
        long end = System.nanoTime() + DEADLINE.toNanos();
        for (int i = 0; i < 2_000; i++) {
            NodePair.send(ends.client(), i);
            assertThat(NodePair.receive(ends.server())).isEqualTo(i);
            assertThat(System.nanoTime() - end)
                    .as("%d messages took too long", i)
                    .isNegative();
        }
    }

    /** One thread works, and the others wait for what it finds. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void threadThatWaitsGoesOnAfterTheOneThatWorkedHasLeft(boolean besideAVirtualThread) throws Exception {
        use(CALLER.maxChannels(4));
        List<NodePair.Ends> ends = List.of(nodes.connect(), nodes.connect(), nodes.connect());
        Future<Long> works = receiving(ends.get(0).client(), false);
        Future<Long> virtual = besideAVirtualThread ? receiving(ends.get(1).client(), true) : null;
        Future<Long> waits = receiving(ends.get(2).client(), false);
        NodePair.send(ends.get(0).server(), 1);
        assertThat(NodePair.end(works)).isEqualTo(1);
        NodePair.send(ends.get(2).server(), 3);
        assertThat(NodePair.end(waits)).isEqualTo(3);
        if (virtual != null) {
            NodePair.send(ends.get(1).server(), 2);
            assertThat(NodePair.end(virtual)).isEqualTo(2);
        }
    }

    /** Starts a thread that receives, and waits when this returns. */
    private static Future<Long> receiving(Channel channel, boolean virtual) {
        FutureTask<Long> receiving = new FutureTask<>(() -> NodePair.receive(channel));
        Thread thread = virtual
                ? Thread.ofVirtual().start(receiving)
                : Thread.ofPlatform().daemon().start(receiving);
        Await.until(
                "the thread works or waits",
                () -> Arrays.stream(thread.getStackTrace())
                        .anyMatch(frame -> List.of("turn", "park").contains(frame.getMethodName())));
        return receiving;
    }

    /** The thread of the sockets sleeps in C when a thread of the program begins to wait. */
    @Test
    void threadThatWaitsTakesTheWorkFromTheThreadOfTheSockets() throws Exception {
        NodePair.Ends ends = connect();
        for (int i = 1; i <= 100; i++) {
            Await.until(
                    "the threads of the sockets work",
                    () -> socketsThreads().stream()
                            .allMatch(thread -> Arrays.stream(thread.getStackTrace())
                                    .anyMatch(frame -> frame.getMethodName().equals("turn"))));
            Future<Long> received = receiving(ends.client(), false);
            NodePair.send(ends.server(), i);
            assertThat(NodePair.end(received)).isEqualTo(i);
        }
    }

    /** Locks of a socket that are left taken there would keep it from closing. */
    @Test
    void sendersNearTheEndOfTheirStackKeepNoNodeFromClosing() throws Exception {
        use(CALLER.window(500).sends(500)); // a message that was not sent is not used again
        NodePair.Ends ends = connect();
        Thread deep = new Thread(
                null,
                () -> {
                    for (int frames = 1; frames <= 400 && ends.client().isOpen(); frames++) {
                        Message message = ends.client().pollMessage();
                        if (message != null) {
                            sendAtTheEnd(ends.client(), message.length(1), frames);
                        }
                        nodes.client.progress();
                        nodes.server.progress();
                        Message received = ends.server().pollReceive();
                        if (received != null) {
                            received.close();
                        }
                    }
                },
                "deep",
                512 << 10);
        deep.setUncaughtExceptionHandler((thread, ended) -> assertThat(ended).isInstanceOf(ChannelException.class));
        deep.start();
        Await.end(deep);
        Thread closing = Thread.ofPlatform().daemon().start(nodes::close);
        Await.end(closing);
        nodes = new NodePair(CALLER);
    }

    /** Sends a number of frames before the end of the stack. Returns the number of frames to there. */
    private static int sendAtTheEnd(Channel by, Message message, int frames) {
        int left;
        try {
            left = sendAtTheEnd(by, message, frames);
        } catch (StackOverflowError end) {
            return frames;
        }
        if (left == 1) {
            try {
                by.trySend(message);
            } catch (StackOverflowError end) {
                // It was sent or not.
            }
        }
        return left - 1;
    }

    @ParameterizedTest
    @EnumSource(NodeOptions.Progress.class)
    void waitsOfTheProgramTakeNoTimeOfTheProcessor(NodeOptions.Progress progress) throws Exception {
        use(CALLER.progress(progress));
        NodePair.Ends ends = connect();
        echo(ends, 1);
        Future<Long> waiting = nodes.start(() -> {
            long before = TIMES.getCurrentThreadCpuTime();
            assertThat(NodePair.receive(ends.client())).isEqualTo(5);
            return TIMES.getCurrentThreadCpuTime() - before;
        });
        List<Thread> threads = socketsThreads();
        long before = processorTime(threads);
        long busy = TIMES.getCurrentThreadCpuTime() + 300_000_000;
        while (TIMES.getCurrentThreadCpuTime() < busy) {
            Thread.onSpinWait();
        }
        long rested = processorTime(threads) - before;
        NodePair.send(ends.server(), 5);
        assertThat(NodePair.end(waiting)).isLessThan(100_000_000);
        assertThat(rested).isLessThan(100_000_000);
    }
}
