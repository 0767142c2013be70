package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.net.NodePair.end;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Recorded;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import jdk.jfr.consumer.RecordedEvent;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Exports, and operations on the peer's memory. */
@FencedTest
@Timeout(120)
class ExportTest {
    private static final MemoryLayout SLOT =
            MemoryLayout.structLayout(ValueLayout.JAVA_LONG.withName("key"), ValueLayout.JAVA_LONG.withName("value"));
    private static final AccessFlag[] ALL = {AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC};

    private int live;
    private NodePair nodes;
    private NodePair.Ends ends;
    private MemorySegment table;
    private LocalMemory local;

    @BeforeEach
    void open() throws Exception {
        live = Fenced.liveObjects();
        use(SMALL, SMALL);
    }

    private void use(NodeOptions ofClient, NodeOptions ofServer) throws Exception {
        if (nodes != null) {
            nodes.close();
        }
        nodes = new NodePair(ofClient, ofServer);
        ends = nodes.connect();
        table = nodes.arena.allocate(SLOT, 8);
        local = nodes.client.register(nodes.arena.allocate(256), AccessFlag.LOCAL_WRITE);
    }

    @AfterEach
    void close() {
        nodes.close();
        assertThat(Fenced.liveObjects()).isEqualTo(live);
    }

    private static void assertEnds(Channel channel, EndReason reason) {
        assertThatExceptionOfType(ChannelException.class)
                .isThrownBy(() -> channel.receive(DEADLINE))
                .satisfies(told -> assertThat(told.reason()).isEqualTo(reason));
    }

