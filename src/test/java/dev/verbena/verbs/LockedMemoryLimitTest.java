package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Fault;
import dev.verbena.support.TestDevice;
import org.junit.jupiter.api.Test;

/** What a process is told that may not lock as much memory as it registers. */
@DeviceTest
class LockedMemoryLimitTest {
    @Test
    @Fault("locked-memory")
    void registerNamesTheLockedMemoryLimitAndARemedy() {
        // Whoever has CAP_IPC_LOCK is exempt from the limit: root has to give it up.
        String output = ChildJvm.startedBy(
                        "setpriv",
                        "--bounding-set=-ipc_lock",
                        "--inh-caps=-ipc_lock",
                        "prlimit",
                        "--memlock=65536:65536")
                .option("--enable-native-access=ALL-UNNAMED")
                .runOnClassPath(RegisterUntilRefused.class)
                .successfulOutput();
        assertThat(output)
                .startsWith("refused: ibv_reg_mr(64 KiB at 0x")
                .contains("ENOMEM")
                .contains("limited to 64 KiB")
                .contains("ulimit -l unlimited", "limits.conf", "LimitMEMLOCK=");
    }

    /** A program for {@link ChildJvm}: registers larger and larger memory until it is refused, and prints the message. */
    static final class RegisterUntilRefused {
        public static void main(String[] args) {
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                ProtectionDomain domain = TestDevice.get().open(arena).allocateProtectionDomain();
                for (long size = 4096; size <= 64 << 20; size *= 4) {
                    try {
                        domain.register(arena.allocate(size, 4096), AccessFlag.LOCAL_WRITE);
                    } catch (VerbsException e) {
                        System.out.println("refused: " + e.getMessage());
                        return;
                    }
                }
                System.out.println("nothing was refused");
            }
        }
    }
}
