package dev.verbena.verbs.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Device;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the rows of drivers that the provider for tests can stand for. */
@FencedTest
class DriverRowsTest {
    @AfterEach
    void giveBackTheDriver() {
        Fenced.driverAsStarted();
    }

    @ParameterizedTest
    @CsvSource({
        "'', fenced0, '', IB",
        "windowless, fenced0, '', IB",
        "efa, efa_0, efa, UNSPECIFIED",
        "mana, mana_0, mana, IB",
        "irdma, irdma0, ice, IB",
        "erdma, erdma_0, erdma, IWARP",
        "mlx5, mlx5_0, mlx5_core, IB",
        "bnxt_re, bnxt_re0, bnxt_en, IB",
        "rxe, rxe0, '', IB",
        "siw, siw0, '', IWARP"
    })
    void rowHasTheNamesOfTheDriver(String row, String name, String kernel, Device.TransportType transport) {
        Fenced.driver(row);
        Device device = Device.first();
        assertThat(device.name()).isEqualTo(name);
        assertThat(device.driver()).isEqualTo(kernel);
        assertThat(device.transport()).isEqualTo(transport);
    }

    @Test
    void functionThatTheDriverLacksIsRefusedUntilAnotherRowIsChosen() {
        for (String row : new String[] {"mlx5", "mana", "mlx5"}) {
            Fenced.driver(row);
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                Context context = Device.first().open(arena);
                ProtectionDomain domain = context.allocateProtectionDomain();
                CompletionQueue queue = context.createCompletionQueue(8);
                if (row.equals("mana")) {
                    assertThatExceptionOfType(UnsupportedVerbException.class)
                            .isThrownBy(() -> domain.createQueuePair(QueuePair.ud(queue)));
                    assertThatExceptionOfType(VerbsException.class).isThrownBy(() -> queue.resize(16));
                } else {
                    domain.createQueuePair(QueuePair.ud(queue));
                    queue.resize(16);
                }
            }
        }
    }

    @Test
    void rowIsChosenOnlyWhileTheDeviceIsClosed() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Device.first().open(arena);
            assertThatIllegalStateException().isThrownBy(() -> Fenced.driver("mana"));
        }
        assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> Fenced.driver("none of these"));
    }
}
