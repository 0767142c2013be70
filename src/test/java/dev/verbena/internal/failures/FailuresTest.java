package dev.verbena.internal.failures;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchRuntimeException;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsException;
import dev.verbena.internal.CFunction;
import dev.verbena.internal.Errno;
import dev.verbena.internal.NativeLibraries;
import dev.verbena.internal.SystemCall;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

/** Exceptions for the error returns of C. */
class FailuresTest {
    private static void setErrnoToBadDescriptor() {
        MemorySegment close =
                Linker.nativeLinker().defaultLookup().find("close").orElseThrow();
        assertThat((int) CFunction.at("function", close).call(-1)).isEqualTo(-1);
    }

    @Test
    void errnoOfReadsAllConventionsOfC() {
        setErrnoToBadDescriptor();
        assertThat(Failures.errnoOf(Errno.ENOMEM)).isEqualTo(Errno.ENOMEM);
        assertThat(Failures.errnoOf(-Errno.ENOMEM)).isEqualTo(Errno.ENOMEM);
        assertThat(Failures.errnoOf(-1)).isEqualTo(Errno.EBADF);
    }

    @Test
    void failureSaysThatAFunctionIsNotSupported() {
        assertThat(Failures.failure("ibv_reg_mr", Errno.ENOMEM, "4 KiB", "hint"))
                .isNotInstanceOf(UnsupportedVerbException.class)
                .hasMessage("ibv_reg_mr(4 KiB): ENOMEM (cannot allocate memory). hint");
        assertThat(Failures.failure("ibv_alloc_dm", Errno.EOPNOTSUPP, "rxe0", ""))
                .isInstanceOf(UnsupportedVerbException.class)
                .hasMessageContaining("This device, its driver or this kernel can't do it");
    }

    @Test
    void requireNamesTheReleaseThatIsNeeded() {
        CFunction missing = new CFunction(NativeLibraries.VERBS, "ibv_no_such_verb", 99);
        assertThatExceptionOfType(UnsupportedVerbException.class)
                .isThrownBy(() -> Failures.require(missing, "rxe0"))
                .withMessage("ibv_no_such_verb(rxe0): The installed rdma-core is too old: 99 or newer is needed");
        CFunction present = new CFunction(NativeLibraries.VERBS, "ibv_open_device");
        assertThatCode(() -> Failures.require(present, "rxe0")).doesNotThrowAnyException();
    }

    @Test
    void cannotWaitKeepsTheVerbAndTheErrorNumberOfItsCause() {
        VerbsException removed = new VerbsException("ibv_get_cq_event", "channel", Errno.EIO, "The device was removed");
        assertThat(Failures.cannotWait("queue", removed)).hasCause(removed).satisfies(failure -> {
            assertThat(failure.verb()).isEqualTo("ibv_get_cq_event");
            assertThat(failure.errno()).isEqualTo(Errno.EIO);
        });
        Error death = new OutOfMemoryError("heap");
        assertThat(Failures.cannotWait("queue", death))
                .hasCause(death)
                .hasMessageContaining("epoll_wait(queue)")
                .hasMessageContaining("heap");
    }

    @Test
    void errnoOfReadsTheSmallestNumbers() {
        assertThat(Failures.errnoOf(Errno.EPERM)).isEqualTo(Errno.EPERM);
        assertThat(Failures.errnoOf(-Errno.ENOENT)).isEqualTo(Errno.ENOENT);
    }

    @Test
    void unsupportedFunctionKeepsTheHintOfItsCaller() {
        assertThat(Failures.failure("ibv_alloc_dm", Errno.ENOSYS, "rxe0", "Ask the vendor"))
                .isInstanceOf(UnsupportedVerbException.class)
                .hasMessage("ibv_alloc_dm(rxe0): ENOSYS (function not implemented). Ask the vendor");
    }

    @Test
    void tooManyOpenFilesHaveAHintOfTheirOwn() {
        assertThat(Failures.failure("ibv_open_device", Errno.EMFILE, "rxe0", "hint"))
                .hasMessageStartingWith("ibv_open_device(rxe0): EMFILE (too many open files). This process may have ")
                .hasMessageContaining("'ulimit -n'")
                .satisfies(failure -> assertThat(failure.errno()).isEqualTo(Errno.EMFILE));
        assertThat(Failures.failure("ibv_open_device", Errno.ENFILE, "rxe0", "hint"))
                .hasMessageStartingWith("ibv_open_device(rxe0): ENFILE (too many open files in system). All processes")
                .hasMessageContaining("fs.file-max");
    }

    @Test
    void cannotWaitNamesTheSystemCallThatFailed() {
        RuntimeException cause = catchRuntimeException(() -> SystemCall.makeNonBlocking(-1));
        assertThat(Failures.cannotWait("queue", cause))
                .hasCause(cause)
                .hasMessage("fcntl(queue): EBADF (bad file descriptor)")
                .satisfies(failure -> assertThat(failure.errno()).isEqualTo(Errno.EBADF));
        assertThat(Failures.cannotWait("queue", new IllegalStateException("the end")))
                .hasMessage("epoll_wait(queue): The thread that waits for events ended: "
                        + "java.lang.IllegalStateException: the end")
                .satisfies(failure -> assertThat(failure.errno()).isZero());
    }
}
