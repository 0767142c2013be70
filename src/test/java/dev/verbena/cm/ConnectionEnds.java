package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.support.Await;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.WorkCompletion;
import dev.verbena.verbs.WorkStatus;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests of connections that end, for a device and for the provider for tests. */
abstract class ConnectionEnds {
    private static final Duration FOR_EVER = ChronoUnit.FOREVER.getDuration();

    private final InetSocketAddress own;
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

    @AfterEach
    void close() {
        ends.close();
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
        WorkCompletion flushed = end(waiting);
        assertThat(flushed.id()).isEqualTo(7);
        assertThat(flushed.status()).isEqualTo(WorkStatus.WORK_REQUEST_FLUSHED);
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
