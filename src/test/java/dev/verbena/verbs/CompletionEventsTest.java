package dev.verbena.verbs;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.Await;
import dev.verbena.support.ChannelLoopback;
import dev.verbena.support.ChannelLoopback.Connection;
import dev.verbena.support.ChannelLoopback.Side;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.TestDevice;
import dev.verbena.support.Twin;
import dev.verbena.verbs.address.Endpoint;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sleeping until something has completed. */
@DeviceTest
class CompletionEventsTest {
    private static final Duration SHORT = Duration.ofMillis(50);
    /** Longer than a result is waited for: who is not woken finds what has come when its time is over, too late. */
    private static final Duration LONG = DEADLINE.multipliedBy(3);

    private ChannelLoopback loopback;
    private Side left;
    private Side right;

    @BeforeEach
    void connect() {
        open(VerbsArena.ofShared(), 1);
    }

    private void open(VerbsArena arena, int count) {
        loopback = new ChannelLoopback(arena, count);
        left = loopback.get(0).left();
        right = loopback.get(0).right();
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    private static ExecutorService threads(boolean virtual) {
        return virtual ? Executors.newVirtualThreadPerTaskExecutor() : Executors.newCachedThreadPool();
    }

    private static void send(Connection connection, long id) {
        connection.right().pair.postReceive(id, connection.right().buffer);
        connection.left().pair.postSend(id, connection.left().buffer.slice(0, 8));
    }

    /** Runs something in a thread, and returns when that sleeps. */
    private static <T> Future<T> asleep(ExecutorService threads, Callable<T> waits) throws Exception {
        Thread[] thread = new Thread[1];
        Future<T> result = threads.submit(() -> {
            synchronized (thread) {
                thread[0] = Thread.currentThread();
            }
            return waits.call();
        });
        for (; ; ) {
            synchronized (thread) {
                if (thread[0] != null && Await.isAsleep(thread[0])) {
                    return result;
                }
            }
            if (result.isDone()) {
                result(result); // throws, when it should be asleep
                throw new AssertionError("It did not sleep");
            }
            Thread.yield();
        }
    }

    private static <T> T result(Future<T> future) throws Exception {
        return future.get(DEADLINE.toSeconds(), SECONDS);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Twin("test_cq_events.CqEventsTestCase.test_cq_events_rc")
    void awaitSleepsUntilWorkCompletesOnBothSides(boolean virtual) throws Exception {
        try (ExecutorService threads = threads(virtual)) {
            Future<WorkCompletion> received = asleep(threads, () -> right.queue.await(LONG));
            Future<WorkCompletion> sent = asleep(threads, () -> left.queue.await(LONG));
            send(loopback.get(0), 7);
            assertThat(result(received).orThrow().opcode()).isEqualTo(WorkCompletion.Opcode.RECEIVE);
            assertThat(result(sent).orThrow().opcode()).isEqualTo(WorkCompletion.Opcode.SEND);
        }
    }

    @Test
    void awaitWorksForAConfinedQueue() throws Exception {
        loopback.close();
        open(VerbsArena.ofConfined(), 1);
        send(loopback.get(0), 1);
        assertThat(right.queue.await(DEADLINE).orThrow().id()).isEqualTo(1);
        assertThat(left.queue.await(DEADLINE).orThrow().id()).isEqualTo(1);
    }

    @Test
    void cursorAwaitReturnsWithCompletions() throws Exception {
        try (ExecutorService threads = threads(false)) {
            Completions done = right.queue.completions(16);
            Future<Long> found = asleep(threads, () -> {
                assertThat(done.await(LONG)).isEqualTo(1);
                assertThat(done.next()).isTrue();
                return done.id();
            });
            send(loopback.get(0), 9);
            assertThat(result(found)).isEqualTo(9);
        }
    }

    @Test
    void cursorAwaitThrowsWhenTheTimeIsOver() {
        Completions done = right.queue.completions(4);
        assertThatThrownBy(() -> done.await(SHORT)).isInstanceOf(VerbsTimeoutException.class);
        assertThatThrownBy(() -> done.awaitSolicited(SHORT)).isInstanceOf(VerbsTimeoutException.class);
    }

    @Test
    void awaitChecksItsTimeoutBeforeItTakesAnything() throws Exception {
        Completions done = right.queue.completions(4);
        send(loopback.get(0), 1);
        left.queue.await(DEADLINE).orThrow();
        assertThatNullPointerException().isThrownBy(() -> right.queue.await(null));
        assertThatNullPointerException().isThrownBy(() -> right.queue.awaitSolicited(null));
        assertThatNullPointerException().isThrownBy(() -> done.await(null));
        assertThatNullPointerException().isThrownBy(() -> loopback.channel.await(null));
        assertThat(done.await(DEADLINE)).isOne();
    }

    @Test
    void queueAwaitEndsAtItsTimeout() {
        assertThatThrownBy(() -> right.queue.await(SHORT)).isInstanceOf(VerbsTimeoutException.class);
    }

    @Test
    void awaitTakesExistingCompletionsWithoutAnEvent() throws Exception {
        send(loopback.get(0), 3);
        left.queue.await(DEADLINE).orThrow();
        assertThat(right.queue.await(Duration.ZERO).orThrow().id()).isEqualTo(3);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void failedCompletionRaisesAnEvent(boolean virtual) throws Exception {
        try (ExecutorService threads = threads(virtual)) {
            right.pair.postReceive(4, right.buffer);
            Future<WorkCompletion> flushed = asleep(threads, () -> right.queue.await(LONG));
            right.pair.fail();
            assertThat(result(flushed).status()).isEqualTo(WorkStatus.WORK_REQUEST_FLUSHED);
        }
    }

    @Test
    void awaitSolicitedIgnoresOtherSends() throws Exception {
        try (ExecutorService threads = threads(false)) {
            right.pair.postReceive(1, right.buffer);
            right.pair.postReceive(2, right.buffer);
            SendBatch batch = left.pair.sendBatch(1);
            Completions done = right.queue.completions(4);
            Future<Integer> found = asleep(threads, () -> done.awaitSolicited(LONG));

            batch.send(1, left.buffer.slice(0, 8)).post();
            left.queue.await(DEADLINE).orThrow();
            assertThat(right.queue.channel().orElseThrow().poll())
                    .as("events of the receiving queue")
                    .isNotEqualTo(right.queue);
            assertThat(found.isDone()).isFalse();

            batch.clear();
            batch.send(2, left.buffer.slice(0, 8)).solicited().post();
            assertThat(result(found)).as("both are there by then").isEqualTo(2);
        }
    }

    @Test
    void awaitSolicitedDoesNotDisarmAwaitAny() throws Exception {
        try (ExecutorService threads = threads(false)) {
            Future<WorkCompletion> any = asleep(threads, () -> right.queue.await(LONG));
            Future<WorkCompletion> solicited = asleep(threads, () -> right.queue.awaitSolicited(LONG));
            send(loopback.get(0), 1);
            right.pair.postReceive(2, right.buffer);
            left.pair.sendBatch(1).send(2, left.buffer.slice(0, 8)).solicited().post(); // wakes either
            assertThat(List.of(
                            result(any).orThrow().id(),
                            result(solicited).orThrow().id()))
                    .containsExactlyInAnyOrder(1L, 2L);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void awaitServesAllQueuesOfOneChannel(boolean virtual) throws Exception {
        loopback.close();
        open(VerbsArena.ofShared(), 12);
        List<Future<WorkCompletion>> received = new ArrayList<>();
        try (ExecutorService threads = threads(virtual)) {
            for (Connection connection : loopback.connections()) {
                received.add(asleep(threads, () -> connection.right().queue.await(LONG)));
            }
            for (int i = received.size(); --i >= 0; ) {
                send(loopback.get(i), i);
            }
            for (int i = 0; i < received.size(); i++) {
                assertThat(result(received.get(i)).orThrow().id()).isEqualTo(i);
            }
        }
    }

    @Test
    void awaitServesHundredsOfVirtualThreads() throws Exception {
        int many = 300;
        List<Future<WorkCompletion>> received = new ArrayList<>();
        Set<Long> ids = new HashSet<>();
        try (ExecutorService threads = threads(true)) {
            for (int i = 0; i < many; i++) {
                received.add(threads.submit(() -> right.queue.await(LONG)));
            }
            for (int i = 0; i < many; i++) {
                send(loopback.get(0), i);
                left.queue.await(DEADLINE).orThrow();
            }
            for (Future<WorkCompletion> one : received) {
                ids.add(result(one).orThrow().id());
            }
        }
        assertThat(ids).hasSize(many);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void awaitLosesNoWakeUp(boolean virtual) throws Exception {
        int messages = 2000;
        for (int i = 0; i < ChannelLoopback.DEPTH; i++) {
            right.pair.postReceive(0, right.buffer);
        }
        try (ExecutorService threads = threads(virtual)) {
            Future<Void> receiver = threads.submit(() -> {
                Completions done = right.queue.completions(16);
                for (int got = 0; got < messages; ) {
                    int found = done.await(LONG);
                    assertThat(found).as("found after %s", got).isPositive();
                    while (done.next()) {
                        done.orThrow();
                        right.pair.postReceive(0, right.buffer);
                        got++;
                    }
                }
                return null;
            });
            for (int i = 0; i < messages; i++) {
                left.pair.postSend(i, left.buffer.slice(0, 8));
                left.queue.await(DEADLINE).orThrow();
            }
            result(receiver);
        }
    }

    @Test
    void awaitServesMoreThreadsThanMessages() throws Exception {
        int waiting = 8;
        int messages = 400;
        try (ExecutorService threads = threads(false)) {
            List<Future<Integer>> receivers = new ArrayList<>();
            for (int i = 0; i < waiting; i++) {
                receivers.add(threads.submit(() -> {
                    int got = 0;
                    for (; got < messages / waiting; got++) {
                        right.queue.await(LONG).orThrow();
                    }
                    return got;
                }));
            }
            for (int i = 0; i < messages; i++) {
                send(loopback.get(0), i);
                left.queue.await(DEADLINE).orThrow();
            }
            for (Future<Integer> receiver : receivers) {
                assertThat(result(receiver)).isEqualTo(messages / waiting);
            }
        }
    }

    // The channel

    @Test
    void channelAwaitReturnsTheQueuesWithEvents() throws Exception {
        loopback.close();
        open(VerbsArena.ofShared(), 3);
        for (Connection connection : loopback.connections()) {
            connection.right().queue.requestNotification(false);
        }
        send(loopback.get(2), 1);
        assertThat(loopback.channel.await(DEADLINE)).isSameAs(loopback.get(2).right().queue);
        send(loopback.get(0), 2);
        assertThat(loopback.channel.await(DEADLINE)).isSameAs(right.queue);
        assertThat(loopback.channel.poll()).isNull();
    }

    @Test
    void channelIgnoresQueuesThatAreNotArmed() throws Exception {
        send(loopback.get(0), 1);
        left.queue.requestNotification(false);
        send(loopback.get(0), 2);
        assertThat(loopback.channel.await(DEADLINE)).isSameAs(left.queue);
    }

    @Test
    void channelReportsOneEventForManyCompletions() throws Exception {
        right.queue.requestNotification(false);
        send(loopback.get(0), 1);
        send(loopback.get(0), 2);
        left.queue.completions(1).await(DEADLINE);
        left.queue.completions(1).await(DEADLINE);
        Set<CompletionQueue> told = new HashSet<>();
        told.add(loopback.channel.poll());
        told.add(loopback.channel.poll());
        told.add(loopback.channel.poll());
        assertThat(told).contains(right.queue);
        assertThat(right.queue.completions(4).poll()).isEqualTo(2);
    }

    @Test
    void channelServesManyQueuesInOneThread() throws Exception {
        loopback.close();
        int queues = 8;
        int messages = 50;
        open(VerbsArena.ofShared(), queues);
        for (Connection connection : loopback.connections()) {
            connection.right().queue.requestNotification(false);
        }
        try (ExecutorService threads = threads(false)) {
            Future<Integer> server = threads.submit(() -> {
                int got = 0;
                while (got < queues * messages) {
                    CompletionQueue queue = loopback.channel.await(LONG);
                    queue.requestNotification(false);
                    while (queue.poll() != null) {
                        got++;
                    }
                }
                return got;
            });
            for (int i = 0; i < messages; i++) {
                for (Connection connection : loopback.connections()) {
                    send(connection, i);
                }
                for (Connection connection : loopback.connections()) {
                    Await.until("a send", () -> connection.left().queue.poll() != null);
                }
            }
            assertThat(result(server)).isEqualTo(queues * messages);
        }
    }

    @Test
    void channelAwaitEndsAtItsTimeout() {
        assertThatThrownBy(() -> loopback.channel.await(SHORT))
                .isInstanceOf(VerbsTimeoutException.class)
                .hasMessageContaining("requestNotification");
    }

    @Test
    void armIsRefusedWithoutAChannel() {
        CompletionQueue plain = loopback.context.createCompletionQueue(4);
        assertThatThrownBy(() -> plain.requestNotification(false))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("CompletionQueueOptions.channel");
    }

    @Test
    void createCompletionQueueRefusesAForeignChannel() {
        CompletionChannel foreign = TestDevice.get().open(loopback.arena).createCompletionChannel();
        assertThatThrownBy(() -> loopback.context.createCompletionQueue(
                        CompletionQueueOptions.of(4).channel(foreign)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("another context");
    }

    @Test
    void createCompletionQueueRefusesUnknownVectorsWithTheirNumber() {
        int vectors = loopback.context.completionVectors();
        assertThat(loopback.context
                        .createCompletionQueue(CompletionQueueOptions.of(4)
                                .channel(loopback.channel)
                                .completionVector(vectors - 1))
                        .isOpen())
                .isTrue();
        assertThatThrownBy(() -> loopback.context.createCompletionQueue(
                        CompletionQueueOptions.of(4).channel(loopback.channel).completionVector(vectors)))
                .hasMessageContaining("has " + vectors + " completion vectors");
    }

    @Test
    void channelCloseFailsWhileItHasQueues() {
        assertThatThrownBy(loopback.channel::close)
                .isInstanceOf(ResourceBusyException.class)
                .hasMessageContaining("completion queue");
    }

    // Closing and interrupting

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void queueCloseEndsTheWaits(boolean virtual) throws Exception {
        CompletionQueue queue = loopback.context.createCompletionQueue(
                CompletionQueueOptions.of(4).channel(loopback.channel));
        try (ExecutorService threads = threads(virtual)) {
            Future<WorkCompletion> one = asleep(threads, () -> queue.await(LONG));
            Future<Integer> many = asleep(threads, () -> queue.completions(1).await(LONG));
            queue.close();
            assertClosed(one);
            assertClosed(many);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void arenaCloseEndsAllWaits(boolean virtual) throws Exception {
        try (ExecutorService threads = threads(virtual)) {
            Future<WorkCompletion> queue = asleep(threads, () -> right.queue.await(LONG));
            Future<CompletionQueue> channel = asleep(threads, () -> loopback.channel.await(LONG));
            loopback.arena.close();
            assertClosed(queue);
            assertClosed(channel);
        }
    }

    private static void assertClosed(Future<?> wait) {
        assertThatThrownBy(() -> result(wait))
                .isInstanceOf(ExecutionException.class)
                .cause()
                .isInstanceOf(IllegalStateException.class)
                .hasMessageEndingWith("is closed");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void interruptEndsTheWait(boolean virtual) throws Exception {
        Thread.Builder builder = virtual ? Thread.ofVirtual() : Thread.ofPlatform();
        Throwable[] thrown = new Throwable[1];
        Thread thread = builder.start(() -> {
            try {
                right.queue.await(DEADLINE);
            } catch (Throwable t) {
                thrown[0] = t;
            }
        });
        thread.interrupt();
        Await.end(thread);
        assertThat(thrown[0]).isInstanceOf(InterruptedException.class);
    }

    @Test
    void interruptedWaitLeavesItsEventToOthers() throws Exception {
        try (ExecutorService threads = threads(false)) {
            Future<WorkCompletion> first = asleep(threads, () -> right.queue.await(LONG));
            Future<WorkCompletion> second = asleep(threads, () -> right.queue.await(LONG));
            first.cancel(true);
            send(loopback.get(0), 5);
            assertThat(result(second).orThrow().id()).isEqualTo(5);
        }
    }

    @Test
    void queueCloseSucceedsWithUnreadEvents() throws Exception {
        right.queue.requestNotification(false);
        send(loopback.get(0), 1);
        left.queue.await(DEADLINE).orThrow();
        loopback.arena.close();
        assertThat(right.queue.isOpen()).isFalse();
    }

    @Test
    void queueCloseAcknowledgesReadEvents() throws Exception {
        for (int i = 0; i < 150; i++) { // more than two batches of acknowledgements, and not a whole number of them
            right.queue.requestNotification(false);
            send(loopback.get(0), i);
            assertThat(loopback.channel.await(DEADLINE)).isSameAs(right.queue);
            Objects.requireNonNull(right.queue.poll()).orThrow();
            Await.until("a send", () -> left.queue.poll() != null);
        }
        loopback.arena.close();
        assertThat(right.queue.isOpen()).isFalse();
    }

    @Test
    void queueCloseSucceedsWhileEventsAreRead() throws Exception {
        try (ExecutorService threads = threads(true)) {
            for (int round = 0; round < 12; round++) {
                loopback.close();
                open(VerbsArena.ofShared(), 1);
                Side receiver = right;
                Side sender = left;
                Future<WorkCompletion> wait = threads.submit(() -> receiver.queue.await(LONG));
                send(loopback.get(0), round);
                sender.pair.close();
                receiver.pair.close();
                receiver.queue.close();
                sender.queue.close();
                try {
                    assertThat(result(wait).id()).isEqualTo(round);
                } catch (ExecutionException closed) {
                    assertThat(closed.getCause()).isInstanceOf(IllegalStateException.class);
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void awaitInAConfinedArenaTakesLaterCompletions(boolean byChannel) throws Exception {
        QueuePair sender = loopback.domain.createQueuePair(QueuePair.rc(left.queue));
        CompletableFuture<Endpoint> receiver = new CompletableFuture<>();
        try (ExecutorService threads = threads(false)) {
            Future<Long> received = asleep(threads, () -> {
                try (VerbsArena confined = VerbsArena.ofConfined()) {
                    Context context = TestDevice.get().open(confined);
                    ProtectionDomain domain = context.allocateProtectionDomain();
                    CompletionChannel channel = context.createCompletionChannel();
                    CompletionQueue queue = context.createCompletionQueue(
                            CompletionQueueOptions.of(4).channel(channel));
                    QueuePair pair = domain.createQueuePair(QueuePair.rc(queue));
                    pair.connect(sender.endpoint());
                    pair.postReceive(1, domain.register(confined.allocate(8), AccessFlag.LOCAL_WRITE));
                    receiver.complete(pair.endpoint());
                    if (byChannel) {
                        queue.requestNotification(false);
                        return Objects.requireNonNull(channel.await(LONG).poll())
                                .id();
                    }
                    return queue.await(LONG).id();
                }
            });
            sender.connect(receiver.get(DEADLINE.toSeconds(), SECONDS));
            sender.postSend(2, left.buffer.slice(0, 8));
            assertThat(result(received)).isEqualTo(1);
        }
    }
}
