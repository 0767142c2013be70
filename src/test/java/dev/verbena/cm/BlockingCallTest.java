package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.Await;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** Calls that block, and threads that wait for their results. */
class BlockingCallTest {
    private final CountDownLatch end = new CountDownLatch(1);
    private final CompletableFuture<String> undone = new CompletableFuture<>();

    private String work() {
        try {
            assertThat(end.await(DEADLINE.toSeconds(), SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        return "result";
    }

    private BlockingCall<String> call() {
        return new BlockingCall<>("c_function", "of a test", this::work, undone::complete);
    }

    private String whatWasUndone() throws Exception {
        end.countDown();
        return undone.get(DEADLINE.toSeconds(), SECONDS);
    }

    @Test
    void awaitReturnsTheResult() throws Exception {
        BlockingCall<String> call = call();
        end.countDown();
        assertThat(call.await(DEADLINE)).isEqualTo("result");
    }

    @Test
    void awaitEndsAtItsTimeoutAndUndoesALaterResult() throws Exception {
        BlockingCall<String> call = call();
        assertThatThrownBy(() -> call.await(Duration.ZERO))
                .isInstanceOf(VerbsTimeoutException.class)
                .hasMessageContaining("c_function");
        assertThat(whatWasUndone()).isEqualTo("result");
    }

    @Test
    void awaitEndsWhenItsThreadIsInterrupted() throws Exception {
        BlockingCall<String> call = call();
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> call.await(DEADLINE)).isInstanceOf(InterruptedException.class);
        assertThat(whatWasUndone()).isEqualTo("result");
    }

    /** Stands for a wait that memory is missing for. */
    @Test
    void awaitThatFailsUndoesTheResult() throws Exception {
        BlockingCall<String> call = call();
        assertThatThrownBy(() -> call.await(null)).isInstanceOf(NullPointerException.class);
        assertThat(whatWasUndone()).isEqualTo("result");
    }

    @Test
    void resultThatNoThreadWaitsForIsUndone() throws Exception {
        BlockingCall<String> call = call();
        call.giveUp();
        assertThat(whatWasUndone()).isEqualTo("result");
    }

    @Test
    void resultThatCameBeforeIsUndoneToo() throws Exception {
        BlockingCall<String> call = call();
        end.countDown();
        Await.until(
                "the end of the call",
                () -> Thread.getAllStackTraces().keySet().stream()
                        .noneMatch(thread -> thread.getName().equals("verbena-c_function")));
        assertThat(undone).isNotDone();
        call.giveUp();
        assertThat(undone).isCompletedWithValue("result");
    }

    @Test
    void endMakesTheWaitThrow() throws Exception {
        BlockingCall<String> call = call();
        call.end(new IllegalStateException("closed"));
        assertThatThrownBy(() -> call.await(DEADLINE)).hasMessage("closed");
        assertThat(whatWasUndone()).isEqualTo("result");
    }
}
