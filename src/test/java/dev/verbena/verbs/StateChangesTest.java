package dev.verbena.verbs;

import static dev.verbena.verbs.GivenToC.text;
import static dev.verbena.verbs.Refusals.assertFails;
import static dev.verbena.verbs.Refusals.assertIllegalArgument;
import static dev.verbena.verbs.Refusals.assertIllegalState;
import static dev.verbena.verbs.Refusals.assertOutOfBounds;
import static dev.verbena.verbs.Refusals.assertRefused;
import static dev.verbena.verbs.Refusals.assertRefusedByC;
import static dev.verbena.verbs.Refusals.assertThrows;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.raw.ibv_port_attr;
import dev.verbena.internal.raw.ibv_qp_attr;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.OtherThread;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.access.VerbsAccess;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Endpoint;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GlobalRoute;
import dev.verbena.verbs.device.Mtu;
import dev.verbena.verbs.device.Port;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The way of a queue pair from state to state, what it refuses on the way, and what its makers refuse. */
@FencedTest
class StateChangesTest {
    private static final int HOST_IS_DOWN = 112;

    private final VerbsArena arena = VerbsArena.ofShared();
    private final Context context = TestDevice.get().open(arena);
    private final ProtectionDomain domain = context.allocateProtectionDomain();
    private final CompletionQueue queue = context.createCompletionQueue(16);
    private final QueuePair pair = domain.createQueuePair(QueuePair.rc(queue));
    private final MemoryRegion buffer =
            domain.register(arena.allocate(64), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);

    @AfterEach
    void close() {
        arena.close();
    }

    @ParameterizedTest
    @CsvSource({
        "22, look at the GID index",
        "110, is it on the network of this GID",
        "113, is it on the network of this GID",
        "61, no GID at this index"
    })
    void refusedChangeSaysWhatToLookAt(int errno, String hint) {
        Fenced.fail("ibv_modify_qp", 2, errno);
        assertThatExceptionOfType(VerbsException.class)
                .isThrownBy(() -> pair.connect(pair.endpoint()))
                .withMessageStartingWith("ibv_modify_qp(" + pair + " to RTR, ")
                .withMessageContaining(hint)
                .satisfies(refused -> assertThat(refused.errno()).isEqualTo(errno));
        assertThat(pair.state()).isEqualTo(QueuePairState.INIT);
        assertRefused("ibv_modify_qp", HOST_IS_DOWN, () -> pair.connect(pair.endpoint()))
                .hasMessageNotContaining("GID index")
                .hasMessageNotContaining("network");
        pair.connect(pair.endpoint());
        pair.close(); // no call has kept the pair open
    }

    @Test
    void refusedChangeOfAPairThatHasFailedSaysSo() {
        pair.connect(pair.endpoint());
        assertThat(Ibv.failQueuePair(pair.address)).isZero();
        assertThat(ibv_qp_attr.qp_state(Fenced.given("ibv_modify_qp"))).isEqualTo(QueuePairState.ERR.code());
        assertRefused("ibv_modify_qp", Errno.EINVAL, () -> pair.modify(QueuePairAttributes.to(QueuePairState.SQD)))
                .hasMessageContaining("The queue pair is in ERR, not in RTS: its state has changed");
        assertThat(pair.state()).isEqualTo(QueuePairState.ERR);
        Fenced.fail("ibv_modify_qp", 1, Errno.EBUSY);
        assertThat(Ibv.failQueuePair(pair.address)).isEqualTo(Errno.EBUSY);
    }

    @Test
    void changeThatTheTableForbidsIsRefusedBeforeC() {
        assertThat(pair).hasToString("RC queue pair " + pair.number() + " of fenced0 (RESET)");
        assertThat(pair.firstError()).isEmpty();
        Fenced.calm();
        assertIllegalArgument(() -> pair.modify(QueuePairAttributes.to(QueuePairState.RTS)))
                .hasMessageStartingWith("ibv_modify_qp(" + pair + "): ");
        assertThat(Fenced.calls("ibv_modify_qp")).isZero();
        assertThat(Fenced.calls("ibv_query_qp")).as("the state is known").isZero();
        pair.toInit(QueuePairAttributes.none());
        assertThat(pair.state()).isEqualTo(QueuePairState.INIT);
        pair.reset();
        assertThat(pair.state()).isEqualTo(QueuePairState.RESET);
        assertThat(Fenced.calls("ibv_query_qp")).isZero();
        assertIllegalState(
                "Sending is not possible in RESET: connect " + pair + " first", () -> pair.postSend(1, buffer));
    }

