package dev.verbena.sockets;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.LongTest;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Many connects at once, in a process that may have as many sockets as they need and no more. */
@LongTest
class ManyConnectsTest {
    private static void allAreAccepted(int clients) {
        String output = ChildJvm.with("--enable-native-access=ALL-UNNAMED")
                .option("-Ddev.verbena.sockets.limit=" + 2 * clients)
                .runOnClassPath(ManyConnects.class, Integer.toString(clients))
                .successfulOutput();
        assertThat(output)
                .contains(clients + " echoes by a selector of " + (2 * clients + 1) + " channels")
                .contains("nothing left");
    }

    @Test
    void allOfManyConnectsAtOnceAreAcceptedAndOneSelectorTakesBothEnds() {
        allAreAccepted(500);
    }

    @Test
    void noConnectIsLostBesideEightBusyProcesses() throws Exception {
        List<Process> busy = new ArrayList<>();
        try {
            for (int i = 0; i < 8; i++) {
                busy.add(new ProcessBuilder("sh", "-c", "while :; do :; done").start());
            }
            allAreAccepted(16);
            assertThat(busy).allMatch(Process::isAlive);
        } finally {
            busy.forEach(Process::destroyForcibly);
        }
    }
}
