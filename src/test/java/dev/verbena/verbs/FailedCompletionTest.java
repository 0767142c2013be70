package dev.verbena.verbs;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.REMOTE_READ;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;
import static dev.verbena.verbs.WorkStatus.LOCAL_LENGTH_ERROR;
import static dev.verbena.verbs.WorkStatus.LOCAL_QP_OPERATION_ERROR;
import static dev.verbena.verbs.WorkStatus.REMOTE_ACCESS_ERROR;
import static dev.verbena.verbs.WorkStatus.REMOTE_INVALID_REQUEST_ERROR;
import static dev.verbena.verbs.WorkStatus.REMOTE_OPERATION_ERROR;
import static dev.verbena.verbs.WorkStatus.RETRY_EXCEEDED;
import static dev.verbena.verbs.WorkStatus.RNR_RETRY_EXCEEDED;
import static dev.verbena.verbs.WorkStatus.WORK_REQUEST_FLUSHED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Fault;
import dev.verbena.support.Loopback;
import dev.verbena.support.Mlx5Too;
import dev.verbena.support.TestDevice;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How work fails, and what is said about it. Devices differ in the status they give: sets of them are accepted. */
@DeviceTest
@Mlx5Too
class FailedCompletionTest {
    private Loopback loopback;
    private Loopback.Side left;
    private Loopback.Side right;

    private void connect(QueuePairAttributes how) {
        loopback = Loopback.connected(VerbsArena.ofConfined(), how);
        left = loopback.left;
        right = loopback.right;
    }

    private void connect() {
        connect(QueuePairAttributes.none());
    }

    @AfterEach
    void close() {
        loopback.close();
    }

    private MemoryRegion peersMemory(AccessFlag... access) {
        return loopback.domain.register(loopback.arena.allocate(4096, 4096), access);
    }

