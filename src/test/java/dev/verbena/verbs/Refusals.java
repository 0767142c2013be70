package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.support.Fenced;
import java.util.stream.IntStream;
import org.assertj.core.api.AbstractThrowableAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** Calls that are refused, by C or before it, each with the words of its exception. */
final class Refusals {
    private Refusals() {}

    /** Lets the next call of a function fail. Returns the exception that a caller gets, which names the function and errno. */
    static AbstractThrowableAssert<?, ?> assertRefused(String function, int errno, ThrowingCallable call) {
        Fenced.fail(function, 1, errno);
        return assertThatThrownBy(call).isInstanceOfSatisfying(VerbsException.class, refused -> {
            assertThat(refused.verb()).isEqualTo(function);
            assertThat(refused.errno()).isEqualTo(errno);
            assertThat(refused).hasMessageContaining("): " + Errno.name(errno));
        });
    }

    /** Lets the next call of a function fail, as the start of the message says, such as {@code ibv_open_qp(x): EINVAL}. */
    static AbstractThrowableAssert<?, ?> assertRefusedByC(String start, String hint, ThrowingCallable call) {
        String name = start.substring(start.lastIndexOf(' ') + 1);
        int errno = IntStream.range(1, 200)
                .filter(number -> Errno.name(number).equals(name))
                .findFirst()
                .orElseThrow();
        return assertRefused(start.substring(0, start.indexOf('(')), errno, call)
                .hasMessageStartingWith(start)
                .hasMessageContaining(hint);
    }

    static AbstractThrowableAssert<?, ?> assertRefusedByC(String start, ThrowingCallable call) {
        return assertRefusedByC(start, "", call);
    }

    /** Checks what C says of a call that it refuses by itself. */
    static AbstractThrowableAssert<?, ?> assertFails(String start, String hint, ThrowingCallable call) {
        return assertThrows(VerbsException.class, hint, call).hasMessageStartingWith(start);
    }

    static AbstractThrowableAssert<?, ?> assertFails(String start, ThrowingCallable call) {
        return assertFails(start, "", call);
    }

    static AbstractThrowableAssert<?, ?> assertThrows(Class<?> type, String words, ThrowingCallable call) {
        return assertThatThrownBy(call).isInstanceOf(type).hasMessageContaining(words);
    }

    static AbstractThrowableAssert<?, ?> assertIllegalArgument(String words, ThrowingCallable call) {
        return assertThrows(IllegalArgumentException.class, words, call);
    }

    static AbstractThrowableAssert<?, ?> assertIllegalArgument(ThrowingCallable call) {
        return assertIllegalArgument("", call);
    }

    static AbstractThrowableAssert<?, ?> assertIllegalState(String words, ThrowingCallable call) {
        return assertThrows(IllegalStateException.class, words, call);
    }

    static AbstractThrowableAssert<?, ?> assertIllegalState(ThrowingCallable call) {
        return assertIllegalState("", call);
    }

    static AbstractThrowableAssert<?, ?> assertOutOfBounds(ThrowingCallable call) {
        return assertThatThrownBy(call).isInstanceOf(IndexOutOfBoundsException.class);
    }

    /** Checks that an object is not closed, because another one needs it. */
    static void assertBusy(ThrowingCallable close, Object dependent) {
        assertThrows(ResourceBusyException.class, dependent.toString(), close);
    }
}
