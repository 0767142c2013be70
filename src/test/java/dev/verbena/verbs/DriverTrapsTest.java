package dev.verbena.verbs;

import static dev.verbena.support.Loopback.DEADLINE;
import static dev.verbena.verbs.Refusals.assertThrows;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.cm.Connection;
import dev.verbena.cm.ConnectionException;
import dev.verbena.cm.ConnectionId;
import dev.verbena.cm.ConnectionResources;
import dev.verbena.cm.EventChannel;
import dev.verbena.cm.Listener;
import dev.verbena.cm.PortSpace;
import dev.verbena.internal.Errno;
import dev.verbena.internal.raw.ibv_gid_entry;
import dev.verbena.internal.raw.ibv_port_attr;
import dev.verbena.internal.raw.ibv_qp_cap;
import dev.verbena.internal.raw.ibv_qp_init_attr;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GidEntry;
import dev.verbena.verbs.address.GlobalRoute;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests what drivers of adapters do that verbs do not lead to expect, over rows of src/test/c/fenced_drivers.c. */
@FencedTest
class DriverTrapsTest {
    private static final InetSocketAddress OWN = new InetSocketAddress("10.9.9.1", 0);

    @AfterEach
    void giveBackTheDriver() {
        Fenced.driverAsStarted();
    }

    // Inline data

    @Test
    void manaIsAskedForNoInlineDataAndGrantsNone() {
        Fenced.driver("mana");
        try (Loopback loopback = Loopback.connected()) { // with inlineSize(64)
            assertThat(ibv_qp_cap.max_inline_data(ibv_qp_init_attr.cap(Fenced.given("ibv_create_qp"))))
                    .as("max_inline_data")
                    .isZero();
            assertThat(loopback.left.pair.capabilities().inlineSize()).isZero();
            long posts = Fenced.calls("ibv_post_send");
            assertThrows(
                            IndexOutOfBoundsException.class,
                            "at most 0",
                            () -> loopback.left.pair.postSendInline(
                                    1, Arena.ofAuto().allocate(8)))
                    .hasMessageContaining("mana ignores the flag for inline data");
            assertThat(Fenced.calls("ibv_post_send")).as("posts that C saw").isEqualTo(posts);
        }
    }

