package dev.verbena.walk;

import org.jspecify.annotations.Nullable;

/** The library and the model disagree. */
final class WalkFailure extends AssertionError {
    private static final long serialVersionUID = 1L;

    WalkFailure(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
