package dev.verbena.verbs;

import static dev.verbena.verbs.GivenToC.noted;
import static dev.verbena.verbs.Refusals.assertFails;
import static dev.verbena.verbs.Refusals.assertIllegalArgument;
import static dev.verbena.verbs.Refusals.assertIllegalState;
import static dev.verbena.verbs.Refusals.assertRefusedByC;
import static dev.verbena.verbs.Refusals.assertThrows;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.VerbsObject;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.Errno;
import dev.verbena.support.ArenaKind;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.OtherThread;
import dev.verbena.verbs.CompletionQueueOptions.PollingCalls;
import dev.verbena.verbs.CursorFieldsTest.Cursor;
import dev.verbena.verbs.address.Grh;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.assertj.core.api.AbstractThrowableAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The rules of completion queues, their cursors and channels on the provider for tests. */
@FencedTest
@Timeout(120)
class CompletionRulesTest {
    private static final Duration SHORT = Duration.ofMillis(1);

    private Loopback loopback;
    private Context context;

    @BeforeEach
    void connect() {
        connect(VerbsArena.ofConfined());
    }

    private void connect(VerbsArena arena) {
        loopback = Loopback.connected(arena, QueuePairAttributes.none());
        context = loopback.context;
    }

    private void connectForManyThreads() {
        loopback.close();
        connect(VerbsArena.ofShared());
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    /** Makes a pair that completes in a queue, connected to itself. */
    private QueuePair pair(CompletionQueue queue) {
        QueuePair pair = loopback.domain.createQueuePair(QueuePair.rc(queue), queue.arena());
        pair.connect(pair.endpoint());
        return pair;
    }

    private void complete(QueuePair pair, int count) {
        for (int i = 0; i < count; i++) {
            pair.postWrite(
                    100 + i,
                    loopback.left.buffer.slice(0, 10 + i),
                    loopback.right.buffer.remote().slice(0, 64));
        }
    }

    private CompletionQueue withChannel() {
        return context.createCompletionQueue(CompletionQueueOptions.of(16).channel(context.createCompletionChannel()));
    }

    private CompletionQueue queue(Cursor cursor) {
        return cursor.queue(context, CompletionField.standard());
    }

    private static Completions over(CompletionQueue queue, Cursor cursor) {
        return cursor.over(queue, CompletionField.standard());
    }

    @ParameterizedTest
    @EnumSource
    void cursorReadsFailuresBesideSuccesses(Cursor cursor) {
        CompletionQueue queue = queue(cursor);
        QueuePair pair = pair(queue);
        Completions done = over(queue, cursor);
        complete(pair, 1);
        pair.postRead(7, loopback.left.buffer.slice(0, 8), new RemoteMemory(0, 0, 8));
        complete(pair, 1); // is flushed
        assertThat(done.poll()).isEqualTo(2);
        assertThat(done.next()).isTrue();
        assertThat(done.isSuccess()).isTrue();
        assertThat(done.vendorError()).isZero();
        assertThat(done.next()).isTrue();
        assertThat(done.id()).isEqualTo(7);
        assertThat(done.status()).isEqualTo(WorkStatus.REMOTE_ACCESS_ERROR);
        assertThat(done.vendorError()).isEqualTo(0x77);
        assertThat(done.queuePairNumber()).isEqualTo(pair.number());
        assertThat(done.operation()).isEqualTo(Operation.RDMA_READ);
        assertThat(done.completion().vendorError()).isEqualTo(0x77);
        assertThat(done.completion().toString())
                .startsWith("#7 RDMA_READ on QP " + pair.number() + " failed: REMOTE_ACCESS_ERROR, ")
                .contains(" (vendor error 0x77). To try: ");
        assertThrows(WorkCompletionException.class, "#7", done::orThrow);
        assertThat(done.poll()).isEqualTo(1);
        assertThat(done.next()).isTrue();
        assertThat(done.status()).isEqualTo(WorkStatus.WORK_REQUEST_FLUSHED);
        assertThat(done.operation()).isEqualTo(Operation.RDMA_WRITE);
        assertThat(done.completion().firstFailure().id()).isEqualTo(7);
    }

    @ParameterizedTest
    @EnumSource
    void brokenQueueIsReported(Cursor cursor) {
        CompletionQueue queue = queue(cursor);
        QueuePair pair = pair(queue);
        Completions done = over(queue, cursor);
        complete(pair, 2);
        String first = cursor == Cursor.PLAIN ? "ibv_poll_cq" : "ibv_start_poll";
        Fenced.fail(first, 1, Errno.EINVAL);
        assertFails(first + "(" + queue + ")", "The completion queue is broken", done::poll);
        assertThat(done.next()).isFalse();
        if (cursor != Cursor.PLAIN) {
            Fenced.fail(cursor.oneByOne ? first : "ibv_next_poll", cursor.oneByOne ? 2 : 1, Errno.EINVAL);
            assertThat(done.poll()).as("those before the failure").isEqualTo(1);
            assertThat(done.poll()).isEqualTo(1);
        } else {
            assertThat(done.poll()).isEqualTo(2);
        }
        assertThat(done.poll()).isZero();
    }

    @ParameterizedTest
    @EnumSource
    void cursorReadsReceives(Cursor cursor) {
        CompletionQueue queue = queue(cursor);
        QueuePair pair = pair(queue);
        QueuePair datagrams = loopback.domain.createQueuePair(QueuePair.ud(queue));
        datagrams.toReady(7);
        Completions done = over(queue, cursor);
        MemoryRegion target = loopback.left.buffer;
        MemoryRegion source = loopback.right.buffer;
        pair.postReceive(1, target);
        pair.postSendImmediate(2, source.slice(0, 21), 0x01020304);
        assertReceives(done, pair, WorkCompletion.Flag.WITH_IMMEDIATE, 21, ", immediate 0x1020304");
        pair.postReceive(1, target);
        pair.postSendInvalidate(2, source.slice(0, 22), 0x05060708);
        assertReceives(done, pair, WorkCompletion.Flag.WITH_INVALIDATE, 22, "");
        datagrams.postReceive(1, target);
        AddressHandle path = loopback.domain.createAddressHandle(datagrams.pathTo(datagrams.endpoint()));
        datagrams.postSend(2, source.slice(0, 23), path, datagrams.number(), 7);
        assertReceives(done, datagrams, WorkCompletion.Flag.GRH, 23, "");
    }

    /** Checks a send, of which nothing but its opcode and length is told, and a receive with one flag. */
    private static void assertReceives(
            Completions done, QueuePair pair, WorkCompletion.Flag flag, int length, String more) {
        assertThat(done.poll()).isEqualTo(2);
        for (int i = 0; i < 2; i++) {
            assertThat(done.next()).isTrue();
            WorkCompletion value = done.completion();
            boolean receives = done.id() == 1;
            int bytes = length + (receives && flag == WorkCompletion.Flag.GRH ? Grh.BYTES : 0);
            assertThat(done.isReceive()).isEqualTo(receives);
            assertThat(done.opcode()).isEqualTo(receives ? WorkCompletion.Opcode.RECEIVE : WorkCompletion.Opcode.SEND);
            assertThat(done.byteLength()).isEqualTo(bytes);
            assertThat(value.flags()).isEqualTo(receives ? Set.of(flag) : Set.of());
            assertThat(List.of(done.hasImmediate(), value.hasImmediate()))
                    .containsOnly(receives && flag == WorkCompletion.Flag.WITH_IMMEDIATE);
            assertThat(List.of(done.hasInvalidated(), value.hasInvalidated()))
                    .containsOnly(receives && flag == WorkCompletion.Flag.WITH_INVALIDATE);
            assertThat(List.of(done.hasRoutingHeader(), value.hasRoutingHeader()))
                    .containsOnly(receives && flag == WorkCompletion.Flag.GRH);
            if (done.hasInvalidated()) {
                assertThat(done.invalidatedKey()).isEqualTo(0x05060708);
            }
            if (receives) {
                assertThat(value).hasToString("#1 RECEIVE on QP %d: success, %d bytes%s", pair.number(), bytes, more);
            }
            assertThat(done).hasToString(value.toString());
        }
    }

    /** Another thread may hold the lock of an extended queue while it runs Java code, and must reach its safepoint. */
    @ParameterizedTest
    @MethodSource("ways")
    void sharedExtendedQueueIsNeverPolledCritically(PostWay way) {
        try (Loopback other = way.connected()) {
            boolean confined = way.arena() == ArenaKind.CONFINED;
            for (PollingCalls calls : PollingCalls.values()) {
                boolean may = way.calls().equals("post") && calls != PollingCalls.PLAIN;
                CompletionQueueOptions options = CompletionQueueOptions.of(4).pollingCalls(calls);
                CompletionQueue plain = other.context.createCompletionQueue(options);
                CompletionQueue extended =
                        other.context.createCompletionQueue(options.fields(CompletionField.standard()));
                assertThat(plain.pollsCritically()).isEqualTo(may);
                assertThat(extended.pollsCritically()).isEqualTo(may && confined);
                assertThat(plain.driver() == other.context.provider().forPolls(may))
                        .isEqualTo(confined);
            }
        }
    }

    static Stream<PostWay> ways() {
        return PostWay.ways().filter(way -> !way.extended() && way.apart());
    }

    @ParameterizedTest
    @MethodSource("ways")
    void cursorsReturnAllCompletions(PostWay way) throws InterruptedException {
        try (Loopback other = way.connected()) {
            for (PollingCalls calls : PollingCalls.values()) {
                CompletionQueueOptions options = CompletionQueueOptions.of(8).pollingCalls(calls);
                CompletionQueueOptions more = way.arena() == ArenaKind.CONFINED ? options.singleThreaded() : options;
                for (CompletionQueue queue : List.of(
                        other.context.createCompletionQueue(options),
                        other.context.createCompletionQueue(more.ignoreOverrun()),
                        other.context.createCompletionQueue(options.fields(CompletionField.standard())))) {
                    QueuePair pair = other.domain.createQueuePair(QueuePair.rc(queue));
                    pair.connect(pair.endpoint());
                    for (int capacity : new int[] {0, -1}) {
                        assertIllegalArgument(() -> queue.completions(capacity));
                    }
                    List<Completions> cursors = new ArrayList<>(List.of(queue.completions(3)));
                    if (queue.isExtended()) {
                        cursors.add(queue.extendedCompletions(3));
                    } else {
                        assertIllegalState("CompletionQueueOptions.fields()", () -> queue.extendedCompletions(3));
                    }
                    for (Completions done : cursors) {
                        assertThat(done).hasToString("cursor over " + queue + ", 0 fetched");
                        assertIllegalState("call next()", done::id);
                        for (int i = 0; i < 5; i++) {
                            pair.postWrite(i, other.left.buffer.slice(0, 8), other.right.buffer.remote());
                        }
                        List<Long> ids = new ArrayList<>();
                        assertThat(done.poll()).isEqualTo(3);
                        assertThat(done).hasToString("cursor over " + queue + ", 3 fetched");
                        assertIllegalState("call next()", done::status);
                        while (done.next()) {
                            ids.add(done.id());
                        }
                        assertThat(done.poll()).isEqualTo(2);
                        while (done.next()) {
                            ids.add(done.id());
                        }
                        assertThat(ids).containsExactly(0L, 1L, 2L, 3L, 4L);
                        assertThat(done.id()).as("it stays at the last").isEqualTo(4);
                        assertThat(done.poll()).isZero();
                        assertThat(done.next()).isFalse();
                        assertIllegalState("call next()", done::id);
                        pair.postWrite(6, other.left.buffer.slice(0, 8), other.right.buffer.remote());
                        pair.postWrite(7, other.left.buffer.slice(0, 8), other.right.buffer.remote());
                        assertThat(done.await(Loopback.DEADLINE)).isEqualTo(2);
                        assertThat(done.next()).isTrue();
                        assertThat(done.orThrow().isReceive() || done.hasImmediate())
                                .isFalse();
                    }
                    pair.postReceive(7, other.left.buffer);
                    pair.postSend(8, other.left.buffer.slice(0, 8));
                    assertThat(queue.poll()).isNotNull();
                    assertThat(queue.await(Loopback.DEADLINE).orThrow().isSuccess())
                            .isTrue();
                    assertThat(queue.poll()).isNull();
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void unseenFailureIsNotedByTheNextPoll(Cursor cursor) {
        CompletionQueue queue = queue(cursor);
        QueuePair pair = pair(queue);
        Completions done = over(queue, cursor);
        complete(pair, 1);
        pair.postRead(7, loopback.left.buffer.slice(0, 8), new RemoteMemory(0, 0, 8));
        pair.postRead(8, loopback.left.buffer.slice(0, 8), new RemoteMemory(0, 0, 8));
        assertThat(done.poll()).isEqualTo(2);
        assertThat(pair.firstError()).isEmpty();
        assertThat(done.poll()).isOne();
        assertThat(pair.firstError()).isNotEmpty();
        assertThat(done.poll()).isZero();
        assertThat(pair.firstError()).hasValueSatisfying(first -> {
            assertThat(first.id()).isEqualTo(7);
            assertThat(first.operation()).isEqualTo(Operation.RDMA_READ);
        });
    }

    @Test
    void optionsOfAnExtendedQueueReachC() {
        ProtectionDomain domain = loopback.domain.allocateParentDomain(ParentDomainOptions.defaults());
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            context.createCompletionQueue(
                    CompletionQueueOptions.of(4)
                            .fields(CompletionField.VLAN, CompletionField.IMMEDIATE)
                            .ignoreOverrun()
                            .completionVector(3)
                            .parentDomain(domain),
                    arena);
            assertThat(noted("ibv_create_cq_ex", "wc_flags", "comp_mask", "flags", "comp_vector", "parent_domain"))
                    .isEqualTo(
                            "wc_flags %x comp_mask 3 flags 2 comp_vector 3 parent_domain %x",
                            CompletionField.VLAN.bit | CompletionField.IMMEDIATE.bit, domain.address());
            context.createCompletionQueue(CompletionQueueOptions.of(4).singleThreaded(), arena);
            assertThat(noted("ibv_create_cq_ex", "comp_mask", "flags")).isEqualTo("comp_mask 1 flags 1");
            context.createCompletionQueue(CompletionQueueOptions.of(4).fields(List.of()), arena);
            assertThat(noted("ibv_create_cq_ex", "comp_mask")).isEqualTo("comp_mask 0");
        }
    }

    @Test
    void queueOfOtherObjectsIsRefused() {
        try (VerbsArena shared = VerbsArena.ofShared();
                Loopback other = Loopback.connected()) {
            assertIllegalArgument(
                    "VerbsArena.ofConfined()",
                    () -> context.createCompletionQueue(
                            CompletionQueueOptions.of(4).singleThreaded(), shared));
            context.createCompletionQueue(CompletionQueueOptions.of(4).ignoreOverrun(), shared);
            CompletionChannel channel = other.context.createCompletionChannel();
            assertIllegalArgument(
                    "another context",
                    () -> context.createCompletionQueue(
                            CompletionQueueOptions.of(4).channel(channel)));
            ProtectionDomain parent = other.domain.allocateParentDomain(ParentDomainOptions.defaults());
            assertIllegalArgument(
                    "another context",
                    () -> context.createCompletionQueue(
                            CompletionQueueOptions.of(4).parentDomain(parent)));
            assertIllegalArgument(
                    "is not a parent domain",
                    () -> context.createCompletionQueue(
                            CompletionQueueOptions.of(4).parentDomain(loopback.domain)));
            assertThat(channel.context()).isSameAs(other.context);
        }
    }

    @Test
    void refusedSizeNamesTheLimitOfTheDevice() {
        CompletionQueue queue = context.createCompletionQueue(4);
        String start = "ibv_resize_cq(" + queue + " to 9): ";
        assertRefusedByC(start + "EINVAL", "at most 65536 completions", () -> queue.resize(9));
        assertRefusedByC(start + "ENOMEM", () -> queue.resize(9)).hasMessageNotContaining("at most");
        queue.resize(9);
        assertThat(queue.capacity()).isEqualTo(16);
        assertThat(queue.context()).isSameAs(context);
        assertThat(queue.channel()).isEmpty();
    }

    @Test
    void moderationReachesC() {
        CompletionQueue queue = context.createCompletionQueue(4);
        queue.moderate(0x1234, Duration.ofNanos(0x2345_000)); // 0x2345 << 12 nanoseconds
        assertThat(noted("ibv_modify_cq", "attr_mask", "cq_count", "cq_period"))
                .isEqualTo("attr_mask 1 cq_count 1234 cq_period %x", (0x2345_000 + 999) / 1000);
        queue.moderate(0xffff, Duration.ofNanos(0xffff_000L * 1000 / 4096));
        assertThat(noted("ibv_modify_cq", "cq_count")).isEqualTo("cq_count ffff");
        assertIllegalArgument(() -> queue.moderate(0x10000, SHORT));
        assertIllegalArgument(() -> queue.moderate(1, Duration.ofMillis(66)));
        assertRefusedByC(
                "ibv_modify_cq(" + queue + ", 5 completions or 7 us): EINVAL",
                () -> queue.moderate(5, Duration.ofNanos(7000)));
    }

    private static void assertAsks(long solicitedOnly, ThrowingCallable wait) {
        assertThatThrownBy(wait).isInstanceOf(VerbsTimeoutException.class);
        assertThat(Fenced.noted("ibv_req_notify_cq.solicited_only")).isEqualTo(solicitedOnly);
    }

    @Test
    void waitsForSolicitedCompletionsAskForThoseOnly() {
        CompletionQueue queue = withChannel();
        Completions done = queue.completions(2);
        assertAsks(1, () -> queue.awaitSolicited(SHORT));
        assertAsks(0, () -> queue.await(SHORT));
        assertAsks(1, () -> done.awaitSolicited(SHORT));
        assertAsks(0, () -> done.await(SHORT));
        queue.requestNotification(true);
        assertThat(Fenced.noted("ibv_req_notify_cq.solicited_only")).isOne();
    }

    private static AbstractThrowableAssert<?, ?> assertLacks(String function, String verb, ThrowingCallable call) {
        int before = Fenced.liveObjects();
        Fenced.fail(function, 1, 1);
        AbstractThrowableAssert<?, ?> refused = assertThrows(UnsupportedVerbException.class, verb, call);
        assertThat(Fenced.liveObjects()).isEqualTo(before);
        return refused;
    }

    @Test
    void driverWithoutAFunctionIsNoticedWhenTheObjectIsMade() {
        CompletionQueueOptions options =
                CompletionQueueOptions.of(4).fields(CompletionField.FLOW_TAG, CompletionField.VLAN);
        assertLacks("ibv_wc_read_flow_tag", "ibv_create_cq_ex", () -> context.createCompletionQueue(options))
                .hasMessageContaining("accepted the fields [FLOW_TAG] but");
        Fenced.fail("ibv_wc_read_flow_tag", 1, 1);
        context.createCompletionQueue(options.fields(CompletionField.VLAN));
        QueuePairOptions pair = QueuePair.rc(loopback.left.queue)
                .operations(QueuePairOptions.OfferedOperation.RDMA_READ, QueuePairOptions.OfferedOperation.SEND)
                .inlineSize(8);
        assertLacks("ibv_wr_rdma_read", "ibv_create_qp_ex", () -> loopback.domain.createQueuePair(pair))
                .hasMessageContaining("accepted the operations [RDMA_READ] and lacks [ibv_wr_rdma_read]");
        assertLacks("ibv_qp_to_qp_ex", "no extended queue pairs", () -> loopback.domain.createQueuePair(pair))
                .hasMessageContaining("ibv_qp_to_qp_ex");
        Fenced.fail("ibv_wr_set_inline_data", 1, 1);
        QueuePair made = loopback.domain.createQueuePair(pair);
        made.connect(made.endpoint());
        assertThrows(
                UnsupportedVerbException.class,
                "ibv_wr_set_inline_data(" + made + ")",
                () -> made.postSendInline(1, MemorySegment.ofArray(new byte[1])));
        made.postSend(2, loopback.left.buffer.slice(0, 8));
    }

    /** C waits in ibv_destroy_cq until all events that were taken are acknowledged. */
    @Test
    void eventThatIsTakenWhileTheQueueIsDestroyedIsAcknowledged() throws Throwable {
        connectForManyThreads();
        CompletionQueue queue = withChannel();
        CompletionChannel channel = queue.channel().orElseThrow();
        QueuePair pair = pair(queue);
        queue.requestNotification(false);
        complete(pair, 1);
        pair.close();
        Fenced.stop("ibv_destroy_cq");
        OtherThread<Void> closing = OtherThread.start(queue::close);
        Fenced.awaitStopped("ibv_destroy_cq", 1);
        assertThat(channel.poll()).isSameAs(queue);
        Fenced.goOn("ibv_destroy_cq");
        closing.join();
        assertThat(channel.poll()).isNull();
    }

    @Test
    void queueThatCRefusesToDestroyServesItsWaitersAgain() throws InterruptedException {
        CompletionQueue queue = withChannel();
        CompletionChannel channel = queue.channel().orElseThrow();
        QueuePair pair = pair(queue);
        pair.close();
        Fenced.fail("ibv_destroy_cq", 1, Errno.EBUSY);
        assertThrows(VerbsException.class, "ibv_destroy_cq", queue::close);
        QueuePair next = pair(queue);
        for (int i = 0; i < 3; i++) {
            queue.requestNotification(false);
            complete(next, 1);
            assertThat(channel.await(Loopback.DEADLINE)).isSameAs(queue);
            assertThat(queue.poll()).isNotNull();
        }
        next.close();
        queue.close();
    }

    @Test
    void channelThatCRefusesToDestroyServesItsQueuesAgain() throws Throwable {
        connectForManyThreads();
        CompletionChannel channel = context.createCompletionChannel();
        assertRefusedByC("ibv_destroy_comp_channel(" + channel + "): EBUSY", channel::close);
        assertThat(channel.isOpen()).isTrue();
        CompletionQueue queue =
                context.createCompletionQueue(CompletionQueueOptions.of(4).channel(channel));
        QueuePair pair = pair(queue);
        OtherThread<WorkCompletion> waiter = OtherThread.start(() -> queue.await(Loopback.DEADLINE));
        Await.until("the waiter asks", () -> Fenced.calls("ibv_req_notify_cq") > 0);
        complete(pair, 1);
        assertThat(waiter.join().id()).isEqualTo(100);
        pair.close();
        queue.close();
        channel.close();
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void failureToReadEventsIsReported() {
        CompletionChannel channel = context.createCompletionChannel();
        assertRefusedByC("ibv_get_cq_event(" + channel + "): EIO", "The device was removed", channel::poll);
        assertThat(channel.poll()).isNull();
    }

    /**
     * Each thread that waits is told, and does not wait until its time is over. A virtual thread is told by the event thread.
     * A platform thread that waits alone sees the failure itself.
     */
    @ParameterizedTest
    @CsvSource({"true, true", "true, false", "false, true", "false, false"})
    void failureToTakeEventsEndsWaits(boolean byChannel, boolean ofVirtualThread) throws Throwable {
        connectForManyThreads();
        CompletionQueue queue = withChannel();
        CompletionChannel channel = queue.channel().orElseThrow();
        QueuePair pair = pair(queue);
        queue.requestNotification(false);
        OtherThread<Object> waiter = OtherThread.<Object>start(
                        ofVirtualThread,
                        () -> byChannel ? channel.await(Loopback.DEADLINE) : queue.await(Loopback.DEADLINE))
                .asleep();
        Fenced.stop("ibv_get_cq_event");
        complete(pair, 1);
        Fenced.awaitStopped("ibv_get_cq_event", 1);
        Fenced.fail("ibv_get_cq_event", 1, Errno.EIO);
        Fenced.goOn("ibv_get_cq_event");
        Throwable thrown = waiter.failure();
        assertThat(thrown).isInstanceOf(VerbsException.class);
        if (ofVirtualThread) {
            assertThat(thrown).hasMessageContaining(byChannel ? channel.toString() : queue.toString());
            assertThat(thrown.getCause()).hasMessageContaining("ibv_get_cq_event");
        } else {
            assertThat(thrown).hasMessageContaining("ibv_get_cq_event(" + channel + "): EIO");
        }
    }

    @Test
    void closedObjectsAreUnreachable() {
        List<WeakReference<Object>> closed = makeAndClose();
        Await.until("the objects are gone", () -> {
            System.gc();
            return closed.stream().allMatch(each -> each.refersTo(null));
        });
    }

    private List<WeakReference<Object>> makeAndClose() {
        List<VerbsObject> objects = new ArrayList<>();
        CompletionChannel channel = context.createCompletionChannel();
        for (CompletionQueueOptions options : List.of(
                CompletionQueueOptions.of(4).channel(channel),
                CompletionQueueOptions.of(4).fields(List.of()))) {
            CompletionQueue queue = context.createCompletionQueue(options);
            queue.completions(2).poll();
            objects.add(queue);
            objects.add(loopback.domain.createWorkQueue(WorkQueueOptions.of(queue, 4)));
            objects.add(loopback.domain.createSharedReceiveQueue(SharedReceiveQueue.basic()));
            objects.add(pair(queue));
        }
        List<WeakReference<Object>> references = new ArrayList<>();
        for (VerbsObject object : objects.reversed()) {
            references.add(new WeakReference<>(object));
            object.close();
        }
        channel.close();
        references.add(new WeakReference<>(channel));
        return references;
    }

    private static void assertLoss(ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOf(VerbsException.class)
                .isNotInstanceOf(VerbsTimeoutException.class)
                .hasMessageContaining("lost")
                .hasMessageContaining("1 time")
                .hasMessageContaining("make a queue for as many");
    }

    /** Makes a queue with one completion, and a report of one that was lost. */
    private CompletionQueue overflowed(CompletionQueueOptions options) {
        CompletionQueue queue = context.createCompletionQueue(options);
        complete(pair(queue), 2);
        return queue;
    }

    /** A wait that is too short to look tells the loss in place of the timeout. */
    @ParameterizedTest
    @CsvSource({"false, false", "true, false", "false, true"})
    void waitsTellLostCompletionsAfterThoseThatAreLeft(boolean byChannel, boolean tooShort)
            throws InterruptedException {
        Duration timeout = tooShort ? SHORT : ChronoUnit.FOREVER.getDuration();
        CompletionQueue queue =
                overflowed(CompletionQueueOptions.of(1).channel(byChannel ? context.createCompletionChannel() : null));
        assertThat(queue.await(timeout).id()).isEqualTo(100);
        assertLoss(() -> queue.await(timeout));
        assertLoss(() -> queue.completions(2).await(timeout));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void pollsTellLostCompletionsOnceTheReportIsKnown(boolean extended) {
        CompletionQueueOptions one = CompletionQueueOptions.of(1);
        CompletionQueue queue = overflowed(extended ? one.fields(CompletionField.TIMESTAMP) : one);
        Completions before = extended ? queue.extendedCompletions(2) : queue.completions(2);
        context.events().poll();
        assertThat(before.poll()).isEqualTo(1);
        assertThat(before.next()).isTrue();
        assertThat(before.id()).isEqualTo(100);
        assertLoss(before::poll);
        assertLoss(queue.completions(2)::poll);
        assertLoss(queue::poll);
    }

    /** Nobody waits, and nobody asks for events. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void pollsFindTheReportOfLostCompletionsThemselves(boolean byCursor) {
        CompletionQueue queue = overflowed(CompletionQueueOptions.of(1));
        Completions cursor = queue.completions(2);
        List<VerbsException> told = new ArrayList<>();
        Await.until("a poll that tells the loss", () -> {
            try {
                for (int i = 0; i < 100; i++) {
                    if (byCursor) {
                        cursor.poll();
                    } else {
                        queue.poll();
                    }
                }
            } catch (VerbsException thrown) {
                told.add(thrown);
            }
            return !told.isEmpty();
        });
        assertThat(told).singleElement().asString().contains("1 time", "some were lost");
    }

    @Test
    void postsTellLostCompletionsOnceTheReportIsKnown() {
        CompletionQueue queue = context.createCompletionQueue(1);
        QueuePair pair = pair(queue);
        QueuePair other = pair(context.createCompletionQueue(4));
        complete(pair, 2);
        context.events().poll();
        assertLoss(() -> pair.postReceive(1, loopback.left.buffer));
        assertLoss(() -> complete(pair, 1));
        QueuePair late = loopback.domain.createQueuePair(QueuePair.rc(queue));
        late.connect(late.endpoint());
        assertLoss(() -> complete(late, 1));
        complete(other, 1); // of another queue
    }
}