    @ParameterizedTest
    @CsvSource({"irdma, 101", "erdma, 96", "siw, 80", "bnxt_re, 96"})
    void tooMuchInlineDataIsRefusedWithTheLimit(String driver, int most) {
        Fenced.driver(driver);
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = TestDevice.get().open(arena);
            CompletionQueue queue = context.createCompletionQueue(8);
            ProtectionDomain domain = context.allocateProtectionDomain();
            assertThat(domain.createQueuePair(QueuePair.rc(queue).inlineSize(most))
                            .capabilities()
                            .inlineSize())
                    .isGreaterThanOrEqualTo(most);
            assertThrows(
                    VerbsException.class,
                    driver + " has room for " + most + " bytes of inline data",
                    () -> domain.createQueuePair(QueuePair.rc(queue).inlineSize(256)));
        }
    }

    // Answers of posts

    /** A connection of the connection manager within this process. */
    private static final class Connected implements AutoCloseable {
        final VerbsArena arena = VerbsArena.ofShared();
        final Connection client;
        final Connection server;

        Connected() throws Exception {
            Listener listener = Listener.open(OWN, arena);
            FutureTask<Connection> accepted =
                    new FutureTask<>(() -> listener.accept(DEADLINE, ConnectionResources.defaults(), arena));
            Thread.ofPlatform().daemon().start(accepted);
            client = Connection.open(listener.address(), DEADLINE, arena);
            server = accepted.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
        }

        @Override
        public void close() {
            arena.close();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"erdma", "siw", "mlx5"})
    void errorNumbersOfPostsArePositive(String driver) throws Exception {
        Fenced.driver(driver);
        try (Connected connected = new Connected()) {
            QueuePair pair = connected.client.queuePair();
            assertThatExceptionOfType(PostException.class)
                    .isThrownBy(() -> {
                        for (int i = 0; i <= pair.capabilities().receiveDepth(); i++) {
                            pair.receiveBatch(1).receive(i).post();
                        }
                    })
                    .satisfies(full -> assertThat(full.errnoName()).isEqualTo("ENOMEM"))
                    .withMessageContaining("The receive queue is full");
            Fenced.fail("ibv_post_send", 1, Errno.ENOMEM);
            assertThatExceptionOfType(PostException.class)
                    .isThrownBy(() -> pair.sendBatch(1).send(1).post())
                    .satisfies(full -> assertThat(full.errnoName()).isEqualTo("ENOMEM"))
                    .withMessageContaining("The send queue is full");
        }
    }

    @Test
    void readOfNoBytesHasAPiece() throws Exception {
        Fenced.driver("erdma"); // whose library takes the first piece unseen: the provider notes a violation
        try (Connected connected = new Connected()) {
            MemoryRegion memory = connected.client.register(
                    connected.arena.allocate(64), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
            QueuePair pair = connected.client.queuePair();
            pair.postRead(1, memory.slice(0, 0), new RemoteMemory(0, 0, 0));
            assertThat(PostedRequest.last().pieces()).hasSize(1);
            assertThat(connected.client.completionQueue().await(DEADLINE).isSuccess())
                    .isTrue();
        }
    }

    @Test
    void atomicsOfManaAreRefusedWithWhatToTakeInstead() {
        Fenced.driver("mana");
        try (Loopback loopback = Loopback.connected()) {
            assertThrows(
                    PostException.class,
                    "mana has sends, writes and reads only",
                    () -> loopback.left.pair.postFetchAndAdd(
                            1, loopback.left.buffer.slice(0, 8), loopback.right.buffer.remote(), 1));
        }
    }

    /** Datagrams of a queue pair to itself. */
    private static void sendToItself(boolean signaled) throws InterruptedException {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = TestDevice.get().open(arena);
            CompletionQueue queue = context.createCompletionQueue(8);
            ProtectionDomain domain = context.allocateProtectionDomain();
            QueuePair pair = domain.createQueuePair(QueuePair.ud(queue));
            pair.toReady(1);
            MemoryRegion memory = domain.register(arena.allocate(128), AccessFlag.LOCAL_WRITE);
            AddressHandle path = domain.createAddressHandle(pair.pathTo(pair.endpoint()));
            pair.postReceive(1, memory);
            SendBatch send = pair.sendBatch(1).send(2, memory.slice(0, 8)).to(path, pair.number(), 1);
            if (signaled) {
                send.post();
                assertThat(queue.await(DEADLINE).isSuccess()).isTrue();
                assertThat(queue.await(DEADLINE).isSuccess()).isTrue();
            } else {
                assertThrows(
                                PostException.class,
                                "efa takes sends of datagrams only",
                                () -> send.unsignaled().post())
                        .hasMessageContaining("leave out unsignaled()");
            }
        }
    }

    @Test
    void unsignaledSendsOfEfaAreRefusedWithAReason() throws InterruptedException {
        Fenced.driver("efa");
        sendToItself(true);
        sendToItself(false);
    }

    @Test
    void queuesOfTheConnectionManagerAreRefusedWithTheSameReasons() {
        Fenced.driver("mana");
        try (VerbsArena arena = VerbsArena.ofShared()) {
            ConnectionId id = EventChannel.create(arena).createId(PortSpace.UDP);
            id.bind(OWN);
            assertThrows(
                            UnsupportedVerbException.class,
                            "mana has reliable connections only",
                            () -> id.createQueuePair(QueueCapabilities.of(4, 4)))
                    .hasMessageStartingWith("rdma_create_qp(");
            assertThrows(
                            UnsupportedVerbException.class,
                            "mana has no shared receive queues",
                            () -> id.createSharedReceiveQueue(id.protectionDomain(), SharedReceiveQueue.basic()))
                    .hasMessageStartingWith("rdma_create_srq(");
        }
    }

    // States

    @Test
    void stateOfAQueuePairOfManaIsTheLastKnown() {
        Fenced.driver("mana");
        try (Loopback loopback = Loopback.connected()) {
            QueuePair pair = loopback.left.pair;
            assertThrows(UnsupportedVerbException.class, "mana does not tell the state of a queue pair", pair::query);
            assertThat(pair.state()).isEqualTo(QueuePairState.RTS);
            Fenced.fail("ibv_modify_qp", 1, Errno.EINVAL);
            assertThatExceptionOfType(VerbsException.class)
                    .isThrownBy(() -> pair.modify(QueuePairAttributes.to(QueuePairState.ERR)))
                    .satisfies(refused -> assertThat(refused.verb()).isEqualTo("ibv_modify_qp"));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"erdma", "siw"})
    void connectionWithoutTheManagerIsRefusedWhereTheDriverNeedsIt(String driver) {
        Fenced.driver(driver);
        try (Loopback loopback = Loopback.unconnected(VerbsArena.ofConfined(), options -> options)) {
            assertThrows(
                    VerbsException.class,
                    driver + " connects by the connection manager only",
                    () -> loopback.left.pair.connect(loopback.right.pair.endpoint()));
        }
    }

    // Addresses

    @Test
    void efaIsNamedWhereTheConnectionManagerFindsNoDevice() {
        Fenced.driver("efa");
        try (VerbsArena arena = VerbsArena.ofShared()) {
            assertThrows(VerbsException.class, "ENODEV", () -> Listener.open(OWN, arena))
                    .hasMessageContaining("efa_0: efa has no connection manager");
            assertThrows(
                    ConnectionException.class,
                    "efa_0: efa has no connection manager",
                    () -> Connection.open(new InetSocketAddress("10.9.9.1", 1), DEADLINE, arena));
        }
    }

    /** The index of a GID may be another one after the link went down and came back. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void gidOfTheEndpointIsFoundByItsValue(boolean chosen) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = TestDevice.get().open(arena);
            CompletionQueue queue = context.createCompletionQueue(8);
            QueuePairOptions options = QueuePair.rc(queue);
            QueuePair pair = context.allocateProtectionDomain().createQueuePair(chosen ? options.gidIndex(0) : options);
            Gid told = Gid.parse("::ffff:10.9.9.1");
            answerGids(arena, entry(told, 0, GidEntry.Type.ROCE_V2));
            Endpoint own = pair.endpoint();
            assertThat(own.gid()).isEqualTo(told);
            answerGids(
                    arena,
                    entry(Gid.parse("::ffff:10.9.9.7"), 0, GidEntry.Type.ROCE_V2),
                    entry(told, 4, GidEntry.Type.ROCE_V1),
                    entry(told, 5, GidEntry.Type.ROCE_V2));
            GlobalRoute route = pair.pathTo(own).globalRoute();
            assertThat(route).isNotNull();
            assertThat(route.sourceGidIndex()).isEqualTo(5);
        }
    }

    private static GidEntry entry(Gid gid, int index, GidEntry.Type type) {
        return new GidEntry(gid, 1, index, type, "");
    }

    private static void answerGids(Arena arena, GidEntry... entries) {
        MemorySegment port = ibv_port_attr.allocate(arena);
        ibv_port_attr.gid_tbl_len(port, 8);
        ibv_port_attr.link_layer(port, (byte) rdma_h.IBV_LINK_LAYER_ETHERNET);
        ibv_port_attr.active_mtu(port, rdma_h.IBV_MTU_1024);
        Fenced.answer("ibv_query_port", port);
        MemorySegment table = ibv_gid_entry.allocateArray(entries.length, arena);
        for (int i = 0; i < entries.length; i++) {
            MemorySegment entry = ibv_gid_entry.asSlice(table, i);
            AddressCodec.writeGid(entries[i].gid(), entry, ibv_gid_entry.gid$offset());
            ibv_gid_entry.port_num(entry, entries[i].port());
            ibv_gid_entry.gid_index(entry, entries[i].index());
            ibv_gid_entry.gid_type(entry, entries[i].type().code());
        }
        Fenced.answer("ibv_query_gid_table", table);
    }

    // The table

    @Test
    void limitsNameTheDriver() {
        Fenced.driver("mlx5");
        assertThat(Device.first().limits()).isEmpty();
        for (String driver : List.of("rxe", "efa", "mana", "irdma", "erdma", "bnxt_re", "siw")) {
            Fenced.driver(driver);
            assertThat(Device.first().ignoresInlineData()).isEqualTo(driver.equals("mana"));
            assertThat(Device.first().limits())
                    .isNotEmpty()
                    .allSatisfy(
                            limit -> assertThat(limit).startsWith(driver + " ").contains(": "));
        }
    }
}
