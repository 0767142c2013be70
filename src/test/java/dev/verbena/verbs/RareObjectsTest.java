package dev.verbena.verbs;

import static dev.verbena.verbs.RefusedByC.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.ResourceBusyException;
import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.internal.raw.ibv_ah_attr;
import dev.verbena.internal.raw.ibv_qp_attr;
import dev.verbena.internal.raw.ibv_srq_attr;
import dev.verbena.internal.raw.ibv_srq_init_attr_ex;
import dev.verbena.internal.raw.ibv_tm_cap;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.OtherThread;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.device.Mtu;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Objects and fields that few programs use: what C is given for them, and what they refuse. */
@FencedTest
class RareObjectsTest {
    private static final int EINVAL = 22;

    private Loopback loopback;

    @BeforeEach
    void connect() {
        loopback = Loopback.connected(VerbsArena.ofShared(), QueuePairAttributes.none());
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    private WorkQueue readyQueue(int depth, int sge) {
        WorkQueue queue = loopback.domain.createWorkQueue(
                WorkQueueOptions.of(loopback.left.queue, depth).sge(sge));
        assertThat(queue.state()).isEqualTo(WorkQueue.State.RESET);
        assertThatIllegalStateException()
                .isThrownBy(() -> queue.postReceive(1, loopback.left.buffer))
                .withMessageContaining("RESET");
        queue.modify(WorkQueue.State.READY);
        assertThat(queue.state()).isEqualTo(WorkQueue.State.READY);
        return queue;
    }

    @Test
    void workQueueTakesReceivesUntilItIsFull() {
        WorkQueue queue = readyQueue(2, 2);
        LocalMemory local = loopback.left.buffer.slice(0, 8);
        queue.postReceive(1, local, local);
        queue.postReceive(2);
        assertThatThrownBy(() -> queue.postReceive(3, local))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("ibv_post_wq_recv")
                .hasMessageContaining(queue.toString())
                .hasMessageContaining("full");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> queue.postReceive(4, local, local, local))
                .withMessageContaining("2 pieces");
        assertThat(queue.toString())
                .isEqualTo("work queue " + queue.number() + " of " + loopback.context.name() + " (READY)");
        queue.close();
        assertThat(queue.toString()).endsWith("(closed)");
    }

    @Test
    void piecesOfAWorkQueueMayHaveAlmostFourGigabytes(@TempDir Path folder) throws IOException {
        long size = 1L << 32;
        try (FileChannel file = FileChannel.open(
                folder.resolve("sparse"),
                StandardOpenOption.CREATE,
                StandardOpenOption.READ,
                StandardOpenOption.WRITE)) {
            MemoryRegion region = loopback.domain.register(
                    file.map(FileChannel.MapMode.READ_WRITE, 0, size, loopback.arena), AccessFlag.LOCAL_WRITE);
            WorkQueue queue = readyQueue(2, 1);
            queue.postReceive(1, region.slice(0, size - 1));
            assertThatThrownBy(() -> queue.postReceive(2, region)).isInstanceOf(IndexOutOfBoundsException.class);
            queue.close();
        }
    }

    @Test
    void refusedReceivesOfAWorkQueueKeepNothing() throws Throwable {
        WorkQueue queue = readyQueue(4, 2);
        MemoryRegion region = loopback.domain.register(loopback.arena.allocate(64), AccessFlag.LOCAL_WRITE);
        MemoryRegion closed = loopback.domain.register(loopback.arena.allocate(64), AccessFlag.LOCAL_WRITE);
        closed.close();
        assertThatIllegalStateException().isThrownBy(() -> queue.postReceive(1, region, closed));
        assertRefused("ibv_post_wq_recv", EINVAL, () -> queue.postReceive(1, region));
        OtherThread.call(
                () -> { // the lock is free
                    queue.postReceive(2, region);
                    return null;
                });
        region.close();
        queue.modify(WorkQueue.State.RESET);
        assertThatIllegalStateException().isThrownBy(() -> queue.postReceive(3, loopback.left.buffer));
        queue.close();
        assertThatIllegalStateException().isThrownBy(() -> queue.postReceive(3, loopback.left.buffer));
        assertThatIllegalStateException().isThrownBy(queue::number);
        assertThatIllegalStateException().isThrownBy(queue::state);
        assertThatIllegalStateException().isThrownBy(() -> queue.modify(WorkQueue.State.READY));
    }