    /** The next completion of the left side, which must be a failure of this kind. */
    private WorkCompletion failure(long id, Operation operation, WorkStatus... accepted) throws InterruptedException {
        WorkCompletion failed = left.next();
        assertThat(failed.id()).isEqualTo(id);
        assertThat(failed.status()).isIn((Object[]) accepted);
        assertThat(failed.operation()).as("what it was is remembered").isEqualTo(operation);
        assertThat(left.pair.state()).isEqualTo(QueuePairState.ERR);
        assertThat(left.pair.firstError()).map(WorkCompletion::id).contains(id);
        return failed;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void failedOperationIsKnownAmongManyKinds(boolean oneQueue) throws Exception {
        connect();
        CompletionQueue sends = loopback.context.createCompletionQueue(8);
        CompletionQueue receives = oneQueue ? sends : loopback.context.createCompletionQueue(8);
        QueuePair pair = loopback.domain.createQueuePair(
                QueuePair.rc(sends, receives).sendDepth(4).receiveDepth(4));
        pair.connect(pair.endpoint());
        pair.postReceive(1, left.buffer);
        pair.postReceive(2, left.buffer);
        pair.fail();
        pair.postSend(3, left.buffer);
        assertThat(receives.await(Loopback.DEADLINE).operation()).isEqualTo(Operation.RECEIVE);
        assertThat(receives.await(Loopback.DEADLINE).operation()).isEqualTo(Operation.RECEIVE);
        assertThat(sends.await(Loopback.DEADLINE).operation()).isEqualTo(Operation.SEND);
        pair.sendBatch(2)
                .write(4, left.buffer, right.buffer.remote())
                .send(5, left.buffer)
                .post();
        assertThat(sends.await(Loopback.DEADLINE).operation()).isEqualTo(Operation.RDMA_WRITE);
        assertThat(sends.await(Loopback.DEADLINE).operation()).isEqualTo(Operation.SEND);
    }

    /** A request for memory of the peer that it may not use so. */
    private record Refusal(
            String name,
            Operation operation,
            Function<FailedCompletionTest, RemoteMemory> memory,
            WorkStatus... accepted) {
        void post(QueuePair pair, MemoryRegion here, RemoteMemory there) {
            switch (operation) {
                case RDMA_WRITE -> pair.postWrite(1, here.slice(0, 8), there);
                case RDMA_READ -> pair.postRead(1, here.slice(0, 8), there);
                default -> pair.postFetchAndAdd(1, here, there, 1);
            }
        }

        @Override
        public String toString() {
            return name;
        }
    }

    static List<Refusal> refusals() {
        return List.of(
                new Refusal("wrong key", Operation.RDMA_WRITE, all -> all.wrongKey(), REMOTE_ACCESS_ERROR),
                new Refusal("beyond the region", Operation.RDMA_READ, all -> all.beyond(), REMOTE_ACCESS_ERROR),
                new Refusal("closed region", Operation.RDMA_READ, all -> all.closed(), REMOTE_ACCESS_ERROR),
                new Refusal(
                        "no REMOTE_WRITE",
                        Operation.RDMA_WRITE,
                        all -> all.peersMemory(LOCAL_WRITE, REMOTE_READ).remote(),
                        REMOTE_ACCESS_ERROR),
                new Refusal(
                        "no REMOTE_READ",
                        Operation.RDMA_READ,
                        all -> all.peersMemory(LOCAL_WRITE, REMOTE_WRITE).remote(),
                        REMOTE_ACCESS_ERROR),
                new Refusal(
                        "no REMOTE_ATOMIC",
                        Operation.FETCH_AND_ADD,
                        all -> all.peersMemory(LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ)
                                .remote(),
                        REMOTE_ACCESS_ERROR,
                        REMOTE_INVALID_REQUEST_ERROR));
    }

    private RemoteMemory wrongKey() {
        RemoteMemory memory = right.buffer.remote();
        return new RemoteMemory(memory.address(), memory.key() ^ 0x00ffff00, memory.length());
    }

    private RemoteMemory beyond() {
        RemoteMemory memory = right.buffer.remote();
        return new RemoteMemory(memory.address() + memory.length() - 4, memory.key(), 8);
    }

    private RemoteMemory closed() {
        MemoryRegion gone = peersMemory(LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ);
        RemoteMemory remote = gone.remote();
        gone.close();
        return remote;
    }

    @ParameterizedTest
    @MethodSource("refusals")
    @Fault({"bad-remote-key", "remote-range", "closed-region", "no-remote-write", "no-remote-read"})
    void requestForMemoryOfThePeerFails(Refusal refusal) throws Exception {
        connect();
        refusal.post(left.pair, left.buffer, refusal.memory.apply(this));
        failure(1, refusal.operation, refusal.accepted);
    }

    @Test
    @Fault("pair-without-read")
    void readFailsIfTheQueuePairForbidsIt() throws Exception {
        connect(QueuePairAttributes.none().access(Set.of(REMOTE_WRITE)));
        left.pair.postRead(7, left.buffer.slice(0, 8), right.buffer.remote());
        WorkCompletion failed = failure(7, Operation.RDMA_READ, REMOTE_INVALID_REQUEST_ERROR, REMOTE_ACCESS_ERROR);
        assertThat(failed.toString()).contains("REMOTE_READ");
    }

    @Test
    @Fault("short-receive")
    void shortReceiveFailsOnBothSides() throws Exception {
        connect();
        right.pair.postReceive(8, right.buffer.slice(0, 4));
        left.pair.postSend(9, left.buffer.slice(0, 5));
        failure(9, Operation.SEND, REMOTE_OPERATION_ERROR, REMOTE_INVALID_REQUEST_ERROR);

        WorkCompletion received = right.next();
        assertThat(received.id()).isEqualTo(8);
        assertThat(received.status()).isIn(LOCAL_LENGTH_ERROR, LOCAL_QP_OPERATION_ERROR);
        assertThat(received.operation()).isEqualTo(Operation.RECEIVE);
    }

    @ParameterizedTest
    @CsvSource({"0, SEND", "3, SEND", "0, SEND_WITH_IMMEDIATE"})
    @Fault("no-receive")
    void sendWithoutReceiveFailsAfterItsRetries(int retries, Operation operation) throws Exception {
        connect(QueuePairAttributes.none().rnrRetryCount(retries));
        if (operation == Operation.SEND) {
            left.pair.postSend(10, left.buffer.slice(0, 4));
        } else {
            left.pair.postSendImmediate(10, left.buffer.slice(0, 4), 1);
        }
        assertThat(failure(10, operation, RNR_RETRY_EXCEEDED).toString()).contains("post receives", "rnrRetryCount");
    }

    @Test
    @DisabledIfSystemProperty(
            named = "dev.verbena.mlx5",
            matches = "true",
            disabledReason = "this adapter waits for the receive, as it should; rxe gives up")
    void sendWithoutReceiveAndWithEndlessRetriesAsksForTheReceive() throws Exception {
        // rxe loses a timeout that comes with an answer of the peer. One as short as the peer's pause may always do so.
        connect(QueuePairAttributes.none().retryCount(1));
        left.pair.postSend(10, left.buffer.slice(0, 4));
        assertThat(failure(10, Operation.SEND, RETRY_EXCEEDED).toString())
                .contains("To try: has the peer posted a receive");
    }

    @Test
    @Fault("late-receive")
    void sendWithEndlessRetriesWaitsForAReceive() throws Exception {
        connect(QueuePairAttributes.none().rnrRetryCount(7));
        left.pair.postSend(10, left.buffer.slice(0, 4));
        left.pair.postSend(11, left.buffer.slice(0, 8));
        assertThatExceptionOfType(VerbsTimeoutException.class)
                .isThrownBy(() -> left.queue.await(Duration.ofMillis(200)));

        right.pair.postReceive(1, right.buffer.slice(0, 8));
        right.pair.postReceive(2, right.buffer.slice(8, 8));
        assertThat(List.of(right.done().byteLength(), right.done().byteLength()))
                .containsExactly(4, 8);
        assertThat(List.of(left.done().id(), left.done().id())).containsExactly(10L, 11L);
    }

    @Test
    @Fault("post-after-error")
    void postAfterAFailureIsFlushed() throws Exception {
        connect();
        left.pair.fail();
        left.pair.postSend(13, left.buffer.slice(0, 4));
        WorkCompletion flushed = left.next();
        assertThat(flushed.id()).isEqualTo(13);
        assertThat(flushed.status()).isEqualTo(WORK_REQUEST_FLUSHED);

        left.pair.postReceive(14, left.buffer.slice(0, 4));
        if (!TestDevice.get().name().startsWith("rxe")) {
            assertThat(left.next().status()).isEqualTo(WORK_REQUEST_FLUSHED);
        } else if (left.queue.poll() == null) { // soft-RoCE of older kernels says nothing of it
            assertThatExceptionOfType(VerbsTimeoutException.class)
                    .isThrownBy(() -> left.queue.await(Duration.ofMillis(1)))
                    .withMessageContaining(
                            "has failed, and soft-RoCE never completes receives that are posted after that");
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Fault({"peer-gone", "peer-in-error"})
    void requestToAPeerThatIsClosedOrInErrorExceedsItsRetries(boolean closed) throws Exception {
        connect(QueuePairAttributes.none().timeoutCode(8).retryCount(1));
        if (closed) {
            right.pair.close();
            left.pair.postWrite(11, left.buffer.slice(0, 4), right.buffer.remote());
        } else {
            right.pair.fail();
            left.pair.postRead(11, left.buffer.slice(0, 4), right.buffer.remote());
        }
        assertThat(failure(11, closed ? Operation.RDMA_WRITE : Operation.RDMA_READ, RETRY_EXCEEDED)
                        .toString())
                .contains("GID index", "4791");
    }

    @Test
    @Fault("flush-order")
    void postedRequestsAreFlushedInOrder() throws Exception {
        connect();
        for (int id = 1; id <= 3; id++) {
            left.pair.postReceive(id, left.buffer.slice(0, 8));
        }
        SendBatch sends = left.pair.sendBatch(2);
        sends.send(11, left.buffer.slice(0, 8)).unsignaled();
        sends.send(12, left.buffer.slice(0, 8));
        sends.post(); // they wait for receives that the peer never posts
        left.pair.fail();

        List<Long> receives = new ArrayList<>();
        List<Long> sent = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            WorkCompletion flushed = left.next();
            assertThat(flushed.status()).isEqualTo(WORK_REQUEST_FLUSHED);
            assertThat(flushed.firstFailure()).as("nothing failed before").isNull();
            (flushed.operation() == Operation.RECEIVE ? receives : sent).add(flushed.id());
        }
        assertThat(receives).containsExactly(1L, 2L, 3L);
        assertThat(sent).containsExactly(11L, 12L);
        assertThat(left.pair.firstError()).as("a flush is no cause").isEmpty();
    }

    /** One request that fails and two behind it. */
    private void postThreeOfWhichTheFirstFails() {
        left.pair
                .sendBatch(3)
                .write(21, left.buffer.slice(0, 8), wrongKey())
                .read(22, left.buffer.slice(0, 8), right.buffer.remote())
                .send(23, left.buffer.slice(0, 8))
                .post();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void flushedCompletionsNameTheFirstFailure(boolean byCursor) throws Exception {
        connect();
        postThreeOfWhichTheFirstFails();
        Completions done = left.queue.completions(8);
        List<WorkCompletion> failed = new ArrayList<>();
        while (failed.size() < 3) {
            if (byCursor) {
                done.await(Loopback.DEADLINE);
                while (done.next()) {
                    assertThat(done.isSuccess()).isFalse();
                    failed.add(done.completion());
                }
            } else {
                failed.add(left.next());
            }
        }
        WorkCompletion first = failed.getFirst();
        assertThat(first.id()).isEqualTo(21);
        assertThat(first.status()).isEqualTo(REMOTE_ACCESS_ERROR);
        assertThat(first.firstFailure()).as("it is the first itself").isNull();
        assertThat(first.toString()).contains("To try").doesNotContain("first failure");
        assertThatExceptionOfType(WorkCompletionException.class)
                .isThrownBy(first::orThrow)
                .withMessageContaining("ibv_post_send")
                .withMessageContaining("#21 RDMA_WRITE")
                .withMessageContaining("REMOTE_ACCESS_ERROR")
                .withMessageContaining("check the remote key")
                .satisfies(e -> assertThat(e.completion()).isSameAs(first));
        assertThat(left.pair.firstError()).contains(first);
        assertThat(failed)
                .extracting(WorkCompletion::operation)
                .containsExactly(Operation.RDMA_WRITE, Operation.RDMA_READ, Operation.SEND);
        for (WorkCompletion flushed : failed.subList(1, 3)) {
            assertThat(flushed.status()).isEqualTo(WORK_REQUEST_FLUSHED);
            assertThat(flushed.firstFailure()).isEqualTo(first);
            assertThat(flushed.toString())
                    .contains("first failure was #21 RDMA_WRITE", "REMOTE_ACCESS_ERROR", "check the remote key");
        }
    }

    @Test
    void resetForgetsTheFirstFailure() throws Exception {
        connect();
        postThreeOfWhichTheFirstFails();
        for (int i = 0; i < 3; i++) {
            left.next();
        }
        right.pair.fail();
        left.pair.reset();
        right.pair.reset();
        assertThat(left.pair.firstError()).isEmpty();

        left.pair.connect(right.pair.endpoint());
        right.pair.connect(left.pair.endpoint());
        left.pair.postWrite(31, left.buffer.slice(0, 8), right.buffer.remote());
        assertThat(left.done().id()).isEqualTo(31);
        assertThat(left.pair.state()).isEqualTo(QueuePairState.RTS);
    }
}
