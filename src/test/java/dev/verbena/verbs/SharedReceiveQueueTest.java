package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.verbena.ResourceBusyException;
import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Fault;
import dev.verbena.support.Loopback;
import dev.verbena.support.TestDevice;
import dev.verbena.support.Unsupported;
import dev.verbena.verbs.address.Grh;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Receives that queue pairs share. */
@DeviceTest
class SharedReceiveQueueTest {
    private static final int PLACE = 256;

    private VerbsArena arena;
    private Context context;
    private ProtectionDomain domain;
    private CompletionQueue sent;
    private CompletionQueue received;
    private MemoryRegion buffer;
    private SharedReceiveQueue shared;

    @BeforeEach
    void open() {
        arena = VerbsArena.ofConfined();
        context = TestDevice.get().open(arena);
        domain = context.allocateProtectionDomain();
        sent = context.createCompletionQueue(128);
        received = context.createCompletionQueue(128);
        buffer = domain.register(arena.allocate(64L * PLACE, 4096), AccessFlag.LOCAL_WRITE);
        shared = domain.createSharedReceiveQueue(
                SharedReceiveQueue.basic().depth(16).sge(2));
    }

    @AfterEach
    void close() {
        arena.close();
    }

    /** A queue pair that sends to one that receives from the shared queue; answers both. */
    private QueuePair[] connected() {
        QueuePair sender = domain.createQueuePair(QueuePair.rc(sent).inlineSize(32));
        QueuePair receiver = domain.createQueuePair(QueuePair.rc(sent, received).sharedReceiveQueue(shared));
        sender.connect(receiver.endpoint(), QueuePairAttributes.none().rnrRetryCount(0));
        receiver.connect(sender.endpoint());
        return new QueuePair[] {sender, receiver};
    }

    private LocalMemory place(int number) {
        return buffer.slice((long) number * PLACE, PLACE);
    }

    private static MemorySegment text(String text) {
        return MemorySegment.ofArray(text.getBytes(StandardCharsets.UTF_8));
    }

    private WorkCompletion next(CompletionQueue queue) throws InterruptedException {
        return queue.await(Loopback.DEADLINE);
    }

    @Test
    void queuePairsShareReceives() throws Exception {
        QueuePair[] one = connected();
        QueuePair[] other = connected();
        shared.postReceive(1, place(1));
        shared.postReceive(2, place(2));

        one[0].postSendInline(10, text("one"));
        next(sent).orThrow();
        WorkCompletion first = next(received).orThrow();
        other[0].postSendInline(11, text("other"));
        next(sent).orThrow();
        WorkCompletion second = next(received).orThrow();

        assertThat(first.id()).isEqualTo(1);
        assertThat(first.queuePairNumber()).isEqualTo(one[1].number());
        assertThat(first.byteLength()).isEqualTo(3);
        assertThat(second.id()).isEqualTo(2);
        assertThat(second.queuePairNumber()).isEqualTo(other[1].number());
        assertThat(place(2).segment().asSlice(0, 5).mismatch(text("other"))).isEqualTo(-1);
    }

    @Test
    void batchPostsSharedReceives() throws Exception {
        QueuePair[] pair = connected();
        ReceiveBatch batch = shared.receiveBatch(8);
        for (int i = 0; i < 8; i++) {
            batch.receive(i, place(2 * i)).and(place(2 * i + 1));
        }
        assertThat(batch.post()).isEqualTo(8);

        for (int i = 0; i < 8; i++) {
            pair[0].postSendInline(i, text("message " + i));
            next(sent).orThrow();
            assertThat(next(received).orThrow().id()).isEqualTo(i);
        }
    }

    @Test
    void partialPostReportsThePostedCount() {
        int asked = 16;
        ReceiveBatch batch = shared.receiveBatch(64);
        for (int i = 0; i < 64; i++) {
            batch.receive(i, place(i));
        }

        assertThatThrownBy(batch::post).isInstanceOfSatisfying(PostException.class, refused -> {
            assertThat(refused.posted()).isGreaterThanOrEqualTo(asked).isLessThan(64);
            assertThat(refused).hasMessageContaining("ibv_post_srq_recv").hasMessageContaining("ENOMEM");
        });
    }