    @ParameterizedTest
    @EnumSource(NodeOptions.Progress.class)
    @NotOver("IWARP")
    void peerReadsWritesAndCountsInAnExport(NodeOptions.Progress progress) throws Exception {
        use(SMALL.progress(progress).closeTimeout(Duration.ofMillis(20)), SMALL);
        nodes.server.export("table", table, ALL);
        RemoteMemory remote = ends.client().remote("table", DEADLINE);
        assertThat(remote.length()).isEqualTo(table.byteSize());
        table.setAtIndex(ValueLayout.JAVA_LONG, 5, 77);
        RemoteMemory value = remote.element(SLOT, 2).slice(SLOT, MemoryLayout.PathElement.groupElement("value"));
        ends.client().read(local.slice(0, 8), value, DEADLINE);
        assertThat(local.segment().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(77);
        local.segment().set(ValueLayout.JAVA_LONG, 8, 78);
        ends.client().write(local.slice(8, 8), value, DEADLINE);
        assertThat(table.getAtIndex(ValueLayout.JAVA_LONG, 5)).isEqualTo(78);
        assertThat(ends.client().fetchAndAdd(value, 2, DEADLINE)).isEqualTo(78);
        assertThat(ends.client().compareAndSwap(value, 80, 5, DEADLINE)).isEqualTo(80);
        assertThat(ends.client().compareAndSwap(value, 80, 6, DEADLINE)).isEqualTo(5);
        assertThat(table.getAtIndex(ValueLayout.JAVA_LONG, 5)).isEqualTo(5);
    }

    /** Numbers that are under way at once have memory each. */
    @Test
    void numbersAreWrittenWithoutMemoryOfTheProgram() throws Exception {
        use(SMALL.operations(4).progress(NodeOptions.Progress.CALLER).closeTimeout(Duration.ofMillis(20)), SMALL);
        nodes.server.export("table", table, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
        Channel client = ends.client();
        RemoteMemory remote = client.remote("table", DEADLINE);
        List<Long> tickets = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            long ticket = client.tryWriteLong(remote.slice(8L * i, 8), Long.MIN_VALUE + i);
            assertThat(ticket).isNotZero();
            tickets.add(ticket);
        }
        assertThat(client.tryWriteLong(remote.slice(32, 8), 1)).isZero();
        for (long ticket : tickets) {
            assertThat(client.await(ticket, DEADLINE)).isZero();
        }
        client.writeLong(remote.slice(32, 16), 5, DEADLINE);
        client.read(local.slice(0, 48), remote.slice(0, 48), DEADLINE); // behind the writes
        assertThat(local.segment().asSlice(0, 48).toArray(ValueLayout.JAVA_LONG))
                .containsExactly(Long.MIN_VALUE, Long.MIN_VALUE + 1, Long.MIN_VALUE + 2, Long.MIN_VALUE + 3, 5, 0);
        assertThatExceptionOfType(IndexOutOfBoundsException.class)
                .isThrownBy(() -> client.tryWriteLong(remote.slice(0, 4), 1));
        client.writeLong(remote.slice(0, 8), 6, DEADLINE);
        assertThatIllegalArgumentException().isThrownBy(() -> client.isDone(tickets.getFirst()));
    }

    /** The peer writes data and then a number. A reader that polls the number never sees older data. */
    @Test
    @NotOver("IWARP") // iWARP may place them in another one
    void readerThatPollsSeesWritesInTheirOrder() throws Exception {
        int rounds = 2000;
        nodes.server.export("table", table, AccessFlag.REMOTE_WRITE);
        Channel client = ends.client();
        RemoteMemory remote = client.remote("table", DEADLINE);
        VarHandle number = ValueLayout.JAVA_LONG.varHandle();
        Future<Long> polling = nodes.start(() -> {
            long seen = 0;
            while (seen < rounds) {
                seen = (long) number.getAcquire(table, 120L);
                for (long at = 0; at < 120; at += 8) {
                    assertThat((long) number.getOpaque(table, at)).isGreaterThanOrEqualTo(seen);
                }
            }
            return seen;
        });
        for (long i = 1; i <= rounds; i++) {
            for (long at = 0; at < 120; at += 8) {
                local.segment().set(ValueLayout.JAVA_LONG, at, i);
            }
            long data = client.tryWrite(local.slice(0, 120), remote.slice(0, 120));
            client.writeLong(remote.slice(120, 8), i, DEADLINE);
            client.await(data, DEADLINE);
        }
        assertThat(end(polling)).isEqualTo(rounds);
    }

    /** A thread that has ended does not keep the queues that it used. */
    @Test
    @NotOver("IWARP")
    void operationsWorkInOneThreadAfterAnother() throws Exception {
        nodes.server.export("table", table, ALL);
        RemoteMemory number = ends.client().remote("table", DEADLINE).slice(0, 8);
        for (Operation each : List.<Operation>of(
                client -> client.write(local.slice(0, 8), number, DEADLINE),
                client -> client.read(local.slice(0, 8), number, DEADLINE),
                client -> client.compareAndSwap(number, 0, 1, DEADLINE),
                client -> client.fetchAndAdd(number, 1, DEADLINE),
                client -> NodePair.send(client, 5),
                client -> client.write(local.slice(0, 8), number, DEADLINE),
                client -> client.fetchAndAdd(number, 1, DEADLINE),
                client -> client.compareAndSwap(number, 0, 1, DEADLINE),
                client -> client.read(local.slice(0, 8), number, DEADLINE))) {
            FutureTask<Void> work = new FutureTask<>(() -> {
                each.on(ends.client());
                return null;
            });
            Thread thread = Thread.ofPlatform().start(work);
            work.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
            thread.join(DEADLINE);
        }
        assertThat(NodePair.receive(ends.server())).isEqualTo(5);
    }

    private interface Operation {
        void on(Channel channel) throws Exception;
    }

    @Test
    void operationsWithoutTheRightEndTheChannelOnly() throws Exception {
        nodes.server.export("table", table, AccessFlag.REMOTE_READ);
        RemoteMemory remote = ends.client().remote("table", DEADLINE);
        NodePair.failure(
                EndReason.ACCESS_DENIED, () -> ends.client().write(local.slice(0, 8), remote.slice(0, 8), DEADLINE));
        assertEnds(ends.client(), EndReason.ACCESS_DENIED);
        assertThat(table.get(ValueLayout.JAVA_LONG, 0)).isZero();
        NodePair.Ends next = nodes.connect();
        next.client()
                .read(local.slice(0, 8), next.client().remote("table", DEADLINE).slice(0, 8), DEADLINE);
    }

    @Test
    @NotOver("IWARP")
    void closedExportCanNotBeReadLater() throws Exception {
        Fenced.assumeWindows();
        Export export = nodes.server.export("table", table, AccessFlag.REMOTE_READ);
        assertThat(export.hasKeysOfChannels()).isTrue();
        Channel client = ends.client();
        RemoteMemory remote = client.remote("table", DEADLINE);
        client.read(local.slice(0, 8), remote.slice(0, 8), DEADLINE);
        export.close();
        export.close();
        assertThat(export.isOpen()).isFalse();
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> client.remote("table", DEADLINE))
                .withMessageContaining("No export has the name 'table'");
        NodePair.failure(EndReason.ACCESS_DENIED, () -> client.read(local.slice(0, 8), remote.slice(0, 8), DEADLINE));
        nodes.server.export("table", table, AccessFlag.REMOTE_READ); // the name is free again
        NodePair.Ends next = nodes.connect();
        next.client()
                .read(local.slice(0, 8), next.client().remote("table", DEADLINE).slice(0, 8), DEADLINE);
    }

