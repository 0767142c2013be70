package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

/** What is remembered of work requests that were posted. */
class PostedOperationsTest {
    private static final int SEND = Operation.SEND.code();
    private static final int WRITE = Operation.RDMA_WRITE.code();
    private static final int DEPTH = 4;

    /** The number of requests that the log remembers. */
    private static final int ROOM = 4 * DEPTH;

    private final PostedOperations log = new PostedOperations(DEPTH, false);

    /** Requests of 16 bytes: the id, then the operation. */
    private static int addBatch(PostedOperations log, int kind, long firstId, int... operations) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment requests = arena.allocate(16L * operations.length, 8);
            for (int i = 0; i < operations.length; i++) {
                requests.set(ValueLayout.JAVA_LONG, 16L * i, firstId + i);
                requests.set(ValueLayout.JAVA_INT, 16L * i + 8, operations[i]);
            }
            return log.add(requests.address(), 8, 16, operations.length, kind);
        }
    }

    @Test
    void emptyLogKnowsNothing() {
        assertThat(log.isEmpty()).isTrue();
        assertThat(log.find(1)).isNull();
        assertThat(log.covers(SEND)).isFalse();
    }

    @Test
    void requestsOfOneKindAreNotStored() {
        assertThat(log.add(1, SEND)).isZero();
        assertThat(log.isEmpty()).isFalse();
        assertThat(log.covers(SEND)).isTrue();
        assertThat(addBatch(log, SEND, 2, SEND, SEND)).isZero();
        assertThat(log.find(99)).isEqualTo(Operation.SEND);
    }

    @Test
    void receivesAreAKind() {
        int receive = Operation.RECEIVE.code();
        assertThat(log.add(1, receive)).isZero();
        assertThat(log.find(1)).isEqualTo(Operation.RECEIVE);
        PostedOperations each = new PostedOperations(DEPTH, true);
        each.add(1, receive);
        assertThat(each.find(1)).isEqualTo(Operation.RECEIVE);
        assertThat(each.find(2)).isNull();
    }

    @Test
    void requestsOfTwoKindsAreStored() {
        log.add(1, SEND);
        assertThat(log.add(2, WRITE)).isOne();
        assertThat(log.covers(SEND)).isFalse();
        assertThat(log.covers(WRITE)).isFalse();
        log.add(3, SEND);
        assertThat(log.find(2)).isEqualTo(Operation.RDMA_WRITE);
        assertThat(log.find(3)).isEqualTo(Operation.SEND);
        assertThat(log.find(1)).as("from before").isEqualTo(Operation.SEND);
    }

    @Test
    void batchOfSeveralKindsIsStoredByRequest() {
        assertThat(addBatch(log, PostedOperations.SEVERAL, 5, SEND, WRITE, SEND))
                .isEqualTo(3);
        assertThat(log.covers(PostedOperations.SEVERAL)).isFalse();
        assertThat(log.find(5)).isEqualTo(Operation.SEND);
        assertThat(log.find(6)).isEqualTo(Operation.RDMA_WRITE);
        assertThat(log.find(8)).isNull();
    }

    @Test
    void fullLogForgetsEarlierRequests() {
        log.add(1, SEND);
        for (int i = 0; i < ROOM - 1; i++) {
            log.add(100 + i, WRITE);
        }
        assertThat(log.find(1)).as("room is left").isEqualTo(Operation.SEND);
        log.add(200, WRITE);
        assertThat(log.find(1)).isNull();
        assertThat(log.find(100)).isEqualTo(Operation.RDMA_WRITE);
    }

    @Test
    void fullLogReplacesTheOldest() {
        addBatch(log, PostedOperations.SEVERAL, 0, SEND, WRITE, WRITE);
        addBatch(log, PostedOperations.SEVERAL, 3, WRITE, WRITE, WRITE);
        addBatch(log, PostedOperations.SEVERAL, 20, WRITE, WRITE, WRITE, WRITE, WRITE, WRITE, WRITE, WRITE);
        addBatch(log, PostedOperations.SEVERAL, 10, WRITE, WRITE, WRITE, SEND);
        assertThat(log.find(0)).isNull();
        assertThat(log.find(1)).isNull();
        assertThat(log.find(2)).isEqualTo(Operation.RDMA_WRITE);
        assertThat(log.find(13)).isEqualTo(Operation.SEND);
    }

    @Test
    void oversizedBatchStoresRequestsThatFit() {
        assertThat(addBatch(
                        log, PostedOperations.SEVERAL, 0, SEND, WRITE, SEND, SEND, SEND, SEND, SEND, SEND, SEND, SEND))
                .isEqualTo(2 * DEPTH);
    }

    @Test
    void refusedBatchKeepsTheRequestsBefore() {
        addBatch(log, PostedOperations.SEVERAL, 0, SEND, WRITE, SEND, WRITE);
        int logged = addBatch(log, PostedOperations.SEVERAL, 10, SEND, SEND, SEND, SEND, SEND, SEND);
        log.takeBack(logged);
        assertThat(log.find(0)).isEqualTo(Operation.SEND);
        assertThat(log.find(3)).isEqualTo(Operation.RDMA_WRITE);
        assertThat(log.find(10)).isNull();
    }

    @Test
    void refusedBatchDoesNotBringBackTheFirstKind() {
        log.add(1, SEND);
        for (int i = 0; i < ROOM; i++) {
            log.add(100 + i, WRITE);
        }
        assertThat(log.find(99)).isNull();
        log.takeBack(addBatch(log, PostedOperations.SEVERAL, 200, SEND, WRITE));
        assertThat(log.find(99)).as("not SEND, which is long done").isNull();
    }

    @Test
    void depthThatIsNoPowerOfTwoHasRoomForARefusedBatch() {
        PostedOperations odd = new PostedOperations(5, true);
        addBatch(odd, PostedOperations.SEVERAL, 0, SEND, WRITE, SEND, WRITE, SEND);
        odd.takeBack(addBatch(odd, PostedOperations.SEVERAL, 10, WRITE, WRITE, WRITE, WRITE, WRITE));
        assertThat(odd.find(0)).isEqualTo(Operation.SEND);
        assertThat(odd.find(1)).isEqualTo(Operation.RDMA_WRITE);
    }

    @Test
    void storedRequestsOfOneKindKeepItWhenAnotherFollows() {
        PostedOperations each = new PostedOperations(DEPTH, true);
        assertThat(addBatch(each, WRITE, 1, WRITE, WRITE, WRITE)).isEqualTo(3);
        assertThat(each.find(3)).isEqualTo(Operation.RDMA_WRITE);
        assertThat(each.find(4)).as("never posted").isNull();
        assertThat(each.find(0)).as("an id that no request has").isNull();
        each.add(10, SEND);
        assertThat(each.find(1)).isEqualTo(Operation.RDMA_WRITE);
        assertThat(each.find(10)).isEqualTo(Operation.SEND);
        addBatch(each, WRITE, 20, WRITE);
        assertThat(each.find(20)).isEqualTo(Operation.RDMA_WRITE);
    }

    @Test
    void storedRequestsOfOneKindWrapAroundTheEndOfTheLog() {
        PostedOperations each = new PostedOperations(DEPTH, true);
        for (int first = 0; first < 3 * ROOM; first += 3) {
            addBatch(each, WRITE, first, WRITE, WRITE, WRITE);
            assertThat(each.find(first)).isEqualTo(Operation.RDMA_WRITE);
            assertThat(each.find(first + 2)).isEqualTo(Operation.RDMA_WRITE);
            assertThat(each.find(first + 3)).isNull();
        }
        assertThat(each.find(3 * ROOM - ROOM))
                .as("the oldest that there is room for")
                .isEqualTo(Operation.RDMA_WRITE);
        assertThat(each.find(3 * ROOM - ROOM - 1)).as("overwritten").isNull();
    }

    @Test
    void refusedBatchOfOneKindIsNotFoundInAFullLog() {
        PostedOperations each = new PostedOperations(DEPTH, true);
        for (int i = 0; i < 2 * ROOM; i++) {
            each.add(i, WRITE);
        }
        each.takeBack(addBatch(each, WRITE, 1000, WRITE, WRITE));
        assertThat(each.find(1000)).isNull();
        assertThat(each.find(1001)).isNull();
        assertThat(each.find(2 * ROOM - 1)).isEqualTo(Operation.RDMA_WRITE);
        assertThat(each.find(2 * ROOM - ROOM))
                .as("overwritten by the refused batch")
                .isNull();
        each.add(2000, WRITE);
        assertThat(each.find(2000)).isEqualTo(Operation.RDMA_WRITE);
    }

    @Test
    void latestUseOfAnIdWins() {
        addBatch(log, PostedOperations.SEVERAL, 1, SEND, WRITE);
        log.add(1, WRITE);
        assertThat(log.find(1)).isEqualTo(Operation.RDMA_WRITE);
        log.takeBack(1);
        assertThat(log.find(1)).as("it was not posted after all").isEqualTo(Operation.SEND);
    }

    @Test
    void logWithSeparateIdsStoresEachRequest() {
        PostedOperations sends = new PostedOperations(DEPTH, true);
        assertThat(sends.covers(SEND)).isFalse();
        assertThat(sends.add(1, SEND)).isOne();
        assertThat(sends.covers(SEND)).isFalse();
        assertThat(sends.find(1)).isEqualTo(Operation.SEND);
        assertThat(sends.find(2)).isNull();
    }

    @Test
    void clearForgetsAllRequests() {
        addBatch(log, PostedOperations.SEVERAL, 1, SEND, WRITE);
        log.clear();
        assertThat(log.isEmpty()).isTrue();
        assertThat(log.find(1)).isNull();
    }

    @Test
    void openLogLetsRequestsThroughThatItNeedNotStore() {
        log.add(1, SEND);
        assertThat(log.letsThrough(SEND)).as("the queue is not ready").isFalse();
        log.open(true, -1);
        assertThat(log.letsThrough(SEND)).isTrue();
        assertThat(log.letsThrough(WRITE)).isFalse();
        assertThat(log.takes(2, SEND)).isTrue();
        assertThat(log.takes(3, WRITE)).isFalse();
        log.add(3, WRITE);
        assertThat(log.letsThrough(SEND)).as("it must be stored now").isFalse();
        assertThat(log.takes(4, SEND)).isTrue();
        assertThat(log.takes(5, WRITE)).isTrue();
        assertThat(log.find(4)).isEqualTo(Operation.SEND);
        assertThat(log.find(5)).isEqualTo(Operation.RDMA_WRITE);
        log.open(false, -1);
        assertThat(log.takes(6, SEND)).isFalse();
        log.open(true, -1);
        log.clear();
        assertThat(log.takes(7, SEND)).isFalse();
        log.add(8, WRITE);
        assertThat(log.letsThrough(WRITE)).isTrue();
    }

    @Test
    void openLogLetsOnlyNamedKindsThrough() {
        log.open(true, 1 << SEND);
        log.add(1, WRITE);
        assertThat(log.letsThrough(WRITE)).isFalse();
        log.clear();
        log.add(1, SEND);
        assertThat(log.letsThrough(SEND)).isTrue();
        log.add(2, WRITE); // from now on each is stored
        assertThat(log.takes(3, SEND)).isTrue();
        assertThat(log.takes(4, WRITE)).isFalse();
        assertThat(log.takes(5, PostedOperations.SEVERAL)).isFalse();
        assertThat(log.find(3)).isEqualTo(Operation.SEND);
        assertThat(log.find(4)).as("it was not stored").isNotEqualTo(Operation.RDMA_WRITE);
    }

    @Test
    void newLogLetsNothingThrough() {
        for (int kind : new int[] {SEND, WRITE, Operation.RECEIVE.code(), PostedOperations.SEVERAL}) {
            assertThat(log.letsThrough(kind)).isFalse();
            assertThat(log.takes(1, kind)).isFalse();
        }
    }
}
