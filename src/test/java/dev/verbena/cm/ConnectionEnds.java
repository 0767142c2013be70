package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.PostException;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.SendSlots;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkStatus;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests of connections that end, for a device and for the provider for tests. */
abstract class ConnectionEnds {
    static final Duration FOR_EVER = ChronoUnit.FOREVER.getDuration();

    private final InetSocketAddress own;

    @AutoClose
    AcceptingListener ends;

    Listener listener;

    ConnectionEnds(InetSocketAddress own) {
        this.own = own;
    }

    @BeforeEach
    void open() {
        ends = new AcceptingListener(own);
        listener = ends.listener;
        listener.id().context(); // made once
    }

    AcceptingListener.Ends connected() throws Exception {
        return ends.connected();
    }

    MemoryRegion buffer(Connection of) {
        return ends.buffer(of);
    }

    static <T> T end(Future<T> work) throws Exception {
        return AcceptingListener.end(work);
    }

    /** Starts a thread that waits for a completion, and is asleep when this returns. */
    Future<WorkCompletion> waiting(Connection connection) {
        return ends.asleep(() -> connection.awaitCompletion(FOR_EVER));
    }

    /** Nothing is posted, so that no completion can end the wait. */
    @Test
    void awaitCompletionEndsWithoutRequests() throws Exception {
        AcceptingListener.Ends both = connected();
        Future<WorkCompletion> waiting = waiting(both.server());
        both.client().close();
        assertThatThrownBy(() -> end(waiting)).hasCauseInstanceOf(ConnectionException.class);
        assertThatThrownBy(() -> both.server().awaitCompletion(DEADLINE)).isInstanceOf(ConnectionException.class);
        assertThat(both.client().isOpen()).isFalse();
        assertThatThrownBy(() -> both.client().awaitCompletion(DEADLINE)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void queueWaitsEndWhenThePeerDisconnects() throws Exception {
        AcceptingListener.Ends both = connected();
        both.server().queuePair().postReceive(7, buffer(both.server()));
        Future<WorkCompletion> waiting =
                ends.asleep(() -> both.server().completionQueue().await(FOR_EVER));
        both.client().close();
        WorkCompletion flushed;
        try {
            flushed = end(waiting);
        } catch (ExecutionException beforeTheFlush) {
            assertThat(beforeTheFlush).hasCauseInstanceOf(ConnectionException.class);
            flushed = Await.completion(both.server().completionQueue());
        }
        assertThat(flushed.id()).isEqualTo(7);
        assertThat(flushed.status()).isEqualTo(WorkStatus.WORK_REQUEST_FLUSHED);
        assertThatThrownBy(() -> both.server().completionQueue().await(FOR_EVER))
                .isInstanceOf(ConnectionException.class);
    }

    @Test
    void drainTakesTheRequestsThatTheEndHasFlushed() throws Exception {
        AcceptingListener.Ends both = connected();
        Connection server = both.server();
        server.queuePair().postReceive(1, buffer(server));
        both.client().close();
        Await.until("the end of the connection", () -> !server.isOpen());
        List<WorkCompletion> taken = new ArrayList<>();
        server.queuePair().drain(taken::add, DEADLINE);
        assertThat(taken).singleElement().satisfies(flushed -> {
            assertThat(flushed.id()).isEqualTo(1);
            assertThat(flushed).asString().contains("RDMA_CM_EVENT_DISCONNECTED");
        });
    }

    /** Soft-RoCE accepts any number of sends, whose completions do not fit into the queue. */
    @Test
    void sendsBeyondTheDepthAreRefusedAndNoCompletionIsLost() throws Exception {
        Fenced.assumeSoftware("the provider for tests takes any number of sends, which drivers of adapters refuse");
        AcceptingListener.Ends both = connected();
        Connection client = both.client();
        MemoryRegion from = buffer(client);
        RemoteMemory to = both.server()
                .register(ends.arena.allocate(64), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE)
                .remote();
        int posted = 0;
        try {
            while (posted < 400) {
                client.queuePair().postWrite(posted, from, to);
                posted++;
            }
        } catch (PostException full) {
            assertThat(full).hasMessageContaining("The send queue is full: poll completions");
        }
        assertThat(posted).isEqualTo(client.queuePair().capabilities().sendDepth());
        assertThat(SendSlots.of(client.queuePair()).free()).isZero();
        for (int i = 0; i < posted; i++) {
            assertThat(client.awaitCompletion(DEADLINE).orThrow().id()).isEqualTo(i);
        }
        assertThat(SendSlots.of(client.queuePair()).free()).isEqualTo(posted);
    }

    @Test
    void awaitCompletionReturnsMessagesBeforeTheEnd() throws Exception {
        AcceptingListener.Ends both = connected();
        Connection server = both.server();
        MemoryRegion sink = buffer(server);
        server.queuePair().postReceive(1, sink.slice(0, 32));
        server.queuePair().postReceive(2, sink.slice(32, 32));
        both.client().queuePair().postSend(3, buffer(both.client()).slice(0, 32));
        both.client().awaitCompletion(DEADLINE).orThrow();
        both.client().close();
        Await.until("the end of the connection", () -> !server.isOpen());
        assertThat(server.awaitCompletion(DEADLINE).orThrow().id()).isEqualTo(1);
        assertThatThrownBy(() -> server.awaitCompletion(DEADLINE)).isInstanceOf(ConnectionException.class);
    }
}
