package dev.verbena.verbs;

import dev.verbena.VerbsException;

/**
 * Thrown when not all work requests could be posted. Those before the first refused one are posted and will complete.
 */
public class PostException extends VerbsException {
    private static final long serialVersionUID = 1L;

    private final int posted;

    PostException(String verb, String arguments, int errno, String hint, int posted, int count) {
        super(verb, arguments + ", " + posted + " of " + count + " posted", errno, hint);
        this.posted = posted;
    }

    /**
     * Returns the number of work requests that were posted before the first refused one.
     *
     * @return the count
     */
    public int posted() {
        return posted;
    }
}