    @Test
    void pairsAreMadeReadyInTheirOwnWay() {
        QueuePair raw = domain.createQueuePair(QueuePair.rawPacket(queue));
        raw.toReady();
        assertThat(raw.state()).isEqualTo(QueuePairState.RTS);
        QueuePair datagrams = domain.createQueuePair(QueuePair.ud(queue));
        datagrams.toReady(0x81234567, 1);
        assertThat(datagrams.state()).isEqualTo(QueuePairState.RTS);
        assertThat(datagrams.query().qkey()).isEqualTo(0x81234567);
        assertThat(datagrams.query().pkeyIndex()).isEqualTo(1);
        assertIllegalState("Only queue pairs for Ethernet frames", pair::toReady);
        assertIllegalState("Only queue pairs for datagrams", () -> pair.toReady(5));
        assertThat(pair.state()).isEqualTo(QueuePairState.RESET);
        for (QueuePair ready : List.of(raw, datagrams)) {
            assertIllegalState("has no connections", () -> ready.connect(pair.endpoint()));
        }
        pair.connect(pair.endpoint());
        for (ThrowingCallable again : List.<ThrowingCallable>of(
                raw::toReady, () -> datagrams.toReady(5), () -> pair.connect(pair.endpoint()))) {
            assertIllegalState("must be in RESET or INIT to be made ready, and is in RTS: call reset()", again);
        }
    }

    @Test
    void connectRefusesAttributesThatItDoesNotSet() {
        for (QueuePairAttributes other : List.of(
                QueuePairAttributes.to(QueuePairState.RTS),
                QueuePairAttributes.none().sendPsn(1),
                QueuePairAttributes.none().qkey(1))) {
            assertIllegalArgument("got " + other.mask(), () -> pair.connect(pair.endpoint(), other.timeoutCode(3)));
        }
        assertThat(pair.state()).isEqualTo(QueuePairState.RESET);
    }

    @Test
    void unreliableConnectionGrantsWritesOnly() {
        QueuePair unreliable = domain.createQueuePair(QueuePair.uc(queue));
        unreliable.connect(unreliable.endpoint());
        assertThat(unreliable.query().access()).containsExactly(AccessFlag.REMOTE_WRITE);
    }

    @Test
    void queryReturnsAllThatWasSet() {
        pair.connect(pair.endpoint(), QueuePairAttributes.none().pathMtu(Mtu.BYTES_1024));
        assertThat(pair.query())
                .hasToString(
                        "STATE RTS, CURRENT_STATE RTS, EN_SQD_ASYNC_NOTIFY false, ACCESS_FLAGS [REMOTE_WRITE, REMOTE_READ, "
                                + "REMOTE_ATOMIC], PKEY_INDEX 0, PORT 1, QKEY 0, ADDRESS_VECTOR port 1, route GlobalRoute["
                                + "destination=::ffff:10.9.9.1, sourceGidIndex=0, flowLabel=0, hopLimit=64, trafficClass=0], "
                                + "PATH_MTU BYTES_1024, TIMEOUT PT0.067108864S, RETRY_COUNT 6, RNR_RETRY 7, RQ_PSN %d, "
                                + "MAX_READ_ATOMIC 12, ALTERNATE_PATH port 0, MIN_RNR_TIMER PT0.00064S, SQ_PSN %1$d, "
                                + "MAX_DEST_READ_ATOMIC 14, PATH_MIGRATION_STATE MIGRATED, CAPABILITIES send 64x1, receive "
                                + "64x1, inline 64, DESTINATION_QP %d",
                        pair.endpoint().packetSequenceNumber(), pair.number());
        pair.reset();
        pair.connect(
                pair.endpoint(),
                QueuePairAttributes.none().pkeyIndex(1).maxReadAtomic(3).maxDestinationReadAtomic(5));
        assertThat(pair.query().pkeyIndex()).isOne();
        assertThat(pair.query().maxReadAtomic()).isEqualTo(3);
        assertThat(pair.query().maxDestinationReadAtomic()).isEqualTo(5);
        assertRefusedByC("ibv_query_qp(" + pair + "): EINVAL", pair::query);
        pair.close();
    }

