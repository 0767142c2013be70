package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The devices that the connection manager keeps open, and the lists in C that see to that. */
@FencedTest
class OpenDevicesTest {
    private static final String LIST = "rdma_get_devices";
    private static final int CONNECTIONS = 10;

    @AutoClose
    private final FencedIds ids = new FencedIds();

    private final Listener listener = Listener.open(FencedIds.OWN, ids.arena);

    private Connection to(VerbsArena arena) throws InterruptedException {
        return Connection.to(listener.address(), DEADLINE, arena);
    }

    /** A program in C asks the device nothing for a connection. Here the first connection does, for all others. */
    @ParameterizedTest
    @ValueSource(strings = {LIST, "ibv_query_port"})
    void connectionsAskTheDeviceOnceForAll(String function) throws Exception {
        try (VerbsArena first = VerbsArena.ofShared()) {
            to(first);
            long calls = Fenced.calls(function);
            assertThat(calls).isPositive();
            List<VerbsArena> arenas = new ArrayList<>();
            for (int i = 0; i < CONNECTIONS; i++) {
                VerbsArena arena = VerbsArena.ofConfined();
                arenas.add(arena);
                to(arena);
            }
            arenas.forEach(VerbsArena::close);
            assertThat(Fenced.calls(function)).isEqualTo(calls);
        }
    }

    @Test
    void deviceStaysOpenUntilItsLastConnectionCloses() throws Exception {
        int before = Fenced.liveObjects();
        VerbsArena one = VerbsArena.ofShared();
        VerbsArena two = VerbsArena.ofShared();
        to(one); // makes the list
        Connection left = to(two);
        one.close();
        left.id().context().createCompletionQueue(4);
        two.close();
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }

    @Test
    void contextsOfAChannelWithoutIdsAreOpen() {
        listener.close(); // nothing else keeps the device open
        int before = Fenced.liveObjects();
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            List<Context> contexts = EventChannel.create(arena).contexts();
            assertThat(contexts).hasSize(1);
            contexts.getFirst().createCompletionQueue(4);
        }
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }

    @Test
    void closedChannelClosesItsContextsAndDomains() throws Exception {
        EventChannel channel = EventChannel.create(ids.arena);
        Context context;
        ProtectionDomain domain;
        try (ConnectionId id = channel.createId(PortSpace.TCP)) {
            id.bind(FencedIds.OWN);
            context = id.context();
            domain = id.protectionDomain();
        }
        channel.close();
        assertThat(domain.isOpen()).isFalse();
        assertThat(context.isOpen()).isFalse();
    }

    /** C may take long to open a device. Each of two connections that come first has C make a list, and one list is freed. */
    @Test
    void slowListDelaysNoOtherConnection() throws Exception {
        int before = Fenced.liveObjects();
        Fenced.stop(LIST);
        List<Future<?>> work = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            work.add(ids.start(() -> {
                try (VerbsArena arena = VerbsArena.ofConfined()) {
                    to(arena).id().context().createCompletionQueue(4, arena);
                }
                return null;
            }));
        }
        Fenced.awaitStopped(LIST, 2);
        Fenced.goOn(LIST);
        for (Future<?> each : work) {
            FencedIds.end(each);
        }
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }

    @Test
    void connectionIsMadeAfterAListOfDevicesFailed() throws Exception {
        int before = Fenced.liveObjects();
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Fenced.fail(LIST, 1, Errno.ENOMEM);
            assertThatExceptionOfType(VerbsException.class)
                    .isThrownBy(() -> to(arena))
                    .withMessageContaining(LIST);
            to(arena);
        }
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }
}
