package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that calls of the data path pass each argument to its place, with functions of libc in place of a driver's. */
class ExtendedCallsTest {
    private static final long SNPRINTF = address("snprintf");
    private static final long STRLEN = address("strlen");
    private static final long STRCHR = address("strchr");
    private static final long SIZE = 64;

    private static long address(String function) {
        return Linker.nativeLinker()
                .defaultLookup()
                .find(function)
                .orElseThrow()
                .address();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void callPassesTheObjectAndUpToFourArguments(boolean critical) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocateFrom("verbena");
            assertThat(ExtendedCalls.call(critical, STRLEN, text.address())).isEqualTo(7);
            assertThat(ExtendedCalls.call(critical, STRCHR, text.address(), 'n'))
                    .isEqualTo(text.address() + 5);
            MemorySegment to = arena.allocate(SIZE);
            long form = arena.allocateFrom("%ld, %ld").address();
            assertThat((int) ExtendedCalls.call(critical, SNPRINTF, to.address(), SIZE, form, 1L << 40, -3))
                    .isEqualTo("1099511627776, -3".length());
            assertThat(to.getString(0)).isEqualTo("1099511627776, -3");
        }
    }

    @Test
    void callCriticalPassesTheObjectAndUpToThreeArguments() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocateFrom("verbena");
            assertThat(ExtendedCalls.callCritical(STRLEN, text.address())).isEqualTo(7);
            assertThat(ExtendedCalls.callCritical(STRCHR, text.address(), 'n')).isEqualTo(text.address() + 5);
            MemorySegment to = arena.allocate(SIZE);
            assertThat((int) ExtendedCalls.callCritical(SNPRINTF, to.address(), 4, text.address()))
                    .isEqualTo(7);
            assertThat(to.getString(0)).isEqualTo("ver");
            long form = arena.allocateFrom("%ld").address();
            assertThat((int) ExtendedCalls.callCritical(SNPRINTF, to.address(), SIZE, form, -1234567890123L))
                    .isEqualTo(14);
            assertThat(to.getString(0)).isEqualTo("-1234567890123");
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void flushPassesSixArguments(boolean critical) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment to = arena.allocate(SIZE);
            long form = arena.allocateFrom("%ld, %ld, %ld").address();
            ExtendedCalls.flush(critical, SNPRINTF, to.address(), SIZE, form, 7, 1L << 33, -9);
            assertThat(to.getString(0)).isEqualTo("7, 8589934592, -9");
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void pollAndPostPassThreeArguments(boolean critical) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment to = arena.allocate(SIZE);
            long text = arena.allocateFrom("verbena").address();
            assertThat(DataPathCalls.poll(critical, SNPRINTF, to.address(), 3, text))
                    .isEqualTo(7);
            assertThat(to.getString(0)).isEqualTo("ve");
            assertThat(DataPathCalls.post(critical, SNPRINTF, to.address(), 4, text))
                    .isEqualTo(7);
            assertThat(to.getString(0)).isEqualTo("ver");
        }
    }

    @Test
    void criticalPollAndPostPassThreeArguments() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment to = arena.allocate(SIZE);
            long text = arena.allocateFrom("verbena").address();
            assertThat(DataPathCalls.pollCritical(SNPRINTF, to.address(), 5, text))
                    .isEqualTo(7);
            assertThat(to.getString(0)).isEqualTo("verb");
            assertThat(DataPathCalls.postCritical(SNPRINTF, to.address(), 6, text))
                    .isEqualTo(7);
            assertThat(to.getString(0)).isEqualTo("verbe");
        }
    }

    @Test
    void requestNotificationPassesTheQueueAndTheKind() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocateFrom("verbena");
            assertThat(DataPathCalls.requestNotification(STRCHR, text.address(), 'n'))
                    .isEqualTo((int) (text.address() + 5));
        }
    }
}
