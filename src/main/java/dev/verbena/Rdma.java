package dev.verbena;

import dev.verbena.internal.NativeLibraries;
import dev.verbena.internal.StackRoom;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Checks that tell whether RDMA can be used in this process.
 *
 * <p>The first use opens rdma-core's libraries by their sonames, {@code libibverbs.so.1} and {@code librdmacm.so.1}. The
 * system properties {@code dev.verbena.libibverbs} and {@code dev.verbena.librdmacm} name other files. All threads may
 * use this class.
 */
public final class Rdma {
    private Rdma() {}

    /**
     * Returns the reason why RDMA can't be used. RDMA counts as usable on a machine without a device: the list of devices
     * is empty there.
     *
     * @return the exception that the first verb would throw; empty when RDMA can be used
     */
    public static Optional<RdmaUnavailableException> unavailability() {
        RdmaUnavailableException verbs = problem(NativeLibraries.VERBS);
        return Optional.ofNullable(verbs != null ? verbs : problem(NativeLibraries.CM));
    }

    /**
     * Checks that {@code libibverbs} can be called.
     *
     * @throws RdmaUnavailableException if the library is missing or native access is not enabled
     */
    public static void requireVerbs() {
        require(NativeLibraries.VERBS);
    }

    /**
     * Checks that {@code libibverbs} and {@code librdmacm} can be called.
     *
     * @throws RdmaUnavailableException if a library is missing or native access is not enabled
     */
    public static void requireConnectionManager() {
        require(NativeLibraries.VERBS);
        require(NativeLibraries.CM);
    }

    private static void require(NativeLibraries library) {
        StackRoom.forLinking(); // the first calls of a program link most lambdas
        RdmaUnavailableException problem = problem(library);
        if (problem != null) {
            throw problem;
        }
    }

    private static @Nullable RdmaUnavailableException problem(NativeLibraries library) {
        RuntimeException problem = library.problem();
        if (problem == null) {
            return null;
        }
        // A pattern switch would link its bootstrap method here, on the way to each program's first verb.
        return problem instanceof IllegalCallerException
                ? new RdmaUnavailableException(
                        "Native access is not enabled: start java with --enable-native-access=" + callerName(), problem)
                : new RdmaUnavailableException(missing(library), problem);
    }

    private static String callerName() {
        Module module = Rdma.class.getModule();
        return module.isNamed() ? module.getName() : "ALL-UNNAMED";
    }

    private static String missing(NativeLibraries library) {
        String packages = switch (library) {
            case VERBS ->
                "'apt install libibverbs1 ibverbs-providers' on Debian and Ubuntu, "
                        + "'dnf install libibverbs' on Fedora and RHEL, "
                        + "'zypper install libibverbs1 rdma-core' on SUSE";
            case CM ->
                "'apt install librdmacm1' on Debian and Ubuntu, "
                        + "'dnf install librdmacm' on Fedora and RHEL, "
                        + "'zypper install librdmacm1' on SUSE";
            case C -> throw new AssertionError("each process has a libc");
        };
        return library.file() + " could not be opened. It is part of rdma-core: " + packages
                + ". Name a copy at another place with -D" + library.property() + "=FILE";
    }
}
