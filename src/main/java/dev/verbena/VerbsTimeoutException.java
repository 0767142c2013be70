package dev.verbena;

import dev.verbena.internal.Deadline;
import dev.verbena.internal.Errno;
import java.time.Duration;

/** Thrown when a wait reaches its deadline. Nothing is lost: the same wait can be repeated. */
public class VerbsTimeoutException extends VerbsException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception for a wait that took too long.
     *
     * @param verb the function that waited, by its C name where it has one
     * @param arguments the awaited event as text
     * @param waited the time that the wait took
     * @param hint advice on what to try; may be empty
     */
    public VerbsTimeoutException(String verb, String arguments, Duration waited, String hint) {
        super(
                verb,
                arguments,
                Errno.ETIMEDOUT,
                "Waited " + Deadline.milliseconds(waited) + " ms" + (hint.isEmpty() ? "" : ". " + hint));
    }
}
