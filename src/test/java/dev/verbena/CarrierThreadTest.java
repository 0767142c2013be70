package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.ConnectOnOneCarrier;
import dev.verbena.support.FencedTest;
import dev.verbena.support.OneCarrier;
import org.junit.jupiter.api.Test;

/**
 * Waits of virtual threads do not pin their carrier thread. In processes of their own, whose virtual threads have one
 * carrier: a wait that pins it is never ended. Whether a wait blocks in C does not depend on the driver: the library waits
 * for descriptors.
 */
@FencedTest
class CarrierThreadTest {
    private static String output(Class<?> program) {
        String provider = System.getProperty("dev.verbena.libibverbs");
        return ChildJvm.with(
                        ChildJvm.DENY,
                        "--enable-native-access=ALL-UNNAMED",
                        "-Ddev.verbena.libibverbs=" + provider,
                        "-Ddev.verbena.librdmacm=" + provider,
                        "-Djdk.virtualThreadScheduler.parallelism=1",
                        "-Djdk.virtualThreadScheduler.maxPoolSize=1")
                .runOnClassPath(program)
                .successfulOutput();
    }

    @Test
    void awaitDoesNotPinItsCarrierThread() {
        assertThat(output(OneCarrier.class)).contains("served 200");
    }

    @Test
    void connectionWaitsDoNotPinTheirCarrierThread() {
        assertThat(output(ConnectOnOneCarrier.class)).contains("served 20");
    }
}
