package dev.verbena;

import dev.verbena.internal.Errno;

/**
 * Thrown when a verb fails. The message names the C function, its arguments, the error, and a remedy where one is known.
 */
public class VerbsException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String verb;
    private final int errno;

    /**
     * Creates an exception for a failed verb.
     *
     * @param verb the C name of the function, such as {@code ibv_reg_mr}
     * @param arguments the arguments as text; may be empty
     * @param errno the error number that the function returned, or 0 for none
     * @param hint advice on what to try; may be empty
     */
    public VerbsException(String verb, String arguments, int errno, String hint) {
        this(verb, errno, message(verb, arguments, errno == 0 ? "" : Errno.describe(errno), hint));
    }

    private VerbsException(String verb, int errno, String message) {
        super(message);
        this.verb = verb;
        this.errno = errno;
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
     * Returns the C name of the function that failed.
     *
     * @return a name, such as {@code ibv_create_qp}
     */
    public String verb() {
        return verb;
    }

    /**
     * Returns the error number.
     *
     * @return Linux's {@code errno}, positive, or 0 if the verb returned none
     */
    public int errno() {
        return errno;
    }

    /**
     * Returns the name of the error number.
     *
     * @return a name, such as {@code ENOMEM}
     */
    public String errnoName() {
        return Errno.name(errno);
    }
}
