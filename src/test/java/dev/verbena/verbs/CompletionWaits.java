package dev.verbena.verbs;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.support.Await;
import dev.verbena.support.ChannelLoopback;
import dev.verbena.support.ChannelLoopback.Connection;
import dev.verbena.support.ChannelLoopback.Side;
import java.time.Duration;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of sleeping until something has completed, for a device and for the provider for tests. */
abstract class CompletionWaits {
    /** Longer than a result is waited for: who is not woken finds what has come when its time is over, too late. */
    static final Duration LONG = DEADLINE.multipliedBy(3);

    ChannelLoopback loopback;
    Side left;
    Side right;

    @BeforeEach
    void connect() {
        open(VerbsArena.ofShared(), 1);
    }

    void open(VerbsArena arena, int count) {
        loopback = new ChannelLoopback(arena, count);
        left = loopback.get(0).left();
        right = loopback.get(0).right();
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    static ExecutorService threads(boolean virtual) {
        return virtual ? Executors.newVirtualThreadPerTaskExecutor() : Executors.newCachedThreadPool();
    }

    static void send(Connection connection, long id) {
        connection.right().pair.postReceive(id, connection.right().buffer);
        connection.left().pair.postSend(id, connection.left().buffer.slice(0, 8));
    }

    /** Runs something in a thread, and returns when that sleeps. */
    static <T> Future<T> asleep(ExecutorService threads, Callable<T> waits) throws Exception {
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

    static <T> T result(Future<T> future) throws Exception {
        return future.get(DEADLINE.toSeconds(), SECONDS);
    }

    void assertAwaitSleepsUntilWorkCompletes(boolean virtual) throws Exception {
        try (ExecutorService threads = threads(virtual)) {
            Future<WorkCompletion> received = asleep(threads, () -> right.queue.await(LONG));
            Future<WorkCompletion> sent = asleep(threads, () -> left.queue.await(LONG));
            send(loopback.get(0), 7);
            assertThat(result(received).orThrow().opcode()).isEqualTo(WorkCompletion.Opcode.RECEIVE);
            assertThat(result(sent).orThrow().opcode()).isEqualTo(WorkCompletion.Opcode.SEND);
        }
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

    void assertNoWakeUpIsLost(boolean virtual, int messages) throws Exception {
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

    void closeWhileEventsAreRead(int rounds) throws Exception {
        try (ExecutorService threads = threads(true)) {
            for (int round = 0; round < rounds; round++) {
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
}