    @Test
    void failedWorkQueueFlushesItsReceives() throws InterruptedException {
        WorkQueue queue = readyQueue(4, 1);
        queue.postReceive(0x1_0000_0007L, loopback.left.buffer);
        queue.postReceive(8, loopback.left.buffer.slice(0, 8));
        queue.modify(WorkQueue.State.ERROR);
        for (long id : new long[] {0x1_0000_0007L, 8}) {
            WorkCompletion done = loopback.left.queue.await(Loopback.DEADLINE);
            assertThat(done.id()).isEqualTo(id);
            assertThat(done.status()).isEqualTo(WorkStatus.WORK_REQUEST_FLUSHED);
            assertThat(done.queuePairNumber()).isEqualTo(queue.number());
        }
        assertThat(loopback.left.queue.poll()).isNull();
        queue.close();
    }

    @Test
    void indirectionTableNeedsAPowerOfTwo() {
        WorkQueue queue = readyQueue(4, 1);
        for (int entries : new int[] {0, 3, 6}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> loopback.context.createIndirectionTable(Collections.nCopies(entries, queue)))
                    .withMessageContaining("power of two, got " + entries);
        }
        try (IndirectionTable table = loopback.context.createIndirectionTable(List.of(queue, queue))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> ReceiveHash.of(table, new byte[0], Set.of()))
                    .withMessageContaining("1 to 255 bytes, got 0");
            assertThatIllegalArgumentException().isThrownBy(() -> ReceiveHash.of(table, new byte[256], Set.of()));
            assertThat(ReceiveHash.of(table, new byte[255], Set.of()).table()).isSameAs(table);
        }
    }

    @Test
    void adviceReachesCWithEachRange() {
        MemoryRegion other = loopback.domain.register(loopback.arena.allocate(64, 64), AccessFlag.LOCAL_WRITE);
        for (ProtectionDomain.Advice advice : ProtectionDomain.Advice.values()) {
            loopback.domain.advise(advice, true, loopback.left.buffer.slice(8, 16), other);
            loopback.domain.advise(advice, false, other.slice(1, 63));
        }
        assertRefused(
                        "ibv_advise_mr",
                        EINVAL,
                        () -> loopback.domain.advise(ProtectionDomain.Advice.PREFETCH_WRITE, true, other))
                .hasMessageContaining("ibv_advise_mr(PREFETCH_WRITE, [" + other);
        ProtectionDomain foreign = loopback.context.allocateProtectionDomain();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> foreign.advise(ProtectionDomain.Advice.PREFETCH, true, other));
        other.close();
        assertThatIllegalStateException()
                .isThrownBy(() -> loopback.domain.advise(ProtectionDomain.Advice.PREFETCH, true, other));
        foreign.close();
    }

    @Test
    void refusedRateLimitNamesItsVerbAndKeepsNothing() {
        QueuePair pair = loopback.left.pair;
        assertRefused("ibv_modify_qp_rate_limit", Errno.EOPNOTSUPP, () -> pair.limitRate(RateLimit.of(1000)))
                .isInstanceOf(UnsupportedVerbException.class)
                .hasMessageContaining("ibv_modify_qp_rate_limit")
                .hasMessageContaining(pair.toString());
        pair.close();
        assertThat(pair.isOpen()).isFalse();
    }

    @Test
    void unreliableConnectionGrantsWritesOnly() {
        QueuePair pair = loopback.domain.createQueuePair(QueuePair.uc(loopback.left.queue));
        pair.connect(pair.endpoint());
        assertThat(pair.query().access()).containsExactly(AccessFlag.REMOTE_WRITE);
        assertThat(loopback.left.pair.query().access())
                .contains(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC);
        pair.close();
    }

    @Test
    void failedCompletionShowsTheVendorsError() throws InterruptedException {
        QueuePair pair = loopback.left.pair;
        loopback.right.pair.close();
        pair.postSendInline(5, MemorySegment.ofArray(new byte[0]));
        WorkCompletion failed = loopback.left.queue.await(Loopback.DEADLINE);
        assertThat(failed.vendorError()).isEqualTo(0x77);
        assertThat(failed.toString())
                .startsWith("#5 SEND on QP " + pair.number() + " failed: RETRY_EXCEEDED, ")
                .contains(" (vendor error 0x77). To try: ");
    }

    @Test
    void cursorThrowsAtAFailedRequestOnly() throws InterruptedException {
        Completions done = loopback.left.queue.completions(4);
        loopback.right.pair.postReceive(1, loopback.right.buffer);
        loopback.left.pair.postSend(2, loopback.left.buffer.slice(0, 8));
        Completions received = loopback.right.queue.completions(4);
        assertThat(received.await(Loopback.DEADLINE)).isEqualTo(1);
        assertThat(received.next()).isTrue();
        assertThat(received.hasRoutingHeader()).isFalse();
        assertThat(received.isReceive()).isTrue();
        assertThat(received.orThrow()).isSameAs(received);
        loopback.right.pair.close();
        loopback.left.pair.postSend(3, loopback.left.buffer.slice(0, 8));
        List<Long> failed = new ArrayList<>();
        for (int taken = 0; taken < 2; ) {
            taken += done.await(Loopback.DEADLINE);
            while (done.next()) {
                if (done.id() == 3) {
                    assertThatThrownBy(done::orThrow)
                            .isInstanceOf(WorkCompletionException.class)
                            .hasMessageContaining("#3");
                    failed.add(done.id());
                }
            }
        }
        assertThat(failed).containsExactly(3L);
    }

    @Test
    void failedPollNamesItsQueue() {
        Completions done = loopback.left.queue.completions(4);
        Fenced.fail("ibv_poll_cq", 1, EINVAL);
        assertThatThrownBy(done::poll)
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("ibv_poll_cq")
                .hasMessageContaining(loopback.left.queue.toString());
        assertThat(done.poll()).isZero();
        assertThat(done.next()).isFalse();
    }

    @Test
    void flagsOfAQueuePairAddUp() {
        QueuePairOptions options = QueuePair.ud(loopback.left.queue)
                .flags(QueuePairOptions.Flag.SCATTER_FCS)
                .flags(QueuePairOptions.Flag.CVLAN_STRIPPING);
        assertThat(QueuePairOptions.FLAGS.of(options))
                .containsExactlyInAnyOrder(QueuePairOptions.Flag.SCATTER_FCS, QueuePairOptions.Flag.CVLAN_STRIPPING);
        assertThat(QueuePairOptions.FLAGS.of(options.sourceNumber(5)))
                .hasSize(3)
                .contains(QueuePairOptions.Flag.SOURCE_QPN);
        QueuePairOptions plain = QueuePair.ud(loopback.left.queue);
        assertThat(plain.flags(QueuePairOptions.Flag.SCATTER_FCS))
                .isEqualTo(plain.flags(QueuePairOptions.Flag.SCATTER_FCS))
                .isNotEqualTo(plain.flags(QueuePairOptions.Flag.CVLAN_STRIPPING))
                .isNotEqualTo(plain);
        assertThat(plain.operations(QueuePairOptions.OfferedOperation.SEND)).isNotEqualTo(plain);
    }

    @Test
    void flagsOfACompletionQueueAddUp() {
        assertThat(CompletionQueueOptions.FLAGS.of(
                        CompletionQueueOptions.of(4).singleThreaded().ignoreOverrun()))
                .containsExactlyInAnyOrder(
                        CompletionQueueOptions.Flag.SINGLE_THREADED, CompletionQueueOptions.Flag.IGNORE_OVERRUN);
        assertThat(CompletionQueueOptions.EXTENDED.of(CompletionQueueOptions.of(4)))
                .isFalse();
        assertThat(CompletionQueueOptions.FLAGS.of(CompletionQueueOptions.of(4)))
                .isEmpty();
    }

    @Test
    void workQueueKeepsItsParents() {
        ProtectionDomain domain = loopback.context.allocateProtectionDomain();
        CompletionQueue completions = loopback.context.createCompletionQueue(4);
        WorkQueue queue = domain.createWorkQueue(WorkQueueOptions.of(completions, 4));
        assertThatThrownBy(domain::close).isInstanceOf(ResourceBusyException.class);
        assertThatThrownBy(completions::close).isInstanceOf(ResourceBusyException.class);
        assertThatIllegalArgumentException().isThrownBy(() -> queue.modify(WorkQueue.State.UNKNOWN));
        assertRefused("ibv_modify_wq", EINVAL, () -> queue.modify(WorkQueue.State.READY))
                .hasMessageContaining("to READY");
        assertThat(queue.state()).isEqualTo(WorkQueue.State.RESET);
        queue.close();
        completions.close();
        domain.close();
    }

    /** What another library, which makes the queue from the same struct, is given. */
    @ParameterizedTest
    @EnumSource
    void sharedReceiveQueueIsDescribedForC(SharedReceiveQueue.Type type) {
        XrcDomain xrc = loopback.context.openXrcDomain();
        SharedReceiveQueueOptions options = switch (type) {
            case XRC -> SharedReceiveQueue.xrc(xrc, loopback.left.queue);
            case TAG_MATCHING -> SharedReceiveQueue.tagMatching(loopback.left.queue, 5, 6);
            default -> SharedReceiveQueue.basic();
        };
        List<Object> seen = new ArrayList<>();
        assertThatThrownBy(() -> SharedReceiveQueue.adopt(
                        loopback.domain,
                        options.depth(7).sge(2),
                        loopback.arena,
                        (address, hints) -> {
                            MemorySegment init =
                                    MemorySegment.ofAddress(address).reinterpret(ibv_srq_init_attr_ex.sizeof());
                            MemorySegment attr = ibv_srq_init_attr_ex.attr(init);
                            MemorySegment tags = ibv_srq_init_attr_ex.tm_cap(init);
                            seen.addAll(List.of(
                                    ibv_srq_attr.max_wr(attr),
                                    ibv_srq_attr.max_sge(attr),
                                    ibv_srq_attr.srq_limit(attr),
                                    ibv_srq_init_attr_ex.srq_type(init),
                                    ibv_srq_init_attr_ex.pd(init).address(),
                                    ibv_srq_init_attr_ex.xrcd(init).address(),
                                    ibv_srq_init_attr_ex.cq(init).address(),
                                    ibv_tm_cap.max_num_tags(tags),
                                    ibv_tm_cap.max_ops(tags),
                                    ibv_srq_init_attr_ex.comp_mask(init)));
                            throw new IllegalStateException("seen");
                        },
                        address -> {},
                        loopback.left.queue))
                .hasMessage("seen");
        boolean isXrc = type == SharedReceiveQueue.Type.XRC;
        boolean tagged = type == SharedReceiveQueue.Type.TAG_MATCHING;
        int mask = rdma_h.IBV_SRQ_INIT_ATTR_TYPE()
                | rdma_h.IBV_SRQ_INIT_ATTR_PD()
                | (isXrc ? rdma_h.IBV_SRQ_INIT_ATTR_XRCD() : 0)
                | (isXrc || tagged ? rdma_h.IBV_SRQ_INIT_ATTR_CQ() : 0)
                | (tagged ? rdma_h.IBV_SRQ_INIT_ATTR_TM() : 0);
        assertThat(seen)
                .containsExactly(
                        7,
                        2,
                        0,
                        type.code,
                        loopback.domain.address(),
                        isXrc ? xrc.address() : 0L,
                        isXrc || tagged ? loopback.left.queue.address() : 0L,
                        tagged ? 5 : 0,
                        tagged ? 6 : 0,
                        mask);
    }

    @Test
    void sharedReceiveQueueChecksItsUsers() {
        SharedReceiveQueue queue = loopback.domain.createSharedReceiveQueue(
                SharedReceiveQueue.basic().depth(4).sge(2));
        assertThat(queue.query()).isEqualTo(queue.capabilities());
        assertThat(queue.capabilities().depth()).isGreaterThanOrEqualTo(4);
        assertThatIllegalArgumentException().isThrownBy(() -> queue.receiveBatch(0));
        queue.limit(3);
        assertThat(queue.query().limit()).isEqualTo(3);
        assertThat(queue.query().depth()).isEqualTo(queue.capabilities().depth());
        ReceiveBatch batch = queue.receiveBatch(1).receive(1, loopback.left.buffer);
        assertThat(batch.post()).isEqualTo(1);
        for (int i = 0; i < queue.capabilities().depth() - 1; i++) {
            queue.postReceive(i, loopback.left.buffer);
        }
        assertThatThrownBy(() -> queue.postReceive(9, loopback.left.buffer)).isInstanceOf(VerbsException.class);
        queue.close();
        assertThatIllegalStateException().isThrownBy(() -> queue.receiveBatch(1));
        assertThatIllegalStateException().isThrownBy(() -> batch.receive(2, loopback.left.buffer));
        assertThatIllegalStateException().isThrownBy(batch::post);
        assertThatIllegalStateException().isThrownBy(() -> queue.postReceive(1, loopback.left.buffer));
        assertThatIllegalStateException().isThrownBy(queue::query);
        assertThatIllegalArgumentException().isThrownBy(() -> new SharedReceiveQueue.Attributes(-1, 0, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> new SharedReceiveQueue.Attributes(0, -1, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> new SharedReceiveQueue.Attributes(0, 0, -1));
        assertThat(new SharedReceiveQueue.Attributes(0, 0, 0)).hasToString("0x0, limit 0");
        assertThat(SharedReceiveQueue.basic().depth(3).sge(2)).hasToString("type BASIC, depth 3, sge 2");
        assertThat(SharedReceiveQueueOptions.QUEUE.of(SharedReceiveQueue.tagMatching(loopback.left.queue, 5, 6)))
                .isSameAs(loopback.left.queue);
        assertThat(SharedReceiveQueue.tagMatching(loopback.left.queue, 5, 6).toString())
                .contains("tags 5");
        assertThat(SharedReceiveQueueOptions.TAG_OPERATIONS.of(SharedReceiveQueue.tagMatching(loopback.left.queue, 5, 6)
                        .depth(9)))
                .isEqualTo(6);
        assertThat(SharedReceiveQueueOptions.TAGS.of(SharedReceiveQueue.tagMatching(loopback.left.queue, 5, 6)
                        .sge(9)))
                .isEqualTo(5);
    }

    @Test
    void alternatePathIsDescribedForC() {
        AddressVector path = AddressVector.of(3).serviceLevel(5).destinationLid(0x123);
        QueuePairAttributes attributes = QueuePairAttributes.none()
                .alternatePath(path, 0x1234, Duration.ofNanos(4096L << 9))
                .currentState(QueuePairState.RTS)
                .sqdNotification(true)
                .pathMtu(Mtu.BYTES_2048)
                .qkey(0x81234567)
                .pathMigrationState(QueuePairAttributes.MigrationState.REARM)
                .access(Set.of(AccessFlag.REMOTE_WRITE))
                .rateLimit(77);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment struct = attributes.write(arena);
            assertThat(ibv_qp_attr.alt_port_num(struct)).isEqualTo((byte) 3);
            assertThat(ibv_qp_attr.alt_pkey_index(struct)).isEqualTo((short) 0x1234);
            assertThat(ibv_qp_attr.alt_timeout(struct)).isEqualTo((byte) 9);
            assertThat(ibv_ah_attr.port_num(ibv_qp_attr.alt_ah_attr(struct))).isEqualTo((byte) 3);
            assertThat(ibv_ah_attr.sl(ibv_qp_attr.alt_ah_attr(struct))).isEqualTo((byte) 5);
            assertThat(ibv_ah_attr.dlid(ibv_qp_attr.alt_ah_attr(struct))).isEqualTo((short) 0x123);
            assertThat(ibv_qp_attr.cur_qp_state(struct)).isEqualTo(QueuePairState.RTS.code());
            assertThat(ibv_qp_attr.en_sqd_async_notify(struct)).isEqualTo((byte) 1);
            assertThat(ibv_qp_attr.path_mtu(struct)).isEqualTo(Mtu.BYTES_2048.code());
            assertThat(ibv_qp_attr.qkey(struct)).isEqualTo(0x81234567);
            assertThat(ibv_qp_attr.path_mig_state(struct)).isEqualTo(QueuePairAttributes.MigrationState.REARM.code);
            assertThat(ibv_qp_attr.qp_access_flags(struct)).isEqualTo(AccessFlag.REMOTE_WRITE.bit);
            assertThat(ibv_qp_attr.rate_limit(struct)).isEqualTo(77);
        }
        assertThat(attributes.alternatePath()).isEqualTo(path);
        assertThat(attributes.alternatePkeyIndex()).isEqualTo(0x1234);
        assertThat(attributes.alternateTimeoutCode()).isEqualTo(9);
        assertThat(attributes.alternateTimeout()).isEqualTo(Duration.ofNanos(4096L << 9));
        assertThat(attributes.mask())
                .containsExactlyInAnyOrder(
                        Attribute.ALTERNATE_PATH,
                        Attribute.CURRENT_STATE,
                        Attribute.EN_SQD_ASYNC_NOTIFY,
                        Attribute.PATH_MTU,
                        Attribute.QKEY,
                        Attribute.PATH_MIGRATION_STATE,
                        Attribute.ACCESS_FLAGS,
                        Attribute.RATE_LIMIT);
    }

    @Test
    void alternateTimeoutIsPartOfTheAlternatePath() {
        QueuePairAttributes attributes = QueuePairAttributes.none().alternateTimeoutCode(7);
        assertThat(attributes.mask()).containsExactly(Attribute.ALTERNATE_PATH);
        assertThat(attributes.alternateTimeoutCode()).isEqualTo(7);
        assertThat(attributes.isDraining()).isFalse();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment found = arena.allocate(ibv_qp_attr.layout());
            ibv_qp_attr.sq_draining(found, (byte) 1);
            assertThat(QueuePairAttributes.read(found, Set.of(Attribute.STATE)).isDraining())
                    .isTrue();
        }
    }

    @Test
    void statusesHaveAMeaningAndAHint() {
        for (WorkStatus status : WorkStatus.values()) {
            assertThat(status.meaning()).as("%s", status).isNotEmpty().isNotEqualTo(status.hint());
            assertThat(status.hint().length())
                    .as("hint of %s", status)
                    .satisfiesAnyOf(
                            length -> assertThat(length).isZero(),
                            length -> assertThat(length)
                                    .isGreaterThan(status.meaning().length() / 2));
        }
        assertThat(WorkStatus.LOCAL_ACCESS_ERROR.hint()).isEqualTo("the local memory needs LOCAL_WRITE");
        assertThat(WorkStatus.REMOTE_INVALID_REQUEST_ERROR.meaning()).isEqualTo("the peer found the request invalid");
        assertThat(WorkStatus.MW_BIND_ERROR.meaning()).isEqualTo("a memory window could not be bound");
    }

    private interface Post {
        void post(QueuePair pair);
    }

    /** Each post of one request takes a batch that an earlier one has given back. */
    @Test
    void singlePostsUseTheSameBatchAgain() {
        LocalMemory local = loopback.left.buffer.slice(0, 8);
        RemoteMemory remote = loopback.right.buffer.remote();
        MemorySegment bytes = loopback.arena.allocate(8);
        CompletionQueue queue = loopback.context.createCompletionQueue(4096);
        QueuePair pair = loopback.domain.createQueuePair(
                QueuePair.rc(queue).sendDepth(64).receiveDepth(2000).inlineSize(16));
        pair.connect(pair.endpoint());
        Completions done = queue.completions(256);
        Map<String, Post> posts = Map.of(
                "send", it -> it.postSend(1, local),
                "send immediate", it -> it.postSendImmediate(1, local, 5),
                "send inline", it -> it.postSendInline(1, bytes),
                "write", it -> it.postWrite(1, local, remote),
                "write immediate", it -> it.postWriteImmediate(1, local, remote, 5),
                "write inline", it -> it.postWriteInline(1, bytes, remote),
                "read", it -> it.postRead(1, local, remote),
                "add", it -> it.postFetchAndAdd(1, local, remote, 5),
                "swap", it -> it.postCompareAndSwap(1, local, remote, 5, 6));
        com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        posts.forEach((name, post) -> {
            long allocated = Long.MAX_VALUE; // the least of three: the JDK spins a class at a handle's 127th call
            for (int round = 0; round < 3; round++) {
                long before = threads.getCurrentThreadAllocatedBytes();
                for (int i = 0; i < 32; i++) {
                    pair.postReceive(2, loopback.left.buffer);
                    post.post(pair);
                }
                allocated = Math.min(allocated, threads.getCurrentThreadAllocatedBytes() - before);
                for (int found = done.poll(); found > 0; found = done.poll()) {
                    assertThat(done.next()).isTrue();
                }
            }
            assertThat(allocated / 32)
                    .as("bytes of one %s and one receive", name)
                    .isLessThan(200);
        });
    }

    /** Threads but the first share one batch, one after the other: each must give it back. */
    @Test
    void threadsPostAfterOneAnother() throws Throwable {
        LocalMemory local = loopback.left.buffer.slice(0, 8);
        RemoteMemory remote = loopback.right.buffer.remote();
        MemorySegment bytes = loopback.arena.allocate(8);
        CompletionQueue queue = loopback.context.createCompletionQueue(512);
        QueuePair pair = loopback.domain.createQueuePair(
                QueuePair.rc(queue).sendDepth(128).receiveDepth(128).inlineSize(16));
        pair.connect(pair.endpoint());
        QueuePair datagrams = loopback.domain.createQueuePair(
                QueuePair.ud(queue).sendDepth(32).receiveDepth(32).inlineSize(16));
        datagrams.toReady(7);
        AddressHandle path = loopback.domain.createAddressHandle(datagrams.pathTo(datagrams.endpoint()));
        List<Post> posts = List.of(
                it -> it.postReceive(1, loopback.left.buffer),
                it -> it.postSend(1, local),
                it -> it.postSendImmediate(1, local, 5),
                it -> it.postSendInline(1, bytes),
                it -> it.postWrite(1, local, remote),
                it -> it.postWriteImmediate(1, local, remote, 5),
                it -> it.postWriteInline(1, bytes, remote),
                it -> it.postRead(1, local, remote),
                it -> it.postFetchAndAdd(1, local, remote, 5),
                it -> it.postCompareAndSwap(1, local, remote, 5, 6),
                it -> it.postSendInvalidate(1, local, 0x1234),
                it -> it.postLocalInvalidate(1, 0x1234));
        List<Post> ofDatagrams = List.of(
                it -> it.postReceive(1, loopback.left.buffer),
                it -> it.postSend(1, local, path, it.number(), 7),
                it -> it.postSendImmediate(1, local, 5, path, it.number(), 7),
                it -> it.postSendInline(1, bytes, path, it.number(), 7));
        postByThreeThreads(pair, posts);
        postByThreeThreads(datagrams, ofDatagrams);
        SharedReceiveQueue shared = loopback.domain.createSharedReceiveQueue(SharedReceiveQueue.basic());
        postByThreeThreads(pair, List.of(it -> shared.postReceive(1, loopback.left.buffer)));
    }

    private static void postByThreeThreads(QueuePair pair, List<Post> posts) throws Throwable {
        posts.getFirst().post(pair); // this thread has a batch of its own
        for (Post post : posts) {
            post.post(pair);
            OtherThread.run(() -> post.post(pair));
            OtherThread.run(() -> post.post(pair));
        }
    }
}
