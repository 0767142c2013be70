package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.raw.ibv_wc;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Completions are values: they are equal if all that they tell is equal. */
class WorkCompletionEqualityTest {
    private static final int SOURCE_LID = 1;

    private static WorkCompletion completion(int changed, Operation operation, WorkCompletion first) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = ibv_wc.allocate(arena);
            for (int i = 0; i < memory.byteSize(); i++) {
                memory.set(ValueLayout.JAVA_BYTE, i, (byte) (i == changed ? 101 : i));
            }
            return new WorkCompletion(memory.address(), SOURCE_LID, operation, first, null);
        }
    }

    private static WorkCompletion completion(int changed) {
        return completion(changed, Operation.SEND, null);
    }

    /** The sender's LID is passed beside the struct, whose last byte is padding. */
    static IntStream bytesThatTellSomething() {
        long lid = ibv_wc.slid$offset();
        return IntStream.range(0, (int) ibv_wc.dlid_path_bits$offset() + 1).filter(at -> at != lid && at != lid + 1);
    }

    @ParameterizedTest
    @MethodSource("bytesThatTellSomething")
    void completionsDifferInEachField(int changed) {
        assertThat(completion(changed)).isNotEqualTo(completion(-1));
    }

    @Test
    void completionsAreEqualIfTheirOperationAndFirstFailureAreEqualToo() {
        assertThat(completion(-1))
                .isEqualTo(completion(-1))
                .hasSameHashCodeAs(completion(-1))
                .isNotEqualTo(completion(-1, Operation.RECEIVE, null))
                .isNotEqualTo(completion(-1, Operation.SEND, completion(-1)));
    }
}
