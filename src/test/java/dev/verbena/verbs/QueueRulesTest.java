package dev.verbena.verbs;

import static dev.verbena.verbs.RefusedByC.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.ResourceBusyException;
import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Errno;
import dev.verbena.internal.raw.rdma_h;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.OtherThread;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.PostedRequest.Piece;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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

    private WorkQueue readyWorkQueue() {
        WorkQueue queue = loopback.domain.createWorkQueue(
                WorkQueueOptions.of(loopback.left.queue, 4).sge(2));
        queue.modify(WorkQueue.State.READY);
        return queue;
    }

    @Test
    void receivesOfAWorkQueueHaveTheirFields() {
        WorkQueue queue = readyWorkQueue();
        queue.postReceive(0x1_0000_0005L, here.slice(64, 9), here.slice(128, 10));
        assertThat(PostedRequest.last().id()).isEqualTo(0x1_0000_0005L);
        assertThat(PostedRequest.last().queue()).isZero();
        assertThat(PostedRequest.last().pieces())
                .containsExactly(
                        new Piece(here.address() + 64, 9, here.localKey()),
                        new Piece(here.address() + 128, 10, here.localKey()));
        queue.postReceive(6, here.slice(192, 11));
        assertThat(PostedRequest.last().id()).isEqualTo(6);
        assertThat(PostedRequest.last().pieces()).containsExactly(new Piece(here.address() + 192, 11, here.localKey()));
        Fenced.fail("ibv_post_wq_recv", 1, Errno.ENOMEM);
        PostException refused = catchThrowableOfType(PostException.class, () -> queue.postReceive(7, here.slice(0, 8)));
        assertThat(refused.posted()).isZero();
        assertThat(refused.errno()).isEqualTo(Errno.ENOMEM);
        assertThat(refused).hasMessageContaining("1");
    }

    @Test
    void batchesOfAWorkQueueArePostedAtOnce() {
        WorkQueue queue = readyWorkQueue();
        ReceiveBatch batch = queue.receiveBatch(2)
                .receive(8, here.slice(0, 5))
                .receive(9, here.slice(8, 6))
                .and(here.slice(16, 7));
        assertThat(batch.post()).isEqualTo(2);
        List<PostedRequest> posted = PostedRequest.latest(2);
        assertThat(posted).extracting(PostedRequest::id).containsExactly(8L, 9L);
        assertThat(posted.getLast().pieces())
                .containsExactly(
                        new Piece(here.address() + 8, 6, here.localKey()),
                        new Piece(here.address() + 16, 7, here.localKey()));
        queue.modify(WorkQueue.State.ERROR);
        assertThatIllegalStateException().isThrownBy(batch::post).withMessageContaining("READY only");
        queue.close();
        assertThatIllegalStateException().isThrownBy(batch::clear);
        assertThatIllegalArgumentException().isThrownBy(() -> readyWorkQueue().receiveBatch(0));
    }

    @Test
    void optionsOfAWorkQueueReachC() {
        WorkQueueOptions options = WorkQueueOptions.of(loopback.left.queue, 4);
        loopback.domain.createWorkQueue(
                options.flags(WorkQueueOptions.Flag.SCATTER_FCS, WorkQueueOptions.Flag.DELAY_DROP));
        assertThat(Fenced.noted("ibv_create_wq.create_flags"))
                .isEqualTo(WorkQueueOptions.Flag.SCATTER_FCS.bit | WorkQueueOptions.Flag.DELAY_DROP.bit);
        assertThat(Fenced.noted("ibv_create_wq.comp_mask")).isEqualTo(rdma_h.IBV_WQ_INIT_ATTR_FLAGS());
        assertThat(Fenced.noted("ibv_create_wq.wq_type")).isEqualTo(rdma_h.IBV_WQT_RQ());
        WorkQueue queue = loopback.domain.createWorkQueue(options);
        assertThat(Fenced.noted("ibv_create_wq.comp_mask")).isZero();
        queue.modify(WorkQueue.State.READY);
        assertThat(Fenced.noted("ibv_modify_wq.attr_mask")).isEqualTo(rdma_h.IBV_WQ_ATTR_STATE());
        assertThat(Fenced.noted("ibv_modify_wq.wq_state")).isEqualTo(WorkQueue.State.READY.code);
        queue.modify(Set.of(WorkQueueOptions.Flag.SCATTER_FCS), Set.of(WorkQueueOptions.Flag.DELAY_DROP));
        assertThat(Fenced.noted("ibv_modify_wq.attr_mask")).isEqualTo(rdma_h.IBV_WQ_ATTR_FLAGS());
        assertThat(Fenced.noted("ibv_modify_wq.flags")).isEqualTo(WorkQueueOptions.Flag.SCATTER_FCS.bit);
        assertThat(Fenced.noted("ibv_modify_wq.flags_mask"))
                .isEqualTo(WorkQueueOptions.Flag.SCATTER_FCS.bit | WorkQueueOptions.Flag.DELAY_DROP.bit);
        assertThat(queue.state()).isEqualTo(WorkQueue.State.READY);
        assertRefused(
                        "ibv_modify_wq",
                        Errno.EOPNOTSUPP,
                        () -> queue.modify(Set.of(WorkQueueOptions.Flag.SCATTER_FCS), Set.of()))
                .isInstanceOf(UnsupportedVerbException.class)
                .hasMessageContaining("ibv_modify_wq(" + queue + ", set [SCATTER_FCS], clear [])");
    }

    /** C does not know the regions of an address space: a post keeps them open itself. */
    @Test
    void postsToAWorkQueueKeepNoRegion() throws Throwable {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            Context context = TestDevice.get().open(arena);
            ProtectionDomain domain = context.allocateProtectionDomain();
            AddressSpace space = domain.registerAddressSpace(AccessFlag.LOCAL_WRITE);
            WorkQueue queue = domain.createWorkQueue(
                    WorkQueueOptions.of(context.createCompletionQueue(4), 4).sge(2));
            MemoryRegion one = space.region(arena.allocate(64));
            MemoryRegion other = space.region(arena.allocate(64));
            assertThatIllegalStateException()
                    .isThrownBy(() -> queue.postReceive(1, one, other))
                    .withMessageContaining("READY only");
            queue.modify(WorkQueue.State.READY);
            queue.postReceive(1, one, other);
            OtherThread<Void> closing = OtherThread.start(() -> {
                one.close();
                other.close();
            });
            closing.join();
            assertThatIllegalStateException().isThrownBy(() -> queue.postReceive(2, one));
            ReceiveBatch batch =
                    domain.createSharedReceiveQueue(SharedReceiveQueue.basic()).receiveBatch(2);
            MemoryRegion third = space.region(arena.allocate(64));
            MemoryRegion fourth = space.region(arena.allocate(64));
            batch.receive(1, third).receive(2, fourth).post();
            OtherThread.start(() -> {
                        third.close();
                        fourth.close();
                    })
                    .join();
            assertThatIllegalStateException().isThrownBy(batch::post);
        }
    }

    @Test
    void sharedReceiveQueuesShowWhatTheyAre() {
        XrcDomain xrcDomain = loopback.context.openXrcDomain();
        CompletionQueue completions = loopback.context.createCompletionQueue(4);
        SharedReceiveQueueOptions options = SharedReceiveQueue.xrc(xrcDomain, completions);
        assertThat(SharedReceiveQueueOptions.TYPE.of(options)).isEqualTo(SharedReceiveQueue.Type.XRC);
        assertThat(SharedReceiveQueueOptions.TAGS.of(options)).isZero();
        assertThat(SharedReceiveQueueOptions.TAG_OPERATIONS.of(options)).isZero();
        assertThat(options).hasToString("type XRC, domain " + xrcDomain + ", queue " + completions);
        SharedReceiveQueueOptions tags = SharedReceiveQueue.tagMatching(completions, 5, 6);
        assertThat(tags)
                .hasToString("type TAG_MATCHING, queue " + completions + ", tags 5, operations on tags 6")
                .isNotEqualTo(SharedReceiveQueue.tagMatching(completions, 5, 7));
        SharedReceiveQueue queue = loopback.domain.createSharedReceiveQueue(options.depth(8));
        assertThat(queue.type()).isEqualTo(SharedReceiveQueue.Type.XRC);
        assertThat(queue.domain()).isSameAs(loopback.domain);
        assertThat(queue.number()).isPositive();
        assertThat(queue.number())
                .isNotEqualTo(loopback.domain.createSharedReceiveQueue(options).number());
        SharedReceiveQueue basic = loopback.domain.createSharedReceiveQueue(SharedReceiveQueue.basic());
        assertThatThrownBy(basic::number)
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("ibv_get_srq_num(" + basic + ")");
        basic.close(); // the refused call keeps nothing
        assertThatThrownBy(completions::close).isInstanceOf(ResourceBusyException.class);
        assertThatThrownBy(xrcDomain::close).isInstanceOf(ResourceBusyException.class);
        queue.number();
        ReceiveBatch batch = queue.receiveBatch(1).receive(1, here.slice(0, 8));
        queue.close();
        assertThatIllegalStateException().isThrownBy(batch::post).withMessageContaining("closed");
        for (Runnable call : List.<Runnable>of(
                queue::number, queue::domain, queue::type, queue::capabilities, queue::query, () -> queue.resize(5))) {
            assertThatIllegalStateException().isThrownBy(call::run).withMessageContaining("is closed");
        }
    }

    @Test
    void sharedReceiveQueueIsResized() {
        SharedReceiveQueue queue = loopback.domain.createSharedReceiveQueue(
                SharedReceiveQueue.basic().depth(8));
        for (int depth : new int[] {0, -1}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> queue.resize(depth))
                    .withMessageContaining("not " + depth);
        }
        queue.resize(1);
        assertThat(queue.capabilities().depth()).isOne();
        queue.resize(33);
        assertThat(queue.capabilities().depth()).isEqualTo(33);
        assertThat(queue).hasToString("BASIC shared receive queue of " + loopback.context.name() + " (33x1, limit 0)");
        assertRefused("ibv_modify_srq", Errno.EINVAL, () -> queue.resize(4))
                .hasMessageContaining("ibv_modify_srq(" + queue + ", depth 4)")
                .hasMessageContaining("The limit must not be more than the depth");
        assertThat(queue.capabilities().depth()).isEqualTo(33);
    }

    @Test
    void refusedSharedReceiveQueueNamesItsOptions() {
        SharedReceiveQueueOptions tooLarge = SharedReceiveQueue.basic().depth(1 << 15);
        assertThatThrownBy(() -> loopback.domain.createSharedReceiveQueue(tooLarge))
                .isInstanceOf(VerbsException.class)
                .hasMessageMatching(
                        "(?s)ibv_create_srq\\(" + loopback.context.name()
                                + ", type BASIC, depth 32768\\): EINVAL.*This device allows at most \\d+ receives a queue, 16 pieces.*");
        SharedReceiveQueueOptions tags = SharedReceiveQueue.tagMatching(loopback.left.queue, 1, 1);
        assertRefused("ibv_create_srq_ex", Errno.EOPNOTSUPP, () -> loopback.domain.createSharedReceiveQueue(tags))
                .isInstanceOf(UnsupportedVerbException.class)
                .hasMessageContaining("ibv_create_srq_ex(" + loopback.context.name() + ", " + tags + ")")
                .hasMessageContaining("no shared receive queue of this kind");
    }

    @Test
    void limitRaisesAnEventOfItsQueue() throws InterruptedException {
        SharedReceiveQueue queue = loopback.domain.createSharedReceiveQueue(SharedReceiveQueue.basic());
        QueuePair pair = loopback.domain.createQueuePair(
                QueuePair.rc(loopback.left.queue).sharedReceiveQueue(queue));
        pair.connect(pair.endpoint());
        queue.postReceive(1, here.slice(0, 8));
        queue.limit(1);
        pair.postSend(2, here.slice(64, 8));
        AsyncEvent event = loopback.context.events().await(Loopback.DEADLINE);
        assertThat(event.type()).isEqualTo(AsyncEvent.Type.SRQ_LIMIT_REACHED);
        assertThat(((AsyncEvent.OfSharedReceiveQueue) event).queue()).isSameAs(queue);
    }

    private MemoryRegion bindable() {
        return loopback.domain.register(
                loopback.arena.allocate(4096, 64), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.MW_BIND);
    }

    @Test
    void bindingsOfType1HaveTheirFields() throws InterruptedException {
        MemoryRegion region = bindable();
        MemoryWindow window = loopback.domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_1);
        QueuePair pair = loopback.left.pair;
        pair.postBind(0x1_0000_0009L, window, region.slice(128, 256), Set.of(AccessFlag.REMOTE_WRITE));
        assertThat(Fenced.noted("ibv_bind_mw.wr_id")).isEqualTo(0x1_0000_0009L);
        assertThat(Fenced.noted("ibv_bind_mw.send_flags")).isEqualTo(SendBatch.SIGNALED);
        assertThat(Fenced.noted("ibv_bind_mw.mr")).isEqualTo(region.structure());
        assertThat(Fenced.noted("ibv_bind_mw.addr")).isEqualTo(region.address() + 128);
        assertThat(Fenced.noted("ibv_bind_mw.length")).isEqualTo(256);
        assertThat(Fenced.noted("ibv_bind_mw.mw_access_flags")).isEqualTo(AccessFlag.REMOTE_WRITE.bit);
        assertThat(window.remote()).isEqualTo(new RemoteMemory(region.address() + 128, window.key(), 256));
        assertThatThrownBy(region::close).isInstanceOf(VerbsException.class).hasMessageContaining(window.toString());
        pair.postUnbind(10, window);
        assertThat(Fenced.noted("ibv_bind_mw.wr_id")).isEqualTo(10);
        assertThat(Fenced.noted("ibv_bind_mw.addr")).isZero();
        assertThat(Fenced.noted("ibv_bind_mw.length")).isZero();
        assertThat(Fenced.noted("ibv_bind_mw.mw_access_flags")).isZero();
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
        assertThatIllegalArgumentException().isThrownBy(() -> pair.postBind(1, foreign, region, access));
        MemoryRegion readOnly = domain.register(loopback.arena.allocate(64), AccessFlag.MW_BIND);
        assertThatIllegalArgumentException().isThrownBy(() -> pair.postBind(1, window, readOnly, access));
        MemoryRegion unbindable = domain.register(loopback.arena.allocate(64), AccessFlag.LOCAL_WRITE);
        assertThatIllegalArgumentException().isThrownBy(() -> pair.postBind(1, window, unbindable, Set.of()));
        MemoryWindow type2 = domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_2);
        assertThatIllegalArgumentException().isThrownBy(() -> pair.postUnbind(1, type2));
        try (QueuePair unready = domain.createQueuePair(QueuePair.rc(loopback.left.queue))) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> unready.postBind(1, window, region, access))
                    .withMessageNotContaining("closed");
            QueuePair datagrams = domain.createQueuePair(QueuePair.ud(loopback.left.queue));
            datagrams.toReady(1);
            assertThatIllegalStateException()
                    .isThrownBy(() -> datagrams.postBind(1, window, region, access))
                    .withMessageContaining("BIND_MW");
            datagrams.close();
        }
        pair.fail();
        assertThat(loopback.left.next().operation()).isEqualTo(Operation.SEND);
        assertThat(loopback.left.next().operation()).isEqualTo(Operation.RDMA_READ);
        region.close(); // no refused post keeps it
        window.close();
        pair.close();
        assertThatIllegalStateException().isThrownBy(() -> pair.postUnbind(1, type2));
        MemoryWindow other = domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_1);
        assertThatIllegalStateException()
                .isThrownBy(() -> pair.postUnbind(1, other))
                .withMessageContaining("closed");
    }

    @Test
    void bindingsOfManyThreadsComeOneByOne() throws Throwable {
        try (Loopback shared = Loopback.connected(VerbsArena.ofShared(), QueuePairAttributes.none())) {
            MemoryRegion region = shared.domain.register(
                    shared.arena.allocate(64), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.MW_BIND);
            MemoryWindow window = shared.domain.allocateMemoryWindow(MemoryWindow.Type.TYPE_1);
            for (int i = 0; i < 3; i++) {
                OtherThread.run(() -> shared.left.pair.postBind(1, window, region, Set.of(AccessFlag.REMOTE_WRITE)));
            }
            OtherThread.run(() -> shared.left.pair.postUnbind(2, window));
        }
    }

    private static QueuePair apart(Loopback loopback, CompletionQueue sends, CompletionQueue receives) {
        QueuePair pair = loopback.domain.createQueuePair(QueuePair.rc(sends, receives));
        pair.connect(pair.endpoint());
        return pair;
    }

    private static List<Long> drained(QueuePair pair) throws InterruptedException {
        List<Long> ids = new ArrayList<>();
        pair.drain(done -> ids.add(done.id()), Loopback.DEADLINE);
        return ids;
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3})
    void drainTakesTheCompletionsOfBothQueues(int posts) throws InterruptedException {
        CompletionQueue sends = loopback.context.createCompletionQueue(16);
        CompletionQueue receives = loopback.context.createCompletionQueue(16);
        QueuePair pair = apart(loopback, sends, receives);
        List<Long> expected = new ArrayList<>();
        if ((posts & 1) != 0) {
            pair.postReceive(1, here.slice(0, 8));
            pair.postReceive(2, here.slice(0, 8));
            expected.addAll(List.of(1L, 2L));
        }
        if ((posts & 2) != 0) {
            pair.postWrite(3, here.slice(0, 8), loopback.right.buffer.remote());
            pair.postWrite(4, here.slice(0, 8), loopback.right.buffer.remote());
            expected.addAll(List.of(3L, 4L));
        }
        assertThat(drained(pair)).containsExactlyInAnyOrderElementsOf(expected);
        assertThat(pair.state()).isEqualTo(QueuePairState.ERR);
        assertThat(sends.poll()).isNull();
        assertThat(receives.poll()).isNull();
    }

    @Test
    void drainKeepsReceivesThatOthersShare() throws InterruptedException {
        SharedReceiveQueue queue = loopback.domain.createSharedReceiveQueue(SharedReceiveQueue.basic());
        QueuePair pair = loopback.domain.createQueuePair(
                QueuePair.rc(loopback.left.queue).sharedReceiveQueue(queue));
        pair.connect(pair.endpoint());
        queue.postReceive(1, here.slice(0, 8));
        pair.postWrite(2, here.slice(0, 8), loopback.right.buffer.remote());
        assertThat(drained(pair)).containsExactly(2L);
        assertThat(pair.posted.ownsReceives()).isFalse();
        assertThat(loopback.left.pair.posted.ownsReceives()).isTrue();
    }

    @Test
    void drainOfAPairWithoutQueuesFailsThePair() throws InterruptedException {
        QueuePair pair = loopback.domain.createQueuePair(QueuePair.xrcSend(loopback.left.queue));
        pair.connect(loopback.right.pair.endpoint());
        pair.postSend(1, here.slice(0, 8));
        assertThat(drained(pair)).containsExactly(1L);
        assertThat(pair.state()).isEqualTo(QueuePairState.ERR);
    }

    /** Another thread may take the completion that the drain waits for. Here it is the taker. */
    private Consumer<WorkCompletion> thief(CompletionQueue queue, Runnable more) {
        return done -> {
            while (queue.poll() != null) {
                // all that are there
            }
            more.run();
        };
    }

    @Test
    void drainEndsWhenItsTimeIsOver() {
        QueuePair pair = loopback.left.pair;
        pair.postReceive(1, here.slice(0, 8));
        pair.postReceive(2, here.slice(0, 8));
        assertThatThrownBy(() -> pair.drain(thief(loopback.left.queue, () -> {}), Duration.ofMillis(1)))
                .isInstanceOf(VerbsTimeoutException.class)
                .hasMessageContaining("drain(" + pair)
                .hasMessageContaining("another thread poll the completion queues");
    }

    @Test
    void drainEndsByAnInterrupt() {
        QueuePair pair = loopback.left.pair;
        pair.postSend(1, here.slice(0, 8));
        assertThatThrownBy(() -> pair.drain(
                        thief(loopback.left.queue, () -> Thread.currentThread().interrupt()), Loopback.DEADLINE))
                .isInstanceOf(InterruptedException.class)
                .hasMessageContaining("while draining " + pair);
        assertThat(Thread.interrupted()).as("the exception clears the flag").isFalse();
    }

    /** Some devices flush only when the queue pair fails again. */
    @Test
    void drainFailsThePairAgainAndAgain() throws Throwable {
        try (Loopback shared = Loopback.connected(VerbsArena.ofShared(), QueuePairAttributes.none())) {
            QueuePair pair = shared.left.pair;
            pair.postSend(1, shared.left.buffer.slice(0, 8));
            Fenced.calm();
            Thread[] drainer = new Thread[1];
            OtherThread<Void> draining = OtherThread.start(() -> {
                drainer[0] = Thread.currentThread();
                pair.drain(thief(shared.left.queue, () -> {}), Loopback.DEADLINE);
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

    @Test
    void standardFieldsAreThoseOfAPlainQueue() {
        assertThat(CompletionField.standard())
                .containsExactlyElementsOf(EnumSet.range(CompletionField.BYTE_LENGTH, CompletionField.PATH_BITS));
    }
}
