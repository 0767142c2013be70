package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsException;
import dev.verbena.support.Fenced;
import org.assertj.core.api.AbstractThrowableAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** Calls that C refuses. */
final class RefusedByC {
    private RefusedByC() {}

    /** Lets the next call of a function fail. Returns the exception that a caller gets, which names the function and errno. */
    static AbstractThrowableAssert<?, ? extends Throwable> assertRefused(
            String function, int errno, ThrowingCallable call) {
        Fenced.fail(function, 1, errno);
        return assertThatThrownBy(call).isInstanceOfSatisfying(VerbsException.class, refused -> {
            assertThat(refused.verb()).isEqualTo(function);
            assertThat(refused.errno()).isEqualTo(errno);
        });
    }
}
