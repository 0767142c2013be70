package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.OpenFileLimit;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The descriptors that connections share: their number, who closes them, and connections that do not delay each other. */
@FencedTest
class SharedDescriptorsTest {
    private static final int CONNECTIONS = 50;
    private static final int THREADS = 4;
    private static final int ROUNDS = 150;

    private FencedIds ids;
    private Listener listener;

    @BeforeEach
    void open() {
        ids = new FencedIds();
        listener = Listener.open(FencedIds.OWN, ids.arena);
    }

    @AfterEach
    void close() {
        ids.close();
    }

    private record Ends(Connection client, Connection server) {
        void close() {
            client.close();
            server.close();
        }
    }

    private Ends connected(VerbsArena arena) throws Exception {
        Connection client = Connection.to(listener.address(), DEADLINE, arena);
        client.id().beginConnect(ConnectionParameters.defaults());
        Connection server = listener.awaitConnection(DEADLINE, ConnectionResources.defaults(), arena);
        server.accept(DEADLINE);
        assertThat(client.id().awaitEvent(DEADLINE).type()).isEqualTo(CmEvent.Type.ESTABLISHED);
        return new Ends(client, server);
    }

    private static void talk(Ends ends, VerbsArena arena) throws Exception {
        MemoryRegion source = ends.client.register(arena.allocate(16), AccessFlag.LOCAL_WRITE);
        MemoryRegion sink = ends.server.register(arena.allocate(16), AccessFlag.LOCAL_WRITE);
        ends.server.queuePair().postReceive(1, sink);
        ends.client.queuePair().postSend(2, source);
        ends.client.awaitCompletion(DEADLINE).orThrow();
        ends.server.awaitCompletion(DEADLINE).orThrow();
    }

    @Test
    void connectionsShareTheirDescriptors() throws Exception {
        talk(connected(ids.arena), ids.arena); // opens what all share
        long before = OpenFileLimit.count();
        for (int i = 0; i < CONNECTIONS; i++) {
            Ends ends = connected(ids.arena);
            talk(ends, ids.arena);
        }
        // Not equal: descriptors of earlier tests may be closed meanwhile.
        assertThat(OpenFileLimit.count()).isLessThanOrEqualTo(before);
    }

    /** Two threads with arenas of their own: the first to come makes the descriptors, and leaves first. */
    @Test
    void sharedDescriptorsOutliveTheConnectionThatMadeThem() throws Exception {
        int before = Fenced.liveObjects();
        try (VerbsArena own = VerbsArena.ofConfined()) {
            Connection first = Connection.to(listener.address(), DEADLINE, own);
            Ends second = connected(ids.arena);
            first.close();
            Future<?> other = ids.start(() -> {
                talk(second, ids.arena);
                return null;
            });
            FencedIds.end(other);
            Ends third = connected(own);
            second.close();
            talk(third, own);
            third.client.close();
            Await.until("the end of the connection", () -> !third.server.isOpen());
        }
        assertThat(Fenced.liveObjects()).isGreaterThan(before); // the memory regions
    }

    @Test
    void lastConnectionClosesTheSharedDescriptors() throws Exception {
        listener.id().context();
        long files = OpenFileLimit.count();
        int before = Fenced.liveObjects();
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            List<Ends> all = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                Ends ends = connected(arena);
                talk(ends, arena);
                all.add(ends);
            }
            all.forEach(Ends::close);
        }
        assertThat(Fenced.liveObjects()).isEqualTo(before);
        ids.close();
        Await.until("no thread that waits for events", SharedDescriptorsTest::noEventThread);
        assertThat(OpenFileLimit.count()).isLessThan(files);
        open();
    }

    private static boolean noEventThread() {
        return Thread.getAllStackTraces().keySet().stream()
                .noneMatch(thread -> thread.getName().equals("verbena-events"));
    }

    @Test
    void connectionsThatComeAndGoAtOnceLeaveNothingBehind() throws Exception {
        InetSocketAddress address = listener.address();
        int before = Fenced.liveObjects();
        List<Future<?>> work = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            work.add(ids.start(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    try (VerbsArena arena = VerbsArena.ofConfined()) {
                        Connection.to(address, DEADLINE, arena);
                    }
                }
                return null;
            }));
        }
        for (Future<?> each : work) {
            FencedIds.end(each);
        }
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }

    /** One connection stands still in C. Another one still sees that its peer ends, and waits as long as it wants to. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "rdma_create_id",
                "rdma_resolve_addr",
                "rdma_resolve_route",
                "ibv_create_cq",
                "rdma_create_qp",
                "ibv_destroy_qp",
                "ibv_destroy_cq",
                "rdma_destroy_id"
            })
    void slowCallDelaysNoOtherConnection(String function) throws Exception {
        Ends ends = connected(ids.arena);
        Fenced.stop(function);
        Future<?> slow = ids.start(() -> {
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                Connection.to(listener.address(), DEADLINE, arena).close();
            }
            return null;
        });
        Fenced.awaitStopped(function, 1);
        talk(ends, ids.arena);
        ends.client.id().beginDisconnect();
        Await.until("the end of the connection", () -> !ends.server.isOpen());
        assertThatExceptionOfType(ConnectionException.class)
                .isThrownBy(() -> ends.server.awaitCompletion(DEADLINE))
                .matches(ended -> ended.event() == CmEvent.Type.DISCONNECTED);
        Fenced.goOn(function);
        FencedIds.end(slow);
    }

    @Test
    void queuePairThatCannotBeDestroyedStaysWithItsId() throws Exception {
        Ends ends = connected(ids.arena);
        Fenced.fail("ibv_destroy_qp", 1, Errno.EBUSY);
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(ends.client.queuePair()::close)
                .withMessageContaining("EBUSY");
        talk(ends, ids.arena);
        ends.client.close();
        Await.until("the end of the connection", () -> !ends.server.isOpen());
    }

    @Test
    void failureToMakeTheSharedChannelLeavesNothingBehind() throws Exception {
        listener.id().context();
        int before = Fenced.liveObjects();
        for (String function : List.of("rdma_create_event_channel", "ibv_create_comp_channel")) {
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                Fenced.fail(function, 1, Errno.ENOMEM);
                assertThatExceptionOfType(VerbsException.class)
                        .isThrownBy(() -> Connection.to(listener.address(), DEADLINE, arena))
                        .withMessageContaining(function);
                assertThat(Fenced.liveObjects()).isEqualTo(before);
            }
        }
        talk(connected(ids.arena), ids.arena);
    }

    @Test
    void tooFewOpenFilesAreNamedWithTheLimit() {
        toListener().close();
        Fenced.fail("rdma_create_event_channel", 1, Errno.EMFILE);
        tooFewOpenFiles(() -> EventChannel.create(ids.arena)); // loads classes: here they are in files of their own
        try (OpenFileLimit reached = OpenFileLimit.reached()) {
            assertThat(tooFewOpenFiles(() -> EventChannel.create(ids.arena)))
                    .hasMessageContaining("This process may have " + reached.limit() + " open files");
            tooFewOpenFiles(this::toListener);
            tooFewOpenFiles(() -> listener.id().context().createCompletionChannel());
            tooFewOpenFiles(() -> listener.id().createQueuePair(FencedIds.SIZES));
        }
        toListener().close();
    }

    private static Throwable tooFewOpenFiles(ThrowingCallable work) {
        Throwable failure = catchThrowable(work);
        assertThat(failure).isInstanceOf(VerbsException.class).hasMessageContaining("ulimit -n");
        return failure;
    }

    private Connection toListener() {
        try {
            return Connection.to(listener.address(), DEADLINE, ids.arena);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