    /** The key that a channel got is that of its queue pair, and ends with it. */
    @Test
    @NotOver("IWARP")
    void keyOfOneChannelIsOfNoUseToAnother() throws Exception {
        Fenced.assumeWindows();
        nodes.server.export("table", table, AccessFlag.REMOTE_READ);
        RemoteMemory first = ends.client().remote("table", DEADLINE);
        assertThat(ends.client().remote("table", DEADLINE)).as("asked twice").isEqualTo(first);
        NodePair.Ends next = nodes.connect();
        RemoteMemory second = next.client().remote("table", DEADLINE);
        assertThat(second.key()).isNotEqualTo(first.key());
        ends.client().close();
        Await.until("the server knows", () -> !ends.server().isOpen());
        ends.server().close();
        NodePair.failure(
                EndReason.ACCESS_DENIED, () -> next.client().read(local.slice(0, 8), first.slice(0, 8), DEADLINE));
    }

    @Test
    void peerGetsAsManyExportsAsItMay() throws Exception {
        use(SMALL, SMALL.maxExports(2));
        List<Export> exports = new ArrayList<>();
        for (String name : List.of("a", "b", "c")) {
            exports.add(nodes.server.export(name, table, AccessFlag.REMOTE_READ));
        }
        Channel client = ends.client();
        for (int i = 0; i < 100; i++) {
            client.remote("a", DEADLINE);
            client.remote("b", DEADLINE);
            assertThatExceptionOfType(CallException.class)
                    .isThrownBy(() -> client.remote("c", DEADLINE))
                    .withMessageContaining("NodeOptions.maxExports()");
        }
        exports.getFirst().close();
        assertThat(client.remote("c", DEADLINE).length()).isEqualTo(table.byteSize());
    }

