package dev.verbena.sockets;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.LongTest;
import org.junit.jupiter.api.Test;

/** Many connects at once, in a process that may have as many sockets as they need and no more. */
@LongTest
class ManyConnectsTest {
    private static final int CLIENTS = 500;

    @Test
    void allOfManyConnectsAtOnceAreAcceptedAndOneSelectorTakesBothEnds() {
        String output = ChildJvm.with("--enable-native-access=ALL-UNNAMED")
                .option("-Ddev.verbena.sockets.limit=" + 2 * CLIENTS)
                .runOnClassPath(ManyConnects.class, Integer.toString(CLIENTS))
                .successfulOutput();
        assertThat(output)
                .contains(CLIENTS + " echoes by a selector of " + (2 * CLIENTS + 1) + " channels")
                .contains("nothing left");
    }
}
