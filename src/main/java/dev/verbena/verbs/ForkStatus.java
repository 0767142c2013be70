package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.NativeValue;
import dev.verbena.Rdma;
import dev.verbena.RdmaUnavailableException;
import dev.verbena.VerbsException;
import dev.verbena.internal.Ibv;

/**
 * The protection of registered memory when this process forks ({@code enum ibv_fork_status}).
 *
 * <p>{@link ProcessBuilder} needs no protection, because Java starts other programs without copying its memory. The
 * protection matters to native code in this process that calls {@code fork()}. Kernels from 5.12 on protect the memory
 * themselves.
 */
public enum ForkStatus implements NativeValue {
    /** A fork may move pages away from the adapter ({@code IBV_FORK_DISABLED}). */
    DISABLED(0, "IBV_FORK_DISABLED"),
    /** {@link #initialize} was called, and registered pages are kept from children ({@code IBV_FORK_ENABLED}). */
    ENABLED(1, "IBV_FORK_ENABLED"),
    /** The kernel copies registered pages for children ({@code IBV_FORK_UNNEEDED}). */
    UNNEEDED(2, "IBV_FORK_UNNEEDED"),
    /** A number that this release does not know. */
    UNKNOWN(-1, "");

    private static final ForkStatus[] VALUES = values();

    private final int code;
    private final String cName;

    ForkStatus(int code, String cName) {
        this.code = code;
        this.cName = cName;
    }

    @Override
    public int code() {
        return code;
    }

    @Override
    public String cName() {
        return cName;
    }

    /**
     * Returns the constant for a number.
     *
     * @param code the number in C
     * @return the constant, or {@link #UNKNOWN} for a number that this release does not know
     */
    public static ForkStatus of(int code) {
        return NativeValue.find(VALUES, code, UNKNOWN);
    }

    /**
     * Returns the status of this process ({@code ibv_is_fork_initialized}).
     *
     * @return the status
     * @throws RdmaUnavailableException if rdma-core is missing or native access is not enabled
     */
    @CName("ibv_is_fork_initialized")
    public static ForkStatus current() {
        Rdma.requireVerbs();
        return of((int) Ibv.IS_FORK_INITIALIZED.call());
    }

    /**
     * Prepares this process for {@code fork()} ({@code ibv_fork_init}). Call this method before any memory is registered. It
     * does nothing if the kernel protects the memory itself.
     *
     * @throws VerbsException if memory is registered already
     * @throws RdmaUnavailableException if rdma-core is missing or native access is not enabled
     */
    @CName("ibv_fork_init")
    public static void initialize() {
        Rdma.requireVerbs();
        VerbFailures.check(
                Ibv.FORK_INIT.name(), (int) Ibv.FORK_INIT.call(), "", "Call it before the first registration");
    }
}
