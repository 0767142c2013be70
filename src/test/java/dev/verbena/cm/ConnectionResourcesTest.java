package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.support.CmAddress;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.WorkCompletion;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Tests objects that connections share. */
@FencedTest
class ConnectionResourcesTest {
    private static final int CLIENTS = 2;

    @AutoClose
    private final AcceptingListener ends = new AcceptingListener(CmAddress.four(0));

    private final VerbsArena arena = ends.arena;
    private final Listener listener = ends.listener;
    private final List<Connection> clients = new ArrayList<>();
    private final List<Connection> servers = new ArrayList<>();

    private void connect(ConnectionResources options) throws Exception {
        for (int i = 0; i < CLIENTS; i++) {
            AcceptingListener.Ends both = ends.connected(options);
            clients.add(both.client());
            servers.add(both.server());
        }
    }

    @Test
    void connectionsShareQueuesOfTheirOptions() throws Exception {
        ProtectionDomain domain = listener.id().protectionDomain();
        CompletionQueue completions = listener.id().context().createCompletionQueue(16);
        SharedReceiveQueue receives =
                domain.createSharedReceiveQueue(SharedReceiveQueue.basic().depth(8));
        MemoryRegion sink = domain.register(arena.allocate(64), LOCAL_WRITE);
        connect(ConnectionResources.defaults().completionQueue(completions).sharedReceiveQueue(receives));
        Set<Integer> received = new HashSet<>();
        for (Connection client : clients) {
            receives.postReceive(1, sink);
            client.queuePair().postSend(2, client.register(arena.allocate(64)));
            client.awaitCompletion(DEADLINE).orThrow();
            WorkCompletion message = completions.await(DEADLINE).orThrow();
            received.add(message.queuePairNumber());
        }
        assertThat(received)
                .containsExactlyInAnyOrderElementsOf(servers.stream()
                        .map(server -> server.queuePair().number())
                        .toList());
        assertThatThrownBy(() -> servers.getFirst().awaitCompletion(DEADLINE))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("wait there");
        servers.forEach(Connection::close);
        assertThat(completions.isOpen()).isTrue();
        assertThat(receives.isOpen()).isTrue();
    }

    @Test
    void connectionsOfOneClientShareAGivenDomain() throws Exception {
        connect(ConnectionResources.defaults());
        Connection first = clients.getFirst();
        MemoryRegion source = first.register(arena.allocateFrom("shared"));
        Future<Connection> accepted = ends.start(() -> listener.accept(DEADLINE));
        Connection second = Connection.open(
                listener.address(), DEADLINE, ConnectionResources.defaults().domain(first.domain()), arena);
        Connection server = AcceptingListener.end(accepted);
        MemoryRegion sink = server.register(arena.allocate(64), LOCAL_WRITE);
        server.queuePair().postReceive(1, sink);
        second.queuePair().postSend(2, source);
        server.awaitCompletion(DEADLINE).orThrow();
        assertThat(sink.segment().getString(0)).isEqualTo("shared");
        first.close();
        assertThat(second.domain().isOpen()).isTrue();
    }
}
