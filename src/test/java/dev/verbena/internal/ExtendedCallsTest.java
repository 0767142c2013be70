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
    private static final MemorySegment SNPRINTF = function("snprintf");
    private static final MemorySegment STRLEN = function("strlen");
    private static final MemorySegment STRCHR = function("strchr");
    private static final MemorySegment MEMCHR = function("memchr");
    private static final MemorySegment STRNLEN = function("strnlen");
    private static final long SIZE = 64;

    private static MemorySegment function(String name) {
        return Linker.nativeLinker().defaultLookup().find(name).orElseThrow();
    }

    private static ExtendedCalls calls(boolean critical) {
        return critical ? ExtendedCalls.CRITICAL : ExtendedCalls.PLAIN;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void callPassesTheObjectAndUpToFiveArguments(boolean critical) {
        ExtendedCalls calls = calls(critical);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocateFrom("verbena");
            assertThat(calls.call(STRLEN, text.address())).isEqualTo(7);
            assertThat(calls.call(STRCHR, text.address(), 'n')).isEqualTo(text.address() + 5);
            MemorySegment to = arena.allocate(SIZE);
            long form = arena.allocateFrom("%ld, %ld, %ld").address();
            assertThat((int) calls.call(SNPRINTF, to.address(), SIZE, form, 1L << 40, -3, 1L << 33))
                    .isEqualTo("1099511627776, -3, 8589934592".length());
            assertThat(to.getString(0)).isEqualTo("1099511627776, -3, 8589934592");
        }
    }

    /** A driver whose functions do different things, so that each method shows that it calls its own. */
    private static Driver driver(boolean critical) {
        return Driver.of(SNPRINTF, MEMCHR, STRNLEN, STRCHR, critical, critical);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void driverPassesThreeArgumentsToEachFunction(boolean critical) {
        Driver driver = driver(critical);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment to = arena.allocate(SIZE);
            MemorySegment text = arena.allocateFrom("verbena");
            assertThat(driver.postSends(to.address(), 4, text.address())).isEqualTo(7);
            assertThat(to.getString(0)).isEqualTo("ver");
            assertThat(driver.postReceives(text.address(), 'n', 8)).isEqualTo((int) (text.address() + 5));
            assertThat(driver.poll(text.address(), 3, 0)).isEqualTo(3);
            assertThat(driver.ask(text.address(), 'n')).isEqualTo((int) (text.address() + 5));
        }
    }

    @Test
    void tableOfFunctionsHasOneDriver() {
        assertThat(driver(true)).isSameAs(driver(true)).isNotSameAs(driver(false));
        assertThat(driver(true).getClass().isHidden()).isTrue();
        assertThat(driver(true)).isNotSameAs(Driver.of(SNPRINTF, MEMCHR, STRNLEN, STRCHR, true, false));
        assertThat(driver(true)).isNotSameAs(Driver.of(SNPRINTF, MEMCHR, STRNLEN, MEMCHR, true, true));
        assertThat(driver(true).getClass())
                .as("each has constants of its own")
                .isNotSameAs(driver(false).getClass());
    }
}
