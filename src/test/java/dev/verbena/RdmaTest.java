package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.CFunction;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.NamedFunctions;
import dev.verbena.internal.NativeLibraries;
import dev.verbena.internal.RdmaCoreVersion;
import dev.verbena.internal.failures.Failures;
import dev.verbena.support.LibraryCopy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;

/** What a program sees whose libraries are missing, or are others, in a copy of the library's classes. */
class RdmaTest {
    private static final String VERBS = "dev.verbena.libibverbs";
    private static final String CM = "dev.verbena.librdmacm";

    /** A library without any function of rdma-core. */
    private static final String OTHER = "libm.so.6";

    private static String message(Runnable work) {
        try {
            work.run();
            return "none";
        } catch (RuntimeException e) {
            return e.getClass().getSimpleName() + ": " + e.getMessage();
        }
    }

    /** Reports whether RDMA is usable, and what the checks throw: four lines. */
    static final class Checks implements Callable<String> {
        @Override
        public String call() {
            return String.join(
                    "\n",
                    Rdma.unavailability()
                            .map(e -> String.valueOf(e.getMessage()))
                            .orElse("usable"),
                    message(Rdma::requireVerbs),
                    message(Rdma::requireConnectionManager),
                    Rdma.unavailability()
                            .map(e -> String.valueOf(e.getCause()).replaceAll(":.*", ""))
                            .orElse("no cause"));
        }
    }

    private static List<String> checks(Map<String, String> properties) {
        return ((String) LibraryCopy.call(Checks.class, properties)).lines().toList();
    }

    @Test
    void rdmaIsUsableWithBothLibraries() {
        assertThat(checks(Map.of())).containsExactly("usable", "none", "none", "no cause");
    }

    @Test
    void missingVerbsLibraryIsNamedByEachCheck() {
        String message = "/nonexistent/verbs.so could not be opened. It is part of rdma-core: 'apt install libibverbs1 "
                + "ibverbs-providers' on Debian and Ubuntu, 'dnf install libibverbs' on Fedora and RHEL, 'zypper install "
                + "libibverbs1 rdma-core' on SUSE. Name a copy at another place with -Ddev.verbena.libibverbs=FILE";
        String thrown = "RdmaUnavailableException: " + message;
        assertThat(checks(Map.of(VERBS, "/nonexistent/verbs.so", CM, "/nonexistent/cm.so")))
                .containsExactly(message, thrown, thrown, "java.lang.IllegalArgumentException");
        assertThat(checks(Map.of(VERBS, "/nonexistent/verbs.so")))
                .containsExactly(message, thrown, thrown, "java.lang.IllegalArgumentException");
    }

    @Test
    void missingConnectionManagerLeavesVerbs() {
        String message = "/nonexistent/cm.so could not be opened. It is part of rdma-core: 'apt install librdmacm1' on "
                + "Debian and Ubuntu, 'dnf install librdmacm' on Fedora and RHEL, 'zypper install librdmacm1' on SUSE. "
                + "Name a copy at another place with -Ddev.verbena.librdmacm=FILE";
        assertThat(checks(Map.of(CM, "/nonexistent/cm.so")))
                .containsExactly(
                        message, "none", "RdmaUnavailableException: " + message, "java.lang.IllegalArgumentException");
    }

    /** Reports the files of the libraries, and whether a failure is kept: the next use must try again. */
    static final class Files implements Callable<String> {
        @Override
        public String call() {
            List<String> found = new ArrayList<>();
            for (NativeLibraries library : NativeLibraries.values()) {
                found.add(library.property() + "=" + library.file());
            }
            RuntimeException first = NativeLibraries.CM.problem();
            found.add("kept " + (first != null && first == NativeLibraries.CM.problem()));
            found.add("symbol " + NativeLibraries.CM.symbol("rdma_create_id").isPresent());
            return String.join("\n", found);
        }
    }

    @Test
    void librariesAreThoseOfThePropertiesOrTheUsualOnes() {
        assertThat((String) LibraryCopy.call(Files.class, Map.of(VERBS, "", CM, "/nonexistent/cm.so")))
                .isEqualTo(VERBS + "=libibverbs.so.1\n" + CM
                        + "=/nonexistent/cm.so\ndev.verbena.libc=libc.so.6\nkept false\nsymbol false");
        assertThat((String) LibraryCopy.call(Files.class, Map.of(VERBS, "/some/file.so", CM, "")))
                .startsWith(
                        VERBS + "=/some/file.so\n" + CM + "=librdmacm.so.1\ndev.verbena.libc=libc.so.6\nkept false\n");
    }

    /** Reports the releases that a library is not of, and what a call of a function throws that it lacks. */
    static final class OfOldLibrary implements Callable<String> {
        @Override
        public String call() {
            List<String> found = new ArrayList<>();
            for (RdmaCoreVersion version : RdmaCoreVersion.values()) {
                found.add(version + " " + version.isInstalled());
                found.add(message(() -> Failures.require(version, "ibv_inline", "rxe0")));
            }
            CFunction newer = Ibv.REG_MR_EX;
            found.add("present " + newer.isPresent());
            found.add(message(newer::call));
            found.add(message(() -> Failures.require(newer, "rxe0")));
            return String.join("\n", found);
        }
    }

    @Test
    void olderLibraryIsToldByTheFunctionsThatItLacks() {
        String found = (String) LibraryCopy.call(OfOldLibrary.class, Map.of(VERBS, OTHER));
        List<String> expected = new ArrayList<>();
        for (RdmaCoreVersion version : RdmaCoreVersion.values()) {
            expected.add(version + " false");
            expected.add("UnsupportedVerbException: ibv_inline(rxe0): The installed rdma-core is too old: "
                    + version.name().substring(1) + " or newer is needed");
        }
        expected.add("present false");
        expected.add("NoSuchElementException: libm.so.6 has no ibv_reg_mr_ex: rdma-core 59 or newer is needed");
        expected.add(
                "UnsupportedVerbException: ibv_reg_mr_ex(rxe0): The installed rdma-core is too old: 59 or newer is "
                        + "needed");
        assertThat(found.lines()).containsExactlyElementsOf(expected);
    }

    /** Reports the functions that are looked for in another library than their own, and the number of all. */
    static final class OfOtherLibraries implements Callable<String> {
        @Override
        public String call() throws ReflectiveOperationException {
            List<String> wrong = new ArrayList<>();
            int count = 0;
            for (NamedFunctions named : NamedFunctions.values()) {
                String library = named == NamedFunctions.VERBS ? OTHER : "libc.so.6";
                for (CFunction function : named.all().values()) {
                    String expected = "NoSuchElementException: " + library + " has no " + function.name()
                            + ": rdma-core " + function.since() + " or newer is needed";
                    String found = message(function::call);
                    if (!found.equals(expected)) {
                        wrong.add(found);
                    }
                    count++;
                }
            }
            return count > 100 ? String.join("\n", wrong) : count + " functions";
        }
    }

    @Test
    void functionsAreLookedForInTheirOwnLibrary() {
        assertThat((String) LibraryCopy.call(OfOtherLibraries.class, Map.of(VERBS, OTHER, CM, "libc.so.6")))
                .isEmpty();
    }
}
