package dev.verbena;

/**
 * Thrown when the device, its driver, the kernel or the installed rdma-core does not support an operation. The cause is
 * {@code EOPNOTSUPP}, {@code ENOSYS}, or a function that the library lacks.
 */
public class UnsupportedVerbException extends VerbsException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception for a verb that is not supported.
     *
     * @param verb the C name of the function
     * @param arguments the arguments as text; may be empty
     * @param errno the error number, or 0 when the function itself is missing
     * @param hint names the missing part and a release or device that has it; may be empty
     */
    public UnsupportedVerbException(String verb, String arguments, int errno, String hint) {
        super(verb, arguments, errno, hint);
    }
}
