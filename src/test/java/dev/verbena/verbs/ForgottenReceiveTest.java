package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.cm.Connection;
import dev.verbena.cm.Listener;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The trails from a send for which the peer has posted no receive, and from a receive that can't complete. */
@FencedTest
@Timeout(120)
class ForgottenReceiveTest {
    private static final Duration SHORT = Duration.ofMillis(1);

    private final Loopback loopback = Loopback.connected();

    @AfterEach
    void close() {
        loopback.close();
    }

    private static void assertTimesOut(CompletionQueue queue, String... words) {
        assertThatExceptionOfType(VerbsTimeoutException.class)
                .isThrownBy(() -> queue.await(SHORT))
                .satisfies(late -> assertThat(late.getMessage()).contains(words));
        assertThatExceptionOfType(VerbsTimeoutException.class)
                .isThrownBy(() -> queue.completions(1).await(SHORT))
                .satisfies(late -> assertThat(late.getMessage()).contains(words));
    }

    @Test
    void timeoutOfASendAsksWhetherThePeerHasPostedAReceive() {
        loopback.left.pair.postSend(1, loopback.left.buffer);
        assertTimesOut(
                loopback.left.queue,
                "For a receive, has the peer sent? For a send, has the peer posted a receive?",
                "rnrRetryCount(7), and reports no status");
    }

    @Test
    void timeoutOfAConnectionAsksWhetherThePeerHasPostedAReceive() throws Exception {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Listener listener = Listener.open(new InetSocketAddress("10.9.9.1", 0), arena);
            CompletableFuture<Connection> accepted = CompletableFuture.supplyAsync(() -> {
                try {
                    Connection peer = listener.awaitConnection(Loopback.DEADLINE);
                    peer.accept(Loopback.DEADLINE);
                    return peer;
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
            Connection client = Connection.open(listener.address(), Loopback.DEADLINE, arena);
            assertThat(accepted.get(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS)
                            .isOpen())
                    .isTrue();
            assertTimesOut(client.completionQueue(), "For a send, has the peer posted a receive?");
            assertThatExceptionOfType(VerbsTimeoutException.class)
                    .isThrownBy(() -> client.awaitCompletion(SHORT))
                    .withMessageContaining("For a send, has the peer posted a receive?");
        }
    }

    @Test
    void retriesThatAreExceededAskFirstWhetherThePeerHasPostedAReceive() {
        assertThat(WorkStatus.RETRY_EXCEEDED.hint())
                .startsWith(
                        "has the peer posted a receive for the send? Soft-RoCE ends a send without one with this status")
                .contains("GID index", "4791");
    }

    /** On soft-RoCE, a receive that is posted after a failure never completes: only the timeout can tell why. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void timeoutNamesAQueuePairThatHasFailed(boolean known) throws InterruptedException {
        QueuePair failed = loopback.right.pair;
        loopback.left.pair.postWrite(1, loopback.left.buffer.slice(0, 8), new RemoteMemory(0, 0, 8));
        assertThat(loopback.left.next().status()).isEqualTo(WorkStatus.REMOTE_ACCESS_ERROR);
        if (known) {
            assertThat(failed.query().state()).isEqualTo(QueuePairState.ERR);
        }
        assertTimesOut(
                loopback.right.queue,
                "RC queue pair " + failed.number() + " of " + loopback.context.name()
                        + " (ERR) has failed, and soft-RoCE "
                        + "never completes receives that are posted after that: close it, or reset it and connect it again");
    }
}
