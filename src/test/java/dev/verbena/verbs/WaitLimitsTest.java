package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Errno;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Waits with the longest and the shortest timeouts, and events behind calls that a signal interrupts. */
@FencedTest
class WaitLimitsTest {
    private final Loopback loopback = Loopback.connected();

    @AfterEach
    void close() {
        loopback.close();
    }

    private QueuePair readyPair(CompletionQueue queue) {
        QueuePair pair = loopback.domain.createQueuePair(QueuePair.rc(queue));
        pair.connect(pair.endpoint(), QueuePairAttributes.none());
        return pair;
    }

    private List<Long> drained(Duration timeout) throws InterruptedException {
        List<Long> ids = new ArrayList<>();
        loopback.left.pair.postReceive(7, loopback.left.buffer);
        loopback.left.pair.drain(completion -> ids.add(completion.id()), timeout);
        return ids;
    }

    @Test
    void drainAcceptsTheLongestTimeouts() throws Exception {
        Fenced.fail("ibv_post_recv", 2, Errno.ENOMEM); // the marker waits for room once
        assertThat(drained(ChronoUnit.FOREVER.getDuration())).contains(7L);
    }

    @Test
    void drainWithANegativeTimeoutTriesOnce() throws Exception {
        try {
            assertThat(drained(Duration.ofSeconds(Long.MIN_VALUE))).contains(7L);
        } catch (VerbsTimeoutException late) {
            assertThat(late.errno()).isEqualTo(Errno.ETIMEDOUT);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {Long.MIN_VALUE, -1, 0, Long.MAX_VALUE})
    void awaitAcceptsAnyTimeout(long seconds) throws Exception {
        loopback.right.pair.postReceive(2, loopback.right.buffer);
        loopback.left.pair.postSend(1, loopback.left.buffer.slice(0, 8));
        assertThat(loopback.right
                        .queue
                        .await(Duration.ofSeconds(seconds))
                        .orThrow()
                        .id())
                .isEqualTo(2);
    }

    @Test
    void completionEventIsTakenAfterInterruptedCalls() throws Exception {
        Context context = loopback.context;
        CompletionChannel channel = context.createCompletionChannel();
        CompletionQueue queue =
                context.createCompletionQueue(CompletionQueueOptions.of(4).channel(channel));
        queue.requestNotification(false);
        QueuePair pair = readyPair(queue);
        pair.postReceive(1, loopback.left.buffer);
        pair.fail();
        Fenced.fail("ibv_get_cq_event", 1, Errno.EINTR);
        assertThat(channel.poll()).isSameAs(queue);
    }

    @Test
    void asynchronousEventIsTakenAfterInterruptedCalls() {
        CompletionQueue small = loopback.context.createCompletionQueue(1);
        QueuePair pair = readyPair(small);
        for (int i = 0; i < 3; i++) {
            pair.postReceive(i, loopback.left.buffer);
        }
        loopback.context.events().poll(); // makes the descriptor non-blocking
        pair.fail(); // flushes three requests, and the queue has room for one
        Fenced.fail("ibv_get_async_event", 1, Errno.EINTR);
        assertThat(Objects.requireNonNull(loopback.context.events().poll()).type())
                .isEqualTo(AsyncEvent.Type.CQ_ERR);
    }
}
