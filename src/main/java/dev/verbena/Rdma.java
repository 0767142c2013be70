package dev.verbena;

import dev.verbena.internal.NativeLibraries;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Whether RDMA can be used in this process.
 *
 * <p>rdma-core's libraries are opened by their sonames ({@code libibverbs.so.1}, {@code librdmacm.so.1}) when first
 * needed. The system properties {@code dev.verbena.libibverbs} and {@code dev.verbena.librdmacm} name other files.
 */
public final class Rdma {
    private Rdma() {}

    /**
     * Says why RDMA can't be used, if it can't. A machine without a device can use RDMA in this sense; its
     * list of devices is empty.
     *
     * @return the exception that the first verb would throw, or nothing when all is well
     */
    public static Optional<RdmaUnavailableException> unavailability() {
        RdmaUnavailableException verbs = problem(NativeLibraries.VERBS);
        return Optional.ofNullable(verbs != null ? verbs : problem(NativeLibraries.CM));
    }

    /**
     * Makes sure that {@code libibverbs} can be called.
     *
     * @throws RdmaUnavailableException if not
     */
    public static void requireVerbs() {
        require(NativeLibraries.VERBS);
    }

    /**
     * Makes sure that {@code librdmacm} can be called.
     *
     * @throws RdmaUnavailableException if not
     */
    public static void requireConnectionManager() {
        require(NativeLibraries.VERBS);
        require(NativeLibraries.CM);
    }

    private static void require(NativeLibraries library) {
        RdmaUnavailableException problem = problem(library);
        if (problem != null) {
            throw problem;
        }
    }

    private static @Nullable RdmaUnavailableException problem(NativeLibraries library) {
        RuntimeException problem = library.problem();
        return switch (problem) {
            case null -> null;
            case IllegalCallerException denied ->
                new RdmaUnavailableException(
                        "Native access is not enabled: start java with --enable-native-access=" + callerName(), denied);
            default -> new RdmaUnavailableException(missing(library), problem);
        };
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
        };
        return library.file() + " could not be opened. It is part of rdma-core: " + packages
                + ". A copy elsewhere is named by -D" + library.property() + "=FILE";
    }
}
