package dev.verbena;

import dev.verbena.internal.Calls;
import dev.verbena.internal.Errno;

/**
 * A verb failed. The message says which one (by its C name), with which arguments, what the system answered, and what
 * to try.
 */
public class VerbsException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String verb;
    private final int errno;

    /**
     * Makes an exception for a failed verb.
     *
     * @param verb the C name of the function, such as {@code ibv_reg_mr}
     * @param arguments what it was called with, in a person's words; may be empty
     * @param errno the error number it answered, or 0 when there is none
     * @param hint what to try; may be empty
     */
    public VerbsException(String verb, String arguments, int errno, String hint) {
        this(verb, errno, message(verb, arguments, errno == 0 ? "" : Errno.describe(errno), hint));
    }

    private VerbsException(String verb, int errno, String message) {
        super(message);
        this.verb = verb;
        this.errno = errno;
        if (errno != 0 || this instanceof UnsupportedVerbException) {
            Calls.refused(verb, this instanceof UnsupportedVerbException, message);
        }
    }

    private static String message(String verb, String arguments, String answer, String hint) {
        StringBuilder text =
                new StringBuilder(verb).append('(').append(arguments).append(')');
        if (!answer.isEmpty()) {
            text.append(": ").append(answer);
        }
        if (!hint.isEmpty()) {
            text.append(answer.isEmpty() ? ": " : ". ").append(hint);
        }
        return text.toString();
    }

    /**
     * The C name of the function that failed.
     *
     * @return for example {@code ibv_create_qp}
     */
    public String verb() {
        return verb;
    }

    /**
     * The error number.
     *
     * @return Linux's {@code errno}, positive, or 0 when the verb gave none
     */
    public int errno() {
        return errno;
    }

    /**
     * The error number's name.
     *
     * @return for example {@code ENOMEM}
     */
    public String errnoName() {
        return Errno.name(errno);
    }
}
