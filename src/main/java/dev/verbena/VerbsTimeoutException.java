package dev.verbena;

import dev.verbena.internal.Errno;
import java.time.Duration;

/** A wait reached its deadline. Nothing was lost: the same wait can be tried again. */
public class VerbsTimeoutException extends VerbsException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes an exception for a wait that took too long.
     *
     * @param verb what was waited in, by its C name where there is one
     * @param arguments what was waited for
     * @param waited how long
     * @param hint what to try; may be empty
     */
    public VerbsTimeoutException(String verb, String arguments, Duration waited, String hint) {
        super(
                verb,
                arguments,
                Errno.ETIMEDOUT,
                "Waited " + waited.toMillis() + " ms" + (hint.isEmpty() ? "" : ". " + hint));
    }
}
