package dev.verbena.cm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.access.ArenaLifetime;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.CmAddress;
import dev.verbena.support.CmMakersWithoutMemory;
import dev.verbena.support.DeviceTest;
import dev.verbena.verbs.QueueCapabilities;
import org.junit.jupiter.api.Test;

/** Tests that makers of the connection manager's objects that fail leave nothing behind. */
@DeviceTest
class FailedCmMakersTest {
    private static final int DIRECT_MEMORY = 4 << 20;

    @Test
    void makersWithoutDirectMemoryLeaveNothingInC() {
        String output = ChildJvm.with(
                        "--enable-native-access=ALL-UNNAMED",
                        ChildJvm.DENY,
                        "-XX:TieredStopAtLevel=1",
                        "-XX:MaxDirectMemorySize=" + DIRECT_MEMORY)
                .runOnClassPath(CmMakersWithoutMemory.class, Integer.toString(DIRECT_MEMORY))
                .successfulOutput();
        assertThat(output)
                .contains("left []")
                .containsPattern("channel failed [1-9]")
                .containsPattern("context failed [1-9]")
                .containsPattern("\nqueue pair failed [1-9]");
    }

    @Test
    void queuePairThatFailsLeavesNoQueuesAndChannels() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            ConnectionId id = EventChannel.create(arena).createId(PortSpace.TCP);
            id.bind(CmAddress.four(0));
            id.protectionDomain();
            var before = ArenaLifetime.of(arena).objects();
            assertThatExceptionOfType(VerbsException.class)
                    .isThrownBy(
                            () -> id.createQueuePair(QueueCapabilities.of(1, 1).sendSge(Short.MAX_VALUE)));
            assertThat(ArenaLifetime.of(arena).objects()).isEqualTo(before);
            assertThatExceptionOfType(VerbsException.class)
                    .isThrownBy(() -> id.createQueuePair(QueueCapabilities.of(1, Integer.MAX_VALUE / 2)));
            assertThat(ArenaLifetime.of(arena).objects()).isEqualTo(before);
            assertThat(id.createQueuePair(QueueCapabilities.of(1, 1)).isOpen()).isTrue();
        }
    }
}
