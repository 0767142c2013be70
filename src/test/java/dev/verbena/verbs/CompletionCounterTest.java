package dev.verbena.verbs;

import static dev.verbena.verbs.Refusals.assertBusy;
import static dev.verbena.verbs.Refusals.assertIllegalArgument;
import static dev.verbena.verbs.Refusals.assertIllegalState;
import static dev.verbena.verbs.Refusals.assertThrows;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.verbena.ResourceBusyException;
import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.support.ArenaKind;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.CompletionCounter.CountedOperation;
import dev.verbena.verbs.CompletionCounter.Unit;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests completion counters: what they count, what they refuse, and the order in which they are closed. */
@FencedTest
class CompletionCounterTest {
    private int before;
    private Loopback loopback;

    @BeforeEach
    void open() {
        before = Fenced.liveObjects();
        loopback = Loopback.unconnected(VerbsArena.ofShared(), options -> options);
    }

    @AfterEach
    void closeLeavesNothing() {
        Fenced.calm();
        loopback.close();
        assertThat(Fenced.liveObjects()).isEqualTo(before);
    }

    private CompletionCounter counter(Unit unit, QueuePair pair, CountedOperation... operations) {
        CompletionCounter counter = loopback.context.createCompletionCounter(unit);
        counter.attach(pair, operations);
        return counter;
    }

    private void connect() {
        loopback.left.pair.connect(loopback.right.pair.endpoint());
        loopback.right.pair.connect(loopback.left.pair.endpoint());
    }

    @Test
    void counterCountsEachOperationOfItsOwn() throws InterruptedException {
        QueuePair left = loopback.left.pair;
        QueuePair right = loopback.right.pair;
        CompletionCounter sends = counter(Unit.WORK_REQUESTS, left, CountedOperation.SEND);
        CompletionCounter reads = counter(Unit.BYTES, left, CountedOperation.RDMA_READ);
        CompletionCounter writes = counter(Unit.BYTES, left, CountedOperation.RDMA_WRITE);
        CompletionCounter received = counter(Unit.BYTES, right, CountedOperation.RECEIVE);
        CompletionCounter wasRead = counter(Unit.BYTES, right, CountedOperation.REMOTE_RDMA_READ);
        CompletionCounter written = counter(Unit.WORK_REQUESTS, right, CountedOperation.REMOTE_RDMA_WRITE);
        connect();
        right.postReceive(1, loopback.right.buffer);
        left.postSend(1, loopback.left.buffer.slice(0, 8));
        left.postRead(
                2,
                loopback.left.buffer.slice(0, 16),
                loopback.right.buffer.slice(0, 16).remote());
        for (int i = 0; i < 3; i++) {
            left.postWrite(3, loopback.left.buffer.slice(0, 32), loopback.right.buffer.remote());
        }
        for (int i = 0; i < 5; i++) {
            loopback.left.done();
        }
        assertThat(List.of(
                        sends.value(),
                        reads.value(),
                        writes.value(),
                        received.value(),
                        wasRead.value(),
                        written.value()))
                .containsExactly(1L, 16L, 96L, 8L, 16L, 3L);
        assertThat(sends.errors() + reads.errors() + writes.errors()).isZero();
    }

    @Test
    void counterAddsUpTheOperationsOfAllItsQueuePairs() throws InterruptedException {
        CompletionCounter both =
                counter(Unit.WORK_REQUESTS, loopback.left.pair, CountedOperation.SEND, CountedOperation.RDMA_WRITE);
        both.attach(loopback.right.pair, List.of(CountedOperation.RDMA_WRITE));
        connect();
        loopback.left.pair.postWrite(1, loopback.left.buffer.slice(0, 8), loopback.right.buffer.remote());
        loopback.right.pair.postWrite(2, loopback.right.buffer.slice(0, 8), loopback.left.buffer.remote());
        loopback.left.done();
        loopback.right.done();
        assertThat(both.value()).isEqualTo(2);
    }

    @Test
    void counterCountsFailuresByThemselves() throws InterruptedException {
        CompletionCounter writes = counter(Unit.WORK_REQUESTS, loopback.left.pair, CountedOperation.RDMA_WRITE);
        connect();
        loopback.left.pair.postWrite(
                1, loopback.left.buffer.slice(0, 8), new RemoteMemory(loopback.right.buffer.address(), 0x666, 8));
        assertThat(loopback.left.next().isSuccess()).isFalse();
        assertThat(writes.value()).isZero();
        assertThat(writes.errors()).isEqualTo(1);
    }

    @Test
    void valuesAreSetAddedToAndUnsigned() {
        CompletionCounter counter = loopback.context.createCompletionCounter(Unit.BYTES);
        counter.set(-3L);
        counter.add(1);
        counter.setErrors(1L << 40);
        counter.addErrors(5);
        assertThat(Long.toUnsignedString(counter.value())).isEqualTo("18446744073709551614");
        assertThat(counter.errors()).isEqualTo((1L << 40) + 5);
        assertThat(counter.unit()).isEqualTo(Unit.BYTES);
        assertThat(counter.toString()).isEqualTo("completion counter of fenced0 (BYTES)");
    }

    @Test
    void limitsAreRead() {
        CompletionCounter.Limits limits = loopback.context.completionCounterLimits();
        assertThat(limits.maxValue()).isEqualTo(-2L);
        assertThat(limits.maxCounters()).isEqualTo(1000);
        assertThat(limits.operations()).containsExactlyInAnyOrder(CountedOperation.values());
    }

