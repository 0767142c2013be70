package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;

/** Not all work requests could be posted. Those before the one that was refused are posted and will complete. */
public class PostException extends VerbsException {
    private static final long serialVersionUID = 1L;

    private final int posted;

    PostException(String verb, String arguments, int errno, String hint, int posted, int count) {
        super(verb, arguments + ", " + posted + " of " + count + " posted", errno, hint);
        this.posted = posted;
    }

    static PostException of(String verb, Object queue, int errno, int posted, int count, String fullHint) {
        String hint = switch (errno) {
            case Errno.ENOMEM, Errno.ENOSPC -> fullHint;
            case Errno.EINVAL ->
                "The state does not allow it, or an address, a size or an operation is not one the "
                        + "device can do; atomics need addresses that are multiples of 8";
            default -> "";
        };
        return new PostException(verb, queue.toString(), errno, hint, posted, count);
    }

    /**
     * How many work requests of the batch were posted before the refused one.
     *
     * @return the count
     */
    public int posted() {
        return posted;
    }
}