    @Test
    void rareAttributesOfAQueuePairAreDescribed() {
        Duration timeout = Duration.ofNanos(4096L << 9);
        QueuePairAttributes attributes = QueuePairAttributes.none()
                .alternatePath(AddressVector.of(3).serviceLevel(5).destinationLid(0x123), 0x1234, timeout)
                .currentState(QueuePairState.RTS)
                .sqdNotification(true)
                .pathMtu(Mtu.BYTES_2048)
                .qkey(0x81234567)
                .pathMigrationState(QueuePairAttributes.MigrationState.REARM)
                .access(Set.of(AccessFlag.REMOTE_WRITE))
                .rateLimit(0x77);
        assertThat(text("ibv_qp_attr", attributes.write(arena)))
                .isEqualTo("cur_qp_state 3 path_mtu 4 path_mig_state 1 qkey 81234567 qp_access_flags 2 "
                        + "alt_ah_attr.dlid 123 alt_ah_attr.sl 5 alt_ah_attr.port_num 3 alt_pkey_index 1234 "
                        + "en_sqd_async_notify 1 alt_port_num 3 alt_timeout 9 rate_limit 77");
        assertThat(attributes)
                .hasToString(
                        "CURRENT_STATE RTS, EN_SQD_ASYNC_NOTIFY true, ACCESS_FLAGS [REMOTE_WRITE], QKEY -2128394905, "
                                + "PATH_MTU BYTES_2048, ALTERNATE_PATH port 3, LID 291, service level 5, "
                                + "PATH_MIGRATION_STATE REARM, RATE_LIMIT 119");
        assertThat(attributes.alternatePkeyIndex()).isEqualTo(0x1234);
        assertThat(attributes.alternateTimeoutCode()).isEqualTo(9);
        assertThat(attributes.alternateTimeout()).isEqualTo(timeout);
    }

    @Test
    void alternateTimeoutIsPartOfTheAlternatePath() {
        QueuePairAttributes attributes = QueuePairAttributes.none().alternateTimeoutCode(7);
        assertThat(attributes.mask()).containsExactly(Attribute.ALTERNATE_PATH);
        assertThat(attributes.alternateTimeoutCode()).isEqualTo(7);
        assertThat(attributes.isDraining()).isFalse();
        MemorySegment found = arena.allocate(ibv_qp_attr.layout());
        ibv_qp_attr.sq_draining(found, (byte) 1);
        assertThat(QueuePairAttributes.read(found, Set.of(Attribute.STATE)).isDraining())
                .isTrue();
    }

    @Test
    void flagsOfACompletionQueueAddUp() {
        assertThat(CompletionQueueOptions.FLAGS.of(
                        CompletionQueueOptions.of(4).singleThreaded().ignoreOverrun()))
                .containsExactlyInAnyOrder(
                        CompletionQueueOptions.Flag.SINGLE_THREADED, CompletionQueueOptions.Flag.IGNORE_OVERRUN);
    }

    /** Only a reliable connection is known to have failed: others may go on, so the device is asked. */
    @Test
    void failureOfARequestTellsTheState() throws InterruptedException {
        pair.connect(pair.endpoint());
        Fenced.calm();
        pair.postWrite(1, buffer, new RemoteMemory(buffer.address(), 0x7777, 64));
        assertThat(queue.await(Loopback.DEADLINE).status()).isEqualTo(WorkStatus.REMOTE_ACCESS_ERROR);
        assertThat(pair.state()).isEqualTo(QueuePairState.ERR);
        assertThat(Fenced.calls("ibv_query_qp")).isZero();
        assertThat(pair.firstError().orElseThrow().id()).isEqualTo(1);
        pair.postSend(2, buffer);
        assertThat(queue.await(Loopback.DEADLINE).status()).isEqualTo(WorkStatus.WORK_REQUEST_FLUSHED);
        assertThat(pair.firstError().orElseThrow().id()).as("the first one").isEqualTo(1);
        pair.reset();
        assertThat(pair.firstError()).isEmpty();

        QueuePair datagrams = domain.createQueuePair(QueuePair.ud(queue));
        datagrams.toReady(7);
        MemoryRegion closed = domain.register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
        AddressHandle there = domain.createAddressHandle(datagrams.pathTo(datagrams.endpoint()));
        datagrams.postReceive(3, closed);
        datagrams.postSend(4, buffer, there, datagrams.number(), 7); // 40 bytes more than the receive has
        assertThat(queue.await(Loopback.DEADLINE).status()).isEqualTo(WorkStatus.LOCAL_LENGTH_ERROR);
        assertThat(queue.await(Loopback.DEADLINE).id()).isEqualTo(4);
        Fenced.calm();
        assertThat(datagrams.state()).isEqualTo(QueuePairState.RTS);
        assertThat(Fenced.calls("ibv_query_qp")).isEqualTo(1);
        assertThat(datagrams.state()).isEqualTo(QueuePairState.RTS);
        assertThat(Fenced.calls("ibv_query_qp")).as("the state is known again").isEqualTo(1);
    }

