package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.VerbsArena;
import dev.verbena.support.Await;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.SharedReceiveQueue;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The future of a connection's end tells a server that waits for no completion of that connection. */
@FencedTest
@Timeout(120)
class EndFutureTest {
    @AutoClose
    private final AcceptingListener ends = new AcceptingListener(FencedIds.OWN);

    private static <T> T end(CompletableFuture<T> future) throws Exception {
        return future.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
    }

    /** All receives are in the shared queue, so that no request of the connection can be flushed. */
    @Test
    void serverWithOneReceiveQueueLearnsThatAPeerHasLeft() throws Exception {
        CompletionQueue completions = ends.listener.id().context().createCompletionQueue(16);
        SharedReceiveQueue receives =
                ends.listener.id().protectionDomain().createSharedReceiveQueue(SharedReceiveQueue.basic());
        ConnectionResources shared =
                ConnectionResources.defaults().completionQueue(completions).sharedReceiveQueue(receives);
        AcceptingListener.Ends stays = ends.connected(shared);
        AcceptingListener.Ends leaves = ends.connected(shared);
        CompletableFuture<ConnectionException> ofStaying = stays.server().ended();
        CompletableFuture<ConnectionException> ofLeaving = leaves.server().ended();
        assertThatIllegalStateException()
                .isThrownBy(() -> leaves.server().awaitCompletion(Duration.ZERO))
                .withMessageContaining("Connection.ended()");
        assertThat(ofLeaving).isNotDone();
        leaves.client().close();
        ConnectionException told = end(ofLeaving);
        assertThat(told.event()).isEqualTo(CmEvent.Type.DISCONNECTED);
        assertThat(told.peer()).isEqualTo(leaves.server().peer());
        assertThat(leaves.server().isOpen()).isFalse();
        assertThat(ofStaying).isNotDone();
        assertThat(completions.poll()).isNull();
    }

    @Test
    void futureOfAnEndThatHasBeenIsDone() throws Exception {
        AcceptingListener.Ends both = ends.connected();
        both.client().close();
        Await.until("the end", () -> !both.server().isOpen());
        assertThat(end(both.server().ended()).event()).isEqualTo(CmEvent.Type.DISCONNECTED);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void futureIsCancelledWhenThisSideClosesFirst(boolean byArena) throws Exception {
        VerbsArena own = VerbsArena.ofShared();
        Future<Connection> accepted = ends.start(() -> ends.listener.accept(DEADLINE));
        Connection client = Connection.open(ends.listener.address(), DEADLINE, own);
        AcceptingListener.end(accepted);
        CompletableFuture<ConnectionException> early = client.ended();
        if (byArena) {
            own.close();
        } else {
            client.close();
        }
        for (CompletableFuture<ConnectionException> each : List.of(early, client.ended())) {
            Await.until("the future is done", each::isDone);
            assertThat(each.isCancelled() || end(each).event() == CmEvent.Type.DISCONNECTED)
                    .isTrue();
        }
        if (!byArena) {
            own.close();
        }
    }

    @Test
    void futureOfOneCallerIsNotThatOfAnother() throws Exception {
        AcceptingListener.Ends both = ends.connected();
        CompletableFuture<ConnectionException> one = both.server().ended();
        CompletableFuture<ConnectionException> other = both.server().ended();
        assertThat(one.cancel(false)).isTrue();
        assertThat(other).isNotDone();
        both.client().close();
        assertThat(end(other).event()).isEqualTo(CmEvent.Type.DISCONNECTED);
    }

    /** Code that depends on the future may close the connection, and so does not run where events are taken. */
    @Test
    void codeThatDependsOnTheFutureMayCloseTheConnection() throws Exception {
        AcceptingListener.Ends both = ends.connected();
        ConcurrentLinkedQueue<String> threads = new ConcurrentLinkedQueue<>();
        CompletableFuture<Void> closed = both.server().ended().thenAccept(end -> {
            threads.add(Thread.currentThread().getName());
            both.server().close();
        });
        both.client().close();
        end(closed);
        assertThat(both.server().id().isOpen()).isFalse();
        assertThat(threads).singleElement().asString().doesNotContain("verbena");
    }
}
