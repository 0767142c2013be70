package dev.verbena.verbs;

import static dev.verbena.support.Loopback.DEADLINE;
import static dev.verbena.verbs.Refusals.assertIllegalState;
import static dev.verbena.verbs.Refusals.assertThrows;
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
import dev.verbena.support.FencedTest;
import dev.verbena.support.OtherThread;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.address.Endpoint;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Sleeping until something has completed. */
@FencedTest
class CompletionEventsTest extends CompletionWaits {
    private static final Duration SHORT = Duration.ofMillis(50);

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void awaitSleepsUntilWorkCompletesOnBothSides(boolean virtual) throws Exception {
        assertAwaitSleepsUntilWorkCompletes(virtual);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void awaitLosesNoWakeUp(boolean virtual) throws Exception {
        assertNoWakeUpIsLost(virtual, 2000);
    }

    @Test
    void queueCloseSucceedsWhileEventsAreRead() throws Exception {
        closeWhileEventsAreRead(12);
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

    /** Waits until the receiving queue has room for another completion. */
    private static void acquire(Semaphore room) throws InterruptedException {
        assertThat(room.tryAcquire(DEADLINE.toSeconds(), SECONDS)).isTrue();
    }

    @Test
    void awaitServesHundredsOfVirtualThreads() throws Exception {
        int many = 300;
        List<Future<WorkCompletion>> received = new ArrayList<>();
        Set<Long> ids = new HashSet<>();
        Semaphore room = new Semaphore(ChannelLoopback.DEPTH);
        try (ExecutorService threads = threads(true)) {
            for (int i = 0; i < many; i++) {
                received.add(threads.submit(() -> {
                    WorkCompletion taken = right.queue.await(LONG);
                    room.release();
                    return taken;
                }));
            }
            for (int i = 0; i < many; i++) {
                acquire(room);
                send(loopback.get(0), i);
                left.queue.await(DEADLINE).orThrow();
            }
            for (Future<WorkCompletion> one : received) {
                ids.add(result(one).orThrow().id());
            }
        }
        assertThat(ids).hasSize(many);
    }

    @Test
    void awaitServesMoreThreadsThanMessages() throws Exception {
        int waiting = 8;
        int messages = 400;
        Semaphore room = new Semaphore(ChannelLoopback.DEPTH);
        try (ExecutorService threads = threads(false)) {
            List<Future<Integer>> receivers = new ArrayList<>();
            for (int i = 0; i < waiting; i++) {
                receivers.add(threads.submit(() -> {
                    int got = 0;
                    for (; got < messages / waiting; got++) {
                        right.queue.await(LONG).orThrow();
                        room.release();
                    }
                    return got;
                }));
            }
            for (int i = 0; i < messages; i++) {
                acquire(room);
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
    void channelIgnoresQueuesThatAreNotArmed() throws Exception {
        send(loopback.get(0), 1);
        left.queue.requestNotification(false);
        send(loopback.get(0), 2);
        assertThat(loopback.channel.await(DEADLINE)).isSameAs(left.queue);
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
        assertThrows(VerbsTimeoutException.class, "requestNotification", () -> loopback.channel.await(SHORT));
    }

    @Test
    void armIsRefusedWithoutAChannel() {
        CompletionQueue plain = loopback.context.createCompletionQueue(4);
        assertIllegalState("CompletionQueueOptions.channel", () -> plain.requestNotification(false));
    }

    @Test
    void channelCloseFailsWhileItHasQueues() {
        assertThrows(ResourceBusyException.class, "completion queue", loopback.channel::close);
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
    void interruptEndsTheWait(boolean virtual) {
        OtherThread<WorkCompletion> waiter =
                OtherThread.start(virtual, () -> right.queue.await(DEADLINE)).asleep();
        waiter.thread().interrupt();
        assertThat(waiter.failure()).isInstanceOf(InterruptedException.class);
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