    /** After a reset, completions of the time before may come, and the device must be asked whose they are. */
    @Test
    void resetOfAFreshPairLeavesNoOldCompletions() throws InterruptedException {
        pair.reset();
        pair.connect(pair.endpoint());
        Fenced.calm();
        pair.postWrite(1, buffer, new RemoteMemory(buffer.address(), 0x7777, 64));
        assertThat(queue.await(Loopback.DEADLINE).isSuccess()).isFalse();
        assertThat(Fenced.calls("ibv_query_qp")).isZero();
        pair.reset();
        pair.toInit(QueuePairAttributes.none());
        pair.reset();
        pair.connect(pair.endpoint());
        Fenced.calm();
        pair.postWrite(2, buffer, new RemoteMemory(buffer.address(), 0x7777, 64));
        assertThat(queue.await(Loopback.DEADLINE).isSuccess()).isFalse();
        assertThat(Fenced.calls("ibv_query_qp")).isPositive();
        assertThat(pair.firstError().orElseThrow().id()).isEqualTo(2);
    }

    /** The connection layer waits so for all completions of a queue, solicited or not. */
    @Test
    void waitOfAnotherLayerEndsWithAnyCompletion() throws Throwable {
        CompletionChannel channel = context.createCompletionChannel();
        CompletionQueue with =
                context.createCompletionQueue(CompletionQueueOptions.of(16).channel(channel));
        QueuePair writer = domain.createQueuePair(QueuePair.rc(with));
        writer.connect(writer.endpoint());
        OtherThread<WorkCompletion> waiter =
                OtherThread.start(() -> VerbsAccess.get().await(with, with::poll, Loopback.DEADLINE));
        Await.until("a thread that waits", () -> Fenced.calls("ibv_req_notify_cq") > 0);
        writer.postWrite(7, buffer, buffer.remote());
        assertThat(waiter.join().id()).isEqualTo(7);
    }

    @Test
    void pairWithASharedReceiveQueueHasNoReceivesOfItsOwn() {
        SharedReceiveQueue shared = domain.createSharedReceiveQueue(SharedReceiveQueue.basic());
        QueuePair sharing = domain.createQueuePair(QueuePair.rc(queue).sharedReceiveQueue(shared));
        assertIllegalState("Receiving is not possible in RESET", () -> sharing.postReceive(1, buffer));
        sharing.toInit(QueuePairAttributes.none());
        assertIllegalState(
                "has no receives of its own: post them to the shared receive queue",
                () -> sharing.postReceive(1, buffer));
        pair.toInit(QueuePairAttributes.none());
        pair.postReceive(1, buffer);
    }

    // Addresses

    private void answerPort(Port.LinkLayer layer, int lid) {
        MemorySegment port = arena.allocate(ibv_port_attr.layout());
        ibv_port_attr.gid_tbl_len(port, 1);
        ibv_port_attr.lid(port, (short) lid);
        ibv_port_attr.link_layer(port, (byte) layer.ordinal());
        ibv_port_attr.active_mtu(port, Mtu.BYTES_512.code());
        Fenced.answer("ibv_query_port", port);
    }

    @Test
    void endpointHasTheNumbersOfThePair() {
        answerPort(Port.LinkLayer.ETHERNET, 0x77);
        Endpoint endpoint = pair.endpoint();
        assertThat(endpoint.queuePairNumber()).isEqualTo(pair.number());
        assertThat(endpoint.lid()).isEqualTo(0x77);
        assertThat(endpoint.gid()).isEqualTo(Gid.parse("::ffff:10.9.9.1"));
        for (int i = 0; i < 64; i++) { // the sequence begins anywhere in 24 bits
            QueuePair other = domain.createQueuePair(QueuePair.rc(queue));
            assertThat(other.endpoint().packetSequenceNumber()).isBetween(0, 0xffffff);
            assertThat(other.endpoint()).isEqualTo(other.endpoint()).isNotEqualTo(endpoint);
            other.close();
        }
        QueuePair otherGid = domain.createQueuePair(QueuePair.rc(queue).gidIndex(5));
        assertFails("ibv_query_gid(fenced0, port 1, index 5): EINVAL", otherGid::endpoint);
    }

