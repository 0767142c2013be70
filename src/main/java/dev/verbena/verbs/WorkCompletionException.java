package dev.verbena.verbs;

import dev.verbena.VerbsException;

/** A work request failed after it was posted. */
public class WorkCompletionException extends VerbsException {
    private static final long serialVersionUID = 1L;

    private final transient WorkCompletion completion;

    /**
     * Makes an exception for a failed completion.
     *
     * @param completion how the request ended
     */
    public WorkCompletionException(WorkCompletion completion) {
        super(
                completion.operation() == null ? "work request" : verb(completion.operation()),
                "#" + completion.id(),
                0,
                completion.toString());
        this.completion = completion;
    }

    private static String verb(Operation operation) {
        return operation == Operation.RECEIVE ? "ibv_post_recv" : "ibv_post_send";
    }

    /**
     * How the request ended.
     *
     * @return the completion; null on a deserialised exception
     */
    public WorkCompletion completion() {
        return completion;
    }
}