    @Test
    void attachRefusesWhatCanNotBeCounted() {
        CompletionCounter counter =
                counter(Unit.BYTES, loopback.left.pair, CountedOperation.SEND, CountedOperation.RECEIVE);
        assertIllegalArgument("at least one operation", () -> counter.attach(loopback.left.pair));
        assertThrows(
                        VerbsException.class,
                        "ibv_qp_attach_comp_cntr(" + loopback.left.pair,
                        () -> counter.attach(loopback.left.pair, CountedOperation.RECEIVE))
                .hasMessageContaining("EBUSY")
                .hasMessageContaining("has a counter for one of these operations");
        connect();
        assertThrows(
                VerbsException.class,
                "before it connects",
                () -> counter.attach(loopback.right.pair, CountedOperation.SEND));
        try (Loopback other = Loopback.unconnected(VerbsArena.ofShared(), options -> options)) {
            assertIllegalArgument("another context", () -> counter.attach(other.left.pair, CountedOperation.SEND));
        }
        loopback.left.pair.close();
        counter.close(); // the refused attachments left no dependents
    }

    @Test
    void refusedAttachmentKeepsAnEarlierOne() {
        CompletionCounter counter = counter(Unit.BYTES, loopback.left.pair, CountedOperation.SEND);
        assertThatThrownBy(() -> counter.attach(loopback.left.pair, CountedOperation.SEND))
                .isInstanceOf(VerbsException.class);
        assertBusy(counter::close, loopback.left.pair);
        loopback.left.pair.close();
        counter.close();
    }

    @ParameterizedTest
    @EnumSource
    void arenaClosesQueuePairsBeforeTheirYoungerCounters(ArenaKind kind) {
        VerbsArena arena = kind.make();
        Context context = TestDevice.get().open(arena);
        QueuePair pair =
                context.allocateProtectionDomain().createQueuePair(QueuePair.rc(context.createCompletionQueue(4)));
        CompletionCounter counter = context.createCompletionCounter(Unit.BYTES);
        counter.attach(pair, CountedOperation.SEND);
        counter.attach(pair, CountedOperation.RECEIVE);
        ResourceBusyException busy = catchThrowableOfType(ResourceBusyException.class, counter::close);
        assertThat(busy.dependents()).containsExactly(pair);
        arena.close();
        assertIllegalState(counter::value);
    }

    @ParameterizedTest
    @EnumSource
    void arenaWithACounterStaysOpenForAQueuePairOfAnotherArena(ArenaKind kind) {
        try (VerbsArena others = kind.make()) {
            VerbsArena arena = kind.make();
            CompletionCounter counter = loopback.context.createCompletionCounter(Unit.BYTES, arena);
            QueuePair pair = loopback.domain.createQueuePair(QueuePair.rc(loopback.left.queue), others);
            counter.attach(pair, CountedOperation.SEND);
            assertBusy(arena::close, pair);
            assertThat(counter.isOpen()).isTrue();
            pair.close();
            arena.close();
        }
    }

    /** Neither object is closed while C attaches one to the other, whatever C answers then. */
    @ParameterizedTest
    @EnumSource
    void closingBesideAttachingWaitsOrRefuses(Outcome outcome) throws InterruptedException {
        CompletionCounter counter = loopback.context.createCompletionCounter(Unit.BYTES);
        QueuePair pair = loopback.left.pair;
        if (outcome == Outcome.REFUSED) {
            Fenced.fail("ibv_qp_attach_comp_cntr", 1, Errno.EINVAL);
        }
        Fenced.stop("ibv_qp_attach_comp_cntr");
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Thread attaching = Thread.ofPlatform()
                .start(() -> failure.set(catchThrowable(() -> counter.attach(pair, CountedOperation.SEND))));
        Fenced.awaitStopped("ibv_qp_attach_comp_cntr", 1);
        assertThatThrownBy(counter::close).isInstanceOf(ResourceBusyException.class);
        Thread closing = Thread.ofPlatform().start(pair::close);
        Fenced.goOn("ibv_qp_attach_comp_cntr");
        attaching.join();
        closing.join();
        assertThat(failure.get() == null).isEqualTo(outcome == Outcome.ATTACHED);
        counter.close();
    }

    /** The answer of C. */
    enum Outcome {
        ATTACHED,
        REFUSED
    }

    @Test
    void refusalsNameTheirFunction() {
        CompletionCounter counter = loopback.context.createCompletionCounter(Unit.BYTES);
        Map<String, Consumer<CompletionCounter>> calls = Map.of(
                "ibv_read_comp_cntr", CompletionCounter::value,
                "ibv_read_err_comp_cntr", CompletionCounter::errors,
                "ibv_set_comp_cntr", it -> it.set(7),
                "ibv_set_err_comp_cntr", it -> it.setErrors(7),
                "ibv_inc_comp_cntr", it -> it.add(7),
                "ibv_inc_err_comp_cntr", it -> it.addErrors(7),
                "ibv_destroy_comp_cntr", CompletionCounter::close,
                "ibv_query_comp_cntr_caps", it -> loopback.context.completionCounterLimits(),
                "ibv_create_comp_cntr", it -> loopback.context.createCompletionCounter(Unit.BYTES),
                "ibv_qp_attach_comp_cntr", it -> it.attach(loopback.left.pair, CountedOperation.SEND));
        calls.forEach((function, call) -> {
            Fenced.fail(function, 1, Errno.EOPNOTSUPP);
            assertThatThrownBy(() -> call.accept(counter))
                    .as(function)
                    .isInstanceOf(UnsupportedVerbException.class)
                    .hasMessageStartingWith(function + "(");
        });
        assertThat(counter.isOpen()).isTrue();
        counter.close();
    }
}