    /** A port may have another MTU when the queue pair is made ready than when it was made. */
    @Test
    void longestDatagramIsThatOfThePortWhenThePairIsMadeReady() {
        QueuePair datagrams = domain.createQueuePair(QueuePair.ud(queue));
        MemoryRegion large = domain.register(arena.allocate(1024), AccessFlag.LOCAL_WRITE);
        answerPort(Port.LinkLayer.ETHERNET, 0);
        datagrams.toReady(7);
        AddressHandle there = domain.createAddressHandle(datagrams.pathTo(datagrams.endpoint()));
        datagrams.postSend(1, large.slice(0, 512), there, datagrams.number(), 7);
        assertOutOfBounds(() -> datagrams.postSend(2, large.slice(0, 513), there, datagrams.number(), 7));
    }

    /** InfiniBand delivers by LID within a subnet; RoCE needs the global route always. */
    @Test
    void pathHasAGlobalRouteWhereItNeedsOne() {
        Gid gid = Gid.parse("fe80::5");
        Endpoint peer = new Endpoint(3, 4, 0x55, gid);
        answerPort(Port.LinkLayer.INFINIBAND, 0x77);
        AddressVector path = pair.pathTo(peer);
        assertThat(path.destinationLid()).isEqualTo(0x55);
        assertThat(path.globalRoute()).isNull();
        assertThat(pair.pathTo(gid).globalRoute().destination()).isEqualTo(gid);
        assertThat(pair.pathTo(gid).destinationLid()).isZero();
        pair.connect(peer);
        assertThat(pair.query().addressVector().globalRoute()).isNull();
        pair.reset();
        pair.connect(peer, QueuePairAttributes.none().addressVector(path.globalRoute(GlobalRoute.to(gid, 0))));
        assertThat(pair.query().addressVector().globalRoute().destination()).isEqualTo(gid);
        answerPort(Port.LinkLayer.ETHERNET, 0);
        assertThat(pair.pathTo(peer).globalRoute().destination()).isEqualTo(gid);
        pair.reset();
        pair.connect(peer);
        assertThat(pair.query().addressVector().globalRoute().destination()).isEqualTo(gid);
        assertThat(pair.query().pathMtu()).isEqualTo(Mtu.BYTES_512);
    }

    // Makers

    @Test
    void queuesOfAnotherContextAreRefusedBeforeC() {
        Context other = TestDevice.get().open(arena);
        CompletionQueue foreign = other.createCompletionQueue(4);
        SharedReceiveQueue foreignReceives =
                other.allocateProtectionDomain().createSharedReceiveQueue(SharedReceiveQueue.basic());
        XrcDomain foreignXrc = other.openXrcDomain();
        Fenced.calm();
        for (QueuePairOptions options : List.of(
                QueuePair.rc(foreign, queue),
                QueuePair.rc(queue, foreign),
                QueuePair.rc(queue).sharedReceiveQueue(foreignReceives),
                QueuePair.xrcReceive(foreignXrc))) {
            assertIllegalArgument(
                    "belongs to another context than the protection domain", () -> domain.createQueuePair(options));
        }
        WorkQueue foreignWorkQueue = other.allocateProtectionDomain().createWorkQueue(WorkQueueOptions.of(foreign, 4));
        WorkQueue own = domain.createWorkQueue(WorkQueueOptions.of(queue, 4));
        assertIllegalArgument(
                "belongs to another context", () -> context.createIndirectionTable(List.of(own, foreignWorkQueue)));
        for (String maker : List.of("ibv_create_qp", "ibv_create_qp_ex", "ibv_create_rwq_ind_table")) {
            assertThat(Fenced.calls(maker)).isZero();
        }
    }

