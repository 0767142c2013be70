package dev.verbena.verbs;

import static dev.verbena.verbs.GivenToC.text;
import static dev.verbena.verbs.Refusals.assertBusy;
import static dev.verbena.verbs.Refusals.assertFails;
import static dev.verbena.verbs.Refusals.assertIllegalArgument;
import static dev.verbena.verbs.Refusals.assertIllegalState;
import static dev.verbena.verbs.Refusals.assertOutOfBounds;
import static dev.verbena.verbs.Refusals.assertRefused;
import static dev.verbena.verbs.Refusals.assertThrows;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.internal.Errno;
import dev.verbena.internal.raw.ibv_qp_attr;
import dev.verbena.internal.raw.ibv_srq_init_attr_ex;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.OtherThread;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.device.Mtu;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Objects and fields that few programs use: what C is given for them, and what they refuse. */
@FencedTest
class RareObjectsTest {
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
        assertIllegalState("RESET", () -> queue.postReceive(1, loopback.left.buffer));
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
        assertFails("ibv_post_wq_recv(" + queue, "full", () -> queue.postReceive(3, local));
        assertIllegalArgument("2 pieces", () -> queue.postReceive(4, local, local, local));
        assertThat(queue.toString())
                .isEqualTo("work queue " + queue.number() + " of " + loopback.context.name() + " (READY)");
        queue.close();
        assertThat(queue.toString()).endsWith("(closed)");
    }

    @Test
    void piecesOfAWorkQueueMayHaveAlmostFourGigabytes() {
        long size = 1L << 32; // and no pages
        MemoryRegion region = loopback.domain
                .registerAddressSpace(AccessFlag.LOCAL_WRITE)
                .region(MemorySegment.NULL.reinterpret(size));
        WorkQueue queue = readyQueue(2, 1);
        queue.postReceive(1, region.slice(0, size - 1));
        assertOutOfBounds(() -> queue.postReceive(2, region));
    }

    @Test
    void refusedReceivesOfAWorkQueueKeepNothing() throws Throwable {
        WorkQueue queue = readyQueue(4, 2);
        MemoryRegion region = loopback.domain.register(loopback.arena.allocate(64), AccessFlag.LOCAL_WRITE);
        MemoryRegion closed = loopback.domain.register(loopback.arena.allocate(64), AccessFlag.LOCAL_WRITE);
        closed.close();
        assertIllegalState("closed", () -> queue.postReceive(1, region, closed));
        assertRefused("ibv_post_wq_recv", Errno.EINVAL, () -> queue.postReceive(1, region));
        OtherThread.run(() -> queue.postReceive(2, region)); // the lock is free
        region.close();
        queue.modify(WorkQueue.State.RESET);
        assertIllegalState("RESET", () -> queue.postReceive(3, loopback.left.buffer));
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
            assertIllegalArgument(
                    "power of two, got " + entries,
                    () -> loopback.context.createIndirectionTable(Collections.nCopies(entries, queue)));
        }
        IndirectionTable table = loopback.context.createIndirectionTable(List.of(queue, queue));
        for (int length : new int[] {0, 256}) {
            assertIllegalArgument(
                    "1 to 255 bytes, got " + length, () -> ReceiveHash.of(table, new byte[length], Set.of()));
        }
        assertThat(ReceiveHash.of(table, new byte[255], Set.of()).table()).isSameAs(table);
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
    void flagsOfAQueuePairAddUp() {
        QueuePairOptions options = QueuePair.ud(loopback.left.queue)
                .flags(QueuePairOptions.Flag.SCATTER_FCS)
                .flags(QueuePairOptions.Flag.CVLAN_STRIPPING);
        assertThat(QueuePairOptions.FLAGS.of(options))
                .containsExactlyInAnyOrder(QueuePairOptions.Flag.SCATTER_FCS, QueuePairOptions.Flag.CVLAN_STRIPPING);
        assertThat(QueuePairOptions.FLAGS.of(options.sourceNumber(5)))
                .hasSize(3)
                .contains(QueuePairOptions.Flag.SOURCE_QPN);
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
        assertBusy(domain::close, queue);
        assertBusy(completions::close, queue);
        assertIllegalArgument(() -> queue.modify(WorkQueue.State.UNKNOWN));
        assertRefused("ibv_modify_wq", Errno.EINVAL, () -> queue.modify(WorkQueue.State.READY))
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
        CompletionQueue queue = loopback.left.queue;
        SharedReceiveQueueOptions options = switch (type) {
            case XRC -> SharedReceiveQueue.xrc(xrc, queue);
            case TAG_MATCHING -> SharedReceiveQueue.tagMatching(queue, 5, 6);
            default -> SharedReceiveQueue.basic();
        };
        String rest = switch (type) {
            case XRC -> "comp_mask f srq_type 1 pd %1$x xrcd %2$x cq %3$x";
            case TAG_MATCHING -> "comp_mask 1b srq_type 2 pd %1$x cq %3$x tm_cap.max_num_tags 5 tm_cap.max_ops 6";
            default -> "comp_mask 3 pd %1$x";
        };
        assertThatThrownBy(() -> SharedReceiveQueue.adopt(
                        loopback.domain,
                        options.depth(7).sge(2),
                        loopback.arena,
                        (address, hints) -> {
                            throw new IllegalStateException(text(
                                    "ibv_srq_init_attr_ex",
                                    MemorySegment.ofAddress(address).reinterpret(ibv_srq_init_attr_ex.sizeof())));
                        },
                        address -> {},
                        queue))
                .hasMessage(
                        "attr.max_wr 7 attr.max_sge 2 " + rest,
                        loopback.domain.address(),
                        xrc.address(),
                        queue.address());
    }

    @Test
    void sharedReceiveQueueChecksItsUsers() {
        SharedReceiveQueue queue = loopback.domain.createSharedReceiveQueue(
                SharedReceiveQueue.basic().depth(4).sge(2));
        assertThat(queue.query()).isEqualTo(queue.capabilities());
        assertIllegalArgument(() -> queue.receiveBatch(0));
        queue.limit(3);
        assertThat(queue.query().limit()).isEqualTo(3);
        assertThat(queue.query().depth()).isEqualTo(queue.capabilities().depth());
        for (int i = 0; i < queue.capabilities().depth(); i++) {
            queue.postReceive(i, loopback.left.buffer);
        }
        assertThrows(PostException.class, "ENOMEM", () -> queue.postReceive(9, loopback.left.buffer));
        assertIllegalArgument(() -> new SharedReceiveQueue.Attributes(-1, 0, 0));
        assertIllegalArgument(() -> new SharedReceiveQueue.Attributes(0, -1, 0));
        assertIllegalArgument(() -> new SharedReceiveQueue.Attributes(0, 0, -1));
        assertThat(new SharedReceiveQueue.Attributes(0, 0, 0)).hasToString("0x0, limit 0");
        assertThat(SharedReceiveQueue.basic().depth(3).sge(2)).hasToString("type BASIC, depth 3, sge 2");
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
                .rateLimit(0x77);
        try (Arena arena = Arena.ofConfined()) {
            assertThat(text("ibv_qp_attr", attributes.write(arena)))
                    .isEqualTo("cur_qp_state 3 path_mtu 4 path_mig_state 1 qkey 81234567 qp_access_flags 2 "
                            + "alt_ah_attr.dlid 123 alt_ah_attr.sl 5 alt_ah_attr.port_num 3 alt_pkey_index 1234 "
                            + "en_sqd_async_notify 1 alt_port_num 3 alt_timeout 9 rate_limit 77");
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
}
