package dev.verbena.verbs;

import dev.verbena.CName;
import dev.verbena.Rdma;
import dev.verbena.RdmaUnavailableException;
import dev.verbena.VerbsException;
import dev.verbena.internal.EnumCodec;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.raw.rdma_h;

/**
 * The protection of registered memory when this process forks ({@code enum ibv_fork_status}).
 *
 * <p>{@link ProcessBuilder} needs no protection, because Java starts other programs without copying its memory. The
 * protection matters to native code in this process that calls {@code fork()}. Kernels from 5.12 on protect the memory
 * themselves.
 */
public enum ForkStatus {
    /** A fork may move pages away from the adapter ({@code IBV_FORK_DISABLED}). */
    DISABLED(rdma_h.IBV_FORK_DISABLED),
    /** {@link #initialize} was called, and registered pages are kept from children ({@code IBV_FORK_ENABLED}). */
    ENABLED(rdma_h.IBV_FORK_ENABLED),
    /** The kernel copies registered pages for children ({@code IBV_FORK_UNNEEDED}). */
    UNNEEDED(rdma_h.IBV_FORK_UNNEEDED),
    /** A number that this release does not know. */
    UNKNOWN(-1);

    final int code;

    ForkStatus(int code) {
        this.code = code;
    }

    static ForkStatus of(int code) {
        return EnumCodec.find(values(), value -> value.code, code, UNKNOWN);
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
        Calls.run(Ibv.FORK_INIT, "", errno -> "Call it before the first registration");
    }
}