    @Test
    void queuesForOneThreadNeedAnArenaForOneThread() {
        CompletionQueue single =
                context.createCompletionQueue(CompletionQueueOptions.of(4).singleThreaded(), VerbsArena.ofConfined());
        for (QueuePairOptions options : List.of(QueuePair.rc(single, queue), QueuePair.rc(queue, single))) {
            assertIllegalArgument(
                    "single-threaded " + single + " needs an arena for one thread",
                    () -> domain.createQueuePair(options));
            try (VerbsArena confined = VerbsArena.ofConfined()) {
                assertThat(domain.createQueuePair(options, confined).isOpen()).isTrue();
            }
        }
        single.arena().close();
    }

    @Test
    void objectsOfAThreadDomainNeedAnArenaForOneThread() {
        ProtectionDomain parent = domain.allocateParentDomain(
                ParentDomainOptions.defaults().threadDomain(context.allocateThreadDomain()));
        assertIllegalArgument("VerbsArena.ofConfined()", () -> parent.createQueuePair(QueuePair.rc(queue)));
        assertIllegalArgument("VerbsArena.ofConfined()", () -> parent.createWorkQueue(WorkQueueOptions.of(queue, 4)));
        try (VerbsArena confined = VerbsArena.ofConfined()) {
            parent.createQueuePair(QueuePair.rc(queue), confined);
            parent.createWorkQueue(WorkQueueOptions.of(queue, 4), confined);
        }
    }

    @Test
    void refusedQueuePairSaysWhatTheDeviceHas() {
        QueuePairOptions options = QueuePair.rc(queue).sendDepth(1 << 20);
        assertFails(
                "ibv_create_qp(fenced0, " + options + "): EINVAL",
                "at most 16384 work requests a queue, 16 pieces of memory a request",
                () -> domain.createQueuePair(options));
        assertRefused("ibv_create_qp", Errno.EPERM, () -> domain.createQueuePair(QueuePair.rawPacket(queue)))
                .hasMessageContaining("CAP_NET_RAW");
        QueuePairOptions extended = QueuePair.rc(queue).operations(QueuePairOptions.OfferedOperation.SEND);
        assertRefused("ibv_create_qp_ex", Errno.EOPNOTSUPP, () -> domain.createQueuePair(extended))
                .isInstanceOf(UnsupportedVerbException.class)
                .hasMessageContaining("no queue pair of this kind");
        assertRefused("ibv_create_qp", Errno.ENOMEM, () -> domain.createQueuePair(QueuePair.rc(queue)))
                .hasMessageNotContaining("iWARP");
    }

    // Windows

    @Test
    void refusedWindowSaysWhyIfTheTypeIsTheReason() {
        for (int errno : new int[] {Errno.EOPNOTSUPP, Errno.EINVAL, Errno.ENOMEM}) {
            Fenced.fail("ibv_alloc_mw", 1, errno);
            assertThatExceptionOfType(VerbsException.class)
                    .isThrownBy(() -> domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2))
                    .withMessageStartingWith("ibv_alloc_mw(fenced0, TYPE_2): ")
                    .satisfies(refused -> assertThat(refused.getMessage().contains("no memory windows of this type"))
                            .isEqualTo(errno != Errno.ENOMEM));
        }
        assertIllegalArgument(() -> domain.allocateMemoryWindow(MemoryWindow.Type.UNKNOWN));
    }

    @Test
    void closedWindowFreesItsRegion() throws InterruptedException {
        pair.connect(pair.endpoint());
        MemoryRegion region = domain.register(arena.allocate(64), AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
        MemoryWindow window = domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2);
        pair.postBind(1, window, region, List.of(AccessFlag.REMOTE_WRITE));
        queue.await(Loopback.DEADLINE).orThrow();
        RegionChange change = RegionChange.of(AccessFlag.LOCAL_WRITE);
        assertIllegalState(
                "unbind, invalidate or close its windows first: [" + window, () -> region.reregister(change));
        assertThrows(VerbsException.class, "Unbind, invalidate or close its windows first: [" + window, region::close);
        window.close();
        assertThat(region.reregister(change).isOpen()).isTrue();
    }

    // Batches

    @Test
    void batchOfAClosedPairIsClosedForAllThreads() throws Throwable {
        pair.connect(pair.endpoint());
        SendBatch used = pair.sendBatch(2).send(1, buffer);
        SendBatch unused = pair.sendBatch(2);
        pair.close();
        for (SendBatch batch : List.of(used, unused)) {
            assertIllegalState("closed", () -> batch.send(2, buffer));
            OtherThread.run(() -> assertIllegalState("closed", () -> batch.send(2, buffer)));
        }
    }
}
