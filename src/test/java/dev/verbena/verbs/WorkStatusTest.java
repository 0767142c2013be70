package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.raw.ibv_wc;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What statuses and completions say in words. */
class WorkStatusTest {
    private static WorkCompletion failed(int status, Operation operation, WorkCompletion first) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment completion = ibv_wc.allocate(arena);
            ibv_wc.wr_id(completion, 7);
            ibv_wc.status(completion, status);
            ibv_wc.qp_num(completion, 17);
            return new WorkCompletion(completion.address(), 0, operation, first, null);
        }
    }

    @ParameterizedTest
    @EnumSource
    void meaningIsPresentWithoutFullStop(WorkStatus status) {
        assertThat(status.meaning()).isNotBlank().doesNotEndWith(".").isNotEqualTo(status.hint());
        assertThat(status.hint().isEmpty()
                        || status.hint().length() > status.meaning().length() / 2)
                .as(status.hint())
                .isTrue();
        assertThat(status.hint()).doesNotEndWith(".");
    }

    @Test
    void hintIsPresentForCommonStatuses() {
        assertThat(WorkStatus.LOCAL_ACCESS_ERROR.hint()).isEqualTo("the local memory needs LOCAL_WRITE");
        assertThat(WorkStatus.MW_BIND_ERROR.meaning()).isEqualTo("a memory window could not be bound");
        assertThat(WorkStatus.REMOTE_INVALID_REQUEST_ERROR.meaning()).isEqualTo("the peer found the request invalid");
        assertThat(List.of(
                        WorkStatus.LOCAL_LENGTH_ERROR,
                        WorkStatus.LOCAL_QP_OPERATION_ERROR,
                        WorkStatus.LOCAL_PROTECTION_ERROR,
                        WorkStatus.WORK_REQUEST_FLUSHED,
                        WorkStatus.REMOTE_INVALID_REQUEST_ERROR,
                        WorkStatus.REMOTE_ACCESS_ERROR,
                        WorkStatus.REMOTE_OPERATION_ERROR,
                        WorkStatus.RETRY_EXCEEDED,
                        WorkStatus.RNR_RETRY_EXCEEDED))
                .allMatch(status -> !status.hint().isEmpty());
    }

    @Test
    void remoteAccessHintNamesAllCauses() {
        assertThat(WorkStatus.REMOTE_ACCESS_ERROR.hint())
                .contains("key, which may be unknown or revoked")
                .contains("range, which may be outside the region")
                .contains("access flags of the peer's region and queue pair")
                .contains("same protection domain");
    }

    @Test
    void remoteInvalidRequestHintNamesTheRightsOfTheQueuePair() {
        assertThat(WorkStatus.REMOTE_INVALID_REQUEST_ERROR.hint())
                .contains("peer's queue pair", "REMOTE_ATOMIC", "FLUSH_GLOBAL", "FLUSH_PERSISTENT");
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 24, 99, Integer.MAX_VALUE, Integer.MIN_VALUE})
    void unknownStatusKeepsItsNumber(int code) {
        assertThat(WorkStatus.of(code)).isEqualTo(WorkStatus.UNKNOWN);
        assertThat(failed(code, null, null).statusCode()).isEqualTo(code);
        assertThat(failed(code, null, null)).hasToString("#7 work request on QP 17 failed: status " + code);
    }

    @Test
    void toStringOfAFailureHasStatusAndHint() {
        assertThat(failed(10, Operation.RDMA_READ, null).toString())
                .startsWith(
                        "#7 RDMA_READ on QP 17 failed: REMOTE_ACCESS_ERROR, the peer's memory does not allow the access")
                .contains("To try: check the remote key");
    }

    @Test
    void toStringOfAFlushNamesTheFirstFailure() {
        WorkCompletion first = failed(13, Operation.SEND, null);
        assertThat(failed(5, Operation.RECEIVE, first).toString())
                .contains("RECEIVE on QP 17 failed: WORK_REQUEST_FLUSHED")
                .contains("first failure was #7 SEND on QP 17 failed: RNR_RETRY_EXCEEDED")
                .contains("rnrRetryCount");
    }

    @Test
    void exceptionHasItsCompletion() {
        WorkCompletion failed = failed(10, Operation.RDMA_READ, null);
        WorkCompletionException exception = new WorkCompletionException(failed);
        assertThat(exception.completion()).isEqualTo(failed);
        assertThat(exception.verb()).isEqualTo("ibv_post_send");
        assertThat(exception).hasMessageContaining(failed.toString());
        assertThat(new WorkCompletionException(failed(2, Operation.RECEIVE, null)).verb())
                .isEqualTo("ibv_post_recv");
    }
}
