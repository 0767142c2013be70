package dev.verbena.verbs;

import static dev.verbena.verbs.GivenToC.noted;
import static dev.verbena.verbs.GivenToC.text;
import static dev.verbena.verbs.Refusals.assertBusy;
import static dev.verbena.verbs.Refusals.assertFails;
import static dev.verbena.verbs.Refusals.assertIllegalArgument;
import static dev.verbena.verbs.Refusals.assertIllegalState;
import static dev.verbena.verbs.Refusals.assertOutOfBounds;
import static dev.verbena.verbs.Refusals.assertRefused;
import static dev.verbena.verbs.Refusals.assertRefusedByC;
import static dev.verbena.verbs.Refusals.assertThrows;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.internal.raw.ibv_srq_init_attr_ex;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.OtherThread;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The rules of work queues, shared receive queues, bindings and drained queue pairs on the provider for tests. */
@FencedTest
@Timeout(120)
class QueueRulesTest {
    private Loopback loopback;
    private MemoryRegion here;

    @BeforeEach
    void connect() {
        loopback = Loopback.connected();
        here = loopback.left.buffer;
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    private static WorkQueue readyWorkQueue(Loopback loopback, int depth) {
        WorkQueue queue = loopback.domain.createWorkQueue(
                WorkQueueOptions.of(loopback.left.queue, depth).sge(2));
        assertThat(queue.state()).isEqualTo(WorkQueue.State.RESET);
        assertIllegalState("READY only: it is in RESET", () -> queue.postReceive(1, loopback.left.buffer));
        queue.modify(WorkQueue.State.READY);
        assertThat(queue.state()).isEqualTo(WorkQueue.State.READY);
        return queue;
    }

    private String lastReceive() {
        assertThat(PostedRequest.last().queue()).isZero();
        return PostedRequest.last().receiveText(loopback);
    }

    @Test
    void workQueueTakesReceivesUntilItIsFull() {
        WorkQueue queue = readyWorkQueue(loopback, 3);
        queue.postReceive(0x1_0000_0005L, here.slice(64, 9), here.slice(128, 10));
        assertThat(lastReceive()).isEqualTo("4294967301 left+64:9 left+128:10");
        queue.postReceive(6, here.slice(192, 11));
        assertThat(lastReceive()).isEqualTo("6 left+192:11");
        queue.postReceive(7);
        assertThat(lastReceive()).isEqualTo("7");
        PostException full = catchThrowableOfType(PostException.class, () -> queue.postReceive(8, here));
        assertThat(full).hasMessageStartingWith("ibv_post_wq_recv(" + queue).hasMessageContaining("full");
        assertThat(full.errno()).isEqualTo(Errno.ENOMEM);
        assertThat(full.posted()).isZero();
        assertIllegalArgument("2 pieces", () -> queue.postReceive(9, here, here, here));
        assertThat(queue).hasToString("work queue " + queue.number() + " of " + loopback.context.name() + " (READY)");
        queue.close();
        assertThat(queue.toString()).endsWith("(closed)");
    }

    @Test
    void piecesOfAWorkQueueMayHaveAlmostFourGigabytes() {
        long size = 1L << 32; // and no pages
        MemoryRegion region = loopback.domain
                .registerAddressSpace(AccessFlag.LOCAL_WRITE)
                .region(MemorySegment.NULL.reinterpret(size));
        WorkQueue queue = readyWorkQueue(loopback, 2);
        queue.postReceive(1, region.slice(0, size - 1));
        assertOutOfBounds(() -> queue.postReceive(2, region));
    }

    @Test
    void batchesOfAWorkQueueArePostedAtOnce() {
        WorkQueue queue = readyWorkQueue(loopback, 4);
        ReceiveBatch batch = queue.receiveBatch(2)
                .receive(8, here.slice(0, 5))
                .receive(9, here.slice(8, 6))
                .and(here.slice(16, 7));
        assertThat(batch.post()).isEqualTo(2);
        assertThat(PostedRequest.latest(2).stream().map(request -> request.receiveText(loopback)))
                .containsExactly("8 left+0:5", "9 left+8:6 left+16:7");
        queue.modify(WorkQueue.State.ERROR);
        assertIllegalState("READY only", batch::post);
        queue.close();
        assertIllegalState("closed", batch::clear);
        assertIllegalArgument(() -> readyWorkQueue(loopback, 4).receiveBatch(0));
    }

    @Test
    void optionsOfAWorkQueueReachC() {
        WorkQueueOptions options = WorkQueueOptions.of(loopback.left.queue, 4);
        loopback.domain.createWorkQueue(
                options.flags(WorkQueueOptions.Flag.SCATTER_FCS, WorkQueueOptions.Flag.DELAY_DROP));
        assertThat(noted("ibv_create_wq", "create_flags", "comp_mask", "wq_type"))
                .isEqualTo("create_flags 6 comp_mask 1 wq_type 0");
        WorkQueue queue = loopback.domain.createWorkQueue(options);
        assertThat(noted("ibv_create_wq", "comp_mask")).isEqualTo("comp_mask 0");
        queue.modify(WorkQueue.State.READY);
        assertThat(noted("ibv_modify_wq", "attr_mask", "wq_state")).isEqualTo("attr_mask 1 wq_state 1");
        queue.modify(Set.of(WorkQueueOptions.Flag.SCATTER_FCS), Set.of(WorkQueueOptions.Flag.DELAY_DROP));
        assertThat(noted("ibv_modify_wq", "attr_mask", "flags", "flags_mask"))
                .isEqualTo("attr_mask 4 flags 2 flags_mask 6");
        assertThat(queue.state()).isEqualTo(WorkQueue.State.READY);
        assertRefusedByC(
                        "ibv_modify_wq(" + queue + ", set [SCATTER_FCS], clear []): EOPNOTSUPP",
                        () -> queue.modify(Set.of(WorkQueueOptions.Flag.SCATTER_FCS), Set.of()))
                .isInstanceOf(UnsupportedVerbException.class);
    }

    @Test
    void failedWorkQueueFlushesItsReceives() throws InterruptedException {
        WorkQueue queue = readyWorkQueue(loopback, 4);
        queue.postReceive(0x1_0000_0007L, here);
        queue.postReceive(8, here.slice(0, 8));
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

    /** C does not know the regions of an address space: a post keeps them open itself, and no longer than it takes. */
    @Test
    void postsToAWorkQueueKeepNoRegion() throws Throwable {
        try (Loopback shared = Loopback.connected(VerbsArena.ofShared(), QueuePairAttributes.none())) {
            AddressSpace space = shared.domain.registerAddressSpace(AccessFlag.LOCAL_WRITE);
            WorkQueue queue = readyWorkQueue(shared, 4);
            MemoryRegion one = space.region(shared.arena.allocate(64));
            MemoryRegion other = space.region(shared.arena.allocate(64));
            queue.postReceive(1, one, other);
            assertRefused("ibv_post_wq_recv", Errno.EINVAL, () -> queue.postReceive(1, one, other));
            OtherThread.run(() -> {
                queue.postReceive(2, one, other); // the lock is free
                one.close();
                other.close();
            });
            assertIllegalState("closed", () -> queue.postReceive(2, shared.left.buffer, one));
            ReceiveBatch batch = shared.domain
                    .createSharedReceiveQueue(SharedReceiveQueue.basic())
                    .receiveBatch(2);
            MemoryRegion third = space.region(shared.arena.allocate(64));
            MemoryRegion fourth = space.region(shared.arena.allocate(64));
            batch.receive(1, third).receive(2, fourth).post();
            OtherThread.run(() -> {
                third.close();
                fourth.close();
            });
            assertIllegalState("closed", batch::post);
        }
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
    void sharedReceiveQueueTakesReceivesUntilItIsFull() {
        SharedReceiveQueue queue = loopback.domain.createSharedReceiveQueue(
                SharedReceiveQueue.basic().depth(4).sge(2));
        assertThat(queue.capabilities()).hasToString("4x2, limit 0").isEqualTo(queue.query());
        queue.limit(3);
        assertThat(queue.query()).hasToString("4x2, limit 3");
        for (int i = 0; i < 4; i++) {
            queue.postReceive(i, here);
        }
        assertThrows(PostException.class, "ENOMEM", () -> queue.postReceive(9, here));
        assertIllegalArgument(() -> queue.receiveBatch(0));
        assertIllegalArgument(() -> new SharedReceiveQueue.Attributes(-1, 0, 0));
        assertIllegalArgument(() -> new SharedReceiveQueue.Attributes(0, -1, 0));
        assertIllegalArgument(() -> new SharedReceiveQueue.Attributes(0, 0, -1));
    }

    @Test
    void sharedReceiveQueuesShowWhatTheyAre() {
        XrcDomain xrcDomain = loopback.context.openXrcDomain();
        CompletionQueue completions = loopback.context.createCompletionQueue(4);
        SharedReceiveQueueOptions options = SharedReceiveQueue.xrc(xrcDomain, completions);
        assertThat(options).hasToString("type XRC, domain " + xrcDomain + ", queue " + completions);
        SharedReceiveQueueOptions tags = SharedReceiveQueue.tagMatching(completions, 5, 6);
        assertThat(tags)
                .hasToString("type TAG_MATCHING, queue " + completions + ", tags 5, operations on tags 6")
                .isNotEqualTo(SharedReceiveQueue.tagMatching(completions, 5, 7));
        SharedReceiveQueue queue = loopback.domain.createSharedReceiveQueue(options.depth(8));
        assertThat(queue.type()).isEqualTo(SharedReceiveQueue.Type.XRC);
        assertThat(queue.domain()).isSameAs(loopback.domain);
        assertThat(queue.number())
                .isPositive()
                .isNotEqualTo(loopback.domain.createSharedReceiveQueue(options).number());
        SharedReceiveQueue basic = loopback.domain.createSharedReceiveQueue(SharedReceiveQueue.basic());
        assertFails("ibv_get_srq_num(" + basic + ")", basic::number);
        basic.close(); // the refused call keeps nothing
        assertBusy(completions::close, queue);
        assertBusy(xrcDomain::close, queue);
    }

    @Test
    void sharedReceiveQueueIsResized() {
        SharedReceiveQueue queue = loopback.domain.createSharedReceiveQueue(
                SharedReceiveQueue.basic().depth(8));
        for (int depth : new int[] {0, -1}) {
            assertIllegalArgument("not " + depth, () -> queue.resize(depth));
        }
        queue.resize(1);
        assertThat(queue.capabilities().depth()).isOne();
        queue.resize(33);
        assertThat(queue.capabilities().depth()).isEqualTo(33);
        assertThat(queue).hasToString("BASIC shared receive queue of " + loopback.context.name() + " (33x1, limit 0)");
        assertRefusedByC(
                "ibv_modify_srq(" + queue + ", depth 4): EINVAL",
                "The limit must not be more than the depth",
                () -> queue.resize(4));
        assertThat(queue.capabilities().depth()).isEqualTo(33);
    }

    @Test
    void refusedSharedReceiveQueueNamesItsOptions() {
        SharedReceiveQueueOptions tooLarge = SharedReceiveQueue.basic().depth(1 << 15);
        assertFails(
                        "ibv_create_srq(" + loopback.context.name() + ", type BASIC, depth 32768): EINVAL",
                        "This device allows at most ",
                        () -> loopback.domain.createSharedReceiveQueue(tooLarge))
                .hasMessageContaining(" receives a queue, 16 pieces");
        SharedReceiveQueueOptions tags = SharedReceiveQueue.tagMatching(loopback.left.queue, 1, 1);
        assertRefusedByC(
                        "ibv_create_srq_ex(" + loopback.context.name() + ", " + tags + "): EOPNOTSUPP",
                        "no shared receive queue of this kind",
                        () -> loopback.domain.createSharedReceiveQueue(tags))
                .isInstanceOf(UnsupportedVerbException.class);
    }

    private MemoryRegion bindable() {
        return loopback.domain.register(
                loopback.arena.allocate(4096, 64), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.MW_BIND);
    }

    private static String bound() {
        return noted("ibv_bind_mw", "wr_id", "send_flags", "mr", "addr", "length", "mw_access_flags");
    }

    @Test
    void bindingsOfType1HaveTheirFields() throws InterruptedException {
        MemoryRegion region = bindable();
        MemoryWindow window = loopback.domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_1);
        QueuePair pair = loopback.left.pair;
        pair.postBind(0x1_0000_0009L, window, region.slice(128, 256), Set.of(AccessFlag.REMOTE_WRITE));
        assertThat(bound())
                .isEqualTo(
                        "wr_id 100000009 send_flags 2 mr %x addr %x length 100 mw_access_flags 2",
                        region.structure(), region.address() + 128);
        assertThat(window.remote()).isEqualTo(new RemoteMemory(region.address() + 128, window.key(), 256));
        assertThrows(VerbsException.class, window.toString(), region::close);
        pair.postUnbind(10, window);
        assertThat(bound()).matches("wr_id a send_flags 2 mr \\p{XDigit}+ addr 0 length 0 mw_access_flags 0");
        assertThat(loopback.left.done().id()).isEqualTo(0x1_0000_0009L);
        assertThat(loopback.left.done().id()).isEqualTo(10);
        region.close();
    }

    @Test
    void refusedBindingsKeepNothing() throws Throwable {
        MemoryRegion region = bindable();
        ProtectionDomain domain = loopback.domain;
        MemoryWindow window = domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_1);
        QueuePair pair = loopback.left.pair;
        Set<AccessFlag> access = Set.of(AccessFlag.REMOTE_WRITE);
        pair.postSend(5, here.slice(0, 8)); // waits for a receive
        pair.postRead(6, here.slice(0, 8), loopback.right.buffer.remote()); // from now on each request is logged
        Fenced.fail("ibv_bind_mw", 1, Errno.ENOMEM);
        PostException refused =
                catchThrowableOfType(PostException.class, () -> pair.postBind(5, window, region, access));
        assertThat(refused).hasMessageContaining("ibv_bind_mw").hasMessageContaining("ENOMEM");
        assertThat(refused.posted()).isZero();
        MemoryWindow foreign =
                loopback.context.allocateProtectionDomain().allocateMemoryWindow(MemoryWindow.Type.TYPE_1);
        assertIllegalArgument(
                foreign + " belongs to another protection domain", () -> pair.postBind(1, foreign, region, access));
        MemoryRegion readOnly = domain.register(loopback.arena.allocate(64), AccessFlag.MW_BIND);
        assertIllegalArgument(() -> pair.postBind(1, window, readOnly, access));
        MemoryRegion unbindable = domain.register(loopback.arena.allocate(64), AccessFlag.LOCAL_WRITE);
        assertIllegalArgument(() -> pair.postBind(1, window, unbindable, Set.of()));
        MemoryWindow type2 = domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2);
        assertIllegalArgument(() -> pair.postUnbind(1, type2));
        QueuePair unready = domain.createQueuePair(QueuePair.rc(loopback.left.queue));
        assertIllegalState(() -> unready.postBind(1, window, region, access)).hasMessageNotContaining("closed");
        QueuePair datagrams = domain.createQueuePair(QueuePair.ud(loopback.left.queue));
        datagrams.toReady(1);
        assertIllegalState("BIND_MW", () -> datagrams.postBind(1, window, region, access));
        pair.fail();
        assertThat(loopback.left.next().operation()).isEqualTo(Operation.SEND);
        assertThat(loopback.left.next().operation()).isEqualTo(Operation.RDMA_READ);
        region.close(); // no refused post keeps it
        window.close();
        pair.close();
        MemoryWindow other = domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_1);
        assertIllegalState("closed", () -> pair.postUnbind(1, other));
    }

    @Test
    void drainOfAPairWithoutQueuesFailsThePair() throws InterruptedException {
        QueuePair pair = loopback.domain.createQueuePair(QueuePair.xrcSend(loopback.left.queue));
        pair.connect(loopback.right.pair.endpoint());
        pair.postSend(1, here.slice(0, 8));
        List<Long> drained = new ArrayList<>();
        pair.drain(done -> drained.add(done.id()), Loopback.DEADLINE);
        assertThat(drained).containsExactly(1L);
        assertThat(pair.state()).isEqualTo(QueuePairState.ERR);
    }

    private static void pollAll(CompletionQueue queue) {
        while (queue.poll() != null) {
            // the next one
        }
    }

    /** Some devices flush only when the queue pair fails again. Here the completion that the drain waits for is stolen. */
    @Test
    void drainFailsThePairAgainAndAgain() throws Throwable {
        try (Loopback shared = Loopback.connected(VerbsArena.ofShared(), QueuePairAttributes.none())) {
            QueuePair pair = shared.left.pair;
            pair.postSend(1, shared.left.buffer.slice(0, 8));
            Fenced.calm();
            Thread[] drainer = new Thread[1];
            OtherThread<Void> draining = OtherThread.start(() -> {
                drainer[0] = Thread.currentThread();
                pair.drain(done -> pollAll(shared.left.queue), Loopback.DEADLINE);
                return null;
            });
            Await.until("more failures", () -> Fenced.calls("ibv_modify_qp") >= 3);
            assertThat(Fenced.calls("ibv_poll_cq"))
                    .as("it looks often between two failures")
                    .isGreaterThan(100);
            drainer[0].interrupt();
            assertThat(catchThrowable(draining::join)).isInstanceOf(InterruptedException.class);
        }
    }

    /** Numbers that differ in one bit only, each once. */
    @Test
    void queuePairsOfAnyNumberAreFound() {
        CompletionQueue queue = loopback.context.createCompletionQueue(256);
        List<QueuePair> pairs = new ArrayList<>();
        for (int bit = 0; bit < 24; bit++) {
            Fenced.nextNumber(0x345000 ^ 1 << bit);
            pairs.add(loopback.domain.createQueuePair(QueuePair.rc(queue)));
        }
        Fenced.nextNumber(0x345000);
        pairs.add(loopback.domain.createQueuePair(QueuePair.rc(queue)));
        Fenced.nextNumber(0x400000);
        Completions done = queue.completions(1);
        for (QueuePair pair : pairs) {
            pair.connect(pair.endpoint());
            pair.postWrite(1, here.slice(0, 8), loopback.right.buffer.remote());
            assertThat(done.poll()).isOne();
            assertThat(done.next()).isTrue();
            assertThat(done.queuePair()).isSameAs(pair);
        }
        for (QueuePair pair : pairs) {
            pair.close();
        }
        Fenced.nextNumber(0x345000);
        QueuePair again = loopback.domain.createQueuePair(QueuePair.rc(queue));
        again.connect(again.endpoint());
        assertThat(again.states.ownsFailures())
                .as("failures may be those of the closed one")
                .isFalse();
        Fenced.nextNumber(0x346000);
        QueuePair other = loopback.domain.createQueuePair(QueuePair.rc(queue));
        assertThat(other.states.ownsFailures()).isTrue();
    }
}
