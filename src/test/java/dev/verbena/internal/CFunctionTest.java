package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests results of calls into C with functions of libc. */
class CFunctionTest {
    private static final int EBADF = 9;

    private static MemorySegment libc(String name) {
        return Linker.nativeLinker().defaultLookup().find(name).orElseThrow();
    }

    @Test
    void callReturnsAnIntIfCastToInt() {
        assertThat((int) CFunction.callAt(libc("abs"), -5)).isEqualTo(5);
        assertThat((int) CFunction.callAt(libc("close"), -1)).isEqualTo(-1);
    }

    @Test
    void callReturnsAWholePointer() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocateFrom("verbena");
            assertThat(CFunction.callAt(libc("strchr"), text.address(), 'n')).isEqualTo(text.address() + 5);
            assertThat(CFunction.callAt(libc("strchr"), text.address(), 'x'))
                    .as("NULL")
                    .isZero();
        }
    }

    @Test
    void errnoBelongsToTheLastCall() {
        CFunction.callAt(libc("close"), -1);
        assertThat(CFunction.errno()).isEqualTo(EBADF);
    }

    @Test
    void errnoIsPerThread() throws InterruptedException {
        CFunction.callAt(libc("close"), -1);
        AtomicInteger seen = new AtomicInteger(-1);
        Thread.ofPlatform()
                .start(() -> {
                    try (Arena arena = Arena.ofConfined()) {
                        CFunction.callAt(
                                libc("rmdir"),
                                arena.allocateFrom("/no/such/folder").address());
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
                .hasMessageContaining("ibv_no_such_verb")
                .hasMessageContaining("libibverbs");
    }

    @ParameterizedTest
    @CsvSource({
        "Ibv, QUERY_PORT_SPEED, ibv_query_port_speed, 62",
        "Ibv, REG_MR_EX, ibv_reg_mr_ex, 59",
        "Ibv, DM_EXPORT_DMABUF_FD, ibv_dm_export_dmabuf_fd, 62",
        "Ibv, ALLOC_DMAH, ibv_alloc_dmah, 59",
        "Ibv, DEALLOC_DMAH, ibv_dealloc_dmah, 59",
        "RdmaCm, RESOLVE_ADDRINFO, rdma_resolve_addrinfo, 60",
        "RdmaCm, QUERY_ADDRINFO, rdma_query_addrinfo, 60",
        "RdmaCm, WRITE_CM_EVENT, rdma_write_cm_event, 60"
    })
    void newerFunctionsNameTheirRelease(String type, String field, String name, int since)
            throws ReflectiveOperationException {
        CFunction function = (CFunction) Class.forName("dev.verbena.internal." + type)
                .getDeclaredField(field)
                .get(null);
        assertThat(function.name()).isEqualTo(name);
        assertThat(function.since()).isEqualTo(since);
    }

    @Test
    void releasesAreRecognisedByAFunctionOfTheirs() {
        for (RdmaCoreVersion version : RdmaCoreVersion.values()) {
            assertThat("V" + version.number()).isEqualTo(version.name());
        }
        assertThat(RdmaCoreVersion.OLDEST).isEqualTo(44);
    }
}
