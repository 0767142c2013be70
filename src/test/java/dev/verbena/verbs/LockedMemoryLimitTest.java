package dev.verbena.verbs;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Fault;
import dev.verbena.support.OtherThread;
import dev.verbena.support.TestDevice;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

/** What a thread is told that may not lock as much memory as it registers. */
@DeviceTest
class LockedMemoryLimitTest {
    private static final int RLIMIT_MEMLOCK = 8;
    private static final int CAP_IPC_LOCK = 1 << 14;
    private static final int CAPABILITIES_VERSION = 0x20080522;

    /** Whoever has CAP_IPC_LOCK is exempt from the limit: a thread gives it up, after which it can't use others' files. */
    @Test
    @Fault("locked-memory")
    void registerNamesTheLockedMemoryLimitAndARemedy() throws Throwable {
        OtherThread.run(() -> {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment header = arena.allocateFrom(JAVA_INT, CAPABILITIES_VERSION, 0);
                MemorySegment capabilities = arena.allocate(JAVA_INT, 6); // the first are the effective ones
                call("capget", header.address(), capabilities);
                capabilities.set(JAVA_INT, 0, capabilities.get(JAVA_INT, 0) & ~CAP_IPC_LOCK);
                call("capset", header.address(), capabilities);
                MemorySegment limits = arena.allocate(JAVA_LONG, 2); // soft, hard
                call("getrlimit", RLIMIT_MEMLOCK, limits);
                long before = limits.get(JAVA_LONG, 0);
                limits.set(JAVA_LONG, 0, 65_536);
                call("setrlimit", RLIMIT_MEMLOCK, limits);
                try {
                    assertRefused();
                } finally {
                    limits.set(JAVA_LONG, 0, before);
                    call("setrlimit", RLIMIT_MEMLOCK, limits);
                }
            }
        });
    }

    private static void assertRefused() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ProtectionDomain domain = TestDevice.get().open(arena).allocateProtectionDomain();
            assertThatThrownBy(() -> domain.register(arena.allocate(131_072, 4096), AccessFlag.LOCAL_WRITE))
                    .isInstanceOf(VerbsException.class)
                    .hasMessageStartingWith("ibv_reg_mr(128 KiB at 0x")
                    .hasMessageContainingAll("ENOMEM", "limited to 64 KiB")
                    .hasMessageContainingAll("ulimit -l unlimited", "limits.conf", "LimitMEMLOCK=");
        }
    }

    private static void call(String function, long first, MemorySegment second) {
        Linker linker = Linker.nativeLinker();
        try {
            int result = (int) linker.downcallHandle(
                            linker.defaultLookup().find(function).orElseThrow(),
                            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS))
                    .invokeExact(first, second);
            assertThat(result).as(function).isZero();
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }
}
