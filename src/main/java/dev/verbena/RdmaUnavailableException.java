package dev.verbena;

/**
 * RDMA can't be used in this process: a library of rdma-core is missing, or native access is not enabled. The message
 * says which, and what to install or which flag to give.
 */
public class RdmaUnavailableException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes an exception that says what is missing.
     *
     * @param message what is missing and what to do
     * @param cause what the virtual machine said
     */
    RdmaUnavailableException(String message, Throwable cause) {
        super(message, cause);
    }
}