    @Test
    void createGrantsAtLeastTheRequestedSizes() {
        assertThat(shared.capabilities().depth()).isGreaterThanOrEqualTo(16);
        assertThat(shared.capabilities().sge()).isGreaterThanOrEqualTo(2);

        SharedReceiveQueue.Attributes found = shared.query();
        assertThat(found.depth()).isGreaterThanOrEqualTo(16);
        assertThat(found.limit()).isZero();
    }

    @Test
    void limitIsSet() {
        shared.limit(3);
        assertThat(shared.query().limit()).isEqualTo(3);

        assertThatThrownBy(() -> shared.limit(1 << 20))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("ibv_modify_srq")
                .hasMessageContaining("EINVAL");
        assertThatThrownBy(() -> shared.limit(-1)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void resizeKeepsPostedReceives() throws Exception {
        QueuePair[] pair = connected();
        shared.postReceive(1, place(1));
        shared.resize(100);
        assertThat(shared.capabilities().depth()).isGreaterThanOrEqualTo(100);

        for (int i = 2; i <= 60; i++) {
            shared.postReceive(i, place(i));
        }
        pair[0].postSendInline(1, text("kept"));
        next(sent).orThrow();
        assertThat(next(received).orThrow().id()).isEqualTo(1);
    }

    @Test
    void pairWithASharedQueueRefusesItsOwnReceives() {
        QueuePair[] pair = connected();

        assertThatThrownBy(() -> pair[1].postReceive(1, place(1)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("shared receive queue");
    }

    @Test
    void failedPairLeavesSharedReceives() throws Exception {
        QueuePair[] failing = connected();
        QueuePair[] pair = connected();
        shared.postReceive(1, place(1));
        failing[1].fail();

        pair[0].postSendInline(1, text("still there"));
        next(sent).orThrow();
        WorkCompletion done = next(received).orThrow();
        assertThat(done.id()).isEqualTo(1);
        assertThat(done.queuePairNumber()).isEqualTo(pair[1].number());
    }

    @Test
    void sendFailsWithoutSharedReceives() throws Exception {
        QueuePair[] pair = connected();
        pair[0].postSendInline(1, text("nobody"));

        assertThat(next(sent).status()).isEqualTo(WorkStatus.RNR_RETRY_EXCEEDED);
        assertThat(pair[0].state()).isEqualTo(QueuePairState.ERR);
        assertThat(pair[1].query().state()).isEqualTo(QueuePairState.RTS);
    }

    @Test
    void shortReceiveFailsOnBothSides() throws Exception {
        QueuePair[] pair = connected();
        shared.postReceive(1, buffer.slice(0, 4));
        pair[0].postSendInline(2, text("too long for it"));

        assertThat(next(sent).status())
                .isIn(WorkStatus.REMOTE_OPERATION_ERROR, WorkStatus.REMOTE_INVALID_REQUEST_ERROR);
        WorkCompletion failed = next(received);
        assertThat(failed.id()).isEqualTo(1);
        assertThat(failed.status()).isIn(WorkStatus.LOCAL_LENGTH_ERROR, WorkStatus.LOCAL_QP_OPERATION_ERROR);
        assertThat(failed.operation()).isEqualTo(Operation.RECEIVE);
    }

    @Test
    void datagramPairsShareReceives() throws Exception {
        QueuePair sender = domain.createQueuePair(QueuePair.ud(sent).inlineSize(32));
        QueuePair receiver = domain.createQueuePair(QueuePair.ud(sent, received).sharedReceiveQueue(shared));
        sender.toReady(1);
        receiver.toReady(2);
        AddressHandle path = domain.createAddressHandle(sender.pathTo(receiver.endpoint()));
        shared.postReceive(7, place(0));
        sender.postSendInline(1, text("datagram"), path, receiver.number(), 2);

        next(sent).orThrow();
        WorkCompletion done = next(received).orThrow();
        assertThat(done.id()).isEqualTo(7);
        assertThat(done.byteLength()).isEqualTo(Grh.BYTES + 8);
        assertThat(done.sourceQueuePair()).isEqualTo(sender.number());
    }

    @Test
    @Fault("shared-foreign-key")
    void postRefusesMemoryOfAnotherDomain() {
        MemoryRegion foreign = context.allocateProtectionDomain().register(arena.allocate(64), AccessFlag.LOCAL_WRITE);

        assertThatThrownBy(() -> shared.postReceive(1, foreign))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("another protection domain");
    }

    @Test
    void closeFailsWhileQueuePairsUseTheQueue() {
        QueuePair[] pair = connected();
        assertThatThrownBy(shared::close).isInstanceOf(ResourceBusyException.class);

        pair[1].close();
        shared.close();
        assertThat(shared.isOpen()).isFalse();
        assertThatThrownBy(() -> shared.postReceive(1, place(1))).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void createRefusesSizesBeyondTheDeviceWithItsLimits() {
        int most = context.attributes().maxSharedReceives();

        assertThatThrownBy(() -> domain.createSharedReceiveQueue(
                        SharedReceiveQueue.basic().depth(most + 1)))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("ibv_create_srq")
                .hasMessageContaining("at most " + most + " receives");
        assertThatThrownBy(() -> SharedReceiveQueue.basic().depth(-1)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void numberIsKnown() {
        assertThat(Unsupported.orAborts("ibv_get_srq_num", shared::number)).isNotZero();
    }

    @Test
    void tagsNeedTagMatching() {
        assertThatThrownBy(shared::tags).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void tagIsAdded() {
        SharedReceiveQueue tagged = Unsupported.orAborts(
                "ibv_create_srq_ex",
                () -> domain.createSharedReceiveQueue(SharedReceiveQueue.tagMatching(received, 8, 8)),
                "no shared receive queue");
        assertThat(tagged.tags().add(1, 2, place(1), 42, -1, 0)).isNotNegative();
    }

    @Test
    void tagOperationsAreUnsupportedOnOtherQueues() {
        assumeTrue(
                context.device().driver().contains("rxe") || context.name().startsWith("rxe"),
                "a driver without tag matching");
        TagMatching tags = new TagMatching(shared);

        assertThatThrownBy(() -> tags.add(1, 2, place(1), 42, -1, 0))
                .isInstanceOf(UnsupportedVerbException.class)
                .hasMessageContaining("ibv_post_srq_ops")
                .hasMessageContaining("adding tag 0x2a");
        assertThatThrownBy(() -> tags.remove(1, 0, 0)).isInstanceOf(UnsupportedVerbException.class);
        assertThatThrownBy(() -> tags.synchronize(1, 0)).isInstanceOf(UnsupportedVerbException.class);
    }

    @Test
    void refusedXrcIsNamed() {
        assumeTrue(
                Unsupported.isRefused("ibv_open_xrcd", context::openXrcDomain, "no extended reliable"),
                "the device has extended reliable connections");
        assertThatThrownBy(() -> context.openXrcDomain(Path.of("/etc/hostname"), arena))
                .isInstanceOf(UnsupportedVerbException.class)
                .hasMessageContaining("/etc/hostname");
        assertThatThrownBy(() -> domain.createQueuePair(QueuePair.xrcSend(sent)))
                .isInstanceOf(UnsupportedVerbException.class)
                .hasMessageContaining("XRC_SEND");
    }

    @Test
    void xrcPairSendsToASharedQueue() {
        XrcDomain xrc = Unsupported.orAborts("ibv_open_xrcd", () -> context.openXrcDomain(), "no extended reliable");
        SharedReceiveQueue queue = domain.createSharedReceiveQueue(SharedReceiveQueue.xrc(xrc, received));
        QueuePair sender = domain.createQueuePair(QueuePair.xrcSend(sent));
        QueuePair receiver = domain.createQueuePair(QueuePair.xrcReceive(xrc));
        sender.connect(receiver.endpoint());
        receiver.connect(sender.endpoint());
        queue.postReceive(1, place(1));
        assertThat(sender.sendBatch(1)
                        .send(1, place(0))
                        .toShared(queue.number())
                        .post())
                .isEqualTo(1);
        assertThat(xrc.openQueuePair(receiver.number()).number()).isEqualTo(receiver.number());
    }

    @Test
    void xrcDomainNamesAMissingFile() {
        assertThatThrownBy(() -> context.openXrcDomain(Path.of("/no/such/file"), arena))
                .isInstanceOf(VerbsException.class)
                .hasMessageContaining("/no/such/file")
                .hasMessageContaining("ENOENT");
    }
}
