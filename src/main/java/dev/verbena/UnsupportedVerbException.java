package dev.verbena;

/**
 * The device, its driver, the kernel or the installed rdma-core can't do this: {@code EOPNOTSUPP}, {@code ENOSYS}, or
 * a function that the library lacks.
 */
public class UnsupportedVerbException extends VerbsException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes an exception for a verb that is not supported here.
     *
     * @param verb the C name of the function
     * @param arguments what it was called with; may be empty
     * @param errno the error number, or 0 when the function itself is missing
     * @param hint what is missing, and what would have it; may be empty
     */
    public UnsupportedVerbException(String verb, String arguments, int errno, String hint) {
        super(verb, arguments, errno, hint);
    }
}
