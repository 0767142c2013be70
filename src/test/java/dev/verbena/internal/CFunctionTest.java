package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.internal.failures.Failures;
import dev.verbena.support.LibraryCopy;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Tests results of calls into C with functions of libc. */
class CFunctionTest {
    private static final int EBADF = 9;

    private static MemorySegment libc(String name) {
        return Linker.nativeLinker().defaultLookup().find(name).orElseThrow();
    }

    @Test
    void callReturnsAnIntIfCastToInt() {
        assertThat((int) CFunction.at("abs", libc("abs")).call(-5)).isEqualTo(5);
        assertThat((int) CFunction.at("close", libc("close")).call(-1)).isEqualTo(-1);
    }

    @Test
    void callReturnsAWholePointer() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocateFrom("verbena");
            assertThat(CFunction.at("strchr", libc("strchr")).call(text.address(), 'n'))
                    .isEqualTo(text.address() + 5);
            assertThat(CFunction.at("strchr", libc("strchr")).call(text.address(), 'x'))
                    .as("NULL")
                    .isZero();
        }
    }

    @Test
    void errnoBelongsToTheLastCall() {
        CFunction.at("close", libc("close")).call(-1);
        assertThat(CFunction.errno()).isEqualTo(EBADF);
    }

    @Test
    void errnoIsPerThread() throws InterruptedException {
        CFunction.at("close", libc("close")).call(-1);
        AtomicInteger seen = new AtomicInteger(-1);
        Thread.ofPlatform()
                .start(() -> {
                    try (Arena arena = Arena.ofConfined()) {
                        CFunction.at("rmdir", libc("rmdir"))
                                .call(arena.allocateFrom("/no/such/folder").address());
                    }
                    seen.set(CFunction.errno());
                })
                .join();
        assertThat(seen).hasValue(Errno.ENOENT);
        assertThat(CFunction.errno()).isEqualTo(EBADF);
    }

    @Test
    void missingFunctionIsNamed() {
        CFunction missing = new CFunction(NativeLibraries.VERBS, "ibv_no_such_verb");
        assertThat(missing.isPresent()).isFalse();
        assertThatThrownBy(missing::call)
                .isInstanceOf(NoSuchElementException.class)
                .hasMessage(NativeLibraries.VERBS.file() + " has no ibv_no_such_verb: rdma-core 44 or newer is needed");
    }

    @Test
    void callAcceptsAtMostSixArguments() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> CFunction.at("abs", libc("abs")).call(-1, 2, 3, 4, 5, 6, 7))
                .withMessage("at most 6 arguments, got 7");
        assertThat((int) CFunction.at("abs", libc("abs")).call(-1, 2, 3, 4, 5, 6))
                .isEqualTo(1);
    }

    @Test
    void callPassesSixArgumentsToTheirPlaces() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment to = arena.allocate(64);
            long form = arena.allocateFrom("%ld, %ld, %ld").address();
            assertThat((int) CFunction.at("snprintf", libc("snprintf")).call(to.address(), 64, form, 7, 1L << 33, -9))
                    .isEqualTo(17);
            assertThat(to.getString(0)).isEqualTo("7, 8589934592, -9");
        }
    }

    /** C does without the arguments that a program leaves out: they are 0. */
    @Test
    void argumentsThatAreLeftOutAreZero() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment to = arena.allocate(64);
            long form = arena.allocateFrom("%ld, %ld, %ld").address();
            CFunction.at("snprintf", libc("snprintf")).call(to.address(), 64, form);
            assertThat(to.getString(0)).isEqualTo("0, 0, 0");
        }
    }

    @Test
    void callOfAClosedFunctionIsRefused() {
        MemorySegment closed;
        try (Arena arena = Arena.ofConfined()) {
            closed = arena.allocate(8);
        }
        assertThatIllegalStateException()
                .isThrownBy(() -> CFunction.at("function", closed).call(1));
    }

    /** Throwables of a downcall are passed on as they are: errors of the virtual machine, above all. */
    @Test
    void unexpectedThrowablesArePassedOn() {
        RuntimeException exception = new IllegalStateException("of a downcall");
        assertThat(CFunction.unexpected(exception)).isSameAs(exception);
        Error error = new OutOfMemoryError("of the virtual machine");
        assertThatThrownBy(() -> CFunction.unexpected(error)).isSameAs(error);
        assertThatThrownBy(() -> CFunction.unexpected(new Exception("checked")))
                .isInstanceOf(AssertionError.class)
                .hasRootCauseMessage("checked");
    }

    /** A function that fails without an error number got a wrong argument. */
    @Test
    void failureWithoutErrnoIsAnInvalidArgument() {
        CFunction.captured().set(ValueLayout.JAVA_INT, 0, 0);
        assertThat(Failures.errnoOf(-1)).isEqualTo(Errno.EINVAL);
        CFunction.captured().set(ValueLayout.JAVA_INT, 0, 1);
        assertThat(Failures.errnoOf(-1)).isEqualTo(Errno.EPERM);
    }

    /** Reads tables that are made when their classes are loaded. */
    private static final class Newer implements Callable<String> {
        @Override
        public String call() throws ReflectiveOperationException {
            List<String> found = new ArrayList<>();
            for (NamedFunctions named : NamedFunctions.values()) {
                NativeLibraries library = named == NamedFunctions.VERBS ? NativeLibraries.VERBS : NativeLibraries.CM;
                for (Map.Entry<String, CFunction> each : named.all().entrySet()) {
                    CFunction function = each.getValue();
                    if (function.since() > RdmaCoreVersion.OLDEST) {
                        found.add(each.getKey() + " " + function.name() + " " + function.since());
                    }
                    boolean known = library.symbol(function.name()).isPresent()
                            || library.symbol("_" + function.name()).isPresent(); // of a macro or an inline function
                    if (function.isPresent() != known) {
                        found.add(function.name() + " is of another library");
                    }
                }
            }
            return String.join("\n", found);
        }
    }

    /** By the map files of rdma-core, which say in what release each function came. */
    @Test
    void newerFunctionsNameTheirRelease() {
        String found = (String) LibraryCopy.call(Newer.class, Map.of());
        assertThat(found.lines())
                .containsExactlyInAnyOrder(
                        "QUERY_PORT_SPEED ibv_query_port_speed 62",
                        "REG_MR_EX ibv_reg_mr_ex 59",
                        "DM_EXPORT_DMABUF_FD ibv_dm_export_dmabuf_fd 62",
                        "ALLOC_DMAH ibv_alloc_dmah 59",
                        "DEALLOC_DMAH ibv_dealloc_dmah 59",
                        "ALLOC_BUF ibv_alloc_buf 64",
                        "FREE_BUF ibv_free_buf 64",
                        "REG_BUF_MR ibv_reg_buf_mr 64",
                        "EXPORT_BUF_DMABUF_FD ibv_export_buf_dmabuf_fd 65",
                        "QUERY_COMP_CNTR_CAPS ibv_query_comp_cntr_caps 65",
                        "CREATE_COMP_CNTR ibv_create_comp_cntr 65",
                        "DESTROY_COMP_CNTR ibv_destroy_comp_cntr 65",
                        "SET_COMP_CNTR ibv_set_comp_cntr 65",
                        "SET_ERR_COMP_CNTR ibv_set_err_comp_cntr 65",
                        "INC_COMP_CNTR ibv_inc_comp_cntr 65",
                        "INC_ERR_COMP_CNTR ibv_inc_err_comp_cntr 65",
                        "READ_COMP_CNTR ibv_read_comp_cntr 65",
                        "READ_ERR_COMP_CNTR ibv_read_err_comp_cntr 65",
                        "QP_ATTACH_COMP_CNTR ibv_qp_attach_comp_cntr 65",
                        "RESOLVE_ADDRINFO rdma_resolve_addrinfo 60",
                        "QUERY_ADDRINFO rdma_query_addrinfo 60",
                        "WRITE_CM_EVENT rdma_write_cm_event 60");
    }

    @Test
    void releasesAreRecognisedByAFunctionOfTheirs() {
        for (RdmaCoreVersion version : RdmaCoreVersion.values()) {
            assertThat("V" + version.number()).isEqualTo(version.name());
        }
        assertThat(RdmaCoreVersion.OLDEST).isEqualTo(44);
    }
}
