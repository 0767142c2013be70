package dev.verbena.verbs;

import dev.verbena.VerbsException;
import org.jspecify.annotations.Nullable;

/** Thrown for a work request that failed after it was posted. */
public class WorkCompletionException extends VerbsException {
    private static final long serialVersionUID = 1L;

    private final transient @Nullable WorkCompletion completion;

    /**
     * Makes an exception for a failed completion.
     *
     * @param completion the completion of the request
     */
    @SuppressWarnings("this-escape") // initCause only sets a field
    public WorkCompletionException(WorkCompletion completion) {
        super(
                completion.operation() == null ? "work request" : verb(completion.operation()),
                "#" + completion.id(),
                0,
                completion.toString());
        this.completion = completion;
        VerbsException end = completion.end();
        if (end != null) {
            initCause(end);
        }
    }

    private static String verb(Operation operation) {
        return operation == Operation.RECEIVE ? "ibv_post_recv" : "ibv_post_send";
    }

    /**
     * Returns the completion of the request.
     *
     * @return the completion; null for a deserialised exception
     */
    public @Nullable WorkCompletion completion() {
        return completion;
    }
}
