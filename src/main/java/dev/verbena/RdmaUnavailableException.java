package dev.verbena;

/**
 * Thrown when RDMA can't be used in this process: a library of rdma-core is missing, or native access is not enabled. The
 * message names the package to install or the option to give.
 */
public class RdmaUnavailableException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param message names the missing part and its remedy
     * @param cause the failure that the virtual machine reported
     */
    RdmaUnavailableException(String message, Throwable cause) {
        super(message, cause);
    }
}