    @Test
    @NotOver("TCP")
    void exportsWithBadArgumentsAreRefused() {
        Node server = nodes.server;
        assertThatIllegalArgumentException().isThrownBy(() -> server.export("", table, AccessFlag.REMOTE_READ));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> server.export("ü".repeat(33), table, AccessFlag.REMOTE_READ))
                .withMessageContaining("got 66");
        assertThatIllegalArgumentException().isThrownBy(() -> server.export("t", table));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> server.export("t", table, EnumSet.noneOf(AccessFlag.class), nodes.arena));
        assertThatIllegalArgumentException().isThrownBy(() -> server.export("t", table, AccessFlag.LOCAL_WRITE));
        try (VerbsArena confined = VerbsArena.ofConfined()) {
            assertThatIllegalArgumentException()
                    .isThrownBy(
                            () -> server.export("t", confined.allocate(8), List.of(AccessFlag.REMOTE_READ), confined))
                    .withMessageContaining("ofShared()");
        }
        server.export("t", table, AccessFlag.REMOTE_READ);
        assertThatIllegalStateException()
                .isThrownBy(() -> server.export("t", table, AccessFlag.REMOTE_READ))
                .withMessageContaining("already");
        Fenced.fail("ibv_reg_mr_iova2", 1, 12);
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(() -> server.export("u", table, AccessFlag.REMOTE_READ));
        server.export("u", table, AccessFlag.REMOTE_READ);
    }

    @Test
    @NotOver("TCP|AUTHENTICATED_WITHOUT_WINDOWS|IWARP")
    void windowThatCanNotBeMadeIsAFaultOnly() throws Exception {
        Fenced.assumeWindows();
        nodes.server.export("table", table, AccessFlag.REMOTE_READ);
        Fenced.fail("ibv_alloc_mw", 1, 12);
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> ends.client().remote("table", DEADLINE))
                .withMessageContaining("could not be opened");
        ends.client().remote("table", DEADLINE);
    }

    @Test
    void exportOfAnArenaThatClosesFirstIsGone() throws Exception {
        RemoteMemory known;
        try (VerbsArena shorter = VerbsArena.ofShared()) {
            nodes.server.export("short", shorter.allocate(64), List.of(AccessFlag.REMOTE_READ), shorter);
            known = ends.client().remote("short", DEADLINE);
        }
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> ends.client().remote("short", DEADLINE));
        NodePair.send(ends.client(), 4);
        assertThat(NodePair.receive(ends.server())).isEqualTo(4);
        NodePair.failure(
                EndReason.ACCESS_DENIED, () -> ends.client().read(local.slice(0, 8), known.slice(0, 8), DEADLINE));
    }

    @Test
    @NotOver("IWARP")
    void ticketsOfEndedOperationsAreRefused() throws Exception {
        nodes.server.export("table", table, ALL);
        Channel client = ends.client();
        RemoteMemory at = client.remote("table", DEADLINE).slice(0, 8);
        long ticket = client.tryFetchAndAdd(at, 3);
        Await.until("it is done", () -> client.isDone(ticket));
        assertThat(client.await(ticket, DEADLINE)).isZero();
        assertThatIllegalArgumentException().isThrownBy(() -> client.isDone(ticket));
        assertThatIllegalArgumentException().isThrownBy(() -> client.await(ticket, DEADLINE));
        long next = client.tryFetchAndAdd(at, 3);
        assertThat((int) next).as("the same number").isEqualTo((int) ticket);
        assertThatIllegalArgumentException().isThrownBy(() -> client.isDone(ticket));
        assertThat(client.await(next, DEADLINE)).isEqualTo(3);
        for (long wrong : new long[] {0, -1, 1, Long.MAX_VALUE, Long.MIN_VALUE, 1L << 32 | 0x4000 | 4000}) {
            assertThatIllegalArgumentException().isThrownBy(() -> client.isDone(wrong));
        }
    }

    @Test
    @NotOver("IWARP")
    void operationsBeyondTheLimitWait() throws Exception {
        NodeOptions one = SMALL.operations(1).progress(NodeOptions.Progress.CALLER);
        use(one.closeTimeout(Duration.ofMillis(20)), SMALL);
        nodes.server.export("table", table, ALL);
        Channel client = ends.client();
        RemoteMemory at = client.remote("table", DEADLINE).slice(0, 8);
        long first = client.tryFetchAndAdd(at, 1);
        assertThat(first).isNotZero();
        assertThat(client.tryFetchAndAdd(at, 1)).as("not taken yet").isZero();
        assertThat(client.await(first, DEADLINE)).isZero();
        assertThat(client.fetchAndAdd(at, 1, DEADLINE)).isEqualTo(1);
    }

    @Test
    @NotOver("IWARP")
    void manyThreadsCountAtOnce() throws Exception {
        nodes.server.export("table", table, ALL);
        Channel client = ends.client();
        RemoteMemory at = client.remote("table", DEADLINE).slice(0, 8);
        List<Future<?>> work = new ArrayList<>();
        for (int t = 0; t < 8; t++) {
            work.add(nodes.run(() -> {
                for (int i = 0; i < 50; i++) {
                    client.fetchAndAdd(at, 1, DEADLINE);
                }
            }));
        }
        for (Future<?> one : work) {
            end(one);
        }
        assertThat(table.get(ValueLayout.JAVA_LONG, 0)).isEqualTo(400);
    }

    /** A thread that closes that arena may be closing the node too, and would wait for the channel. */
    @Test
    @NotOver("TCP|AUTHENTICATED_WITHOUT_WINDOWS|IWARP") // without windows, it ends with that arena
    void channelEndsWhileTheArenaOfAnExportIsBusy() throws Exception {
        Fenced.assumeWindows();
        VerbsArena busy = VerbsArena.ofShared();
        try {
            Context slow = TestDevice.get().open(busy);
            Export export = nodes.server.export("table", busy.allocate(64), List.of(AccessFlag.REMOTE_READ), busy);
            assertThat(export.hasKeysOfChannels()).isTrue();
            ends.client().remote("table", DEADLINE);
            Fenced.stop("ibv_close_device");
            Future<?> closing = nodes.run(() -> slow.close());
            Fenced.awaitStopped("ibv_close_device", 1);
            end(nodes.run(() -> {
                ends.client().close();
                ends.server().close();
            }));
            assertThat(closing.isDone()).isFalse();
            Fenced.calm();
            end(closing);
            export.close();
        } finally {
            Fenced.calm();
            busy.close();
        }
    }

    @Test
    @NotOver("TCP|AUTHENTICATED_WITHOUT_WINDOWS|IWARP") // C frees a window
    void closeThatCRefusesCanBeRepeated() throws Exception {
        Fenced.assumeWindows();
        Export export = nodes.server.export("table", table, AccessFlag.REMOTE_READ);
        ends.client().remote("table", DEADLINE);
        // The node frees a key later that is not bound yet.
        Await.until("its key is bound", () -> ends.server().toString().contains(" 0 under way"));
        Fenced.fail("ibv_dealloc_mw", 1, 16);
        try {
            assertThatExceptionOfType(VerbsException.class).isThrownBy(export::close);
            export.close();
        } finally {
            Fenced.calm();
        }
        nodes.server.export("table", table, AccessFlag.REMOTE_READ);
    }

    /** The thread that closes an export, and no other one, hears that C refuses to free a key which was not bound before. */
    @Test
    @NotOver("TCP|AUTHENTICATED_WITHOUT_WINDOWS|IWARP")
    void closeWithoutItsKeyBoundThatCRefusesCanBeRepeated() throws Exception {
        Fenced.assumeWindows();
        Export export = nodes.server.export("table", table, AccessFlag.REMOTE_READ);
        NodePair.hold(ends.server());
        Future<RemoteMemory> found = nodes.start(() -> ends.client().remote("table", DEADLINE));
        Await.until("the key is being bound", () -> ends.server().toString().contains(" 2 under way"));
        Fenced.fail("ibv_dealloc_mw", 1, 16);
        FutureTask<Void> closing = new FutureTask<>(export::close, null);
        Thread thread = Thread.ofPlatform().daemon().start(closing);
        Await.until("it waits for that", () -> Await.isAsleep(thread));
        assertThat(Fenced.calls("ibv_dealloc_mw")).isZero();
        NodePair.letGo(ends.server());
        assertThat(NodePair.failure(closing)).isInstanceOf(VerbsException.class);
        export.close();
        end(found);
        assertThat(ends.server().isOpen()).isTrue();
    }

    /** The export or its registration has ended between the question and the answer. */
    @Test
    void exportThatIsBeingClosedIsNotGranted() {
        Export export = nodes.server.export("table", table, AccessFlag.REMOTE_READ);
        export.end();
        assertThatIllegalStateException()
                .isThrownBy(() -> ends.server().session().grant(export))
                .withMessageContaining("is closing");
        export.close();
        Export another = nodes.server.export("table", table, AccessFlag.REMOTE_READ);
        another.region().close();
        assertThatIllegalStateException()
                .isThrownBy(() -> ends.server().session().grant(another))
                .withMessageContaining("is closing");
    }

    @Test
    void peersThatAreNotAdmittedFindNothing() throws Exception {
        byte[] secret = "open sesame".getBytes(StandardCharsets.UTF_8);
        use(SMALL.token(secret), SMALL.admit((address, token) -> {
            if (token.length == 0) {
                throw new IllegalArgumentException("no token");
            }
            return address.getAddress().equals(NodePair.own().getAddress()) && java.util.Arrays.equals(token, secret);
        }));
        NodePair.send(ends.client(), 1);
        assertThat(NodePair.receive(ends.server())).isEqualTo(1);
        for (byte[] wrong : List.of(new byte[0], new byte[40], new byte[] {1})) {
            Node other = NodePair.open(SMALL.token(wrong), nodes.arena);
            NodePair.failure(EndReason.REFUSED, () -> other.connect(nodes.server.address(), DEADLINE));
        }
        assertThat(nodes.server.pollAccept()).isNull();
        assertThatIllegalArgumentException().isThrownBy(() -> SMALL.token(new byte[41]));
    }

    @Test
    void testOfPeersThatThrowsIsKeptForTheNodeAndRecorded() throws Exception {
        IllegalStateException bug = new IllegalStateException("the list of peers could not be read");
        use(SMALL, SMALL.admit((address, token) -> {
            if (token.length != 0) {
                throw bug;
            }
            return true;
        }));
        assertThat(nodes.server.admitFailure()).isEmpty();
        Node other = NodePair.open(SMALL.token(new byte[1]), nodes.arena);
        List<RecordedEvent> events = Recorded.during(
                () -> assertThat(NodePair.failure(
                                EndReason.REFUSED, () -> other.connect(nodes.server.address(), DEADLINE)))
                        .hasMessageNotContaining("list of peers"),
                "AdmitFailure");
        assertThat(nodes.server.admitFailure()).containsSame(bug);
        assertThat(events).singleElement().satisfies(event -> {
            assertThat(event.getString("peer"))
                    .startsWith(NodePair.own().getAddress().getHostAddress() + ":");
            assertThat(event.getString("thrown")).isEqualTo(bug.toString());
        });
    }

    @Test
    @NotOver("TCP")
    void exportDescribesItselfAndClosesItsRegistration() {
        int before = Fenced.liveObjects();
        Export export = nodes.server.export("table", table, AccessFlag.REMOTE_READ);
        assertThat(export.isOpen()).isTrue();
        assertThat(export.name()).isEqualTo("table");
        assertThat(export.access()).containsExactly(AccessFlag.REMOTE_READ);
        assertThat(export.toString()).isEqualTo("export 'table' [REMOTE_READ]");
        assertThat(Fenced.liveObjects()).isEqualTo(before + 1);
        export.close();
        assertThat(Fenced.liveObjects()).isEqualTo(before);
        assertThat(export.isOpen()).isFalse();
        assertThat(export.toString()).isEqualTo("export 'table' [REMOTE_READ] (closed)");
    }

    @Test
    void namesHaveUpTo64Bytes() throws Exception {
        String longest = "n".repeat(64);
        nodes.server.export(longest, table, AccessFlag.REMOTE_READ);
        assertThat(ends.client().remote(longest, DEADLINE).length()).isEqualTo(table.byteSize());
        assertThatIllegalArgumentException()
                .isThrownBy(() -> nodes.server.export(longest + "n", table, AccessFlag.REMOTE_READ))
                .withMessageContaining("got 65");
        assertThatIllegalArgumentException().isThrownBy(() -> ends.client().remote(longest + "n", DEADLINE));
    }

    @Test
    @NotOver("IWARP")
    void peersCountInAnExportForAtomicsOnly() throws Exception {
        nodes.server.export("table", table, AccessFlag.REMOTE_ATOMIC);
        RemoteMemory at = ends.client().remote("table", DEADLINE).slice(8, 8);
        assertThat(ends.client().fetchAndAdd(at, 4, DEADLINE)).isZero();
        assertThat(table.getAtIndex(ValueLayout.JAVA_LONG, 1)).isEqualTo(4);
    }

    @Test
    void windowsOfAnExportCountAsUnderWayUntilTheyAreBound() throws Exception {
        nodes.server.export("table", table, AccessFlag.REMOTE_READ);
        NodePair.send(ends.server(), 1); // by another thread than the one that binds
        assertThat(NodePair.receive(ends.client())).isEqualTo(1);
        ends.client().remote("table", DEADLINE);
        Await.until("all is quiet", () -> ends.server().toString().contains(" 0 under way"));
    }

    /** Both threads find the name free, and register the memory. */
    @Test
    @NotOver("TCP")
    void exportsOfOneNameAtOnceLeaveOne() {
        int before = Fenced.liveObjects();
        Fenced.stop("ibv_reg_mr_iova2");
        List<Future<Export>> made = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            made.add(nodes.start(() -> nodes.server.export("table", table, AccessFlag.REMOTE_READ)));
        }
        Fenced.awaitStopped("ibv_reg_mr_iova2", 2);
        Fenced.calm();
        Await.until("both are done", () -> made.stream().allMatch(Future::isDone));
        assertThat(made)
                .filteredOn(one -> one.state() == Future.State.FAILED)
                .singleElement()
                .satisfies(one -> assertThat(one.exceptionNow())
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("already"));
        assertThat(Fenced.liveObjects()).isEqualTo(before + 1);
    }

    /** Each question takes a credit, which the peer gets back without asking for it. */
    @Test
    void questionsForExportsGiveTheirCreditsBack() throws Exception {
        use(SMALL, SMALL.window(1));
        nodes.server.export("table", table, AccessFlag.REMOTE_READ);
        for (int i = 0; i < 4; i++) {
            assertThat(ends.client().remote("table", DEADLINE).length()).isEqualTo(table.byteSize());
        }
    }

    @Test
    void closedChannelsFreeTheirWindows() throws Exception {
        nodes.server.export("table", table, AccessFlag.REMOTE_READ);
        int before = Fenced.liveObjects();
        NodePair.Ends next = nodes.connect();
        next.client().remote("table", DEADLINE);
        next.client().close();
        next.server().close();
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }

    @Test
    void threadsCloseExportsAfterOneAnother() throws Exception {
        for (String name : List.of("a", "b")) {
            Export export = nodes.server.export(name, table, AccessFlag.REMOTE_READ);
            end(nodes.run(() -> export.close()));
        }
    }
}
